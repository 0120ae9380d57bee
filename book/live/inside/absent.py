"""What a page does not have: torch and all that needs it can be imported there, but not used."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import ClassVar

LIBRARIES = ("torch", "matplotlib", "transformers", "safetensors", "num2words")
TRAINING = ("model", "generate", "data", "train", "parallel", "checkpoint", "pretrained", "runs")
NAMES = frozenset(LIBRARIES) | {f"tfmlib.{name}" for name in TRAINING}


class NotHereError(Exception):
    """A cell used what only Jupyter has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} does not run in a page: open this chapter in Jupyter.")


class Absent:
    """Stands for a name of an absent module: it can be passed around, and nothing else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: object, **__: object) -> object:
        raise NotHereError(self._name)

    def __getattr__(self, attribute: str) -> object:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise NotHereError(self._name)


class AbsentModule(types.ModuleType):
    """So that `import torch` in a chapter's set-up does not keep its other cells from running."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(self.__name__)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are not there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if is_absent(name) else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


def is_absent(name: str) -> bool:
    """Whether a module, or a name in one, is not to be had in a page.

    >>> is_absent("torch.nn"), is_absent("tfmlib.model.Transformer"), is_absent("tfmlib.ref")
    (True, True, False)
    """
    parts = name.split(".")
    return any(".".join(parts[:end]) in NAMES for end in (1, 2))


def install() -> None:
    sys.meta_path.insert(0, Finder())
