"""The version of the library that the book was built with, in the footer of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tfmlib

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


def set_version(app: Sphinx, config: Config) -> None:
    config.version = config.release = tfmlib.__version__


def setup(app: Sphinx) -> None:
    app.connect("config-inited", set_version)
