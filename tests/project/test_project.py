"""The project itself: its style, its light imports, and documents that tell the truth."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import tfmlib

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"^([a-z-]+):.*?## (.+)$", MAKEFILE, re.MULTILINE))


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


# --- the tools that `make check` runs -----------------------------------------------------------


@pytest.mark.lint
@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_has_nothing_to_say(arguments):
    result = run(sys.executable, "-m", "ruff", *arguments, ".")
    assert result.returncode == 0, result.stdout


def test_what_make_check_leaves_out_is_there():
    paths = re.search(r"^SLOW := ((.+\\\n)*.+)$", MAKEFILE, re.MULTILINE)[1]
    paths = paths.replace("\\\n", " ").split()
    assert len(paths) > 3
    assert not [path for path in paths if not (ROOT / path).exists()]


# --- light imports ------------------------------------------------------------------------------


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


# --- the README's tree --------------------------------------------------------------------------


def paths_of_the_tree(text: str) -> list[str]:
    """The paths that a tree names, by its indentation.

    >>> paths_of_the_tree("a/    a room\\n  b.py  a file\\n  c/ d/  two more")
    ['a/', 'a/b.py', 'a/c/', 'a/d/']
    """
    paths, folders = [], []
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.split(r" {2,}", line.strip())[0].split()
        del folders[depth:]
        paths += ["".join([*folders, name]) for name in names]
        folders.append(names[0])
    return paths


TREE = paths_of_the_tree(README.partition("## The tree\n\n```\n")[2].partition("\n```")[0])


def meant(line: str) -> list[Path]:
    """What a line of the tree means: `NN-topic` is every chapter."""
    return list(ROOT.glob(line.replace("NN", "[0-9][0-9]").replace("topic", "*").rstrip("/")))


def test_all_that_the_readmes_tree_names_is_there():
    assert len(TREE) > 40
    assert not [line for line in TREE if not meant(line)]


def test_every_module_stands_in_the_readmes_tree():
    """One line per file, or one for a folder whose files are not listed one by one."""
    listed = {path for line in TREE for path in meant(line)}
    closed = listed - {path.parent for path in listed}
    modules = [path for room in ("tfmlib", "book") for path in ROOT.glob(f"{room}/**/*.py")]
    assert len(modules) > 60
    named = [path for path in modules if not path.name.startswith("__")]
    assert not [path for path in named if closed.isdisjoint({path, *path.parents})]


# --- make, versions, workflows ------------------------------------------------------------------


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_make_target_of_the_documents_exists(text):
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert {"check", "verify"} <= named
    assert named <= TARGETS.keys()


def test_make_lists_every_target_with_what_it_does():
    declared = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[1].split()
    assert set(declared) == set(TARGETS)
    help_text = run("make").stdout
    for target, comment in TARGETS.items():
        assert re.search(rf"^make {target} +{re.escape(comment)}$", help_text, re.MULTILINE)


def test_everything_the_makefile_installs_is_pinned():
    for name in ("requirements.txt", "requirements-bench.txt", "constraints.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            requirement = line.split("#")[0].strip()
            if requirement and not requirement.startswith("-"):
                assert re.match(r"^[A-Za-z0-9._\[\]-]+==[^*\s]+", requirement), f"{name}: {line}"


def test_one_version_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\]", changelog, re.MULTILINE)[1]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert newest == citation["version"] == tfmlib.__version__
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_continuous_integration_runs_the_readmes_test_command():
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.search(r"^make test$", script, re.MULTILINE)
    workflow = (ROOT / ".github/workflows/verify.yml").read_text(encoding="utf-8")
    for system in ("ubuntu", "macos", "windows"):
        assert system in workflow


def workflow(name: str) -> dict:
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))


def commands(job: dict) -> list[str]:
    return [step["run"] for step in job["steps"] if step.get("run", "").startswith("make ")]


def test_workflows_may_only_read_and_call_targets_that_exist():
    for name in ("verify", "pages"):
        assert workflow(name)["permissions"] == {"contents": "read"}
        for job in workflow(name)["jobs"].values():
            assert {command.split()[1] for command in commands(job)} <= TARGETS.keys()


def test_the_tests_of_a_workflow_wait_for_the_light_ones_and_cover_every_python():
    jobs = workflow("verify")["jobs"]
    assert commands(jobs["check"]) == ["make check PYTHON=python"]
    assert jobs["verify"]["needs"] == "check"
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest, beyond = (int(minor) for minor in re.findall(r"3\.(\d+)", wanted))
    pythons = jobs["verify"]["strategy"]["matrix"]["python"]
    assert pythons == [f"3.{minor}" for minor in range(oldest, beyond)]


def test_the_book_is_published_with_the_rights_that_this_needs_and_no_other():
    jobs = workflow("pages")["jobs"]
    assert "permissions" not in jobs["build"]
    assert commands(jobs["build"]) == ["make book PYTHON=python"]
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
