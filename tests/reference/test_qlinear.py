"""Quantised operators of com.microsoft against exact fractions, and values by hand: ties, zero points, layouts, padding."""

from fractions import Fraction

import numpy as np
import pytest

from reference import evaluator
from reference.ops import qlinear


def real(*values):
    return np.array(values, np.float64)


def u8(*values):
    return np.array(values, np.uint8)


def i8(*values):
    return np.array(values, np.int8)


def scalar(value, dtype=np.float64):
    return np.array(value, dtype)


def assert_rounds(got, exact, zero):
    """`got` is the Fractions `exact`, rounded half to even, plus a zero point and saturated."""
    low, high = np.iinfo(got.dtype).min, np.iinfo(got.dtype).max
    assert got.ravel().tolist() == [min(max(round(v) + int(zero), low), high) for v in exact]


def scales(rng, seed, n):
    """float32 scales; every other time powers of two with many ties."""
    return [float(np.float32(v)) for v in (2.0 ** rng.integers(-4, 2, n) if seed % 2 else rng.uniform(0.01, 2, n))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_sums_and_products_round_as_fractions_do(seed, dtype):
    rng = np.random.default_rng(seed)
    low = np.iinfo(dtype).min
    a, b = (rng.integers(low, low + 256, shape).astype(dtype) for shape in ((3, 1, 50), (4, 1)))
    za, zb, zc = (scalar(v, dtype) for v in rng.integers(low, low + 256, 3))
    sa, sb, sc = scales(rng, seed, 3)
    pairs = [(int(p) - int(za), int(q) - int(zb)) for p, q in np.broadcast(a, b)]
    arguments = (a, scalar(sa), za, b, scalar(sb), zb, scalar(sc), zc)
    total = [(p * Fraction(sa) + q * Fraction(sb)) / Fraction(sc) for p, q in pairs]
    assert_rounds(qlinear.qlinear_add(*arguments), total, zc)
    np.testing.assert_allclose(
        qlinear.qlinear_add_real(*arguments).ravel(), [float(v + int(zc)) for v in total], rtol=0, atol=1e-11
    )
    product = [p * q * Fraction(sa) * Fraction(sb) / Fraction(sc) / 64 for p, q in pairs]
    arguments = (*arguments[:6], scalar(sc * 64), zc)
    assert_rounds(qlinear.qlinear_mul(*arguments), product, zc)
    np.testing.assert_allclose(
        qlinear.qlinear_mul_real(*arguments).ravel(), [float(v + int(zc)) for v in product], rtol=0, atol=1e-11
    )


def test_a_sum_next_to_a_tie_that_float64_would_lose():
    # 3·0.5 + 1·2^-60 is above 3/2, -1·2^-60 below; float64 gives 3/2 for both
    tiny = scalar(2.0**-60)
    b = i8(1, 0, -1)
    y = qlinear.qlinear_add(i8(1), scalar(0.5), None, b, tiny, None, scalar(1.0))
    assert y.tolist() == [1, 0, 0]  # 1/2 is a tie: 0
    y = qlinear.qlinear_add(i8(3), scalar(0.5), None, b, tiny, None, scalar(1.0))
    assert y.tolist() == [2, 2, 1]  # 3/2 is a tie: 2


def test_absent_zero_points_are_zero_and_the_type_is_that_of_the_operands():
    y = qlinear.qlinear_mul(i8(-3, 100), scalar(1.0), None, i8(2), scalar(1.0), None, scalar(1.0))
    assert (y.tolist(), y.dtype) == ([-6, 127], np.int8)
    y = qlinear.qlinear_add(u8(3), real(1.0), u8(1), u8(2, 0), real(1.0), None, real(1.0))
    assert (y.tolist(), y.dtype) == ([4, 2], np.uint8)
    with pytest.raises(ValueError, match="a_scale has shape"):
        qlinear.qlinear_mul(u8(3), real(1.0, 2.0), None, u8(2), scalar(1.0), None, scalar(1.0))


@pytest.mark.parametrize("seed", range(4))
def test_leaky_relu_rounds_as_fractions_do(seed):
    rng = np.random.default_rng(seed)
    x = np.arange(-128, 128).astype(np.int8)
    sx, sy = scales(rng, seed, 2)
    alpha = float(np.float32(rng.uniform(0, 2)))
    exact = [(min(v, 0) * Fraction(alpha) + max(v, 0)) * Fraction(sx) / Fraction(sy) for v in (int(v) - 7 for v in x)]
    y = qlinear.qlinear_leaky_relu(x, scalar(sx), i8(7), scalar(sy), i8(-3), alpha=alpha)
    assert_rounds(y, exact, -3)


def test_leaky_relu_by_hand():
    arguments = (i8(-8, 5), scalar(1.0), None, scalar(1.0))
    assert qlinear.qlinear_leaky_relu(*arguments, alpha=0.25).tolist() == [-2, 5]
    assert qlinear.qlinear_leaky_relu_real(*arguments)[0] == -8 * float(np.float32(0.01))


def test_sigmoid():
    # x = -ln 3, 0, ln 3 nearly: 1/4, 1/2, 3/4 of 256, less and more than half a unit off
    scale = scalar(float(np.float32(np.log(3))))
    y = qlinear.qlinear_sigmoid(u8(9, 10, 11), scale, u8(10), scalar(1 / 256), u8(0))
    assert y.tolist() == [64, 128, 192]
    assert qlinear.qlinear_sigmoid(i8(0), scale, None, scalar(1.0)).tolist() == [0]  # 1/2 is a tie
    assert qlinear.qlinear_sigmoid(i8(0), scale, None, scalar(1 / 3)).tolist() == [2]  # below 3/2 by the scale's own rounding
    np.testing.assert_allclose(qlinear.qlinear_sigmoid_real(i8(1), scale, None, scalar(0.5), i8(3)), [4.5], rtol=1e-7)


@pytest.mark.parametrize(
    ("opset", "axis", "wanted"),
    [
        (13, -1, [[128, 128], [51, 205]]),
        (13, 0, [[205, 128], [51, 128]]),
        (12, 1, [[128, 128], [51, 205]]),
        (12, 0, [[79, 79], [20, 79]]),  # 4 of 13 and 1 of 13
        (12, -2, [[79, 79], [20, 79]]),
    ],
)
def test_softmax_before_13_takes_all_axes_from_its_own_on(opset, axis, wanted):
    x = u8([1, 1], [0, 1])
    ln4 = scalar(float(np.float32(np.log(4))))
    y = qlinear.qlinear_softmax(x, ln4, None, scalar(1 / 256), u8(0), opset=opset, axis=axis)
    assert y.tolist() == wanted


def test_softmax_of_equal_elements_is_decided_exactly():
    x = np.zeros((1, 512), np.int8)
    y = qlinear.qlinear_softmax(x, scalar(0.1), None, scalar(1 / 256), i8(-128), opset=13)
    assert set(y.ravel().tolist()) == {-128}  # 256/512 is a tie
    y = qlinear.qlinear_softmax(x[:, :3], scalar(0.1), None, scalar(1 / 256), i8(-128), opset=13)
    assert y.tolist() == [[-43, -43, -43]]  # 85.3
    np.testing.assert_allclose(
        qlinear.qlinear_softmax_real(x[:, :3], scalar(0.1), None, scalar(1 / 256), i8(-128), opset=13), -128 + 256 / 3
    )


def test_concatenation_requantises_each_part():
    parts = (u8([0, 10]), scalar(1.0), u8(2), u8([4]), scalar(0.25), u8(0))
    arguments = (scalar(0.5), u8(7), *parts)
    assert qlinear.qlinear_concat(*arguments, axis=1).tolist() == [[3, 23, 9]]
    assert qlinear.qlinear_concat_real(*arguments, axis=-1).tolist() == [[3, 23, 9]]
    y = qlinear.qlinear_concat(scalar(8.0), u8(1), *parts[:3], axis=0)
    assert y.tolist() == [[1, 2]]  # -2/8 and 8/8
    with pytest.raises(ValueError, match="no such triples"):
        qlinear.qlinear_concat(scalar(0.5), u8(7), *parts[:4], axis=1)


X = u8([[[1, 2, 3], [5, 8, 13], [21, 34, 55]]])  # (1, 1, 3, 3)


def pool(x=X, zero=1, y_scale=1.0, y_zero=0, **attributes):
    return qlinear.qlinear_average_pool(x, scalar(1.0), u8(zero), scalar(y_scale), u8(y_zero), **attributes)


def test_average_pool_windows_and_strides():
    # less the zero point 1: windows (0, 1, 4, 7), (1, 2, 7, 12), (4, 7, 20, 33), (7, 12, 33, 54) of 4, 12 and 22, 64, 106
    assert pool(kernel_shape=[2, 2]).tolist() == [[[[3, 6], [16, 26]]]]  # 5.5 and 26.5 are ties, 3 and 16 whole
    assert pool(kernel_shape=[2, 2], y_scale=0.5, y_zero=10).tolist() == [[[[16, 21], [42, 63]]]]
    assert pool(kernel_shape=[3, 3], strides=[2, 2]).tolist() == [[[[15]]]]  # 133/9
    got = qlinear.qlinear_average_pool_real(X, scalar(1.0), u8(1), scalar(0.5), u8(3), kernel_shape=[1, 3])
    np.testing.assert_allclose(got.ravel(), [2 + 3, 2 * 23 / 3 + 3, 2 * 107 / 3 + 3])


def test_average_pool_padding_is_the_real_zero():
    row = u8([[11, 31]])
    # zero point 11: values 0 and 20
    assert pool(row, 11, kernel_shape=[2], pads=[1, 1]).tolist() == [[[0, 10, 20]]]
    assert pool(row, 11, kernel_shape=[2], pads=[1, 1], count_include_pad=1).tolist() == [[[0, 10, 10]]]
    assert pool(row, 11, kernel_shape=[2], auto_pad="SAME_UPPER").tolist() == [[[10, 20]]]
    assert pool(row, 11, kernel_shape=[2], auto_pad="SAME_LOWER").tolist() == [[[0, 10]]]


def test_what_ceil_mode_adds_beyond_the_padding_never_counts():
    row = u8([[2, 4, 8]])
    assert pool(row, 0, kernel_shape=[2], strides=[2]).tolist() == [[[3]]]
    for include in (0, 1):
        assert pool(row, 0, kernel_shape=[2], strides=[2], ceil_mode=1, count_include_pad=include).tolist() == [[[3, 8]]]
    got = pool(row, 0, kernel_shape=[3], strides=[3], pads=[1, 1], ceil_mode=1, count_include_pad=1)
    assert got.tolist() == [[[2, 4]]]  # (0 + 2 + 4)/3; (8 + 0)/2, the third position is beyond the padding


def test_average_pool_with_channels_last():
    x = np.stack([X[0, 0], X[0, 0] + np.uint8(10)], -1)[None]  # (1, 3, 3, 2)
    y = pool(x, kernel_shape=[2, 2], channels_last=1)
    assert y.shape == (1, 2, 2, 2)
    assert y[0, :, :, 0].tolist() == [[3, 6], [16, 26]]
    assert y[0, :, :, 1].tolist() == [[13, 16], [26, 36]]  # 15.5 and 36.5 are ties


@pytest.mark.parametrize("seed", range(3))
def test_means_round_as_fractions_do(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (4, 8, 3, 2)).astype(np.uint8)
    sx, sy = scales(rng, seed, 2)
    sums = (x.astype(int) - 3).sum(axis=(2, 3))
    y = qlinear.qlinear_global_average_pool(x, scalar(sx), u8(3), scalar(sy), u8(9))
    assert y.shape == (4, 8, 1, 1)
    assert_rounds(y, [int(s) * Fraction(sx) / Fraction(sy) / 6 for s in sums.ravel()], 9)
    z = qlinear.qlinear_average_pool(x, scalar(sx), u8(3), scalar(sy), u8(9), kernel_shape=[3, 2])
    assert z.tolist() == y.tolist()


def test_global_average_pool_with_channels_last():
    x = u8([[1, 10], [3, 20]])  # (1, 2, 2): two positions of two channels
    arguments = (scalar(1.0), u8(1), scalar(0.25), u8(5))
    assert qlinear.qlinear_global_average_pool(x, *arguments, channels_last=1).tolist() == [[[9, 61]]]
    assert qlinear.qlinear_global_average_pool(x, *arguments).tolist() == [[[23], [47]]]  # means 4.5, 10.5
    assert qlinear.qlinear_global_average_pool_real(x, *arguments).tolist() == [[[23], [47]]]


@pytest.mark.parametrize("seed", range(6))
def test_gemm_rounds_as_fractions_do(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 256, (5, 6)).astype(np.uint8), rng.integers(-128, 128, (4, 5)).astype(np.int8)
    c = rng.integers(-9999, 9999, (1, 4)).astype(np.int32)
    sa, sy, *sb = scales(rng, seed, 6)
    alpha = 0.75 if seed % 2 else float(np.float32(rng.uniform(0.1, 2)))
    sy = float(np.float32(sy * 1000)) if seed % 2 == 0 else sy * 1024
    zero_b = np.array([0, 5, -3, 127], np.int8)
    sums = (a.T.astype(int) - 100) @ (b.T.astype(int) - zero_b) + c
    exact = [int(s) * Fraction(alpha) * Fraction(sa) * Fraction(sb[i % 4]) / Fraction(sy) for i, s in enumerate(sums.ravel())]
    arguments = (a, scalar(sa), u8(100), b, real(*sb), zero_b, c, scalar(sy), u8(77))
    attributes = {"alpha": alpha, "transA": 1, "transB": 1}
    y = qlinear.qgemm(*arguments, **attributes)
    assert (y.shape, y.dtype) == ((6, 4), np.uint8)
    assert_rounds(y, exact, 77)
    got = qlinear.qgemm_real(*arguments, **attributes)
    np.testing.assert_allclose(got.ravel(), [float(v + 77) for v in exact], rtol=0, atol=1e-11)


def test_gemm_with_a_real_result():
    a, b = u8([3, 4]), i8([1, 0], [2, -1])
    arguments = (a, scalar(0.5), u8(2), b, scalar(0.25), i8(0))
    # (1, 2) times b is (5, -2)
    assert qlinear.qgemm(*arguments, alpha=2.0).tolist() == [[1.25, -0.5]]
    assert qlinear.qgemm(*arguments, np.array([1, 2], np.int32)).tolist() == [[0.75, 0]]
    with pytest.raises(ValueError, match="together or not at all"):
        qlinear.qgemm(*arguments, None, scalar(1.0))


def test_integer_product_as_a_real_one():
    a, b = u8([3, 4]), i8([1, 0], [2, -1])
    y = qlinear.matmul_integer_to_float(a, b, scalar(0.5), real(0.25, 2.0), u8(2), i8(0, 1), real(10, 20))
    # (1, 2) times ((1, -1), (2, -2)) is (5, -5), times 1/2 and 1/4 or 2
    assert y.tolist() == [[10.625, 15]]
    assert qlinear.matmul_integer_to_float(a, b, scalar(0.5), scalar(1.0)).tolist() == [[5.5, -2]]
    # one scale and zero point for each column of a: (1, 4), scaled (0.5, 8)
    y = qlinear.matmul_integer_to_float(a, b, real(0.5, 2.0), scalar(1.0), u8(2, 0))
    assert y.tolist() == [[0.5 + 16, -8]]
    stacked = qlinear.matmul_integer_to_float(np.stack([a, a]), np.stack([b, b]), scalar(0.5), scalar(1.0))
    assert stacked.tolist() == [[[5.5, -2]], [[5.5, -2]]]


def test_a_product_that_quantises_its_left_operand():
    a = real(0, 2, -3, 1)[None]
    b = u8([1], [2], [3], [4])
    # as in dynamic quantisation: scale 1/51, q less its zero point 0, 102, -153, 51
    y = qlinear.dynamic_quantize_matmul(a, b, scalar(0.5), u8(1), real(7))
    np.testing.assert_allclose(y, [[7 + (102 - 2 * 153 + 3 * 51) / 51 / 2]], rtol=0, atol=1e-11)
    assert qlinear.dynamic_quantize_matmul(0 * a, b, scalar(0.5), None, real(7)).tolist() == [[7]]


def test_the_slack_of_such_a_product_counts_ties_only():
    b, scale = i8([1, -5], [7, 3]), real(0.5, 2.0)
    # scale 2/255; 1·255/2 = 127.5 is a tie and its weight is (7, 3)
    slack = qlinear.dynamic_quantize_matmul_slack(real(2, 1)[None], b, scale, i8(0, 1))
    np.testing.assert_allclose(slack, [[2 / 255 * 0.5 * 7, 2 / 255 * 2 * 2]], rtol=1e-15)
    assert qlinear.dynamic_quantize_matmul_slack(real(2, 0.5)[None], b, scale).tolist() == [[0, 0]]


def test_operators_are_found_in_their_domain():
    inputs = [u8(10), np.float32(1.0), u8(4), np.float32(0.5), u8(1)]
    attributes = {"alpha": 0.5}
    (y,) = evaluator.apply("QLinearLeakyRelu", 1, [np.asarray(x) for x in inputs], attributes, domain="com.microsoft")
    assert (y.tolist(), y.dtype) == ([13], np.uint8)
