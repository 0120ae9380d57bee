"""What the instructor reads: grades.csv, a feedback page for each student, a page on the class.

Names and texts come from submissions. On a page they are escaped, and the page forbids scripts; in
a spreadsheet a name that would be a formula is made a text.
"""

import csv
import html
import io
import textwrap
from collections import Counter
from pathlib import Path

from tfmlib.check import feedback
from tfmlib.checking.catalogue import find
from tfmlib.checking.message import Item, Message
from tfmlib.checking.outcome import IN_GENERAL, Status
from tfmlib.grade.marking import Mark, Result
from tfmlib.grade.submissions import Submission
from tfmlib.support.files import write_whole

# Canvas wants these columns, in this order; Moodle lets you choose which one names the student.
IDENTITY = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
COLOURS = {Status.PASSED: "#2a9d5c", Status.FAILED: "#d1495b", Status.BLANK: "#c9cdd3"}
WORDS = {Status.PASSED: "solved", Status.FAILED: "wrong", Status.BLANK: "not attempted"}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }}
body {{ padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }}
td.number {{ text-align: right; white-space: nowrap; }}
h2 {{ margin-top: 2rem; }}
svg {{ max-width: 100%; height: auto; }}
svg text {{ fill: currentColor; font: 13px system-ui, sans-serif; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""

Graded = list[tuple[Submission, Result]]


def write_all(out: Path, graded: Graded, ids: list[str], remarks: list[str]) -> None:
    """Write every page and table; each file is replaced whole or not at all."""
    write(out / "grades.csv", grades(graded, ids), encoding="utf-8-sig")
    for submission, result in graded:
        write(out / "feedback" / f"{submission.slug}.html", feedback_page(result))
    write(out / "class.html", class_page(graded, ids, remarks))


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a file so that a reader, or a kill, never meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode(encoding, "replace"))


def page(title: str, body: str) -> str:
    return PAGE.format(title=html.escape(title), body=body)


# --- the table ----------------------------------------------------------------------------------


def grades(graded: Graded, ids: list[str]) -> str:
    """A row a student, a column an exercise, 1 for solved."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow([*IDENTITY, *(f"{id} {find(id).title}" for id in ids), "Total"])
    for submission, result in graded:
        points = [result.marks[id].points for id in ids]
        identity = (as_text(submission.student), submission.id, "", "", "")
        table.writerow([*identity, *points, sum(points)])
    return out.getvalue()


def as_text(name: str) -> str:
    """A name that no spreadsheet takes for a formula.

    >>> as_text("=1+1"), as_text("Ada")
    ("'=1+1", 'Ada')
    """
    return "'" + name if name.lstrip().startswith(("=", "+", "-", "@", "|", "%", "＝")) else name


# --- one student --------------------------------------------------------------------------------


def feedback_page(result: Result) -> str:
    """The same feedback that `check` gives, for each exercise, and what could not be graded."""
    parts = [f"<p>{result.total} of {len(result.marks)} exercises solved.</p>"]
    parts += [message(mark).html() for mark in result.marks.values()]
    if result.notes:
        parts.append("<h2>What could not be run or read</h2>" + _listing(result.notes))
    return page(f"Feedback for {result.student}", "\n".join(parts))


def message(mark: Mark) -> Message:
    if mark.status is not Status.MISSING:
        return feedback(mark.report())
    exercise = find(mark.id)
    text = f"No function named {exercise.answer} was found: write {exercise.signature}."
    return Message(f"Exercise {exercise.id} · {exercise.title}: not found", (Item(text),))


def _listing(texts: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in texts) + "</ul>"


# --- the class ----------------------------------------------------------------------------------


def class_page(graded: Graded, ids: list[str], remarks: list[str]) -> str:
    """How the exercises went, hardest first, and which mistakes were made how often."""
    counts = {id: Counter(_status(result.marks[id]) for _, result in graded) for id in ids}
    hardest = sorted(ids, key=lambda id: (counts[id][Status.PASSED], ids.index(id)))
    parts = [f"<p>{len(graded)} students, {len(ids)} exercises. Hardest exercises first.</p>"]
    parts.append(chart(hardest, counts, len(graded)))
    parts += [_exercise_section(id, counts[id], graded) for id in hardest]
    parts.append("<h2>Students</h2>" + _students(graded, len(ids)))
    if remarks:
        parts.append("<h2>How it was graded</h2>" + _listing(remarks))
    return page("The class", "\n".join(parts))


def _status(mark: Mark) -> Status:
    return Status.BLANK if mark.status is Status.MISSING else mark.status


def chart(ids: list[str], counts: dict[str, Counter], students: int) -> str:
    """A bar an exercise: solved, wrong, not attempted."""
    left, width, step = 340, 460, 26
    told = "; ".join(f"{id}: {counts[id][Status.PASSED]} of {students} solved" for id in ids)
    bars = []
    for row, id in enumerate(ids):
        y, x = row * step, float(left)
        name = html.escape(textwrap.shorten(f"{id} {find(id).title}", 48, placeholder=" …"))
        bars.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{name}</text>')
        for outcome, colour in COLOURS.items():
            size = width * counts[id][outcome] / max(students, 1)
            bars.append(
                f'<rect x="{x:.1f}" y="{y + 2}" width="{size:.1f}" height="{step - 6}" '
                f'fill="{colour}"><title>{counts[id][outcome]} {WORDS[outcome]}</title></rect>'
            )
            x += size
        bars.append(f'<text x="{left + width + 8}" y="{y + 16}">{counts[id][Status.PASSED]}</text>')
    height = step * len(ids) + 24
    x = left
    for outcome, colour in COLOURS.items():
        bars.append(f'<rect x="{x}" y="{height - 18}" width="12" height="12" fill="{colour}"/>')
        bars.append(f'<text x="{x + 18}" y="{height - 7}">{WORDS[outcome]}</text>')
        x += 130
    return (
        f'<svg role="img" aria-label="{html.escape(told)}" viewBox="0 0 {left + width + 50} '
        f'{height}" width="{left + width + 50}">{"".join(bars)}</svg>'
    )


def _exercise_section(id: str, counts: Counter, graded: Graded) -> str:
    marks = [result.marks[id] for _, result in graded]
    reasons = Counter(_reason(mark) for mark in marks if mark.status is Status.FAILED)
    title = html.escape(f"Exercise {id} · {find(id).title}")
    told = ", ".join(f"{counts[outcome]} {word}" for outcome, word in WORDS.items())
    rows = "".join(
        f'<tr><td class="number">{times} ×</td><td>{html.escape(reason)}</td></tr>'
        for reason, times in reasons.most_common()
    )
    listing = f"<table>{rows}</table>" if rows else ""
    return f"<h2>{title}</h2>\n<p>{told}.</p>\n{listing}"


def _reason(mark: Mark) -> str:
    """The known mistake, or what is common to answers that none explains."""
    return mark.diagnosis or (IN_GENERAL[mark.outcome] if mark.outcome else "Other.")


def _students(graded: Graded, exercises: int) -> str:
    rows = []
    for submission, result in graded:
        name = html.escape(submission.student)
        link = f'<a href="feedback/{html.escape(submission.slug)}.html">{name}</a>'
        notes = f"{len(result.notes)} notes" if result.notes else ""
        rows.append(
            f"<tr><td>{link}</td><td>{result.total} of {exercises}</td><td>{notes}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"
