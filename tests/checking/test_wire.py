"""Plain data crosses a pipe unchanged, and nothing else crosses at all."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfmlib.checking.wire import Foreign, WireError, decode, encode

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=13,
)


@given(plain)
def test_plain_data_comes_back_equal_and_of_the_same_type(value):
    back = decode(encode(value))
    assert back == value
    assert type(back) is type(value)


@given(hnp.arrays(st.sampled_from(["f8", "f4", "i8", "i2", "u1", "?"]), hnp.array_shapes()))
def test_arrays_come_back_bit_for_bit(array):
    back = decode(encode(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_nan_and_infinity_and_scalars_come_back():
    assert math.isnan(decode(encode(math.nan)))
    assert decode(encode([math.inf, -math.inf])) == [math.inf, -math.inf]
    back = decode(encode(np.float32(0.5)))
    assert back == 0.5
    assert back.dtype == np.float32


class Liar(float):
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, Liar(3), len, np.array([1j]), range(10**9), b"bytes"],
    ids=lambda v: type(v).__name__,
)
def test_anything_else_is_foreign(value):
    assert isinstance(decode(encode(value)), Foreign)


@pytest.mark.parametrize(
    ("value", "crossed"),
    [
        (np.str_("a"), "a"),
        ([np.str_("a")], ["a"]),
        (np.array([["a", "b"]]), [["a", "b"]]),
        (range(3), [0, 1, 2]),
        (Counter("aab"), {"a": 2, "b": 1}),
        (np.array([[1], [2, 3]], dtype=object), [[1], [2, 3]]),
    ],
    ids=["text", "texts", "array of texts", "range", "Counter", "ragged array"],
)
def test_what_is_as_good_as_plain_data_crosses_as_such(value, crossed):
    assert decode(encode(value)) == crossed


def test_an_object_whose_repr_raises_is_foreign():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    assert decode(encode(Mute())).type_name == "Mute"


def test_a_list_that_contains_itself_ends():
    loop = []
    loop.append(loop)
    assert isinstance(decode(encode(loop)), list)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"not json",
        b"[1]",
        b"17",
        b'{"unknown": 1}',
        b'{"array": "O", "shape": [1], "data": ""}',
        b'{"array": "<f8", "shape": [3], "data": "AAAA"}',
        b'{"array": "<f8", "shape": [9999999999999], "data": ""}',
        b'{"int": "x"}',
        b'{"float": {}}',
        b'{"list": 5}',
    ],
)
def test_a_malformed_message_is_refused(message):
    with pytest.raises(WireError):
        decode(message)
