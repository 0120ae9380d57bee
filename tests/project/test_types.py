"""The library's types: mypy finds nothing, and it would find what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WRONG = {  # a call: what mypy has to say about it
    'ref.one_hot([1], "five")': 'to "one_hot" has incompatible type "str"; expected "int"',
    "ref.softmax([1.0]).upper()": 'has no attribute "upper"',
    "EncoderLayer(object())": 'has incompatible type "object"; expected "LayerConfig"',
    "Task([], [], [], object())": 'has incompatible type "object"; expected "Tokenizer"',
    "greedy(None, None, 5).upper()": '"Tensor" has no attribute "upper"',
}
IMPORTS = """\
from tfmlib import ref
from tfmlib.data import Task
from tfmlib.generate import greedy
from tfmlib.model import EncoderLayer
"""


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", *arguments]
    environment = os.environ | {"MYPYPATH": str(ROOT)}  # for callers elsewhere
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


@pytest.mark.lint
def test_the_library_has_no_type_errors():
    result = mypy()
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_callers_who_are_wrong_are_told(tmp_path):
    (tmp_path / "caller.py").write_text(IMPORTS + "\n".join(WRONG))
    result = mypy(str(tmp_path / "caller.py"))
    for line, (call, complaint) in enumerate(WRONG.items(), start=IMPORTS.count("\n") + 1):
        told = [said for said in result.stdout.splitlines() if f":{line}: error:" in said]
        assert any(complaint in said for said in told), f"{call}: {told}"
