"""Quantisation against exact fractions: ties, saturation, blocks, zero points of odd value, requantisation at
half-ways.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from reference import dtypes, evaluator
from reference.ops import quantization
from reference.ops.quantization import dequantize_linear, dynamic_quantize_linear, quantize_linear, quantize_ties
from reference.ops.requantization import round_quotient


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


@pytest.mark.parametrize("seed", range(4))
def test_sums_that_no_float64_holds_round_as_fractions_do(seed):
    """Terms of very different size that cancel, numerators at a half-way of the divisor and next to it on either side."""
    rng = np.random.default_rng(seed)
    divisor = (np.array(float(np.float32(rng.uniform(1, 2)))), np.array(2.0**-70 * (seed % 2)))
    whole = rng.integers(-200, 200, 90)
    halves = [(int(n) + Fraction(1, 2)) * sum(Fraction(float(d)) for d in divisor) for n in whole]
    first = np.array([float(v) for v in halves])
    second = np.array([float(v - Fraction(f)) for v, f in zip(halves, first.tolist(), strict=True)])
    third = np.tile([0.0, 1e-60, -1e-60], 30)
    numerator = (np.array(2.0**10), first, second, third, np.array(-(2.0**10)))
    columns = zip(*(term.tolist() for term in np.broadcast_arrays(*numerator)), strict=True)
    exact = [sum(map(Fraction, column)) / sum(Fraction(float(d)) for d in divisor) for column in columns]
    assert round_quotient(numerator, divisor).tolist() == [round(v) for v in exact]
    assert len({v % 1 for v in exact}) > 1


def test_ties_are_marked_within_their_distance():
    x = real(0.5, 0.5 + 2.0**-20, 0.5 + 2.0**-19, -2.5, 3, np.nan, np.inf, 0.75)
    wanted = [True, True, False, True, False, False, False, False]
    assert quantize_ties(x, np.array(1.0), np.array(3, np.int8)).tolist() == wanted
    assert quantize_ties(real([1, 2], [3, 4]), real(2, 4), axis=0).tolist() == [[True, False], [False, False]]
    assert quantize_ties(real([1, 2, 3]), real([2, 2]), axis=1, block_size=2).tolist() == [[True, False, True]]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("uint8", 0, 255),
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int16", -32768, 32767),
        ("uint4", 0, 15),
        ("int4", -8, 7),
        ("uint2", 0, 3),
        ("int2", -2, 1),
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

    assert quantize_linear(real(300), np.array(1.0), np.array(0, np.int8), output_dtype=3).dtype == np.int8
    with pytest.raises(ValueError, match="output_dtype is int8, but y_zero_point is uint8"):
        quantize_linear(real(1), np.array(1.0), np.array(0, np.uint8), output_dtype=3)


@pytest.mark.parametrize(("saturate", "wanted"), [(1, [1.625, 448, -448]), (0, [1.625, np.nan, np.nan])])
def test_eight_bit_floats_are_rounded_in_their_type(saturate, wanted):
    names = ("float32", "float32", "float8_e4m3fn")
    # 1.6 lies between 1.5 and 1.625; e4m3fn has no infinity
    y = quantize_linear(real(3.2, 1000, -np.inf), np.array(2.0), np.array(0.0), saturate=saturate, dtypes=names)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize(("dtype", "largest"), [("float4_e2m1fn", 6), ("float6_e2m3fn", 7.5), ("float6_e3m2fn", 28)])
def test_floats_without_anything_beyond_saturate_always(dtype, largest):
    names = ("float32", "float32", dtype)
    y = quantize_linear(real(2, 1000, -np.inf), np.array(4.0), np.array(0.0), saturate=0, dtypes=names)
    assert y.tolist() == [0.5, largest, -largest]


def test_a_named_precision_rounds_operands_and_quotient():
    zero = np.array(0, np.int16)
    x = real(2049, 2051, 1001.5, 1e5)
    assert quantize_linear(x, np.array(1.0), zero).tolist() == [2049, 2051, 1002, 32767]
    # float16 has 11 bits: 2048, 2052, 1001.5 (a tie), infinity
    assert quantize_linear(x, np.array(1.0), zero, precision=10).tolist() == [2048, 2052, 1002, 32767]
    # 1/3 of 1000.5 is 333.5, the float32 next to it too; 1/3 itself is not rounded
    scale = np.array(3.0)
    assert quantize_linear(real(1000.5, 1000.5 + 2.0**-20), scale, zero).tolist() == [334, 334]
    assert quantize_linear(real(997.5 + 2.0**-20), scale, zero).tolist() == [333]
    assert quantize_linear(real(997.5 + 2.0**-20), scale, zero, precision=1).tolist() == [332]
    assert quantization.quantize_linear_real(real(2049), np.array(1.0), zero, precision=10).tolist() == [2049]
    with pytest.raises(ValueError, match="precision is a floating-point type, not int8"):
        quantize_linear(x, scale, zero, precision=3)


def test_the_type_of_a_narrower_scale_is_that_of_the_division():
    x, one, zero = real(2049, 1001), np.array(1.0), np.array(0, np.int16)
    for names, wanted in (
        (("float32", "float16", "int16"), [2048, 1001]),
        (("int32", "bfloat16", "int16"), [2048, 1000]),  # 8 bits: steps of 16 and of 4, 1001 is nearest 1000
        (("float16", "float32", "int16"), [2049, 1001]),
        (("float16", "float16", "int16"), [2049, 1001]),
    ):
        assert quantize_linear(x, one, zero, dtypes=names).tolist() == wanted


def test_integers_are_quantised_exactly():
    x = np.array([5, 7, -(2**31), 2**31 - 1], np.int32)
    assert quantize_linear(x, np.array(2, np.int32), np.array(0, np.int8)).tolist() == [2, 4, -128, 127]
    assert quantize_linear(x, np.array(0.4), np.array(0, np.uint8)).tolist() == [12, 17, 0, 255]  # 0.4 is above 2/5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e8m0fnu"])
def test_scales_of_other_types(dtype):
    scale = np.array(0.5).astype(dtypes.numpy_dtype(dtype))
    x, zero = np.float32([0.75, 1.25, -3]), np.array(1, np.uint8)
    (y,) = evaluator.apply("QuantizeLinear", 24, [x, scale, zero], {})
    assert (y.tolist(), y.dtype) == ([3, 3, 0], np.uint8)
    (back,) = evaluator.apply("DequantizeLinear", 24, [y, scale, zero], {})
    assert back.tolist() == [1, 1, -0.5]


def test_parameters_that_do_not_fit():
    x = np.zeros((2, 3))
    with pytest.raises(ValueError, match="axis 2 of a tensor of rank 2"):
        quantize_linear(x, real(1, 2), axis=2)
    with pytest.raises(ValueError, match=r"has shape \(2,\), axis 1 needs \(3,\)"):
        quantize_linear(x, real(1, 2))
    with pytest.raises(ValueError, match=r"blocks of 2 need \(2, 2\)"):
        dequantize_linear(x.astype(np.int8), real([1, 2]), axis=1, block_size=2)
    with pytest.raises(ValueError, match="has shape"):
        quantize_linear(x, real([1, 2, 3], [4, 5, 6]))


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


def test_dynamic_quantisation_next_to_a_tie():
    assert dynamic_quantize_linear(real(1, 0.5))[0].tolist() == [255, 128]  # 127.5 exactly
    y, _, zero = dynamic_quantize_linear(real(1, 0.5, -(2.0**-99)))  # a range wider by 2^-99: just below 127.5
    assert (y.tolist(), zero) == ([255, 127, 0], 0)


def test_the_zero_point_of_a_symmetric_range_is_a_tie():
    x = real(-1, 1, 0)
    y, _, zero = dynamic_quantize_linear(x)
    assert (y.tolist(), zero) == ([0, 255, 128], 128)  # -128 + 128, 128 + 128 saturated
    assert quantization.dynamic_quantize_linear_zero_point_real(x) == 127.5
    assert quantization.dynamic_quantize_linear_zero_point_real(real(2)) == 0


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


def test_matrix_product_of_floats_is_real_and_saturates():
    a, b = real([16, 0.5]), real([448], [-448])
    names = ("float8_e4m3fn", "float32") * 2 + ("float8_e5m2", "float32", "float32", "float8_e4m3fn")
    arguments = (a, np.array(1.0), np.array(0.5), b, np.array(2.0), np.array(0.0))
    # (15.5·448 - 0·448)·2
    assert quantization.qlinear_matmul(*arguments, np.array(64.0), np.array(1.0), dtypes=names).tolist() == [[218]]
    assert quantization.qlinear_matmul(*arguments, np.array(1.0), np.array(1.0), dtypes=names).tolist() == [[448]]
    y = quantization.qlinear_matmul(*arguments, np.array(256.0), np.array(1, np.int8), dtypes=(*names[:7], "int8"))
    assert (y.tolist(), y.dtype) == ([[55]], np.int8)  # 54.25 + 1
