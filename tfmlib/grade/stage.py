"""What a submission sees of this library: a list of what it may, never of what it may not.

A new module is hidden until someone adds it here. Nothing that is listed knows an answer's check.
"""

import compileall
import os
import shutil
import site
import sys
from pathlib import Path

import tfmlib

PACKAGE = Path(tfmlib.__file__).resolve().parent
INSIDE = Path(__file__).with_name("inside")
# What the chapters' own cells import, and what that needs in turn.
ALLOWED = (
    "__init__.py",
    *("ref.py", "model.py", "generate.py", "tokenizer.py", "data.py"),
    *("train.py", "parallel.py", "checkpoint.py", "pretrained.py"),
    *(f"support/{name}.py" for name in ("__init__", "arrays", "files", "tiles")),
    *(f"support/{name}.py" for name in ("validate", "validate_torch")),
    *(f"checking/{name}.py" for name in ("__init__", "call", "outcome", "pipe", "wire")),
    *(f"ledger/{name}.py" for name in ("__init__", "entry", "printed", "probes", "table")),
    *(f"ledger/{name}.py" for name in ("notes", "notes_cost", "notes_practice", "paper")),
    *(f"ledger/{name}.py" for name in ("masked_softmax", "norm_training", "published")),
    *(f"ledger/{name}.py" for name in ("handwritten", "slides", "whiteboard")),
)
STUBS = ("check.py", "plots.py")  # in place of the real ones
SITES = ("lib*/python*/site-packages", "lib*/python*/dist-packages", "Lib/site-packages")


def make_stage(folder: Path) -> Path:
    """Copy what is allowed, and the stubs, for the student's process to import."""
    stage = folder / "stage"
    for name in ALLOWED:
        target = stage / "tfmlib" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, target)
    for name in STUBS:
        shutil.copy(INSIDE / name, stage / "tfmlib" / name)
    shutil.copy(INSIDE / "student.py", stage / "tfm_student.py")
    compileall.compile_dir(stage, quiet=2)  # once, not once per student
    for place, _, files in os.walk(folder):
        os.chmod(place, 0o755)
        for name in files:
            os.chmod(Path(place, name), 0o644)
    return stage


def visible_places(stage: Path) -> list[str]:
    """What a notebook needs to read: Python, its packages, system libraries, the stage."""
    system = ["/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"]
    system += ["/etc/localtime", "/usr/share/zoneinfo", "/sys/devices/system/cpu"]
    wanted = [*system, sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), str(stage)]
    exist = sorted({p for p in wanted if os.path.exists(p) and p != "/"}, key=len)
    return [p for i, p in enumerate(exist) if not any(_inside(p, other) for other in exist[:i])]


def _inside(path: str, folder: str) -> bool:
    return not os.path.islink(folder) and path.startswith(folder.rstrip("/") + "/")


def hidden_places() -> list[str]:
    """Every copy of the library: this one, with the clone around it, and those that are installed.

    A copy among installed packages is hidden alone: a notebook needs the packages beside it.
    """
    copies = {PACKAGE, *_installed_copies()}
    clones = {c.parent for c in copies if c.parent.name not in ("site-packages", "dist-packages")}
    return sorted(str(place) for place in copies | clones)


def _installed_copies() -> set[Path]:
    prefixes = {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), "/usr"}
    folders = {Path(entry) for entry in (*sys.path, *site.getsitepackages()) if entry}
    folders.add(Path(site.getusersitepackages()))
    folders.add(Path("/usr/lib/python3/dist-packages"))
    for prefix in prefixes:
        for pattern in SITES:
            folders.update(Path(prefix).glob(pattern))
    named = {folder / "tfmlib" for folder in folders}
    return {path for copy in named if copy.is_dir() for path in (copy.absolute(), copy.resolve())}
