"""The log of a run: cut back to its checkpoint, and lines that are none of ours."""

import json

import pytest
from run_helpers import entries, refused, resume

from tfmlib.runs.log import read_log, truncate_log

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_log_is_cut_back_to_its_checkpoint_and_a_torn_line_goes(tmp_path):
    path = tmp_path / "log.jsonl"
    kept = [{"step": 1, "loss": 3.5}, {"step": 2, "loss": 2.5}, {"step": 2, "validation": {}}]
    later = [{"step": 2, "test": {}}, {"step": 3, "loss": 1.5}]
    lines = [json.dumps(entry) + "\n" for entry in kept + later]
    path.write_text("".join(lines) + '{"step": 4, "lo')
    truncate_log(path, 2)
    assert path.read_text() == "".join(lines[:3])
    truncate_log(path, 0)
    assert path.read_text() == ""


@pytest.mark.parametrize(
    "line", ["{", "[3]", '{"loss": 3.5}', '{"step": "3"}', '{"step": true}', "\0", "[" * 10**5]
)
def test_a_line_of_the_log_that_is_none_of_ours_is_told_and_nothing_changed(finished, capsys, line):
    path = finished / "log.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([first, "", line, *others, ""]))
    sentence = refused(capsys, finished, "train", "--resume", "--steps=12")
    assert sentence.startswith(
        f"{path}, line 3: expected a JSON object with a whole number as its step, got "
    )
    assert sentence.endswith("; remove this line.")
    path.write_text("\n".join([first, "", *others, '{"step": 11, "te']))  # blank, and torn
    assert resume(finished, "--steps=12") == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 13))


def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path):
    (tmp_path / "log").write_text('{"step": 1}\n{"step": 2}')
    assert read_log(tmp_path / "log") == [{"step": 1}, {"step": 2}]
