"""No submission can forge a mark, or harm the others or the grader.

One class is graded once. Each of its students attacks exercise 4.2 and answers the other
exercises of the chapter rightly: the first must get nothing, the others all they deserve.
"""

import csv
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tfmlib.checking.wire import encode
from tfmlib.grade.class_run import grade
from tfmlib.grade.levels import Limits
from tfmlib.grade.sandbox import BrokenError, Sandbox, as_reply, is_small
from tfmlib.support.notebooks import ROOT
from tfmlib.support.notebooks import exercise_cells as cells

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux to shut in a process")

ATTACKED = "4.2"
LIMITS = Limits(cell=4, cells=20, call=3, exercise=8, memory_bytes=2**31, restarts=2)
SECRET = "the-graders-own-secret"
WRONG = "def softmax(x):\n    return np.zeros_like(x)\n"

# What stands in the cell of exercise 4.2. "LEAK" in an error would tell of a success.
ATTACKS = {
    "patches numpy": WRONG + "np.allclose = np.isclose = np.array_equal = lambda *a, **k: True",
    "patches numpy in the call": """
def softmax(x):
    np.exp = np.sum = np.isclose = np.asarray = None
    return x""",
    "patches builtins": WRONG
    + "import builtins\nbuiltins.all = builtins.isinstance = builtins.len = lambda *a: True",
    "patches tfmlib": WRONG
    + """
from tfmlib import ref
from tfmlib.checking import call, wire
ref.softmax = softmax
call.perform = lambda answer, args: call.Reply(value=True)
wire.encode = lambda value: b'{"dict": [["passed", true]]}'""",
    "puts false modules in place": WRONG
    + """
import sys, types
fake = types.ModuleType("tfmlib.checking.judge")
fake.judge_calls = fake.judge = fake.require_same = lambda *a, **k: True
for name in ("tfmlib.checking.judge", "tfmlib.checking.exercise", "tfmlib.check", "numpy", "json"):
    sys.modules[name] = fake""",
    "imports the checks": """
from tfmlib.checking.catalogue import find
softmax = find("4.2").oracle""",
    "imports the checks from the repository": """
import sys
for name in [n for n in sys.modules if n.split(".")[0] == "tfmlib"]:
    del sys.modules[name]
sys.path.insert(0, ROOT)
from tfmlib.checking.catalogue import find
oracle = find('4.2').oracle
def softmax(x):
    return oracle(x)""",
    "reads the solutions": """
import json, pathlib
for cell in json.loads(next(pathlib.Path(ROOT, "solutions").glob("04-*")).read_text())["cells"]:
    if "def softmax(" in "".join(cell["source"]):
        exec("".join(cell["source"]))""",
    "searches the whole disk": WRONG
    + """
import os
for place, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if f not in ("proc", "sys")]
    for name in files:
        if name in ("grades.csv", "judge.py", "verify.py", "ch04_queries_keys_values.py") and (
            "tfmlib" in place or "solutions" in place or name == "grades.csv"
        ):
            raise RuntimeError("LEAK " + place + name)""",
    "reads environments and memory": WRONG
    + """
import glob, os
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        text = open(path, "rb").read()
    except OSError:
        continue
    if b"pytest" in text or SECRET in text:
        raise RuntimeError("LEAK " + path)
if SECRET in repr(dict(os.environ)).encode():
    raise RuntimeError("LEAK environ")
for pid in {os.getppid(), GRADER}:
    try:
        open(f"/proc/{pid}/mem", "rb").read(1)
        raise RuntimeError("LEAK mem")
    except OSError:
        pass""",
    "kills whatever it can": WRONG
    + """
import os, signal
for pid in (GRADER, os.getppid(), -1):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass""",
    "writes the grades": WRONG
    + """
import os
for folder in (OUT, OUT + "/results", ROOT, ROOT + "/tfmlib", "/usr/lib", np.__path__[0], "/"):
    try:
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/grades.csv", "w") as file:
            file.write("forged")
        raise RuntimeError("LEAK wrote to " + folder)
    except OSError:
        pass
for line in open("/proc/mounts"):
    place, options = line.split()[1], line.split()[3].split(",")
    if "ro" not in options and place not in ("/student", "/proc", "/dev/null", "/dev/urandom"):
        raise RuntimeError("LEAK writable: " + place)""",
    "uses the network": WRONG
    + """
import socket
for place in (("127.0.0.1", PORT), ("192.0.2.1", 80)):
    try:
        socket.create_connection(place, timeout=0.3)
        raise RuntimeError("LEAK network")
    except OSError:
        pass""",
    "claims to equal anything": """
class Liar(np.ndarray):
    def __eq__(self, other):
        return True
    def __array_function__(self, *args):
        return True
    def __bool__(self):
        return True
def softmax(x):
    return np.zeros_like(x).view(Liar)""",
    "is an object that claims equality": """
class Liar:
    def __eq__(self, other):
        return True
    __hash__ = None
    shape = property(lambda self: LIE)
def softmax(x):
    return Liar()""",
    "ends its process in the call": "import os\ndef softmax(x):\n    os._exit(0)",
    "ends its process in the cell": WRONG + "import os\nos._exit(0)",
    "crashes": "import ctypes\ndef softmax(x):\n    ctypes.string_at(0)",
    "bombs in the call": "import os\ndef softmax(x):\n    while True:\n        os.fork()",
    "bombs in the cell": WRONG
    + "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "starts threads without end": """
import threading, time
def softmax(x):
    while True:
        threading.Thread(target=time.sleep, args=(60,)).start()""",
    "never ends in the call": "def softmax(x):\n    while True:\n        pass",
    "never ends in the cell": WRONG
    + "while True:\n    try:\n        while True:\n            pass\n"
    + "    except BaseException:\n        pass",
    "ignores signals": """
import signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
def softmax(x):
    time.sleep(3600)""",
    "leaves a daemon": WRONG
    + """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)""",
    "allocates 100 GB": "def softmax(x):\n    return np.ones(100 * 2**30 // 8)",
    "allocates bit by bit": "def softmax(x):\n    kept = []\n    while True:\n"
    "        kept.append(bytearray(2**24))",
    "fills the disk": """
def softmax(x):
    for n in range(10**6):
        with open(f"file{n}", "wb") as file:
            file.write(bytes(2**24))""",
    "prints without end": "def softmax(x):\n    while True:\n        print('x' * 10_000)",
    "prints past Python": "import os\ndef softmax(x):\n    while True:\n"
    "        os.write(1, b'x' * 10_000)",
    "closes the pipe": "import os\ndef softmax(x):\n    os.closerange(3, 128)\n    return x",
    "floods the pipe": """
import os
def softmax(x):
    while True:
        for pipe in range(3, 20):
            try:
                os.write(pipe, b"x" * 60_000)
            except OSError:
                pass""",
    "floods the pipe from a thread": WRONG
    + """
import os, threading, time
def flood():
    time.sleep(0.03)
    while True:
        for pipe in range(3, 20):
            try:
                os.write(pipe, b"x" * 1_000)
            except OSError:
                pass
threading.Thread(target=flood, daemon=True).start()""",
    "announces a huge reply": """
import os, struct
def softmax(x):
    for pipe in range(3, 20):
        try:
            os.write(pipe, struct.pack("<Q", 2**60))
        except OSError:
            pass""",
    "forges a reply": """
import os, struct
from tfmlib.checking import wire
def softmax(x):
    forged = {"passed": True, "status": "passed", "value": True, "changed": False}
    data = wire.encode({"call": 1, "status": "passed", "reply": forged})
    for pipe in range(3, 20):
        try:
            os.write(pipe, struct.pack("<Q", len(data)) + data)
        except OSError:
            pass
    return np.zeros_like(x)""",
    "replies with 80 MB": "def softmax(x):\n    return np.zeros(10**7)",
    "replies with a vast empty shape": "def softmax(x):\n    return np.zeros((0, 2**40))",
    "replies with a deep list": """
def softmax(x):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return deep""",
    "replies with itself": "def softmax(x):\n    x = []\n    x.append(x)\n    return x",
    "raises markup": "def softmax(x):\n    raise ValueError('<script>alert(1)</script>')",
    "has markup as a type": """
def softmax(x):
    return type("<script>alert(1)</script>", (), {})()""",
    "returns markup": "def softmax(x):\n    return '<img src=x onerror=alert(1)>'",
}


def notebook(attack: str, names: dict) -> str:
    """The solved chapter, its exercise 4.2 replaced by the attack."""
    solved = {id: cell for id, cell in cells("solutions").items() if id.startswith("4.")}
    given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    sources = [solved["4.1"].setup, given]
    sources += [attack if id == ATTACKED else cell.source for id, cell in solved.items()]
    made = [{"cell_type": "code", "metadata": {}, "source": s} for s in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made})


@pytest.fixture(scope="module")
def attacked(tmp_path_factory, level):
    """The results of a class of attackers, by attack, and where they were written."""
    if level != "full":
        pytest.skip("this system cannot give a notebook a file system of its own")
    import socket

    base = tmp_path_factory.mktemp("attacks")
    folder, out = base / "submissions", base / "out"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TFM_SECRET", SECRET)
        names = {"ROOT": str(ROOT), "OUT": str(out), "SECRET": SECRET.encode()}
        names |= {"GRADER": os.getpid(), "PORT": server.getsockname()[1], "LIE": (3, 7)}
        for name, source in ATTACKS.items():
            (folder / f"{name}.ipynb").write_text(notebook(source, names), encoding="utf-8")
        honest = cells("solutions")[ATTACKED].source
        (folder / "honest.ipynb").write_text(notebook(honest, names), encoding="utf-8")
        start = time.monotonic()
        graded, _ = grade(folder, out, [4], level, LIMITS)
        took = time.monotonic() - start
    return {s.student: r for s, r in graded}, out, took


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_nothing_and_costs_no_other_exercise(attacked, name):
    results, _, _ = attacked
    points = {id: mark.points for id, mark in results[name].marks.items()}
    assert points[ATTACKED] == 0
    assert sum(points.values()) == len(points) - 1, results[name].notes
    assert not [note for note in results[name].notes if "LEAK" in note]


def test_an_honest_student_among_attackers_gets_full_marks(attacked):
    result = attacked[0]["honest"]
    assert result.total == len(result.marks) == 8


def test_attacks_are_answered_in_bounded_time(attacked):
    results, _, _ = attacked
    most = LIMITS.cells + (LIMITS.exercise + 20) * 8  # generous for a busy machine
    assert max(result.seconds for result in results.values()) < most


def test_the_grades_are_those_of_the_judge_and_nothing_is_left_behind(attacked):
    results, out, _ = attacked
    assert {row[0]: int(row[-1]) for row in rows_of(out)[1:]} == {
        name: result.total for name, result in results.items()
    }
    assert sorted(p.name for p in out.iterdir()) == [
        "class.html",
        "feedback",
        "grades.csv",
        "results",
    ]
    assert not (ROOT / "grades.csv").exists()
    assert not jailed_processes()


def jailed_processes() -> list[str]:
    """What runs the script of a jail, and was started for this class: its stage is gone."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        stage = re.search(r'"stage": "([^"]+)"', text)
        if stage and not Path(stage[1]).exists():
            found.append(text)
    return found


def rows_of(out: Path) -> list[list[str]]:
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("name", [n for n in ATTACKS if "markup" in n])
def test_markup_from_an_answer_is_text_on_the_feedback_page(attacked, name):
    _, out, _ = attacked
    page = (out / "feedback" / f"{name.replace(' ', '_')}.html").read_text(encoding="utf-8")
    assert "alert(1)" in page or name == "returns markup"
    for text in (page, (out / "class.html").read_text(encoding="utf-8")):
        assert "<script" not in text
        assert "<img" not in text
        assert "default-src 'none'" in text


# --- names and files ----------------------------------------------------------------------------

NOT_NOTEBOOKS = {
    "not json": b"hello",
    "empty": b"",
    "deep": b"[" * 200_000,
    "a list": b"[1, 2]",
    "wrong types": b'{"cells": [1, {"cell_type": "code", "source": {"a": 1}}, null]}',
    "binary": bytes(range(256)) * 50,
    "a long number": b'{"cells": ' + b"1" * 10_000 + b"}",
}
NAMES = ("=1+1", '@SUM(A1)+HYPERLINK("x")', "<img src=x onerror=alert(1)>", "...", "-rf", "ä\nb")


@pytest.fixture(scope="module")
def strange(tmp_path_factory, level):
    """The results of a class of strange names and files, and where they were written."""
    base = tmp_path_factory.mktemp("strange")
    folder, out = base / "submissions", base / "out"
    folder.mkdir()
    text = notebook(cells("solutions")[ATTACKED].source, {})
    (base / "outside.ipynb").write_text(text, encoding="utf-8")
    for name, data in NOT_NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_bytes(data)
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "x.ipynb").write_text(text, encoding="utf-8")
    (folder / "link.ipynb").symlink_to(base / "outside.ipynb")
    (folder / "linked").symlink_to(base)
    (folder / "inner").mkdir()
    (folder / "inner" / "x.ipynb").symlink_to(base / "outside.ipynb")
    (folder / "nothing").mkdir()
    os.mkfifo(folder / "pipe.ipynb")
    (out / "feedback").mkdir(parents=True)
    graded, _ = grade(folder, out, [4], level, LIMITS)
    return {s.student: r for s, r in graded}, out


@pytest.mark.parametrize("name", [*NOT_NOTEBOOKS, "link", "linked", "inner", "nothing", "pipe"])
def test_what_is_no_notebook_gets_no_mark_and_a_sentence(strange, name):
    result = strange[0][name]
    assert result.total == 0
    assert len(result.notes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_strange_name_is_graded_like_any_other(strange, name):
    assert strange[0][" ".join(name.split())].total == 8


def test_a_formula_as_a_name_is_text_in_the_table(strange):
    rows = rows_of(strange[1])
    for row in rows:
        assert not row[0].startswith(("=", "@", "+", "-"))
    assert "'=1+1" in [row[0] for row in rows]


def test_feedback_stays_in_its_folder_under_plain_names(strange):
    _, out = strange
    pages = sorted(path.name for path in (out / "feedback").iterdir())
    assert len(pages) == len(strange[0])
    assert all(re.fullmatch(r"\w[\w.-]*\.html", name) for name in pages)
    assert sorted(path.name for path in out.iterdir())[:2] == ["class.html", "feedback"]
    page = (out / "class.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert "&lt;img" in page


# --- replies, one by one ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [1],
        {"problem": "passed"},
        {"problem": ["blank"]},
        {"sentence": 3},
        {"printed": [b"x".decode()] * 3},
    ],
)
def test_a_reply_of_the_wrong_kind_is_refused(fields):
    with pytest.raises((BrokenError, TypeError)):
        as_reply(fields)


def test_a_reply_cannot_bring_fields_of_its_own():
    reply = as_reply({"value": 1, "changed": False, "status": "passed", "passed": True})
    assert (reply.value, reply.problem, reply.changed) == (1, None, False)
    assert len(as_reply({"sentence": "x" * 10**6}).sentence) <= 600


def test_a_vast_axis_is_refused_at_any_depth():
    vast = np.zeros((0, 2**40))
    assert not any(map(is_small, [vast, [vast], (1, [vast]), {"a": vast}]))
    assert is_small([np.ones((3, 5)), {"a": 2.0}])


@pytest.mark.parametrize(
    "message",
    [
        b"{",
        b'{"array": "|O", "shape": [1], "data": "AAAAAAAAAAA="}',
        b'{"array": "<f8", "shape": [-1, 0], "data": ""}',
        b'{"dict": [[{"list": []}, 1]]}',
        b"[" * 100_000,
        encode(np.zeros((0, 2**40))),
    ],
)
def test_a_malformed_message_is_refused_not_obeyed(message):
    import struct

    sandbox = object.__new__(Sandbox)
    sandbox._reply, write = os.pipe()
    try:
        os.set_blocking(write, False)
        os.write(write, struct.pack("<Q", min(len(message), 60_000)) + message[:60_000])
        with pytest.raises(BrokenError):
            sandbox.receive(time.monotonic() + 1)
    finally:
        os.close(write)
        os.close(sandbox._reply)
