"""Proving the checks: right answers pass, and every blank, mistake, mutant and idiom is refused."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from tfmlib.checking import Answer
from tfmlib.checking.catalogue import find
from tfmlib.checking.coincidences import coincidences
from tfmlib.checking.compare import plain
from tfmlib.checking.exercise import DRAWN, SAME_AGAIN, THE_EXAMPLE, Exercise
from tfmlib.checking.idioms import AROUND, in_its_text
from tfmlib.checking.judge import judge, refuses
from tfmlib.checking.mutants import mutants
from tfmlib.checking.outcome import AnswerError, Outcome, Status
from tfmlib.checking.runner import Runner
from tfmlib.checking.trial import Trial
from tfmlib.support import notebooks
from tfmlib.support.notebooks import Cell

KILL_BAR = 0.98
MISTAKES_BAR = 4
FORMS_BAR = 1  # right answers in other forms
SECONDS_FOR_A_MUTANT = 0.1
THOUSANDS = 2_000  # draws on which solution and oracle must agree
LARGE = 12  # the size of the last of these
IDIOM_DRAWS, IDIOM_SHARE = 80, 0.02
VERIFY_SEED = 20_000_003


@dataclass
class Proof:
    """What verification found of one exercise."""

    id: str
    title: str
    expectations: int
    mistakes: int
    forms: int = 0
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0
    idioms: int = 0  # that differ from the solution on some legal input
    seconds: float = 0.0  # that the check takes for the solution
    survivors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def chapter(self) -> int:
        return int(self.id.split(".")[0])


# --- the proof of one exercise ------------------------------------------------------------------


def prove(id: str) -> Proof:
    """Run everything that an exercise must withstand."""
    exercise = find(id)
    proof = Proof(id, exercise.title, len(exercise.expectations), len(exercise.mistakes))
    proof.faults += design_faults(exercise)
    solution = notebooks.exercise_cells("solutions").get(id)
    blank = notebooks.exercise_cells("notebooks").get(id)
    if solution is None or blank is None:
        proof.faults.append("no compiled notebook has this exercise: run make notebooks")
        return proof
    _prove_solution(exercise, solution, proof)
    _prove_forms(exercise, proof)
    if judge(exercise, blank.function(exercise.answer)).status is not Status.BLANK:
        proof.faults.append("the blank answer is not reported as not attempted")
    _prove_mistakes(exercise, proof)
    _prove_mutants(exercise, solution, proof)
    _prove_idioms(exercise, solution, proof)
    return proof


def design_faults(exercise: Exercise) -> list[str]:
    """What an exercise lacks by the book's own rules."""
    wanted = {
        "three hints": len(exercise.hints) == 3 and all(exercise.hints),
        f"at least {MISTAKES_BAR} mistakes": len(exercise.mistakes) >= MISTAKES_BAR,
        "a right answer in another form": len(exercise.forms) >= FORMS_BAR,
        "inputs to draw": exercise.draw is not None,
        "an oracle, or something that accepts": (exercise.oracle is None)
        != (exercise.accepts is None),
        "an invariant": bool(exercise.invariants),
        "two independent inputs": len(exercise.cases) >= 2
        or (exercise.oracle is None and len(exercise.invariants) >= 3),
        "a name for each expectation": len({e.name for e in exercise.expectations})
        == len(exercise.expectations),
    }
    lacking = [f"lacks {what}" for what, there in wanted.items() if not there]
    return [*lacking, *_coincidence_faults(exercise), *_clause_faults(exercise)]


def _coincidence_faults(exercise: Exercise) -> list[str]:
    inputs = [exercise.example.args, *(case.args or () for case in exercise.cases)]
    found = set(coincidences([*inputs, *exercise.inputs()]))
    meant = set(exercise.coincidences)
    return [f"a coincidence in all inputs: {text}" for text in sorted(found - meant)] + [
        f"recorded as a coincidence, but broken: {text}" for text in sorted(meant - found)
    ]


def _clause_faults(exercise: Exercise) -> list[str]:
    """Each clause of the statement has an expectation; what is named must be there."""
    if not exercise.clauses:
        return ["lacks the clauses of its statement"]
    names = {e.name for e in exercise.expectations} | {THE_EXAMPLE, DRAWN, SAME_AGAIN}
    statement = _normal(notebooks.statements().get(exercise.id, ""))
    faults = [
        f"the statement does not say: {words}"
        for words in exercise.clauses
        if _normal(words) not in statement
    ]
    return faults + [
        f"no expectation is called: {name}"
        for name in exercise.clauses.values()
        if name not in names
    ]


def _normal(text: str) -> str:
    return " ".join(text.split())


def _prove_solution(exercise: Exercise, solution: Cell, proof: Proof) -> None:
    function = solution.function(exercise.answer)
    start = time.perf_counter()
    report = judge(exercise, function)
    proof.seconds = time.perf_counter() - start
    if not report.passed:
        proof.faults.append(f"the solution fails: {report.problem} {report.input}")
    for args in exercise.inputs(VERIFY_SEED, THOUSANDS, LARGE):
        try:
            exercise.require(plain(function(*plain(args))), args)
        except Exception as error:
            proof.faults.append(f"solution and oracle differ: {error} on {args!r:.300}")
            break


def _prove_forms(exercise: Exercise, proof: Proof) -> None:
    proof.forms = len(exercise.forms)
    for form in exercise.forms:
        report = judge(exercise, form)
        if not report.passed:
            proof.faults.append(
                f"the right answer {form.__name__} is refused: {report.problem} {report.input}"
            )


def _prove_mistakes(exercise: Exercise, proof: Proof) -> None:
    for mistake in exercise.mistakes:
        report = judge(exercise, mistake.function)
        if report.passed:
            proof.faults.append(f"mistake {mistake.name} passes")
        elif report.status is Status.BLANK:
            proof.faults.append(f"mistake {mistake.name} is taken for a blank")
        elif report.mistake != mistake.name and report.outcome is not Outcome.MEMORY:
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
    return not refuses(exercise, function, SECONDS_FOR_A_MUTANT)


def _prove_idioms(exercise: Exercise, solution: Cell, proof: Proof) -> None:
    """An idiom that is wrong on one legal input in fifty must be refused."""
    for name, make in _idioms(exercise, solution):
        if not _differs(exercise, make()):
            continue
        proof.idioms += 1
        if not refuses(exercise, make(), SECONDS_FOR_A_MUTANT):
            proof.faults.append(f"passes, and should not: {name}")


def _idioms(exercise: Exercise, solution: Cell) -> Iterator[tuple[str, Callable[[], Answer]]]:
    for idiom in AROUND:
        yield f"a solution that {idiom.__doc__}", partial(_around, idiom, exercise, solution)
    for name, source in in_its_text(solution.source):
        yield name, partial(solution.function, exercise.answer, source)


def _around(idiom: Callable[[Answer], Answer], exercise: Exercise, solution: Cell) -> Answer:
    return idiom(solution.function(exercise.answer))


def _differs(exercise: Exercise, function: Answer) -> bool:
    """Whether a program is wrong on a fair share of the legal inputs."""
    wrong = 0
    with Runner(function, SECONDS_FOR_A_MUTANT) as runner:  # it may never end
        trial = Trial(exercise, runner.call)
        for args in exercise.inputs(VERIFY_SEED, IDIOM_DRAWS):
            with suppress(AnswerError):
                trial.answer(*args)
            wrong += trial.calls.pop().fault is not None
    return wrong >= IDIOM_SHARE * IDIOM_DRAWS


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
    """A row per chapter, then every survivor and every fault."""
    rows = [
        "chapter  exercises  mistakes  forms  idioms  mutants  killed  equivalent  survivors  "
        "kill rate"
    ]
    groups = [[p for p in proofs if p.chapter == c] for c in sorted({p.chapter for p in proofs})]
    named = [(f"{group[0].chapter:02}", group) for group in groups] + [("all", proofs)]
    for name, group in named:
        rows.append(
            f"{name:>7}  {len(group):9}  {sum(p.mistakes for p in group):8}  "
            f"{sum(p.forms for p in group):5}  {sum(p.idioms for p in group):6}  "
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
