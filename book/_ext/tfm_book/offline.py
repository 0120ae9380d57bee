"""Equations without a network: MathJax out of a Python package."""

from __future__ import annotations

import shutil
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# TeX in, HTML out, and MathML for screen readers. Without MathJax's menu a page weighs half a
# megabyte less.
MATHJAX_CONFIG = {"loader": {"load": ["input/tex", "output/chtml", "a11y/assistive-mml"]}}
# What that can ask for, and no more: 2 MB of 31.
MATHJAX_PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions",
    "output/chtml.js",
    "output/chtml/fonts",
    "a11y/assistive-mml.js",
)


def mathjax_folder() -> Path:
    """The folder of MathJax 3 inside the installed package sphinx-mathjax-offline."""
    start = next(f for f in files("sphinx-mathjax-offline") if f.name == "startup.js")
    return Path(start.locate()).parent


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    source, target = mathjax_folder(), Path(app.outdir, "_static", "mathjax")
    for part in MATHJAX_PARTS:
        target.joinpath(part).parent.mkdir(parents=True, exist_ok=True)
        if source.joinpath(part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copy2(source / part, target / part)


def setup(app: Sphinx) -> None:
    app.config.mathjax_path = "mathjax/startup.js"
    app.config.mathjax3_config = MATHJAX_CONFIG
    app.connect("build-finished", copy_mathjax)
