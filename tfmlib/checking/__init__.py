"""The engine of the exercises: call an answer, compare, diagnose, tell, and prove all that."""

from collections.abc import Callable
from typing import Any

Answer = Callable[..., Any]  # what a learner writes
Args = tuple[Any, ...]  # what it is called with
