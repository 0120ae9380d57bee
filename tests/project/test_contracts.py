"""Who may import whom: the contracts of pyproject.toml, no cycles, no private names."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import networkx
import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess:
    """import-linter on the project in a folder."""
    code = "from importlinter.cli import lint_imports_command as c; c(standalone_mode=True)"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.lint
def test_every_contract_is_kept():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout[-3000:]
    assert re.search(r"\d+ kept, 0 broken", result.stdout)


def test_a_broken_contract_is_found_out(tmp_path):
    """A contract that cannot fail holds nothing: plant an import and see it named."""
    for name in ("tfmlib", "book"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.md"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with open(tmp_path / "tfmlib/ref.py", "a", encoding="utf-8") as file:
        file.write("\nfrom tfmlib.checking import judge\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    assert "What a learner reads knows none of the rooms behind it BROKEN" in result.stdout


def test_no_module_imports_itself_round_a_corner():
    """Imports inside functions count, too: a lazy cycle is a cycle."""
    graph = grimp.build_graph("tfmlib", cache_dir=None)
    edges = [
        (one, other)
        for one in graph.modules
        for other in graph.find_modules_directly_imported_by(one)
        if not one.startswith(other + ".")  # a package's own __init__
    ]
    circles = [
        c for c in networkx.strongly_connected_components(networkx.DiGraph(edges)) if len(c) > 1
    ]
    assert circles == []


def private_imports(source: str) -> list[str]:
    """Names with an underscore that a module takes from another of the project.

    >>> private_imports("from tfmlib.ref import _softmax")
    ['_softmax']
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("tfmlib", "book")):
            names = [alias.name for alias in node.names]
            found += [name for name in names if re.match(r"_[a-z]", name)]
    return found


@pytest.mark.parametrize("folder", ["tfmlib", "book", "benchmarks"])
def test_nobody_imports_a_private_name(folder):
    taken = {
        path.relative_to(ROOT).as_posix(): names
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (names := private_imports(path.read_text(encoding="utf-8")))
    }
    assert taken == {}


def test_a_private_name_is_noticed():
    assert private_imports("from tfmlib.checking.judge import _unmet, judge") == ["_unmet"]
    assert private_imports("from tfmlib import __version__") == []
