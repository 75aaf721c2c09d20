"""Sums and products against exact fractions: what cancels, what is out of scale, special values, integers that wrap."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reference import exact
from reference.ops import convolution, elementwise, matrix, normalization, pooling, reduction

ANY_SIZE = st.floats(-1e150, 1e150, allow_subnormal=True)


def sum_of(values):
    """The exact sum of an iterable of fractions or float64, rounded once."""
    return float(sum(map(Fraction, values), start=Fraction(0)))


def product_of(a, b):
    """a @ b in exact fractions, each element rounded once."""
    return np.array(
        [[sum_of(Fraction(p) * Fraction(q) for p, q in zip(row, column, strict=True)) for column in b.T] for row in a]
    )


def ill_conditioned(rng, terms, exponent):
    """x, y whose product Σxy is about 1 although Σ|xy| is about 2^exponent: the second half cancels the first, term by term,
    as far as float64 can tell (Ogita, Rump and Oishi, Accurate sum and dot product, 2005, algorithm 6.1)."""
    half = terms // 2
    sizes = np.ldexp(1.0, rng.integers(0, exponent // 2 + 1, half))
    x = np.concatenate([rng.normal(size=half) * sizes, np.zeros(terms - half)])
    y = np.concatenate([rng.normal(size=half) * sizes, np.zeros(terms - half)])
    down = np.linspace(exponent // 2, 0, terms - half).astype(int)
    for i, size in enumerate(down, start=half):
        x[i] = rng.normal() * 2.0**size
        y[i] = (rng.normal() * 2.0**size - sum_of(Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True))) / x[i]
    order = rng.permutation(terms)
    return x[order], y[order]


def test_two_sum_and_two_product_keep_what_rounding_loses():
    high, low = exact.two_sum(np.array([1e16, 1.0]), np.array([1.0, -1e-20]))
    np.testing.assert_array_equal(high, [1e16, 1])
    np.testing.assert_array_equal(low, [1, -1e-20])
    # (1 + 2^-30)² = 1 + 2^-29 + 2^-60
    high, low = exact.two_product(1 + 2.0**-30, 1 + 2.0**-30)
    assert (high, low) == (1 + 2.0**-29, 2.0**-60)
    assert exact.two_product(1e300, 1e300) == (np.inf, 0)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1e16, 1, -1e16], 1),
        ([1e300, 1, -1e300, 5e-324, -1], 5e-324),
        ([1.5e308, 1.5e308, -1.5e308], 1.5e308),
        ([1, 2.0**-53, 2.0**-106], 1 + 2.0**-52),  # just above the tie between 1 and its neighbour
        ([-0.1] * 10, -1),  # ten times the float64 next to 0.1, which is a little larger
        ([], 0),
    ],
)
def test_total(values, wanted):
    assert exact.total(np.array(values)) == wanted


def test_total_keeps_axes_and_special_values():
    x = np.array([[[1e16, 1, -1e16], [np.inf, 1, 1]], [[np.nan, 0, 1], [np.inf, 1, -np.inf]]])
    np.testing.assert_array_equal(exact.total(x, -1), [[1, np.inf], [np.nan, np.nan]])
    assert exact.total(x, (0, 2), keepdims=True).shape == (1, 2, 1)
    np.testing.assert_array_equal(exact.total(x, ()), x)
    assert exact.total(np.array([1.5e308, 1.5e308])) == np.inf


@settings(max_examples=100, deadline=None)
@given(arrays.arrays(np.float64, st.integers(1, 12), elements=ANY_SIZE))
def test_total_and_running_sums_are_those_of_fractions(x):
    assert exact.total(x) == sum_of(x) == math.fsum(x)
    np.testing.assert_array_equal(exact.cumulative(x, 0), [sum_of(x[: n + 1]) for n in range(x.size)])


def test_running_sums_along_an_axis():
    x = np.array([[1e16, 1, -1e16, 1], [1, np.inf, 1, -np.inf]])
    np.testing.assert_array_equal(exact.cumulative(x, 1), [[1e16, 1e16, 1, 2], [1, np.inf, np.inf, np.nan]])
    np.testing.assert_array_equal(exact.cumulative(x[:1].T, 0)[:, 0], [1e16, 1e16, 1, 2])


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_matmul_is_that_of_fractions(data):
    m, k, n = (data.draw(st.integers(1, 4)) for _ in range(3))
    a = data.draw(arrays.arrays(np.float64, (m, k), elements=ANY_SIZE))
    b = data.draw(arrays.arrays(np.float64, (k, n), elements=ANY_SIZE))
    np.testing.assert_array_equal(exact.matmul(a, b), product_of(a, b))


@pytest.mark.parametrize("exponent", [20, 100, 200])  # condition numbers up to 1e60
def test_matmul_of_ill_conditioned_data(exponent):
    rng = np.random.default_rng(exponent)
    pairs = [ill_conditioned(rng, 60, exponent) for _ in range(3)]
    a, b = np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs], axis=1)
    wanted = product_of(a, b)
    condition = np.diag(np.abs(a) @ np.abs(b)) / np.abs(np.diag(wanted))
    assert condition.min() > 2.0 ** (exponent - 25)
    np.testing.assert_array_equal(exact.matmul(a, b), wanted)
    if exponent > 60:
        assert (np.abs(a @ b - wanted) >= np.abs(wanted)).any()  # float64 alone has no digit right


def test_matmul_of_large_ordinary_data():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 3, 300)), rng.normal(size=(300, 4))
    y = exact.matmul(a, b)
    np.testing.assert_array_equal(y, np.stack([product_of(part, b) for part in a]))
    np.testing.assert_allclose(a @ b, y, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (3,)), ((3,), (2, 3, 4)), ((2, 1, 4, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3))]
)
def test_shapes_are_those_of_numpy(a, b):
    a, b = np.ones(a), np.full(b, 0.5)
    y = exact.matmul(a, b)
    assert y.shape == np.matmul(a, b).shape
    np.testing.assert_array_equal(y, np.matmul(a, b))


def test_what_is_added_to_a_product_counts_before_rounding():
    a, b = np.array([[1 + 2.0**-30, 1]]), np.array([[1 + 2.0**-30], [1e16]])
    assert exact.matmul(a, b, np.array([[-1e16]])) == 1 + 2.0**-29  # 2^-60 is below half an ulp
    assert exact.matmul(a, b, np.array([[-1e16]]), np.array([[-1 - 2.0**-29]])) == 2.0**-60


def test_rows_and_columns_with_special_values_are_as_in_numpy():
    a, b = np.array([[np.inf, 1], [1e16, 1]]), np.array([[1, 0.0, 1], [1, 1, np.nan]])
    np.testing.assert_array_equal(exact.matmul(a, b), [[np.inf, np.nan, np.nan], [1e16, 1, np.nan]])
    assert exact.matmul(np.array([1e200]), np.array([1e200])) == np.inf


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("terms", [1, 7, 300])
def test_integers_wrap_as_they_do_in_numpy(dtype, terms):
    rng = np.random.default_rng(terms)
    limits = np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in ((2, 3, terms), (terms, 4)))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(exact.integer_matmul(a, b, np.dtype(dtype)), np.matmul(a, b))
    assert exact.integer_matmul(a, b, np.dtype(dtype)).dtype == dtype


def test_integers_at_the_limit_of_float64():
    # 2^26·2^26·2 = 2^53 goes by one product, anything larger by limbs
    for size in (2**26, 2**26 + 1, -(2**31)):
        a = np.array([[size, -size], [size, 1]], np.int64)
        np.testing.assert_array_equal(exact.integer_matmul(a, a, np.dtype(np.int64)), a @ a)
    lowest = np.array([-(2**63)])
    assert exact.integer_matmul(lowest, lowest + 1, np.dtype(np.int64)) == -(2**63)
    assert exact.integer_matmul(np.array([256, 0]), np.array([2**60, 1]), np.dtype(np.int8)) == 0
    assert exact.integer_matmul(np.zeros((2, 0), np.int32), np.zeros((0, 3), np.int32), np.dtype(np.int32)).shape == (2, 3)


def test_the_context_ends_and_nests():
    assert not exact.wanted()
    with exact.sums():
        with exact.sums():
            assert exact.wanted()
        assert exact.wanted()
    assert not exact.wanted()


A, B = np.array([[1e16, 1, -1e16], [1, 1, 1]]), np.array([[1.0, 1], [1, 2], [1, 1]])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda: matrix.matmul(A, B), [[1, 2], [3, 4]]),
        (lambda: matrix.gemm(A, B, np.array([2.0**-60, -2])), [[1, 0], [3, 2]]),
        (lambda: matrix.gemm(A, B, np.array([-0.1]), alpha=0.1), [[0, 0.1], [0.2, 3 * 0.1]]),
        (lambda: matrix.einsum(A, B, equation="ij,jk->ik"), [[1, 2], [3, 4]]),
        (lambda: matrix.einsum(A, equation="ij->i"), [1, 3]),
        (lambda: matrix.einsum(A, B, np.ones(3), equation="ij, jk, j -> i"), [3, 7]),
        (lambda: matrix.einsum(np.stack([A, A]), B, equation="...j,jk"), [[[1, 2], [3, 4]]] * 2),
        (lambda: matrix.einsum(np.outer(A[0], A[0]), equation="ii->"), 2e32 + 1),
        (lambda: convolution.conv(A[None], np.ones((1, 2, 2)), np.array([-1.0])), [[[1e16 + 2, -1e16 + 2]]]),
        (lambda: convolution.conv_transpose(A[None, :1], np.ones((1, 1, 3)), pads=[2, 2]), [[[1]]]),
        (lambda: reduction.reduce_sum(A), 4),
        (lambda: reduction.reduce_mean(A, [1], keepdims=0), [1 / 3, 1]),
        (lambda: reduction.reduce_l1(np.array([1e16, 1, 1])), 1e16 + 2),
        (lambda: reduction.reduce_sum_square(np.array([[1e16, 1, 1]]), [-1]), [[1e32]]),
        (lambda: reduction.reduce_sum_square(np.array([1 + 2.0**-30, 2.0**-27, 2.0**-27])), 1 + 2.0**-29 + 2.0**-52),
        (lambda: reduction.reduce_l2(np.ldexp([3, 4, 2.0**-60], 600)), 5 * 2.0**600),
        (lambda: reduction.cumulative_sum(A, np.array(1), reverse=1), [[1, 1 - 1e16, -1e16], [3, 2, 1]]),
        (lambda: elementwise.total(A[:, :1], A[:, 1], -A[:, :1]), [[1, 1], [1, 1]]),
        (lambda: elementwise.mean(A[0], A[0, ::-1], np.full(3, 1.0)), [1 / 3, 1, 1 / 3]),
        (lambda: pooling.average_pool(A[None], kernel_shape=[3]), [[[1 / 3], [1]]]),
        (lambda: pooling.global_average_pool(A[None]), [[[1 / 3], [1]]]),
        (lambda: normalization.layer_normalization(A, np.ones(3), n_outputs=2)[1], [[1 / 3], [1]]),
    ],
)
def test_operators_inside_the_context(function, wanted):
    with exact.sums():
        np.testing.assert_array_equal(function(), wanted)
