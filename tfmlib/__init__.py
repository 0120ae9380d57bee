"""The transformer, equation by equation: NumPy for understanding, torch for speed."""

__version__ = "0.2.0"
