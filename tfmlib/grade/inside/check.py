"""In place of the learner's check: remembers its calls, checks nothing."""

calls: list[tuple[str, object]] = []


def check(id: object, answer: object) -> None:
    if len(calls) < 100:
        calls.append((str(id), answer))


def hint(*args: object) -> None:
    pass


solution = progress = hint
