"""python -m book.pages: write the generated pages."""

from book.pages import write

write()
