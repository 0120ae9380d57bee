"""environment.py: a sentence for a Python that does not fit, and .venv made anew if it must be."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import environment

ROOT = Path(__file__).resolve().parents[2]
HERE = sys.version_info[:3]


@pytest.fixture
def venv(tmp_path, monkeypatch) -> Path:
    """A .venv in a folder of its own, whole and up to date, whose Python is this one."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    monkeypatch.setattr(environment, "VENV", folder)
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(environment, "STAMP", folder / "installed.json")
    stamp(folder)
    return folder


@pytest.fixture
def commands(venv, monkeypatch) -> list[list[str]]:
    """What would be run to make the environment."""
    made: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda command, cwd: made.append(command) or 0)
    return made


def stamp(venv: Path, **changes: str) -> None:
    found = {
        "folder": str(venv),
        "python": environment.dotted(HERE[:2]),
        "requirements": environment.requirements(),
    }
    (venv / "installed.json").write_text(json.dumps(found | changes))


@pytest.mark.parametrize("version", [(3, 9, 18), (3, 10, 13), (3, 14, 0), (4, 0, 0)])
def test_a_python_that_does_not_fit_is_told_in_one_sentence(version, monkeypatch, capsys, commands):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    environment.STAMP.unlink()
    assert environment.main([]) == 2
    assert capsys.readouterr().err == (
        f"This book needs Python 3.11 to 3.13; python3 is {environment.dotted(version)}. "
        "Name another: make book PYTHON=python3.12\n"
    )
    assert not commands


def test_it_does_not_matter_who_asks_if_the_environment_is_good(monkeypatch, commands):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    assert environment.main([]) == 0
    assert not commands


def test_a_python_without_venv_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    assert "apt install python3.11-venv" in environment.fault_of((3, 11, 2))


def test_the_versions_are_those_of_the_library():
    wanted = re.search(r'requires-python = "(.+)"', (ROOT / "pyproject.toml").read_text())[1]
    beyond = (environment.NEWEST[0], environment.NEWEST[1] + 1)
    assert wanted == f">={environment.dotted(environment.OLDEST)},<{environment.dotted(beyond)}"


def test_an_old_python_can_read_the_file():
    ast.parse((ROOT / "environment.py").read_text(encoding="utf-8"), feature_version=(3, 7))


def test_nothing_is_done_if_nothing_has_changed(commands):
    assert environment.main([]) == environment.main(["--this"]) == 0
    assert not commands


@pytest.mark.parametrize(
    "change",
    [{"folder": "/elsewhere/.venv"}, {"python": "3.9"}],
    ids=["moved", "of another Python"],
)
def test_an_environment_that_is_of_no_use_is_emptied_first(change, venv, commands):
    stamp(venv, **change)
    assert environment.main([]) == 0
    assert commands[0][1:] == ["-m", "venv", "--clear", str(venv)]
    assert len(commands) == 3
    assert environment.main([]) == 0
    assert len(commands) == 3  # it is good now


@pytest.mark.parametrize("content", ["", "done", "{}"])
def test_an_installation_that_did_not_finish_is_begun_again(content, venv, commands):
    environment.STAMP.write_text(content)
    assert environment.main([]) == 0
    assert "--clear" in commands[0]


def test_an_environment_whose_python_is_gone_is_emptied_first(venv, commands, monkeypatch):
    monkeypatch.setattr(environment, "PYTHON", venv / "bin/python")
    monkeypatch.setattr(subprocess, "call", lambda command, cwd: commands.append(command) or 1)
    assert environment.main([]) == 1
    assert "--clear" in commands[0]


def test_another_python_is_taken_only_if_it_was_named(commands, monkeypatch):
    monkeypatch.setattr(environment, "version_of_venv", lambda: (*HERE[:2], HERE[2] + 1))
    assert environment.main([]) == 0
    assert not commands
    assert environment.main(["--this"]) == 0
    assert "--clear" in commands[0]


def test_new_requirements_are_installed_into_what_is_there(venv, commands):
    stamp(venv, requirements="others")
    assert environment.main([]) == 0
    assert [command[1:4] for command in commands] == [["-m", "pip", "install"]] * 2
    assert environment.read_stamp()["requirements"] == environment.requirements()


def test_an_installation_that_fails_leaves_no_stamp(venv, monkeypatch):
    stamp(venv, requirements="others")
    monkeypatch.setattr(subprocess, "call", lambda command, cwd: 7)
    assert environment.main([]) == 7
    assert not environment.STAMP.exists()


def test_settings_of_tools_do_not_ask_for_an_installation(tmp_path, monkeypatch):
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    before = environment.requirements()
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write("\n[tool.other]\nx = 1\n")
    assert environment.requirements() == before
    with (tmp_path / "constraints.txt").open("a") as file:
        file.write("other==1.0\n")
    assert environment.requirements() != before
