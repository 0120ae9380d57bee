"""The book as it is made: the manuscript, its compiler, its generated pages and its explorers."""
