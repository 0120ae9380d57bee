"""python -m book.pages: write the made pages."""

from book.pages import write

write()
