"""Where the worker enters: `start` once, then one call of `work` for each thing it is asked."""

import json
from collections.abc import Callable

from tfmlib.checking import host

from . import absent, indices
from .session import SECONDS, Page, PageHost, Session, learner, solution_of

_sessions: list[Session] = []


def start(
    send: Callable[[str, str], None],
    now: Callable[[], float],
    set_deadline: Callable[[float], None],
    attempts: str,
) -> None:
    """Make tfmlib at home in a page; `attempts` is what earlier visits recorded."""
    absent.install()
    indices.install()
    page = Page(send, now, set_deadline)
    host.use(PageHost(page, attempts))
    _sessions[:] = [Session(page)]


def work(request: str) -> bool:
    """Do what the page asks, told as JSON; True when it ended well."""
    asked, session = json.loads(request), _sessions[-1]
    do = asked["do"]
    if do == "hint":
        learner.hint(asked["exercise"])
    elif do == "solution":
        session.page.send("solution", solution_of(asked["exercise"]))
    else:
        cells = (asked["sources"], asked["setup"], asked["target"])
        if not session.run(*cells, asked.get("seconds", SECONDS)):
            return False
        if do == "check":
            session.check(asked["exercise"], asked["answer"])
    return True
