"""Weights in blocks of few bits: order of bits, short last blocks, each kind of zero point; quantisation of com.microsoft."""

import ml_dtypes
import numpy as np
import pytest

from reference import evaluator
from reference.ops.block_quantization import dequantize_linear, matmul_n_bits, matmul_n_bits_weights, quantize_linear, unpack


def real(*values):
    return np.array(values, np.float64)


def packed(numbers, bits):
    """Numbers (..., n) of `bits` bits in bytes, the first one in the lowest bits."""
    numbers = np.asarray(numbers).reshape(*np.shape(numbers)[:-1], -1, 8 // bits)
    return (numbers << (np.arange(8 // bits) * bits)).sum(axis=-1).astype(np.uint8)


def test_the_lowest_bits_come_first():
    assert unpack(np.array([0x21, 0xF0], np.uint8), 4).tolist() == [1, 2, 0, 15]
    assert unpack(np.array([0b11_10_01_00], np.uint8), 2).tolist() == [0, 1, 2, 3]
    assert unpack(np.array([[200], [7]], np.uint8), 8).tolist() == [[200], [7]]


# Two rows of 18 weights in blocks of 16: the second block holds two of them and 14 that must not count.
NUMBERS = np.array([[[9] * 16, [8, 10] + [15] * 14], [[8] * 15 + [7], [5, 6] + [0] * 14]])
SCALES = real([0.5, 2], [1, 4])
SHAPE = {"K": 18, "N": 2, "block_size": 16}


@pytest.mark.parametrize(
    ("zero_points", "wanted"),
    [
        (None, [[0.5] * 16 + [0, 4], [0] * 15 + [-1, -12, -8]]),
        # zero points 8, 10 in the first row, 8, 5 in the second
        (np.array([[0xA8], [0x58]], np.uint8), [[0.5] * 16 + [-4, 0], [0] * 15 + [-1, 0, 4]]),
        (np.array([0xA8, 0x58], np.uint8), [[0.5] * 16 + [-4, 0], [0] * 15 + [-1, 0, 4]]),
        (real([8.5, 10], [8, 5]), [[0.25] * 16 + [-4, 0], [0] * 15 + [-1, 0, 4]]),
    ],
)
def test_weights_of_four_bits(zero_points, wanted):
    got = matmul_n_bits_weights(packed(NUMBERS, 4), SCALES, zero_points, **SHAPE)
    assert got.tolist() == wanted


def test_a_row_of_an_odd_number_of_blocks_has_zero_points_in_bytes_of_its_own():
    b = packed(np.full((2, 3, 16), 9), 4)
    zero_points = packed([[1, 2, 3, 0], [4, 5, 6, 0]], 4)
    got = matmul_n_bits_weights(b, np.ones((2, 3)), zero_points, K=48, N=2, block_size=16)
    assert got[:, ::16].tolist() == [[8, 7, 6], [5, 4, 3]]


@pytest.mark.parametrize("bits", [2, 8])
def test_weights_of_two_and_eight_bits(bits):
    top = 2**bits - 1
    numbers = np.array([[[0, top] * 8, [1] * 16]])
    got = matmul_n_bits_weights(packed(numbers, bits), real([1, 2]), K=32, N=1, block_size=16, bits=bits)
    half = 2 ** (bits - 1)
    assert got[0, [0, 1, 16]].tolist() == [-half, half - 1, 2 * (1 - half)]
    zero_points = packed([[1, top] + [0] * (8 // bits - 2)], bits) if bits < 8 else np.array([[1, top]], np.uint8)
    got = matmul_n_bits_weights(packed(numbers, bits), real([1, 2]), zero_points, K=32, N=1, block_size=16, bits=bits)
    assert got[0, [0, 1, 16]].tolist() == [-1, top - 1, 2 * (1 - top)]


def test_the_product_and_its_bias():
    a = np.zeros((2, 1, 18))
    a[0, 0, [0, 17]] = 1
    a[1, 0, [15, 16]] = 2
    y = matmul_n_bits(a, packed(NUMBERS, 4), SCALES, None, None, real(10, 20), **SHAPE)
    assert y.tolist() == [[[14.5, 12]], [[11, -6]]]
    assert matmul_n_bits(a, packed(NUMBERS, 4), SCALES, accuracy_level=4, **SHAPE).tolist() == [[[4.5, -8]], [[1, -26]]]


def test_an_index_of_groups_says_whose_scale_and_zero_point_count():
    g_idx = np.array([1] + [0] * 15 + [1, 0], np.int32)
    zero_points = np.array([[0xA8], [0x58]], np.uint8)
    wanted = [[-2] + [0.5] * 15 + [-4, 1], [12] + [0] * 14 + [-1, 0, -2]]
    for index in (g_idx, np.pad(g_idx, (0, 14))):
        assert matmul_n_bits_weights(packed(NUMBERS, 4), SCALES, zero_points, index, **SHAPE).tolist() == wanted


@pytest.mark.parametrize("shape", [(0, 2, 8), (2, 0, 8), (2, 2, 0)])
def test_weights_without_elements_leave_the_bias(shape):
    b, a = np.zeros(shape, np.uint8), np.full((3, 18), np.inf)
    assert matmul_n_bits(a, b, np.zeros((0, 2)), None, None, real(1, 2), **SHAPE).tolist() == [[1, 2]] * 3
    assert matmul_n_bits(a, b, SCALES, **SHAPE).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 3}, "bits is 2, 4 or 8, not 3"),
        ({"block_size": 8}, "power of two from 16 on, not 8"),
        ({"block_size": 48}, "power of two from 16 on, not 48"),
        ({"block_size": 32}, r"need \(2, 1, 16\)"),
        ({"K": 17}, "A has 18 columns, K is 17"),
        ({"weight_prepacked": 1}, "not defined"),
    ],
)
def test_invalid_blocks(changed, message):
    with pytest.raises(ValueError, match=message):
        matmul_n_bits(np.zeros((1, 18)), packed(NUMBERS, 4), SCALES, **{**SHAPE, **changed})


def test_quantisation_per_tensor_and_per_axis():
    x = np.array([[2, 4, 6], [8, 10, 12]], np.float64)
    assert quantize_linear(x, np.array(4.0), np.array(1, np.int16)).tolist() == [[1, 2, 3], [3, 3, 4]]  # ties to even
    y = quantize_linear(x, real(1, 2, 4), np.array([0, 0, 1], ml_dtypes.uint4), axis=-1)
    assert (y.astype(int).tolist(), y.dtype) == ([[2, 2, 3], [8, 5, 4]], ml_dtypes.uint4)
    assert dequantize_linear(y, real(1, 2, 4), np.array([0, 0, 1], ml_dtypes.uint4), axis=1).tolist() == [
        [2, 4, 8],
        [8, 10, 12],
    ]
    assert dequantize_linear(np.array([2**31 - 1], np.int32), np.array([0.5])).tolist() == [2.0**30 - 0.5]
    assert quantize_linear(x, np.array([4.0])).dtype == np.uint8
    with pytest.raises(ValueError, match="without axis there is one scale, not 3"):
        quantize_linear(x, real(1, 2, 4))


def test_operators_are_found_in_their_domain():
    inputs = [np.float16([1.5, 2.5]), np.float16(1), np.array(1, np.int16)]
    (y,) = evaluator.apply("QuantizeLinear", 1, inputs, {}, domain="com.microsoft")
    assert (y.tolist(), y.dtype) == ([3, 3], np.int16)
