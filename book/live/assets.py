"""What a page loads when a reader clicks: Python, NumPy, tfmlib, the editor, packed as scripts.

A browser lets a page from disk load scripts, but fetch nothing; so every file becomes a script that
hands over its content as text. `python -m book.live.assets FOLDER` makes them, with their sizes.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from book.live import npm
from tfmlib.support import notebooks
from tfmlib.support.files import write_whole

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# NumPy without what no page calls: 8 of its 14 MB.
NUMPY_LEFT_OUT = re.compile(
    r"/(tests|f2py|distutils|testing|_pyinstaller|include|typing|_examples)/"
    r"|_(operand_flag|rational|struct_ufunc|umath)_tests\.|/_simd\.|\.(pyi|pxd|h|a|c)$"
)
NUMPY_KEPT = re.compile(r"numpy/(testing|typing)/__init__\.py$")
# Of tfmlib what needs NumPy alone and helps to read, run or check.
LIBRARY = ("__init__.py", "ref.py", "tokenizer.py", "check.py")
ROOMS = ("checking", "exercises", "support", "ledger")
PLOTS = ("colours.py", "inputs.py", "told.py", "words.py")  # what goes without Matplotlib
SITE_PACKAGES = re.compile(r"^lib/python3\.\d+/site-packages/")


def make(folder: Path) -> dict[str, int]:
    """Write every file that pages load from `folder`; return their sizes in bytes."""
    modules = npm.packages()
    packed = {
        "python.js": _kept("python.js", lambda: script("python", python_files(modules))),
        "numpy.js": _kept(
            "numpy.js", lambda: script("numpy", {"numpy.zip": stored_zip(numpy_files(modules))})
        ),
        "library.js": script(
            "library",
            {"library.zip": stored_zip(library_files()), "worker.js": bundle(modules, "worker")},
        ),
        "editor.js": bundle(modules, "editor"),
        "figure.js": bundle(modules, "figure"),
        **{f"notebook-{path.stem}.js": notebook_script(path) for path in chapters()},
        "live.css": style(),
        "LICENCES.txt": licences(modules),
    }
    # One version for all: no page may mix files of two builds.
    digest = hashlib.sha256(b"".join(packed[name] for name in sorted(packed)))
    packed["live.js"] = bundle(modules, "live", VERSION=digest.hexdigest()[:12])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in packed.items():
        folder.joinpath(name).write_bytes(content)
    return {name: len(content) for name, content in packed.items()}


def _kept(name: str, make: Callable[[], bytes]) -> bytes:
    """What takes seconds to pack and follows from the packages alone is packed once."""
    digest = hashlib.sha256(npm.LISTS[1].read_bytes() + Path(__file__).read_bytes()).hexdigest()
    path = npm.CACHE / f"{digest[:16]}-{name}"
    if not path.is_file():
        write_whole(path, make())
    return path.read_bytes()


def script(name: str, files: dict[str, bytes]) -> bytes:
    """Files as a script that hands them over, compressed, as text."""
    packed = {
        path: base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
        for path, content in files.items()
    }
    return f"tfmLive.receive({json.dumps(name)}, {json.dumps(packed)});\n".encode()


def stored_zip(files: dict[str, bytes]) -> bytes:
    """A zip without compression of its own: the script around it is compressed as a whole."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), files[path])
    return out.getvalue()


def python_files(modules: Path) -> dict[str, bytes]:
    """CPython for a browser."""
    package = modules / "pyodide"
    lock = json.loads(package.joinpath("pyodide-lock.json").read_text("utf-8"))
    lock["packages"] = {}  # nothing may be loaded from elsewhere
    script = package.joinpath("pyodide.js").read_bytes()
    return {
        "pyodide.asm.js": package.joinpath("pyodide.asm.js").read_bytes(),
        "pyodide.js": re.sub(rb"//# sourceMappingURL=.*", b"", script),
        "pyodide.asm.wasm": package.joinpath("pyodide.asm.wasm").read_bytes(),
        "python_stdlib.zip": package.joinpath("python_stdlib.zip").read_bytes(),
        "pyodide-lock.json": json.dumps(lock).encode(),
    }


def numpy_files(modules: Path) -> dict[str, bytes]:
    kept = {}
    with tarfile.open(_numpy_archive(modules)) as package:
        for member in package:
            path = SITE_PACKAGES.sub("", member.name)
            if not member.isfile() or path == member.name:
                continue
            if not NUMPY_LEFT_OUT.search("/" + path) or NUMPY_KEPT.search(path):
                kept[path] = _content(package, member)
    return kept


def _numpy_archive(modules: Path) -> Path:
    return next((modules / "@emscripten-forge/numpy/pkg").glob("*.tar.gz"))


def _content(package: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = package.extractfile(member)
    assert file is not None, f"{member.name} is no file"
    return file.read()


def library_files() -> dict[str, bytes]:
    """tfmlib, the page's own Python, and the solutions, which diagnoses and readers ask for."""
    package = ROOT / "tfmlib"
    paths = [package / name for name in LIBRARY] + [package / "plots" / name for name in PLOTS]
    paths += [path for room in ROOMS for path in sorted((package / room).glob("*.py"))]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    for path in sorted((HERE / "inside").glob("*.py")):
        files[f"tfm_page/{path.name}"] = path.read_bytes()
    # In the page there is no Matplotlib: `plots` says what to draw, and the page draws it.
    files["tfmlib/plots/__init__.py"] = files.pop("tfm_page/plots.py")
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        files[f"solutions/{path.name}"] = _code_only(path)
    return files


def _code_only(path: Path) -> bytes:
    """A notebook of its code cells, without their outputs."""
    cells = notebooks.code_cells(json.loads(path.read_text("utf-8")))
    kept = [{**cell, "outputs": []} for cell in cells]
    return json.dumps({"cells": kept}).encode()


def chapters() -> list[Path]:
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def notebook_script(path: Path) -> bytes:
    """The blank notebook of a chapter, for a learner to take home with the answers filled in."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return script(f"notebook-{path.stem}", {"notebook.json": json.dumps(notebook).encode()})


def bundle(modules: Path, entry: str, **names: str) -> bytes:
    """A script and all that it imports as one classic script, which a page from disk may load."""
    node = npm.program("node")
    assert node is not None, "npm has installed packages, so there is a node"
    defined = [f"--define:{name}={json.dumps(value)}" for name, value in names.items()]
    run = subprocess.run(
        [node, modules / "esbuild/bin/esbuild", HERE / f"page/{entry}.js", "--bundle", "--minify",
         "--format=iife", "--target=es2022", "--legal-comments=none", "--charset=utf8",
         "--log-level=warning", *defined],
        env=os.environ | {"NODE_PATH": str(modules)}, capture_output=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise npm.NpmError(f"{entry}.js could not be bundled:\n{run.stderr.decode()}")
    return run.stdout


def style() -> bytes:
    """All style sheets of the page's parts as one."""
    return b"\n".join(path.read_bytes() for path in sorted((HERE / "page").glob("*.css")))


def licences(modules: Path) -> bytes:
    """The licence of every package that is in the site, each under the package's name."""
    texts = {
        "CPython 3.12 (source: github.com/python/cpython)": _licence("cpython"),
        "Pyodide (source: github.com/pyodide/pyodide)": _licence("pyodide"),
    }
    with tarfile.open(_numpy_archive(modules)) as package:
        member = package.getmember("info/licenses/LICENSE.txt")
        texts["NumPy"] = _content(package, member).decode()
    for path in sorted([*modules.glob("*/LICENSE"), *modules.glob("@*/*/LICENSE")]):
        texts[path.parent.relative_to(modules).as_posix()] = path.read_text("utf-8")
    rule = "=" * 78
    return "\n".join(f"{rule}\n{name}\n{rule}\n\n{text}\n" for name, text in texts.items()).encode()


def _licence(name: str) -> str:
    """One that its package does not bring along."""
    return (HERE / "licences" / f"{name}.txt").read_text("utf-8")


if __name__ == "__main__":
    for name, size in make(Path(sys.argv[1])).items():
        print(f"{size:>12,}  {name}")
