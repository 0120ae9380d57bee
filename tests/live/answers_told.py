"""What a check tells of every solution, of right answers in other forms, and of known mistakes.

Runs in the page's Python and in the test's own, so it needs nothing but tfmlib.
"""

from tfmlib.check import feedback
from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.judge import judge
from tfmlib.support import notebooks


def told(chapters, briefly=False):
    """For each answer: its exercise, its name, how it stands, its mistake, and all the words.

    `briefly` leaves out all but the solution and the first mistake of each exercise.
    """
    for exercise in all_exercises():
        if exercise.chapter not in chapters:
            continue
        solved = notebooks.exercise_cells("solutions")[exercise.id]
        answers = [("the solution", solved.function(exercise.answer))]
        answers += [(mistake.name, mistake.function) for mistake in exercise.mistakes]
        forms = [(form.__name__, form) for form in exercise.forms]
        for name, answer in answers[:2] if briefly else answers + forms:
            report = judge(exercise, answer)
            yield [exercise.id, name, report.status, report.mistake, str(feedback(report))]
