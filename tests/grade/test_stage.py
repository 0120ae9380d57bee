"""What a submission sees of the library: what is listed, and nothing that someone adds tomorrow."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tfmlib.grade import stage
from tfmlib.grade.levels import Limits
from tfmlib.support import notebooks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux to shut in a process")

LIMITS = Limits()
NOBODY = 65534
PLANTED = "answers_of_tomorrow"
ROOMS = ("", "support/", "checking/", "ledger/", "exercises/", "plots/")
# Uses whatever holds the answer: a module that can be imported, or a file that can be read.
THIEF = f"""
import importlib, os
found = []
for name in {[f"tfmlib.{room.replace('/', '.')}{PLANTED}" for room in ROOMS]!r}:
    try:
        found.append(importlib.import_module(name).softmax)
    except ImportError:
        pass
for place, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if f not in ("proc", "sys")]
    for file in files:
        if "{PLANTED}" in file and file.endswith(".py"):
            names = {{}}
            exec(open(os.path.join(place, file)).read(), names)
            found.append(names["softmax"])
if found:
    softmax = found[0]
else:
    def softmax(x):
        return x * 0
"""
ANSWER = """import numpy as np
def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
GRADE = """
import json, sys
from pathlib import Path
from tfmlib.grade import class_run, stage
graded, _ = class_run.grade(Path(sys.argv[1]), Path(sys.argv[2]), [4])
print(json.dumps({"package": str(stage.PACKAGE), "marks": {
    submission.student: result.marks["4.2"].status for submission, result in graded}}))
"""


def submissions(folder: Path) -> Path:
    """Two students: one who looks for an answer, one who has written it."""
    folder.mkdir()
    for student, source in {"thief": THIEF, "honest": ANSWER}.items():
        cells = [{"cell_type": "code", "source": s} for s in (source, 'check("4.2", softmax)')]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (folder / f"{student}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def plant(package: Path) -> None:
    """The library as it is, with a new module of answers in each of its rooms."""
    shutil.copytree(stage.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ROOMS:
        (package / room / f"{PLANTED}.py").write_text(ANSWER, encoding="utf-8")


def find_python(user: str) -> str:
    """A Python of this version that the user may run: one in root's home is for root alone."""
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    if user == "this user":
        return sys.executable
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if not os.path.exists(system):
        pytest.skip(f"there is no {system} for another user")
    return system


def make_python(folder: Path, user: str) -> Path:
    """A Python whose packages are NumPy and tqdm; returns where to put one more."""
    command = [find_python(user), "-m", "venv", "--without-pip", "--symlinks", folder]
    subprocess.run(command, check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs", "tqdm"):
        if (installed / name).exists():
            shutil.copytree(installed / name, packages / name)
    return packages


def run_as(user: str, *command: object, cwd: Path, home: Path) -> subprocess.CompletedProcess:
    options = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if user == "nobody" else {}
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
        check=False,
        **options,
    )


@pytest.mark.parametrize("user", ["this user", "nobody"])
@pytest.mark.parametrize("place", ["in a clone", "installed", "both"])
def test_a_new_module_with_answers_is_invisible(place, user, level):
    base = Path(tempfile.mkdtemp(prefix="tfm-planted-"))  # pytest's own folders are for root alone
    base.chmod(0o777)
    try:
        packages, clone = make_python(base / "python", user), base / "clone"
        clone.mkdir()
        if place != "installed":
            plant(clone / "tfmlib")
        if place != "in a clone":
            plant(packages / "tfmlib")
        command = (base / "python/bin/python", "-c", GRADE, submissions(base / "class"))
        run = run_as(user, *command, base / "out", cwd=clone, home=base)
    finally:
        shutil.rmtree(base)
    if user == "nobody" and "cannot shut a notebook in" in run.stderr:
        pytest.skip("no user namespaces for another user here")
    assert run.returncode == 0, run.stderr[-2000:]
    result = json.loads(run.stdout)
    assert str(base) in result["package"]  # the planted library graded, not this one
    assert result["marks"] == {"honest": "passed", "thief": "failed"}


def test_all_that_is_listed_is_needed_and_nothing_else(tmp_path):
    """The list is what the chapters' cells import, and what that imports in turn."""
    made = stage.make_stage(tmp_path)
    files = {path.relative_to(made).as_posix() for path in made.rglob("*.py")}
    assert files == {"tfm_student.py", *(f"tfmlib/{n}" for n in (*stage.ALLOWED, *stage.STUBS))}


def test_every_import_of_the_chapters_works_on_the_stage(tmp_path):
    """An honest notebook begins with the chapter's own imports."""
    made = stage.make_stage(tmp_path)
    lines = {
        line.strip()
        for code in notebooks.read_folder("notebooks")
        for cell in code
        for line in notebooks.source_of(cell).splitlines()
        if line.strip().startswith(("import tfmlib", "from tfmlib"))
    }
    assert len(lines) > 10
    code = "import sys\n" + "\n".join(sorted(lines)) + "\nprint(sys.modules['tfmlib'].__file__)"
    environment = {**os.environ, "PYTHONPATH": str(made)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-1000:]
    assert run.stdout.startswith(str(made))
