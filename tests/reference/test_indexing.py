"""Gathering and scattering against values worked out by hand: negative indices, reductions, batches, empty results."""

import numpy as np
import pytest

from reference.ops import indexing

X = np.arange(6).reshape(2, 3)


def test_gather_replaces_the_axis_by_the_indices():
    assert indexing.gather(X, np.array([[-1, 0]]), axis=-1).tolist() == [[[2, 0]], [[5, 3]]]
    assert indexing.gather(X, np.array(1)).tolist() == [3, 4, 5]
    assert indexing.gather(X, np.zeros((0,), np.int64)).shape == (0, 3)
    with pytest.raises(IndexError):
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
    with pytest.raises(IndexError):
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
    assert indexing.compress(X, np.array([False, True]), axis=-1).tolist() == [[1], [4]]
    assert indexing.compress(X, np.array([True, False, False, True])).tolist() == [0, 3]
