"""The exercises, a module per chapter: what each asks, expects, hints at and knows as mistakes.

Content only. The engine is `tfmlib.checking`, which finds the modules here by their names.
"""
