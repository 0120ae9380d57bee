"""Python that runs in the page, beside tfmlib: its cells, their needs, and what is not there."""
