"""`python -m benchmarks [name ...]` runs bench_name.py, or all of them, and prints one table."""

import importlib
import sys
from pathlib import Path

from benchmarks.harness import Row, table


def main(names: list[str]) -> int:
    """Run the named benchmarks; the exit status is 1 when a bar that is not a stretch is missed."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [f"bench_{name.removeprefix('bench_')}" for name in names] or known
    unknown = set(chosen) - set(known)
    if unknown:
        print(f"No benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
        return 2
    rows: list[Row] = []
    for name in chosen:
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"benchmarks.{name}").rows()
    print(table(rows))
    return int(any(not row.holds and not row.stretch for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
