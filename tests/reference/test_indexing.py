"""Gathering and scattering against values worked out by hand: negative indices, reductions, batches, empty results."""

import numpy as np
import pytest

from reference.ops import indexing

X = np.arange(6).reshape(2, 3)


def test_gather_replaces_the_axis_by_the_indices():
    assert indexing.gather(X, np.array([[-1, 0]]), axis=-1).tolist() == [[[2, 0]], [[5, 3]]]
    assert indexing.gather(X, np.array(1)).tolist() == [3, 4, 5]
    assert indexing.gather(X, np.zeros((0,), np.int64)).shape == (0, 3)
    with pytest.raises(ValueError, match="of an axis of length"):
        indexing.gather(X, np.array([2]))


def test_gather_elements_takes_fewer_rows_than_the_data():
    assert indexing.gather_elements(X, np.array([[-1, 0]]), axis=1).tolist() == [[2, 0]]
    assert indexing.gather_elements(X, np.array([[1, 0, -1]])).tolist() == [[3, 1, 5]]


def test_gather_nd():
    x = np.arange(8).reshape(2, 2, 2)
    assert indexing.gather_nd(x, np.array([[0, 1], [-1, 0]])).tolist() == [[2, 3], [4, 5]]
    assert indexing.gather_nd(x, np.array([[1], [0]]), batch_dims=1).tolist() == [[2, 3], [4, 5]]
    assert indexing.gather_nd(x, np.array([[[1], [0]], [[0], [-1]]]), batch_dims=2).tolist() == [[1, 2], [4, 7]]
    assert indexing.gather_nd(x, np.zeros((0, 3), np.int64)).shape == (0,)


@pytest.mark.parametrize(
    ("reduction", "wanted"),
    [("add", [0 + 5 - 3, 1, 2 + 7]), ("mul", [0, 1, 14]), ("min", [-3, 1, 2]), ("max", [5, 1, 7])],
)
def test_scatter_elements_reduces_repeated_indices(reduction, wanted):
    y = indexing.scatter_elements(np.arange(3), np.array([0, -1, 0]), np.array([5, 7, -3]), reduction=reduction)
    assert y.tolist() == wanted


def test_scatter_elements_along_an_axis_leaves_the_input():
    data = np.zeros((2, 3))
    y = indexing.scatter_elements(data, np.array([[2, 0]]), np.array([[1.5, 2.5]]), axis=-1)
    assert y.tolist() == [[2.5, 0, 1.5], [0, 0, 0]]
    assert not data.any()
    with pytest.raises(ValueError, match="of an axis of length"):
        indexing.scatter_elements(data, np.array([[3]]), np.array([[1.0]]), axis=1)


def test_integer_scatter_wraps_around():
    y = indexing.scatter_elements(np.array([127], np.int8), np.array([0]), np.array([1], np.int8), reduction="add")
    assert y.tolist() == [-128]


def test_scatter_nd_of_slices():
    updates = np.array([[10, 20, 30], [1, 1, 1]])
    assert indexing.scatter_nd(X, np.array([[-1], [0]]), updates).tolist() == [[1, 1, 1], [10, 20, 30]]
    assert indexing.scatter_nd(X, np.array([[1], [1]]), updates, reduction="add").tolist() == [[0, 1, 2], [14, 25, 36]]
    assert indexing.scatter_nd(X, np.array([[0, 2]]), np.array([-5]), reduction="max").tolist() == X.tolist()


def test_one_hot_negative_indices_count_only_from_version_11_on():
    values = np.array([0.5, 2.0])
    indices = np.array([-1, 0, 3, -4])
    new = indexing.one_hot(indices, np.array([3]), values)
    assert new.tolist() == [[0.5, 0.5, 2], [2, 0.5, 0.5], [0.5] * 3, [0.5] * 3]
    assert indexing.one_hot_9(indices, np.array(3), values)[0].tolist() == [0.5] * 3
    assert (indexing.one_hot(indices, np.array(3), values, axis=0) == new.T).all()
    assert (indexing.one_hot(indices.astype(float), np.array(3.0), values, axis=-2) == new.T).all()


def test_nonzero_and_compress():
    assert indexing.nonzero(np.array([[1, 0], [np.nan, -0.0]])).tolist() == [[0, 1], [0, 0]]
    assert indexing.nonzero(np.zeros((2, 2))).shape == (2, 0)
    assert indexing.nonzero(np.array(5)).shape == (0, 1)
    assert indexing.nonzero(np.array("", object)).shape == (0, 0)
    assert indexing.nonzero(np.array(["", "a"], object)).tolist() == [[1]]
    assert indexing.compress(X, np.array([False, True]), axis=-1).tolist() == [[1], [4]]
    assert indexing.compress(X, np.array([True, False, False, True])).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("x", "attributes", "wanted"),
    [
        ([2, 1, 1, 3, 4, 3], {"sorted": 0}, ([2, 1, 3, 4], [0, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1])),
        ([2, 1, 1, 3, 4, 3], {}, ([1, 2, 3, 4], [1, 0, 3, 4], [1, 0, 0, 2, 3, 2], [2, 1, 2, 1])),
        ([[1, 3], [0, 3]], {}, ([0, 1, 3], [2, 0, 1], [1, 2, 0, 2], [1, 1, 2])),
        ([[1, 3], [0, 3]], {"sorted": 0}, ([1, 3, 0], [0, 1, 2], [0, 1, 2, 1], [1, 2, 1])),
        # rows compare by their first difference
        ([[1, 0], [0, 9], [1, 0]], {"axis": 0}, ([[0, 9], [1, 0]], [1, 0], [1, 0, 1], [1, 2])),
        ([[1, 0], [0, 9], [1, 0]], {"axis": 0, "sorted": 0}, ([[1, 0], [0, 9]], [0, 1], [0, 1, 0], [2, 1])),
        # columns: (2, 2), (1, 3), (2, 2)
        ([[2, 1, 2], [2, 3, 2]], {"axis": -1}, ([[1, 2], [3, 2]], [1, 0], [1, 0, 1], [1, 2])),
        # slices of the middle axis: [[0], [1]], [[0], [0]]
        ([[[0], [0]], [[1], [0]]], {"axis": 1}, ([[[0], [0]], [[0], [1]]], [1, 0], [1, 0], [1, 1])),
        (["b", "a", "b"], {}, (["a", "b"], [1, 0], [1, 0, 1], [1, 2])),
        ([["b", "a"], ["b", "a"]], {"axis": 0}, ([["b", "a"]], [0], [0, 0], [2])),
        ([True, False, True], {"sorted": 0}, ([True, False], [0, 1], [0, 1, 0], [2, 1])),
        (7, {}, ([7], [0], [0], [1])),
        ([], {}, ([], [], [], [])),
    ],
)
def test_unique(x, attributes, wanted):
    x = np.array(x, object if "b" in np.ravel(x) else None)
    got = indexing.unique(x, **attributes)
    assert tuple(part.tolist() for part in got) == wanted
    assert got[0].dtype == x.dtype
    assert all(part.dtype == np.int64 and part.ndim == 1 for part in got[1:])


def test_unique_of_empty_slices():
    y, first, place, counts = indexing.unique(np.zeros((2, 0)), axis=0)
    assert y.shape == (1, 0)
    assert (first.tolist(), place.tolist(), counts.tolist()) == ([0], [0, 0], [2])
    assert indexing.unique(np.zeros((2, 0)), axis=1)[0].shape == (2, 0)


def test_unique_zeros_are_equal_and_nan_is_last():
    inf, nan = np.inf, np.nan
    y, first, place, counts = indexing.unique(np.array([nan, -0.0, inf, 0.0, nan, -inf]))
    np.testing.assert_array_equal(y, [-inf, 0, inf, nan])
    assert np.signbit(y).tolist()[:3] == [True, True, False]
    assert (first.tolist(), place.tolist(), counts.tolist()) == ([5, 1, 2, 0], [3, 1, 2, 1, 3, 0], [1, 2, 1, 2])
    rows = np.array([[nan, 1], [0, 1], [nan, 1]])
    np.testing.assert_array_equal(indexing.unique(rows, axis=0)[0], [[0, 1], [nan, 1]])
    np.testing.assert_array_equal(indexing.unique(rows, axis=0, sorted=0)[0], [[nan, 1], [0, 1]])


def test_one_hot_of_indices_that_int64_does_not_hold():
    values = np.array([0, 1], np.int8)
    wide = np.array([2**64 - 1, 2**63, 1], np.uint64)  # the first is -1 in int64
    assert indexing.one_hot(wide, np.array(3, np.uint8), values).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    reals = np.array([1.9, -0.9, -1.5, 1e300, np.nan, -np.inf])
    assert indexing.one_hot(reals, np.array(2.0), values).tolist() == [[0, 1], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert indexing.one_hot_9(reals[:3], np.array(2.0), values).tolist() == [[0, 1], [1, 0], [0, 0]]
    assert indexing.one_hot(np.array([0]), np.array([0]), values).shape == (1, 0)


def test_scatter_nd_and_elements_of_every_reduction_by_name():
    data, where = np.array([5, 5]), np.array([1])
    for reduction, wanted in (("none", 3), ("add", 8), ("mul", 15), ("min", 3), ("max", 5)):
        assert indexing.scatter_nd(data, where[:, None], np.array([3]), reduction=reduction).tolist() == [5, wanted]
        assert indexing.scatter_elements(data, where, np.array([3]), reduction=reduction).tolist() == [5, wanted]
    with pytest.raises(ValueError, match="reduction is none, add, mul, min, max, not 'sum'"):
        indexing.scatter_nd(data, where[:, None], np.array([3]), reduction="sum")


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("index 2 of an axis of length 2", lambda: indexing.gather(X, np.array([0, 2]))),
        ("axis 2 of a tensor of rank 2", lambda: indexing.gather(X, np.array([0]), axis=2)),
        ("index -4 of an axis of length 3", lambda: indexing.gather_elements(X, np.array([[-4]]), axis=1)),
        ("indices of shape", lambda: indexing.gather_elements(X, np.array([0]))),
        ("indices of shape", lambda: indexing.gather_elements(X, np.zeros((1, 4), int))),
        ("index 3 of an axis of length 3", lambda: indexing.gather_nd(X, np.array([[0, 3]]))),
        ("for axes of lengths", lambda: indexing.gather_nd(X, np.zeros((1, 3), int))),
        ("1 batch axes in common", lambda: indexing.gather_nd(X, np.zeros((1, 1), int), batch_dims=1)),
        (r"updates of shape \(2,\), expected \(1,\)", lambda: indexing.scatter_elements(X[0], np.array([0]), np.ones(2))),
        (r"updates of shape \(3,\), expected \(1, 3\)", lambda: indexing.scatter_nd(X, np.array([[0]]), np.ones(3))),
        ("axis 3 of a tensor of rank 2", lambda: indexing.one_hot(np.array([1]), np.array(2), np.ones(2), axis=3)),
        ("two values", lambda: indexing.one_hot(np.array([1]), np.array(2), np.ones(3))),
        (r"condition of shape \(3,\) for an axis of length 2", lambda: indexing.compress(X, np.ones(3, bool), axis=0)),
    ],
)
def test_arguments_that_do_not_fit(message, call):
    with pytest.raises(ValueError, match=message):
        call()
