"""Proving the checks: every solution passes, every blank, mistake and mutant is refused.

python -m tfmlib verify [--only 4.3] [--json]
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from tfmlib.checking.catalogue import all_exercises, find
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.judge import BLANK, judge, require_same
from tfmlib.checking.mutants import mutants

KILL_BAR = 0.98
MISTAKES_BAR = 4
SECONDS_FOR_A_MUTANT = 1.0
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Proof:
    """What verification found of one exercise."""

    id: str
    title: str
    expectations: int
    mistakes: int
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0
    seconds: float = 0.0  # that the check takes for the solution
    survivors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def chapter(self) -> int:
        return int(self.id.split(".")[0])


# --- where solutions and blanks come from -------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """The code of an answer, with the chapter's set-up that it relies on."""

    setup: str
    source: str

    def function(self, name: str, source: str | None = None) -> Callable:
        names: dict = {}
        exec(self.setup, names)
        exec(self.source if source is None else source, names)
        return names[name]


@cache
def cells(folder: str) -> dict[str, Cell]:
    """Exercise id -> its answer's cell in a folder of compiled notebooks."""
    found = {}
    for path in sorted((ROOT / folder).glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = [c for c in notebook["cells"] if c["cell_type"] == "code"]
        setup = "\n".join(
            "".join(c["source"]) for c in code if "setup" in c["metadata"].get("tags", [])
        )
        for cell in code:
            if "exercise" in cell["metadata"]:
                found[cell["metadata"]["exercise"]] = Cell(setup, "".join(cell["source"]))
    return found


# --- the proof of one exercise ------------------------------------------------------------------


def prove(id: str) -> Proof:
    """Run everything that an exercise must withstand."""
    exercise = find(id)
    proof = Proof(id, exercise.title, len(exercise.expectations), len(exercise.mistakes))
    proof.faults += design_faults(exercise)
    solution, blank = cells("solutions").get(id), cells("notebooks").get(id)
    if solution is None or blank is None:
        proof.faults.append("no compiled notebook has this exercise: run make notebooks")
        return proof
    _prove_solution(exercise, solution, proof)
    if judge(exercise, blank.function(exercise.answer)).status != BLANK:
        proof.faults.append("the blank answer is not reported as not attempted")
    _prove_mistakes(exercise, proof)
    _prove_mutants(exercise, solution, proof)
    return proof


def design_faults(exercise: Exercise) -> list[str]:
    """What an exercise lacks by the book's own rules."""
    wanted = {
        "three hints": len(exercise.hints) == 3 and all(exercise.hints),
        f"at least {MISTAKES_BAR} mistakes": len(exercise.mistakes) >= MISTAKES_BAR,
        "an invariant": bool(exercise.invariants),
        "two independent inputs": len(exercise.cases) >= 2
        or (exercise.oracle is None and len(exercise.invariants) >= 3),
        "a name for each expectation": len({e.name for e in exercise.expectations})
        == len(exercise.expectations),
    }
    return [f"lacks {what}" for what, there in wanted.items() if not there]


def _prove_solution(exercise: Exercise, solution: Cell, proof: Proof) -> None:
    function = solution.function(exercise.answer)
    start = time.perf_counter()
    report = judge(exercise, function)
    proof.seconds = time.perf_counter() - start
    if not report.passed:
        proof.faults.append(f"the solution fails: {report.problem}")
    if exercise.oracle is not None:
        args = exercise.example.args
        try:
            require_same(function(*args), exercise.oracle(*args), exercise.tolerance)
        except Exception as error:
            proof.faults.append(f"solution and oracle differ on the public example: {error}")


def _prove_mistakes(exercise: Exercise, proof: Proof) -> None:
    for mistake in exercise.mistakes:
        report = judge(exercise, mistake.function)
        if report.passed:
            proof.faults.append(f"mistake {mistake.name} passes")
        elif report.status == BLANK:
            proof.faults.append(f"mistake {mistake.name} is taken for a blank")
        elif report.mistake != mistake.name:
            taken = report.mistake or "nothing known"
            proof.faults.append(f"mistake {mistake.name} is diagnosed as {taken}")


def _prove_mutants(exercise: Exercise, solution: Cell, proof: Proof) -> None:
    unused = dict(exercise.equivalent)
    for mutant in mutants(solution.source):
        proof.mutants += 1
        if not _survives(exercise, solution, mutant.source):
            proof.killed += 1
        elif mutant.change in exercise.equivalent:
            proof.equivalent += 1
            unused.pop(mutant.change, None)
        else:
            proof.survivors.append(mutant.change)
    for change in unused:
        proof.faults.append(f"recorded as equivalent, but killed or gone: {change}")


def _survives(exercise: Exercise, solution: Cell, source: str) -> bool:
    try:
        function = solution.function(exercise.answer, source)
    except Exception:
        return False  # it cannot even be defined
    return judge(exercise, function, SECONDS_FOR_A_MUTANT).passed


# --- all of them --------------------------------------------------------------------------------


def prove_all(ids: list[str]) -> list[Proof]:
    if len(ids) == 1:
        return [prove(ids[0])]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(prove, ids))


def kill_rate(proofs: list[Proof]) -> float:
    """Killed mutants over all but those proved equivalent."""
    total = sum(p.mutants - p.equivalent for p in proofs)
    return sum(p.killed for p in proofs) / total if total else 1.0


def holds(proofs: list[Proof]) -> bool:
    return all(not p.faults and kill_rate([p]) >= KILL_BAR for p in proofs)


def table(proofs: list[Proof]) -> str:
    """A row a chapter, then every survivor and every fault."""
    rows = ["chapter  exercises  mistakes  mutants  killed  equivalent  survivors  kill rate"]
    groups = [[p for p in proofs if p.chapter == c] for c in sorted({p.chapter for p in proofs})]
    named = [(f"{group[0].chapter:02}", group) for group in groups] + [("all", proofs)]
    for name, group in named:
        rows.append(
            f"{name:>7}  {len(group):9}  {sum(p.mistakes for p in group):8}  "
            f"{sum(p.mutants for p in group):7}  {sum(p.killed for p in group):6}  "
            f"{sum(p.equivalent for p in group):10}  {sum(len(p.survivors) for p in group):9}  "
            f"{kill_rate(group):9.1%}"
        )
    slowest = max(proofs, key=lambda p: p.seconds)
    rows.append(f"slowest check of a solution: {slowest.id}, {slowest.seconds:.2f} s")
    for proof in proofs:
        rows += [f"survivor in {proof.id}: {change}" for change in proof.survivors]
    for proof in proofs:
        rows += [f"fault in {proof.id}: {fault}" for fault in proof.faults]
        if kill_rate([proof]) < KILL_BAR:
            rows.append(f"fault in {proof.id}: kill rate below {KILL_BAR:.0%}")
    return "\n".join(rows)


def add_command(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("verify", help="prove every exercise against wrong answers")
    parser.add_argument(
        "--only", default="", metavar="ID", help="one exercise (4.3) or chapter (4)"
    )
    parser.add_argument("--json", action="store_true", help="the same as data")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    known = [exercise.id for exercise in all_exercises()]
    wanted = re.compile(rf"^{re.escape(options.only)}(\.|$)") if options.only else re.compile("")
    ids = [id for id in known if wanted.match(id)]
    if not ids:
        print(f"There is no exercise {options.only!r}.", file=sys.stderr)
        return 2
    proofs = prove_all(ids)
    if options.json:
        print(
            json.dumps({"holds": holds(proofs), "exercises": [asdict(p) for p in proofs]}, indent=2)
        )
    else:
        print(table(proofs))
        print("All checks are proved." if holds(proofs) else "Not all checks are proved.")
    return 0 if holds(proofs) else 1
