"""Whole numbers of 64 bits become indices of the machine's width, and nothing is lost."""

import numpy as np
import pytest

from book.live.inside.indices import ARGUMENTS, as_index, narrowing


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64])
def test_whole_numbers_become_indices(dtype):
    narrow = as_index(np.array([3, 0, 2], dtype))
    assert narrow.dtype == np.intp
    assert narrow.tolist() == [3, 0, 2]


def test_what_would_be_lost_or_is_no_index_stays_as_it_is():
    large = np.array([2**63 + 5], np.uint64)
    for value in (large, np.array([0.5]), [1, 2], 7, None):
        assert as_index(value) is value


def test_the_argument_is_found_by_place_and_by_name():
    for name, (place, keyword) in ARGUMENTS.items():
        seen = []
        function = narrowing(
            lambda *args, seen=seen, **kwargs: seen.append((args, kwargs)), place, keyword
        )
        counts = np.array([1, 2], np.int32)
        before = [None] * place
        function(*before, counts)
        function(*before, **{keyword: counts})
        (args, _), (_, kwargs) = seen
        assert args[place].dtype == kwargs[keyword].dtype == np.intp, name


def test_the_functions_still_do_what_they_did():
    repeat = narrowing(np.repeat, *ARGUMENTS["repeat"])
    assert repeat([5, 7], np.array([2, 1], np.int64), axis=0).tolist() == [5, 5, 7]
    bincount = narrowing(np.bincount, *ARGUMENTS["bincount"])
    assert bincount(np.array([1, 1, 3], np.uint8), minlength=5).tolist() == [0, 2, 0, 1, 0]
