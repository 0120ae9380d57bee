"""The commands `train` and `translate`: flags, help, and what they import."""

import doctest
import subprocess
import sys
from dataclasses import asdict

import pytest
from run_helpers import SECONDS

from tfmlib.__main__ import main
from tfmlib.runs import command, failures, folder, session, settings
from tfmlib.runs.settings import Settings, flag_name

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_misspelt_flag_is_told_with_the_flags_of_the_command(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--stpes", "5", "--out", str(tmp_path / "run")])
    told = capsys.readouterr().err
    assert told.startswith("usage: python -m tfmlib train")
    assert told.endswith("error: unrecognized arguments: --stpes 5\n")


def test_an_interrupt_while_torch_is_imported_is_quiet(flags, tmp_path, monkeypatch, capsys):
    class Interrupted:
        def find_spec(self, name, *_):
            if name == "tfmlib.runs.session":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tfmlib.runs.session")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert main([*flags, f"--out={tmp_path / 'run'}"]) == 130
    assert capsys.readouterr() == ("", "")


def in_new_python(code: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_no_other_command_waits_for_torch():
    code = (
        "import sys\n"
        "from tfmlib.__main__ import main\n"
        "main(['exercises'])\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'tqdm' not in sys.modules\n"
    )
    done = in_new_python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["train", "translate"])
def test_who_asks_for_help_does_not_wait_for_torch(command):
    code = (
        "import sys\n"
        "from tfmlib.__main__ import main\n"
        "try:\n"
        f"    main(['{command}', '--help'])\n"
        "finally:\n"
        "    assert 'torch' not in sys.modules\n"
    )
    done = in_new_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_an_interrupt_while_the_commands_are_imported_is_quiet():
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'tfmlib.runs.command':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from tfmlib.__main__ import main\n"
        "sys.exit(main(['exercises']))\n"
    )
    done = in_new_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_every_setting_has_a_flag(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    shown = capsys.readouterr().out
    for name in asdict(Settings()):
        assert flag_name(name) in shown


@pytest.mark.parametrize("text", ["d_model", "d_model=", "d_model=many", "=3 4"])
def test_a_change_that_is_none_is_refused(tmp_path, capsys, text):
    with pytest.raises(SystemExit):
        main(["train", f"--out={tmp_path / 'run'}", f"--set={text}"])
    assert "expected NAME=VALUE with a number, true or false" in capsys.readouterr().err


def test_the_examples_in_the_docstrings_are_true():
    for module in (command, failures, folder, session, settings):
        tested = doctest.testmod(module)
        assert tested.attempted > 0
        assert tested.failed == 0
