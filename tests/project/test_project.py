"""The project itself: its style, its light imports, and a README that tells the truth."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_has_nothing_to_say(arguments):
    result = run(sys.executable, "-m", "ruff", *arguments, ".")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "module", ["tfmlib", "tfmlib.ref", "tfmlib.check", "tfmlib.ledger", "tfmlib.tokenizer"]
)
def test_understanding_needs_numpy_alone(module):
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'matplotlib', 'IPython', 'yaml'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        f"import {module}\n"
    )
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr


def test_every_module_stands_in_the_readmes_tree():
    """One line a file: a newcomer finds the attention equation in seconds."""
    packages = [ROOT / "tfmlib", ROOT / "book"]
    files = [p.name for folder in packages for p in folder.glob("*.py")]
    missing = [name for name in files if not name.startswith("__") and name not in README]
    assert not missing


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:`|^)make ([a-z-]+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_everything_the_makefile_installs_is_pinned():
    for name in ("requirements.txt", "requirements-bench.txt", "constraints.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            requirement = line.split("#")[0].strip()
            if requirement and not requirement.startswith("-"):
                assert re.match(r"^[A-Za-z0-9._\[\]-]+==[^*\s]+", requirement), f"{name}: {line}"


def test_continuous_integration_runs_the_readmes_test_command():
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.search(r"^make test$", script, re.MULTILINE)
    workflow = (ROOT / ".github/workflows/verify.yml").read_text(encoding="utf-8")
    for system in ("ubuntu", "macos", "windows"):
        assert system in workflow
