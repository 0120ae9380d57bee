"""Plain data over a pipe: numbers, strings, arrays and lists of these, never code.

An answer is run in another process than its check. What crosses between the two is JSON text that
can only describe values, so that reading a reply cannot execute anything.
"""

import base64
import json
import math
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np

ARRAY_KINDS = "biuf"  # booleans, integers, floats
MAX_DEPTH = 50
MAX_ITEMS = 100_000  # of a range that is written out


class WireError(ValueError):
    """A message that is no description of plain data."""


@dataclass(frozen=True)
class Foreign:
    """A value that is not plain data: only its type's name and its beginning are known."""

    type_name: str
    text: str


def encode(value: Any) -> bytes:
    """Describe a value as JSON text; what is not plain data becomes `Foreign`.

    >>> decode(encode([1, "two", np.array([3.0])]))
    [1, 'two', array([3.])]
    """
    return json.dumps(_describe(value, 0), ensure_ascii=True).encode()


def decode(message: bytes) -> Any:
    """Rebuild the value that `encode` described."""
    try:
        return _rebuild(json.loads(message), 0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        raise WireError(f"expected a description of plain data, got {message[:60]!r}") from error


def _describe(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return _foreign(value)
    # Exact types: a subclass may lie about its value, so it is not plain data.
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return {"int": str(value)} if value.bit_length() < 10_000 else _foreign(value)
    if kind is float:
        return {"float": value.hex() if math.isfinite(value) else repr(value)}
    if kind is np.ndarray and value.dtype.kind in ARRAY_KINDS:
        return _describe_array(value)
    if isinstance(value, np.generic) and value.dtype.kind in ARRAY_KINDS:
        return {"scalar": _describe_array(np.asarray(value))}
    if isinstance(value, np.str_):
        return str(value)
    if kind is np.ndarray and value.dtype.kind in "UO":  # texts, or a ragged array: a list
        return _describe(value.tolist(), depth)
    if kind in (list, tuple):
        return {kind.__name__: [_describe(item, depth + 1) for item in value]}
    if kind in (range, deque) and len(value) <= MAX_ITEMS:
        return {"list": [_describe(item, depth + 1) for item in value]}
    if kind in (dict, Counter, defaultdict, OrderedDict):
        return {
            "dict": [[_describe(k, depth + 1), _describe(v, depth + 1)] for k, v in value.items()]
        }
    return _foreign(value)


def _describe_array(array: np.ndarray) -> dict[str, Any]:
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "array": little.dtype.str,
        "shape": list(array.shape),
        "data": base64.b64encode(little.tobytes()).decode(),
    }


def _foreign(value: Any) -> dict[str, Any]:
    try:
        text = repr(value)[:200]
    except Exception:
        text = "?"
    name = type(value).__name__
    if isinstance(value, np.ndarray | np.generic):
        name = f"{name} of {value.dtype}"
    return {"foreign": name, "text": text}


def _rebuild(node: Any, depth: int) -> Any:
    if depth > MAX_DEPTH + 1:  # one more than encode nests: what it cut off there
        raise WireError(f"expected values nested at most {MAX_DEPTH} deep")
    if node is None or isinstance(node, bool | str):
        return node
    if "int" in node:
        return int(node["int"])
    if "float" in node:
        text = node["float"]
        return float.fromhex(text)
    if "array" in node:
        return _rebuild_array(node)
    if "scalar" in node:
        return _rebuild_array(node["scalar"])[()]
    if "list" in node:
        return [_rebuild(item, depth + 1) for item in node["list"]]
    if "tuple" in node:
        return tuple(_rebuild(item, depth + 1) for item in node["tuple"])
    if "dict" in node:
        return {_rebuild(k, depth + 1): _rebuild(v, depth + 1) for k, v in node["dict"]}
    return Foreign(str(node["foreign"]), str(node["text"]))


def _rebuild_array(node: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(str(node["array"]))
    if dtype.kind not in ARRAY_KINDS:
        raise WireError(f"expected an array of numbers or booleans, got {dtype}")
    data = base64.b64decode(node["data"], validate=True)
    return np.frombuffer(data, dtype=dtype).reshape([int(n) for n in node["shape"]]).copy()
