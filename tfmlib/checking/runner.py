"""Calling one answer as often as a check asks, until a call shows that there is no point."""

from tfmlib.checking import Answer, Args, host
from tfmlib.checking.call import Reply
from tfmlib.checking.outcome import FINAL, Outcome

SECONDS = 4.0  # of computing, for one call of an answer
FIRST_CALL = 5  # times as long: it may import a library


class Runner:
    """Calls one answer, as often as asked; after an endless call or a death, no more."""

    def __init__(
        self, answer: Answer, seconds: float = SECONDS, forbidden: frozenset[str] = frozenset()
    ) -> None:
        self.answer, self.seconds, self.forbidden = answer, seconds, forbidden
        self.over: Reply | None = None
        self._caller = host.current().caller(answer, forbidden)
        self._calls = 0

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.end()

    def call(self, args: Args) -> Reply:
        if self.over:
            return self.over
        self._calls += 1
        seconds = self.seconds * (FIRST_CALL if self._calls == 1 else 1)
        reply = self._caller.call(args, seconds)
        if reply.problem in FINAL - {Outcome.BLANK}:
            self.over = reply
        return reply

    def call_afresh(self, args: Args) -> Reply:
        """Call the answer as if for the first time, where a copy of the process can be had."""
        if not self._caller.is_apart:
            return self.call(args)
        with Runner(self.answer, self.seconds, self.forbidden) as fresh:
            return fresh.call(args)
