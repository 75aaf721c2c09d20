"""Quantisation against exact fractions: ties, saturation, blocks, zero points of odd value, requantisation at
half-ways.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from reference.ops import quantization
from reference.ops.quantization import dequantize_linear, dynamic_quantize_linear, quantize_linear


def real(*values):
    return np.array(values, np.float64)


def test_ties_round_to_even_before_the_zero_point_is_added():
    x = real(0.5, 1.5, 2.5, -0.5, -1.5, 3.25)
    y = quantize_linear(x, real(1.0)[0], np.array(3, np.int8))
    assert y.tolist() == [3, 5, 5, 3, 1, 6]
    assert y.dtype == np.int8


def test_a_quotient_next_to_a_tie_is_no_tie():
    scale = float(np.float32(0.1))  # above 1/10, so 0.25 is below 5/2 of it
    x = 2.5 * scale  # exact: a tie
    nudged = np.nextafter(x, 3), np.nextafter(x, 0)
    assert quantize_linear(real(x, *nudged), np.array(scale)).tolist() == [2, 3, 2]
    assert quantize_linear(real(0.25), np.array(scale)).tolist() == [2]


@pytest.mark.parametrize("seed", range(3))
def test_quotients_round_as_fractions_do(seed):
    """round() of a Fraction goes to even."""
    rng = np.random.default_rng(seed)
    scale = float(np.float32(rng.uniform(0.001, 2)))
    halves = (rng.integers(-300, 300, 200) + 0.5) * scale  # exact products of 10 and 24 bits
    x = np.concatenate([halves, np.nextafter(halves, np.inf), np.float32(halves).astype(np.float64)])
    got = quantize_linear(x, np.array(scale), np.array(0, np.int16))
    assert got.tolist() == [round(Fraction(v) / Fraction(scale)) for v in x.tolist()]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("uint8", 0, 255),
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int16", -32768, 32767),
        ("uint4", 0, 15),
        ("int4", -8, 7),
    ],
)
def test_saturation(dtype, low, high):
    zero = np.array(1).astype(getattr(ml_dtypes, dtype, dtype))
    y = quantize_linear(real(-1e30, 1e30, -np.inf, np.inf, 0), np.array(1.0), zero)
    assert y.dtype == zero.dtype
    assert y.astype(int).tolist() == [low, high, low, high, 1]


def test_type_of_the_result():
    assert quantize_linear(real(300), np.array(1.0)).tolist() == [255]
    assert quantize_linear(real(-300), np.array(1.0), output_dtype=3).dtype == np.int8
    assert quantize_linear(real(-300), np.array(1.0), output_dtype=22).dtype == ml_dtypes.int4


@pytest.mark.parametrize(("saturate", "wanted"), [(1, [1.5, 448, -448]), (0, [1.5, 500, -np.inf])])
def test_eight_bit_floats_stay_real_within_their_range(saturate, wanted):
    names = ("float32", "float32", "float8_e4m3fn")
    y = quantize_linear(real(3, 1000, -np.inf), np.array(2.0), np.array(0.0), saturate=saturate, dtypes=names)
    assert y.tolist() == wanted


def test_axes_and_blocks():
    x = np.array([[2, 4, 6], [8, 10, 12]], np.float64)
    assert quantize_linear(x, real(2, 4), np.array([0, 1], np.uint8), axis=-2).tolist() == [[1, 2, 3], [3, 3, 4]]
    assert quantize_linear(x, real(1, 2, 4)).tolist() == [[2, 2, 2], [8, 5, 3]]
    # blocks of 2 along the last axis, the last block short
    scale, zero = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[0, 1], [2, 3]], np.uint8)
    assert quantize_linear(x, scale, zero, axis=1, block_size=2).tolist() == [[2, 4, 4], [6, 7, 6]]
    assert quantize_linear(x, scale, axis=-1, block_size=2).tolist() == [[2, 4, 3], [4, 5, 3]]
    q = np.array([[2, 4, 4], [6, 7, 6]], np.uint8)
    np.testing.assert_array_equal(dequantize_linear(q, scale, zero, axis=-1, block_size=2), x)


def test_real_value_before_rounding():
    x = real(0.5, 1e9)
    np.testing.assert_array_equal(quantization.quantize_linear_real(x, np.array(0.5), np.array(3, np.uint8)), [4, 2e9 + 3])


def test_dequantisation_is_exact():
    y = dequantize_linear(np.array([0, 255], np.uint8), np.array(float(np.float32(0.1))), np.array(128, np.uint8))
    assert y.tolist() == [-128 * float(np.float32(0.1)), 127 * float(np.float32(0.1))]
    assert dequantize_linear(np.array([-8, 7], ml_dtypes.int4), np.array(0.5)).tolist() == [-4, 3.5]
    assert dequantize_linear(np.array([2**31 - 1], np.int32), np.array(2.0)).tolist() == [2.0**32 - 2]
    assert dequantize_linear(np.array([[1, 2]], np.int8), real(2, 3)).tolist() == [[2, 6]]


def test_dynamic_quantisation():
    y, scale, zero = dynamic_quantize_linear(real(0, 2, -3, 1))
    # width 5: scale 1/51, zero point 153; 2·51 + 153 = 255
    assert (y.tolist(), zero, y.dtype, zero.dtype) == ([153, 255, 0, 204], 153, np.uint8, np.uint8)
    assert scale == 5 / 255
    np.testing.assert_array_equal(quantization.dynamic_quantize_linear_real(real(0, 2, -3, 1)), [153, 255, 0, 204])
    y, scale, zero = dynamic_quantize_linear(real(1, 4))  # 0 belongs to the range
    assert (y.tolist(), zero, scale) == ([64, 255], 0, 4 / 255)
    y, scale, zero = dynamic_quantize_linear(real(-2, -1))
    assert (y.tolist(), zero) == ([0, 127], 255)  # 255 - 127.5: the product rounds to even, -128
    y, scale, zero = dynamic_quantize_linear(np.zeros((2, 0)))
    assert (y.shape, zero, scale) == ((2, 0), 0, 0)
    assert dynamic_quantize_linear(np.zeros(2))[0].tolist() == [0, 0]


def test_convolution_per_channel_with_odd_padding():
    x = np.array([[[12, 8]]], np.uint8)
    w = np.array([[[1, 3]], [[5, 5]]], np.uint8)
    arguments = (np.array(0.5), np.array(10, np.uint8), w, real(0.5, 0.25), np.array([1, 3], np.uint8))
    y = quantization.qlinear_conv(x, *arguments, np.array(0.5), np.array(7, np.uint8), np.array([1, -3], np.int32), pads=[0, 1])
    # sums (2·0 - 2·2, -2·0) + 1 = (-3, 1), times 0.5; (2·2 - 2·2, -2·2) - 3 = (-3, -7), times 0.25
    assert y.tolist() == [[[7 - 2, 7 + 0], [7 - 1, 7 - 2]]]
    exact = quantization.qlinear_conv_real(
        x, *arguments, np.array(0.5), np.array(7, np.uint8), np.array([1, -3], np.int32), pads=[0, 1]
    )
    assert exact.tolist() == [[[5.5, 7.5], [6.25, 5.25]]]


@pytest.mark.parametrize("seed", range(3))
def test_requantisation_rounds_as_fractions_do(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 256, (6, 5)).astype(np.uint8), rng.integers(-128, 128, (5, 7)).astype(np.int8)
    a_scale, b_scale, y_scale = (float(np.float32(v)) for v in rng.uniform(0.001, 0.1, 3))
    if seed == 0:
        a_scale, b_scale, y_scale = 0.75, 0.5, 12.0  # multiples of 1/32: many ties
    zero = np.array(5, np.int8)
    sums = (a.astype(int) - 100) @ b.astype(int)
    wanted = [
        min(max(round(int(s) * Fraction(a_scale) * Fraction(b_scale) / Fraction(y_scale)) + 5, -128), 127) for s in sums.ravel()
    ]
    left = a, np.array(a_scale), np.array(100, np.uint8)
    right = b, np.array(b_scale), np.array(0, np.int8)
    got = quantization.qlinear_matmul(*left, *right, np.array(y_scale), zero)
    assert got.ravel().tolist() == wanted
    assert got.dtype == np.int8


def test_matrix_product_per_row_and_column():
    a, b = np.array([[1, 2], [3, 4]], np.int8), np.array([[1, 0], [0, 1]], np.int8)
    none = np.zeros(2, np.int8)
    arguments = (a, real(1, 0.5), none, b, real(1, 2), none, np.array([1.0]), np.array([0], np.int8))
    assert quantization.qlinear_matmul(*arguments).tolist() == [[1, 4], [2, 4]]
    assert quantization.qlinear_matmul_real(*arguments).tolist() == [[1, 4], [1.5, 4]]
