"""TopK without `sorted`: any order passes, any wrong pair does not."""

from __future__ import annotations

import numpy as np
import pytest

from reference.verify import verify
from tests.verification.single_nodes import model

X = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]], np.float32)


def verdicts(indices, k, values=None, **attributes):
    """Of values and indices, for unsorted indices of X whose values are X's own where none are given."""
    made, feeds = model("TopK", [X, np.array([k])], ("float32", "int64"), 11, sorted=0, **attributes)
    taken = np.take_along_axis(X, np.array(indices), 1) if values is None else np.array(values, np.float32)
    return [v.status for v in verify(made, feeds, {"y0": taken, "y1": np.array(indices)})]


@pytest.mark.parametrize("indices", [[[5, 7, 4], [4, 6, 3]], [[4, 7, 5], [3, 6, 4]]])
def test_any_order_is_right(indices):
    assert verdicts(indices, 3) == ["pass", "pass"]


def test_any_of_equal_values_on_the_border_is_right():
    assert verdicts([[7, 5, 4, 0, 2], [6, 4, 3, 5, 2]], 5) == ["pass", "pass"]  # 5 stands at 0 and at 2


def test_the_smallest():
    assert verdicts([[6, 3, 1], [7, 0, 1]], 3, largest=0) == ["pass", "pass"]


def test_a_value_that_is_not_among_the_largest():
    assert verdicts([[7, 5, 2], [6, 4, 3]], 3)[0] == "mismatch"


def test_the_message_says_which_order_positions_are_counted_in():
    made, feeds = model("TopK", [X, np.array([3])], ("float32", "int64"), 11, sorted=0)
    indices = np.array([[4, 5, 2], [3, 6, 4]])
    found = verify(made, feeds, {"y0": np.take_along_axis(X, indices, 1), "y1": indices})[0]
    assert "worst at [0, 1]: got 5.0, expected 6.0 exactly; counted in the order of the sorted result" in found.message


def test_an_index_twice():
    assert verdicts([[7, 5, 4], [4, 4, 3]], 3) == ["pass", "mismatch"]


@pytest.mark.parametrize("beyond", [-1, 8, 2**40])
def test_an_index_out_of_range(beyond):
    assert verdicts([[7, 5, beyond], [6, 4, 3]], 3, [[6, 9, 5], [9, 9, 8]]) == ["pass", "mismatch"]


def test_an_index_of_another_value():
    assert verdicts([[7, 5, 2], [6, 4, 3]], 3, [[6, 9, 5], [9, 9, 8]]) == ["pass", "mismatch"]


def test_pairs_taken_apart():
    assert verdicts([[7, 5, 4], [6, 4, 3]], 3, [[9, 6, 5], [9, 9, 8]])[1] == "mismatch"


def test_outputs_that_are_no_pairs():
    made, feeds = model("TopK", [X, np.array([3])], ("float32", "int64"), 11, sorted=0)
    got = {"y0": np.zeros((2, 2), np.float32), "y1": np.zeros((2, 3), np.int64)}
    assert next(v.tier for v in verify(made, feeds, got)) == "shape"
