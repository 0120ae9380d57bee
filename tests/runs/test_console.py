"""What a person sees of a run: a bar or lines, and its last line, whoever reads them."""

import errno
import io
import os
import re
import subprocess
import sys

import pytest
from run_helpers import SECONDS, entries, resume

from tfmlib.__main__ import main
from tfmlib.runs import console

pytestmark = pytest.mark.usefixtures("one_thread")


def test_without_a_terminal_progress_is_plain_lines(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    assert main([*flags, "--steps=2", f"--out={tmp_path / 'run'}"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "\r" not in "".join(lines)
    assert lines[0].startswith("step 1 of 2: loss ")
    assert lines[0].endswith(" left")
    assert " tokens/s, " in lines[1]
    assert lines[2].startswith("step 2: validation ")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal], ids=["pipe", "terminal"])
def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(
    flags, tmp_path, monkeypatch, capsys, kind
):
    class Closed(kind):
        def write(self, text):
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", Closed())
    assert main([*flags, "--steps=5", "--resume", f"--out={tmp_path / 'run'}"]) == 0
    assert "test of 5 unseen sentences" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stderr", None)  # closed before it began
    assert main([*flags, "--steps=6", "--resume", f"--out={tmp_path / 'run'}"]) == 0
    assert [e["step"] for e in entries(tmp_path / "run") if "loss" in e] == [1, 2, 3, 4, 5, 6]


def test_a_terminal_gets_a_bar_with_loss_speed_and_time_left(flags, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main([*flags, "--steps=5", f"--out={tmp_path / 'run'}"]) == 0
    last = terminal.getvalue().split("\r")[-1]
    assert re.search(r"100%.*5/5 \[\d\d:\d\d<\d\d:\d\d, .*loss \d\.\d{3}, [\d,]+ tokens/s\]", last)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_run_whose_last_line_cannot_be_written_has_ended_well(finished):
    command = [sys.executable, "-m", "tfmlib", "train", "--resume", "--device=cpu"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, f"--out={finished}"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0
    *_, line = done.stderr.splitlines()
    assert line.startswith(f"{finished}: test of 5 unseen sentences, ")
    assert line.endswith("(Could not write to standard output: No space left on device.)")


def test_a_folder_whose_name_the_output_cannot_have_is_told_all_the_same(
    finished, tmp_path, monkeypatch
):
    other = finished.rename(tmp_path / "ü")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert resume(other) == 0
    assert rb"\xfc: test of 5 unseen sentences" in output.getvalue()
