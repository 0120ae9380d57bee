"""Grading a class: every notebook runs in a jail, and the judge stays outside."""
