"""Shared by all tests: the book, built once into a temporary folder, and a browser to open it."""

import functools
import http.server
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from browser import (
    FLAGS,
    HOW_TO_INSTALL,
    HOW_TO_INSTALL_FIREFOX,
    find_chromium,
    find_firefox,
)

ROOT = Path(__file__).resolve().parent.parent
SECONDS_TO_BUILD = 600
# A busy machine is no reason to fail.
settings.register_profile("any clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any clock")


@dataclass(frozen=True)
class Book:
    """A build of the book: where its pages are, and what the build said."""

    html: Path
    exit_code: int
    log: str

    @property
    def pages(self) -> list[Path]:
        """Every page that a reader can open."""
        pages = sorted(p for p in self.html.rglob("*.html") if "_static" not in p.parts)
        assert pages, f"the book was not built:\n{self.log[-3000:]}"
        return pages

    @property
    def page_names(self) -> list[str]:
        """Their addresses; index.html only leads on to another."""
        names = [page.relative_to(self.html).as_posix() for page in self.pages]
        return [name for name in names if name != "index.html"]

    @property
    def chapters(self) -> list[Path]:
        return [page for page in self.pages if page.parent.name == "notebooks"]


def build_book(source: Path, output: Path) -> Book:
    """Build the book of `source` as strictly as `make book` does, but into `output`."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    command += [str(source), "-n", "-W", "--keep-going", "--path-output", str(output)]
    environment = os.environ | {"NO_COLOR": "1", "PYTHONWARNINGS": "default"}
    run = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False
    )
    return Book(output / "_build/html", run.returncode, run.stdout + run.stderr)


def build_once(output: Path) -> Book:
    """Build, or wait for the worker that does: several may ask at the same time."""
    exit_code, log = output / "exit_code", output / "log"
    try:
        output.mkdir()
    except FileExistsError:
        patience = time.monotonic() + SECONDS_TO_BUILD
        while not exit_code.exists() and time.monotonic() < patience:
            time.sleep(0.2)
        return Book(output / "_build/html", int(exit_code.read_text()), log.read_text("utf-8"))
    book = build_book(ROOT, output)
    log.write_text(book.log, "utf-8")
    exit_code.with_suffix(".new").write_text(str(book.exit_code))
    exit_code.with_suffix(".new").replace(exit_code)
    return book


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> Book:
    """The book of this repository, built once for all workers."""
    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    return build_once((base.parent if is_worker else base) / "book")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        """A reader may leave a page before all of it has come."""


@pytest.fixture(scope="session")
def address(book) -> str:
    """The book served on this machine, as a reader's own server would."""
    handler = functools.partial(QuietHandler, directory=str(book.html))
    server = QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def found_or_told(path: str | None, how_to_install: str) -> str:
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(how_to_install)
    return path


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium; where there is none, CI fails and a person is told how to get one."""
    path = found_or_told(find_chromium(), HOW_TO_INSTALL)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    """A headless Firefox as Debian has it, with a profile of its own."""
    path = found_or_told(find_firefox(), HOW_TO_INSTALL_FIREFOX)
    from firefox import Firefox

    browser = Firefox(path, tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def one_thread():
    """Small products are fastest on one thread; and with more, sums are taken in another order."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def parallel_text(tmp_path_factory) -> list[str]:
    """Two files of 49 numbers in words, and the flags of the training command that name them."""
    from tfmlib import data

    files = [tmp_path_factory.mktemp("text") / name for name in ("source", "target")]
    pairs = data.number_pairs(range(3, 100, 2))
    for file, texts in zip(files, zip(*pairs, strict=True), strict=True):
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return ["--source", str(files[0]), "--target", str(files[1])]


@pytest.fixture(scope="module")
def level(request, tmp_path_factory) -> str:
    """How well this system can shut a notebook in, tried with the limits of the test's module."""
    from tfmlib.grade.class_run import choose_level
    from tfmlib.grade.stage import make_stage

    try:
        return choose_level(make_stage(tmp_path_factory.mktemp("stage")), request.module.LIMITS)
    except SystemExit as reason:
        pytest.skip(str(reason))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project whose only chapter is the text given to it."""
    from book import compiler

    for folder in ("chapters", "notebooks", "solutions"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(compiler, "CHAPTERS", tmp_path / "chapters")
    monkeypatch.setattr(compiler, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(compiler, "SOLUTIONS", tmp_path / "solutions")
    monkeypatch.setattr(compiler, "write_pages", lambda: None)

    def write(text: str, name: str = "04-doubling.md") -> Path:
        path = tmp_path / "chapters" / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
