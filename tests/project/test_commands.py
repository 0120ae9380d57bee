"""The command line: quick, installable, and never a traceback for what is no fault of ours."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tfmlib import __main__, __version__

ROOT = Path(__file__).resolve().parents[2]
REFUSE = (
    "import sys\n"
    "class Refuse:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.split('.')[0] in {refused!r}:\n"
    "            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)\n"
    "sys.meta_path.insert(0, Refuse())\n"
    "from tfmlib.__main__ import main\n"
    "sys.exit(main({arguments!r}))\n"
)


def tfmlib(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tfmlib", *arguments]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT} | options
    return subprocess.run(command, text=True, encoding="utf-8", timeout=120, check=False, **given)


def without(refused: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess:
    """Run a command where these packages are not installed."""
    code = REFUSE.format(refused=refused, arguments=list(arguments))
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT, check=False
    )


def test_the_version_is_the_librarys():
    assert tfmlib("--version").stdout == f"tfmlib {__version__}\n"


def test_help_needs_no_torch_and_names_every_command():
    done = without(("torch", "matplotlib", "tqdm", "num2words", "yaml", "IPython"), "--help")
    assert done.returncode == 0, done.stderr
    for command in ("exercises", "verify", "answers", "grade", "ledger", "train", "translate"):
        assert f"\n    {command} " in done.stdout


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("torch", "train", ["train", "--task", "en-de", "--out", "OUT"]),
        ("num2words", "train", ["train", "--task", "en-de", "--out", "OUT"]),
        ("torch", "train", ["translate", "OUT", "seven"]),
    ],
)
def test_a_package_that_is_not_installed_is_told_in_one_sentence(
    package, extra, arguments, tmp_path
):
    (tmp_path / "run").mkdir()
    arguments = [str(tmp_path / "run") if word == "OUT" else word for word in arguments]
    done = without((package,), *arguments)
    assert done.returncode == 1
    assert done.stderr == (
        f"This command needs {package}, which is not installed: "
        f'pip install ".[{extra}]" in the folder of the book.\n'
    )


def test_what_is_missing_through_our_own_fault_is_not_hidden(monkeypatch):
    def fail(arguments):
        raise ModuleNotFoundError("No module named 'tfmlib.nowhere'", name="tfmlib.nowhere")

    monkeypatch.setattr(__main__, "_run", fail)
    with pytest.raises(ModuleNotFoundError):
        __main__.main([])


def test_every_extra_that_is_recommended_brings_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert {package for packages in extras.values() for package in packages} == {*__main__.EXTRAS}
    assert all(package in extras[extra] for package, extra in __main__.EXTRAS.items())


PRINTING = [
    ["exercises"],
    pytest.param(["ledger"], marks=pytest.mark.slow),
    pytest.param(["verify", "--only", "0.1"], marks=pytest.mark.slow),
]


@pytest.mark.skipif(os.name == "nt", reason="needs a shell's pipes")
@pytest.mark.parametrize("arguments", [*PRINTING, ["--help"]], ids=" ".join)
def test_a_reader_that_leaves_ends_a_command_in_silence(arguments):
    reading, writing = os.pipe()
    os.close(reading)  # as head does, but always before the first word
    try:
        done = tfmlib(*arguments, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_an_output_that_is_full_is_told_in_one_sentence(arguments):
    with open("/dev/full", "wb") as full:
        done = tfmlib(*arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "Could not write the output: No space left on device.\n"


def test_a_pipe_is_in_utf8_whatever_the_locale():
    surroundings = {k: v for k, v in os.environ.items() if k != "PYTHONIOENCODING"}
    surroundings |= {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = tfmlib("ledger", env=surroundings)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.isascii()


def test_a_letter_that_the_output_cannot_have_is_told_in_one_sentence():
    done = tfmlib("ledger", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("The output in ascii cannot have '")
    assert line.endswith("'; set PYTHONIOENCODING=utf-8.")


def test_an_interrupted_command_ends_in_silence(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "_run", interrupt)
    assert __main__.main([]) == 130
    assert capsys.readouterr() == ("", "")


def test_errors_of_a_file_are_not_taken_for_errors_of_the_output(monkeypatch):
    def fail(arguments):
        raise OSError(28, "No space left on device", "some/file")

    monkeypatch.setattr(__main__, "_run", fail)
    with pytest.raises(OSError, match="some/file"):
        __main__.main([])


def test_the_script_calls_itself_by_its_name(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/tfmlib", "--help"])
    with pytest.raises(SystemExit):
        __main__.main()
    assert capsys.readouterr().out.startswith("usage: tfmlib ")
