"""Matrix products against values worked out by hand: broadcasting, wrap-around, zero points per row and column."""

import numpy as np
import pytest

from reference.ops.matrix import einsum, gemm, matmul, matmul_integer

A = np.array([[1, 2], [3, 4]], np.float64)


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        ((3,), (3,), ()),
        ((3,), (2, 3, 4), (2, 4)),
        ((2, 1, 4, 3), (5, 3, 2), (2, 5, 4, 2)),
        ((2, 0), (0, 3), (2, 3)),
        ((0, 2), (2, 3), (0, 3)),
    ],
)
def test_shapes(a, b, shape):
    y = matmul(np.ones(a), np.ones(b))
    assert y.shape == shape
    assert (y == a[-1]).all()


def test_integers_wrap_around_in_their_type():
    a = np.array([[2**31 - 1, 1]], np.int32)
    np.testing.assert_array_equal(matmul(a, np.ones((2, 1), np.int32)), [[-(2**31)]])
    big = np.array([[2**63 + 5]], np.uint64)
    np.testing.assert_array_equal(matmul(big, np.array([[2]], np.uint64)), [[10]])


def test_gemm_transposes_scales_and_broadcasts():
    b = np.array([[1, 0], [2, 1], [0, 3]], np.float64)
    # A' = [[1 3] [2 4]], B' = [[1 2 0] [0 1 3]]
    y = gemm(A, b, np.array([[10], [20]], np.float64), alpha=0.5, beta=2.0, transA=1, transB=1)
    np.testing.assert_array_equal(y, [[20.5, 22.5, 24.5], [41, 44, 46]])
    np.testing.assert_array_equal(gemm(A, A, np.array(1.0)), [[8, 11], [16, 23]])
    np.testing.assert_array_equal(gemm(A, A), [[7, 10], [15, 22]])


def test_gemm_of_integers_stays_exact():
    a = np.array([[2**53 + 1]], np.int64)
    y = gemm(a, np.array([[1]], np.int64), np.array([2], np.int64), beta=3.0)
    assert y.dtype == np.int64
    assert y[0, 0] == 2**53 + 7
    assert gemm(np.array([[-3]], np.int32), np.array([[1]], np.int32), alpha=0.5)[0, 0] == -1


def test_zero_points_per_row_and_column():
    a = np.array([[11, 12], [21, 20]], np.uint8)
    b = np.array([[1, 2, 3], [4, 5, 6]], np.int8)
    y = matmul_integer(a, b, np.array([10, 20], np.uint8), np.array([0, 1, 2], np.int8))
    # a - zp = [[1 2] [1 0]], b - zp = [[1 1 1] [4 4 4]]
    np.testing.assert_array_equal(y, [[9, 9, 9], [1, 1, 1]])
    assert y.dtype == np.int32
    deep = matmul_integer(a[None], b, np.array([10, 20], np.uint8).reshape(1, 2, 1), np.array(1, np.int8))
    np.testing.assert_array_equal(deep, [[[0 + 2 * 3, 1 + 2 * 4, 2 + 2 * 5], [0, 1, 2]]])


def test_zero_points_of_no_rows():
    y = matmul_integer(np.zeros((0, 2), np.uint8), np.ones((2, 3), np.uint8), np.zeros(0, np.uint8))
    assert y.shape == (0, 3)


def test_integer_sums_wrap_to_int32():
    a = np.full((1, 40000), 255, np.uint8)
    assert matmul_integer(a, a.T)[0, 0] == 40000 * 255 * 255 - 2**32


def test_einsum_explicit_implicit_diagonal_and_ellipsis():
    np.testing.assert_array_equal(einsum(A, A, equation="ij, jk -> ik"), [[7, 10], [15, 22]])
    np.testing.assert_array_equal(einsum(A, equation="ba"), A.T)
    np.testing.assert_array_equal(einsum(A, equation="ii"), 5)
    np.testing.assert_array_equal(einsum(np.stack([A, 2 * A]), equation="...ii->...i"), [[1, 4], [2, 8]])
    np.testing.assert_array_equal(einsum(np.array([100], np.int8), np.array([2], np.int8), equation="i,i->i"), [-56])
