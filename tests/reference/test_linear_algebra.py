"""Determinants against values worked out by hand, and against elimination in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from reference.ops.linear_algebra import EXACT, det


def by_fractions(matrix):
    rows, result = [[Fraction(v) for v in row] for row in matrix.tolist()], Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0.0
        if pivot != k:
            rows[k], rows[pivot], result = rows[pivot], rows[k], -result
        result *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return float(result)


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        ([[5]], 5),
        ([[0]], 0),
        ([[1, 2], [3, 4]], -2),
        ([[0, 1], [1, 0]], -1),
        ([[0, 0, 2], [3, 0, 0], [0, 5, 0]], 30),  # a cycle of three is even
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 0),  # singular, which LU in float64 misses
        ([[0, 1], [0, 2]], 0),
        ([[2, 1, 4], [0, 0, 7], [0, 0, 9]], 0),  # no pivot in the second column
        ([[0, 2, 1], [0, 3, 5], [0, 1, 1]], 0),  # nor in the first, yet later ones
        ([[0.1, 0.3], [0.2, 0.6]], 0),  # the second row is twice the first, also in float64
        ([[2.0**-600, 0], [3, 2.0**-400]], 2.0**-1000),
        ([[1e200, 1], [1, -1e200]], -np.inf),
    ],
)
def test_small_matrices(matrix, wanted):
    y = det(np.array(matrix, np.float64))
    assert y.shape == ()
    assert y == wanted


def test_neighbouring_integers_are_exact():
    # Fibonacci numbers: F(n)·F(n+2) - F(n+1)² = ±1, of products near 2^96
    f = [1, 1]
    while f[-1] < 2**48:
        f.append(f[-1] + f[-2])
    a, b, c = f[-3:]
    assert det(np.array([[a, b], [b, c]], np.float64)) == a * c - b * b == -det(np.array([[b, c], [a, b]], np.float64))
    # Hilbert's matrix of size 4, brought to integers: 420^4/6048000
    hilbert = [[420 // (i + j + 1) for j in range(4)] for i in range(4)]
    assert det(np.array(hilbert, np.float64)) == 420**4 // 6048000 == 5145


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_batches_equal_elimination_in_fractions(m):
    rng = np.random.default_rng(m)
    x = np.concatenate([rng.integers(-2, 3, (20, m, m)), rng.standard_normal((20, m, m)).astype(np.float32)]).astype(np.float64)
    x[5:10] *= 2.0 ** rng.integers(-30, 30, (5, m, m))
    x[0, :, 0], x[1, :, -1] = 0, x[1, :, 0]
    wanted = [by_fractions(matrix) for matrix in x]
    assert det(x).tolist() == wanted
    assert det(x.reshape(4, 1, 10, m, m)).shape == (4, 1, 10)


def test_large_matrices():
    x = np.triu(np.ones((EXACT + 1, EXACT + 1))) + np.eye(EXACT + 1)
    assert det(x[:EXACT, :EXACT]) == 2.0**EXACT
    assert det(x) == pytest.approx(2.0 ** (EXACT + 1), rel=1e-12)
    x[[3, 5]] = x[[5, 3]]
    assert det(x[:EXACT, :EXACT]) == -(2.0**EXACT)
    assert det(x) == pytest.approx(-(2.0 ** (EXACT + 1)), rel=1e-12)


def test_empty_matrices_and_batches():
    assert det(np.zeros((0, 0))) == 1
    assert det(np.zeros((2, 0, 0))).tolist() == [1, 1]
    assert det(np.zeros((0, 3, 3))).shape == (0,)


def test_a_matrix_that_is_not_finite_leaves_others_alone():
    with np.errstate(invalid="ignore"):
        y = det(np.array([[[np.nan, 0], [0, 1]], [[2, 7], [0, 3]]]))
    assert np.isnan(y[0])
    assert y[1] == 6


@pytest.mark.parametrize("size", [2, 25])
def test_nan_is_not_pivoted_away(size):
    """nan·1 - 1·1, where an elimination that compares with NaN takes the pivot 0."""
    x = np.eye(size)
    x[:2, :2] = [[np.nan, 1], [1, 1]]
    with np.errstate(invalid="ignore"):
        assert np.isnan(det(x))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="square"):
        det(np.zeros(shape))
