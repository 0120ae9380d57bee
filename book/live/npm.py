"""Packages from npm, as package-lock.json pins them by their hashes; no host is named anywhere.

node and npm are the system's, or those that `environment.py` put into .venv where it has none.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import portalocker

HERE = Path(__file__).parent
LISTS = (HERE / "package.json", HERE / "package-lock.json")
CACHE = HERE.parents[1] / "_build" / "npm"
# What npm calls it when a registry cannot be reached, or does not have or give what is asked for.
OUT_OF_REACH = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EHOSTUNREACH|"
    r"ENETUNREACH|ECONNABORTED|EPROTO|ENOTCACHED|E40[1347]|E5\d\d)\b"
)
FETCH = ("--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000")


class OutOfReachError(Exception):
    """The packages cannot be had here and now; the sentence says why."""


class NpmError(Exception):
    """npm refused what it got, or failed in another way: not to be passed over."""


def program(name: str) -> str | None:
    """The path of `node` or `npm`: of the environment that runs this, or of the system."""
    own = str(Path(sys.executable).parent)
    return shutil.which(name, path=os.pathsep.join([own, os.environ.get("PATH", "")]))


def packages(cache: Path = CACHE) -> Path:
    """The folder node_modules with just the packages that are pinned, installed if need be."""
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in LISTS)).hexdigest()
    stamp = cache / "installed"
    cache.mkdir(parents=True, exist_ok=True)
    with portalocker.Lock(cache / "lock", timeout=600):  # two builds may begin at once
        if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
            _install(cache)
            stamp.write_text(wanted, "utf-8")
    return cache / "node_modules"


def _install(cache: Path) -> None:
    npm = program("npm")
    if npm is None:
        raise OutOfReachError("npm was not found; `make environment` brings it")
    (cache / "installed").unlink(missing_ok=True)
    for path in LISTS:
        shutil.copy2(path, cache / path.name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", *FETCH]
    # npm's own scripts look for node on the PATH.
    places = os.pathsep.join([str(Path(npm).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": places}
    run = subprocess.run(
        command, cwd=cache, env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise _problem(run.stdout + run.stderr)


def _problem(said: str) -> Exception:
    lines = [line for line in said.splitlines() if line.startswith("npm error")]
    reason = next((line for line in lines if OUT_OF_REACH.search(line)), "")
    if reason and "EINTEGRITY" not in said:
        code = OUT_OF_REACH.search(reason)
        return OutOfReachError(f"npm's registry cannot be reached ({code and code[0]})")
    return NpmError(f"npm could not install what package-lock.json pins:\n{said.strip()[-2000:]}")
