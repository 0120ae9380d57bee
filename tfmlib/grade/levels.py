"""How strongly a notebook is shut in, and how much it may use."""

from dataclasses import dataclass

LEVELS = {
    "full": "No network; only Python and the library can be read; nothing outside can be written.",
    "user": "Notebooks run as another user: nothing of yours can be written, but the network is "
    "open, and a submission that knows where the solutions are can read them.",
    "weak": "Notebooks run with your own rights: the network is open, and your files can be read "
    "and written. Grade only submissions that you trust.",
}


@dataclass(frozen=True)
class Limits:
    """How much a notebook may use; times in seconds."""

    cell: float = 20.0
    cells: float = 60.0  # all cells of a notebook together, restarts included
    call: float = 4.0  # one call of an answer
    exercise: float = 10.0  # all calls of one exercise
    judge: float = 30.0  # all that is done about one exercise, comparing included
    memory_bytes: int = 4 * 2**30
    processes: int = 32
    file_bytes: int = 16 * 2**20
    restarts: int = 6

    @property
    def start(self) -> float:
        return 30.0
