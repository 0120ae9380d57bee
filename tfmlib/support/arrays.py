"""How arrays are written down: what comes in is `ArrayLike`, what goes out says what it holds.

Shapes stay in comments, where they can use the book's alphabet: `# (B, T, D)`.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Scalar = np.float64
Floats = NDArray[np.floating]  # of the precision that came in
Ids = NDArray[np.integer]  # token ids
Mask = NDArray[np.bool_]  # True where attention is allowed
Shape = tuple[int, ...]

__all__ = ["Array", "ArrayLike", "Floats", "Ids", "Mask", "Scalar", "Shape", "Shaped"]


class Shaped(Protocol):
    """An array of NumPy or a tensor of torch: a check on shapes takes both."""

    @property
    def shape(self) -> Shape: ...
