"""Quantised operators of ONNX Runtime's domain, and what DynamicQuantizeLinear computes by itself: single-precision forms and
tables of correctly rounded results pass, a wrong factor, divisor, term or rounding fails."""

from __future__ import annotations

import numpy as np
import pytest

from reference import dtypes
from reference.evaluator import evaluate
from reference.node import Node
from reference.verify import integers, verify
from reference.verify.arithmetic import RUNGS
from reference.verify.setting import Setting
from tests.verification import requantisers as emulated
from tests.verification.quantised_nodes import CONTRIB, model

SINGLE = Setting(RUNGS["fp32"], "float32")
VALUES = np.arange(256).astype(np.uint8)


def status(operator, inputs, got, domain=CONTRIB, **attributes):
    m, feeds = model(operator, inputs, (dtypes.name_of(got.dtype),), domain, **attributes)
    return verify(m, feeds, {"y0": got})[0].status


def right(operator, inputs, kind, domain=CONTRIB, **attributes):
    """The reference's own result, rounded to its type."""
    m, feeds = model(operator, inputs, (kind,), domain, **attributes)
    y = evaluate(m, feeds)["y0"]
    return dtypes.cast(y, kind) if dtypes.is_float(kind) else y


def quantised(y, scale, zero, dtype=np.uint8):
    """Real y, divided by a float32 scale in single precision."""
    return emulated.saturated(np.rint(np.float32(y) / scale) + np.float32(zero), dtype)


@pytest.mark.parametrize("x_scale", [0.013, 0.07, 0.31])
def test_a_sigmoid_by_function_or_table_passes_and_a_coarse_one_fails(x_scale):
    for y_scale, zero in ((1 / 256, 0), (0.0027, 17)):
        scale, y_scale = np.float32(x_scale), np.float32(y_scale)
        inputs = [VALUES, scale, np.uint8(131), y_scale, np.uint8(zero)]
        x = (VALUES.astype(np.float32) - np.float32(131)) * scale
        table = right("QLinearSigmoid", inputs, "uint8")
        forms = 1 / (1 + np.exp(-x)), np.float32(0.5) * (1 + np.tanh(x / 2))
        for got in (table, *(quantised(y, y_scale, zero) for y in forms)):
            assert status("QLinearSigmoid", inputs, got) == "pass"
        hard = quantised(np.clip(x / 6 + 0.5, 0, 1), y_scale, zero)
        assert status("QLinearSigmoid", inputs, hard) == "mismatch"
        one_step_off = np.where(np.arange(256) % 9 == 4, table + 1, table).astype(np.uint8)
        assert status("QLinearSigmoid", inputs, one_step_off) == "mismatch"


@pytest.mark.parametrize("opset", [11, 13])
def test_a_softmax_by_function_or_table_passes_and_one_of_four_bits_fails(opset):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 256, (40, 3, 33)).astype(np.uint8)
    scale, y_scale, axes = np.float32(0.021), np.float32(1 / 1024), (1, 2) if opset < 13 else (2,)
    inputs = [x, scale, np.uint8(7), y_scale, np.uint8(3)]
    keywords = {"opset": opset, "axis": axes[0]}
    real = (x.astype(np.float32) - np.float32(7)) * scale
    e = np.exp(real - real.max(axes, keepdims=True))
    table = right("QLinearSoftmax", inputs, "uint8", **keywords)
    total = e.sum(axes, keepdims=True)
    for got in (table, quantised(e / total, y_scale, 3), quantised(e * (1 / total), y_scale, 3)):
        assert status("QLinearSoftmax", inputs, got, **keywords) == "pass"
    coarse = np.rint(e * 16) / 16
    got = quantised(coarse / coarse.sum(axes, keepdims=True), y_scale, 3)
    assert status("QLinearSoftmax", inputs, got, **keywords) == "mismatch"
    other = np.exp(real - real.max())
    got = quantised(other / other.sum((0,), keepdims=True), y_scale, 3)
    assert status("QLinearSoftmax", inputs, got, **keywords) == "mismatch"


@pytest.mark.parametrize("channels_last", [0, 1])
def test_means_in_any_order_pass_and_a_wrong_divisor_or_cut_fails(channels_last):
    rng = np.random.default_rng(6)
    x = rng.integers(0, 256, (50, 9, 8, 8)).astype(np.uint8)
    scale, y_scale = np.float32(0.0171), np.float32(0.0043)
    inputs = [x, scale, np.uint8(90), y_scale, np.uint8(11)]
    axes = (1, 2) if channels_last else (2, 3)
    terms = x.shape[axes[0]] * x.shape[axes[1]]
    real = ((x.astype(np.float32) - np.float32(90)) * scale).astype(np.float32)
    summed = np.cumsum(np.moveaxis(real, axes, (-2, -1)).reshape(50, -1, terms), -1, dtype=np.float32)[..., -1]
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    means = real.mean(axes, keepdims=True), (summed / np.float32(terms)).reshape(shape)
    check_means("QLinearGlobalAveragePool", inputs, means, terms, channels_last=channels_last)
    kernel = {"kernel_shape": [x.shape[a] for a in axes], "channels_last": channels_last}
    check_means("QLinearAveragePool", inputs, means, terms, **kernel)


def check_means(operator, inputs, means, terms, **attributes):
    """Each of the means passes; one term less in the divisor, and rounding down, do not."""
    y_scale, zero = inputs[3:]
    for y in means:
        assert status(operator, inputs, quantised(y, y_scale, zero), **attributes) == "pass"
    for wrong in (means[0] * np.float32(terms / (terms - 1)), means[0] - y_scale / 2):
        assert status(operator, inputs, quantised(wrong, y_scale, zero), **attributes) == "mismatch"


def test_a_padded_window_has_fewer_terms():
    x = np.full((1, 1, 3, 3), 200, np.uint8)
    inputs = [x, np.float32(0.0171), np.uint8(90), np.float32(0.0093), np.uint8(11)]
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    got = right("QLinearAveragePool", inputs, "uint8", **attributes)
    assert status("QLinearAveragePool", inputs, got, **attributes) == "pass"
    with_padding = right("QLinearAveragePool", inputs, "uint8", count_include_pad=1, **attributes)
    assert status("QLinearAveragePool", inputs, with_padding, **attributes) == "mismatch"


def test_slopes_and_parts_of_all_values():
    rng = np.random.default_rng(8)
    for _ in range(40):
        scale, y_scale = (np.float32(s) for s in rng.uniform(0.01, 0.05, 2))
        zero, y_zero = (np.uint8(z) for z in rng.integers(0, 256, 2))
        real = (VALUES.astype(np.float32) - np.float32(zero)) * scale
        inputs, alpha = [VALUES, scale, zero, y_scale, y_zero], float(np.float32(0.37))
        leaky = np.where(real < 0, np.float32(alpha) * real, real)
        assert status("QLinearLeakyRelu", inputs, quantised(leaky, y_scale, y_zero), alpha=alpha) == "pass"
        parts = [y_scale, y_zero, VALUES, scale, zero, VALUES[::-1].copy(), y_scale, y_zero]
        got = np.concatenate([quantised(real, y_scale, y_zero), VALUES[::-1]])
        assert status("QLinearConcat", parts, got, axis=0) == "pass"
        assert status("QLinearConcat", parts, got[::-1].copy(), axis=0) == "mismatch"
        if zero > 40:
            wrong = quantised(np.where(real < 0, np.float32(0.3) * real, real), y_scale, y_zero)
            expected = quantised(leaky, y_scale, y_zero)
            assert (wrong != expected).any() == (status("QLinearLeakyRelu", inputs, wrong, alpha=alpha) != "pass")


def matrices(rng, k=67):
    """a, b, zero points, scales of a and of each column of b, bias."""
    a = rng.integers(0, 256, (23, k)).astype(np.uint8)
    b = rng.integers(-128, 128, (k, 31)).astype(np.int8)
    scales = np.float32(0.0173), rng.uniform(0.003, 0.05, 31).astype(np.float32)
    return a, b, np.uint8(119), rng.integers(-9, 9, 31).astype(np.int8), *scales, rng.normal(size=31).astype(np.float32)


def exact_sums(a, b, a_zero, b_zero):
    return (a.astype(np.int64) - int(a_zero)) @ (b.astype(np.int64) - b_zero.astype(np.int64))


def test_a_product_with_real_result_is_exact_or_a_sum_of_reals():
    a, b, a_zero, b_zero, a_scale, b_scale, bias = matrices(np.random.default_rng(9))
    sums = exact_sums(a, b, a_zero, b_zero)
    inputs = [a, b, a_scale, b_scale, a_zero, b_zero, bias]
    left = (a.astype(np.float32) - np.float32(a_zero)) * a_scale
    dequantised = (b.astype(np.float32) - b_zero.astype(np.float32)) * b_scale
    term_by_term = np.cumsum(left[:, :, None] * dequantised[None], axis=1, dtype=np.float32)[:, -1]
    single = sums.astype(np.float32)
    for y in (single * (a_scale * b_scale), single * a_scale * b_scale, left @ dequantised, term_by_term):
        got = (y + bias).astype(np.float32)
        assert status("MatMulIntegerToFloat", inputs, got) == "pass"
    dropped = exact_sums(a[:, :-1], b[:-1], a_zero, b_zero)
    coarse = dtypes.round_to(b_scale.astype(np.float64), "bfloat16").astype(np.float32)
    for factor, s in (((a_scale * b_scale), dropped), ((a_scale * b_scale), sums + 40), (a_scale * coarse, sums)):
        assert status("MatMulIntegerToFloat", inputs, (s * factor + bias).astype(np.float32)) == "mismatch"


def test_scales_per_column_of_the_first_matrix_stand_inside_the_sum():
    a, b, a_zero, b_zero, _, b_scale, bias = matrices(np.random.default_rng(10))
    a_scale = np.random.default_rng(1).uniform(0.01, 0.03, a.shape[1]).astype(np.float32)
    inputs = [a, b, a_scale, b_scale, a_zero, b_zero, bias]
    left = (a.astype(np.float32) - np.float32(a_zero)) * a_scale
    right_ = (b.astype(np.float32) - b_zero.astype(np.float32)) * b_scale
    assert status("MatMulIntegerToFloat", inputs, (left @ right_ + bias).astype(np.float32)) == "pass"
    assert status("MatMulIntegerToFloat", inputs, (left[:, :-1] @ right_[:-1] + bias).astype(np.float32)) == "mismatch"


@pytest.mark.parametrize("alpha", [1.0, 0.75, float(np.float32(0.3))])
def test_a_gemm_is_exact_but_for_its_factor(alpha):
    a, b, a_zero, b_zero, a_scale, b_scale, _ = matrices(np.random.default_rng(12))
    c = np.random.default_rng(2).integers(-5000, 5000, 31).astype(np.int32)
    sums = exact_sums(a, b, a_zero, b_zero) + c
    factor = np.float32(alpha) * a_scale * b_scale
    inputs = [a, a_scale, a_zero, b, b_scale, b_zero, c]
    assert status("QGemm", inputs, sums.astype(np.float32) * factor, alpha=alpha) == "pass"
    assert status("QGemm", inputs, (sums + 40).astype(np.float32) * factor, alpha=alpha) == "mismatch"
    y_scale = np.float32(0.31)
    quantised_inputs = [*inputs, y_scale, np.int8(-5)]
    got = emulated.single(sums, factor, np.float32(1), y_scale, -5)
    assert status("QGemm", quantised_inputs, emulated.saturated(got, np.int8), alpha=alpha) == "pass"
    floored = emulated.floored(sums, factor, np.float32(1), y_scale, -5)
    assert status("QGemm", quantised_inputs, emulated.saturated(floored, np.int8), alpha=alpha) == "mismatch"


def dynamically_quantised(a):
    """DynamicQuantizeLinear in single precision: integers, scale, zero point."""
    low, high = min(np.float32(0), a.min()), max(np.float32(0), a.max())
    scale = (high - low) / np.float32(255)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return np.clip(np.rint(a / scale) + zero, 0, 255).astype(np.uint8), scale, np.uint8(zero)


def test_a_product_of_dynamically_quantised_data():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        _, b, _, b_zero, _, b_scale, bias = matrices(rng)
        a = rng.normal(size=(23, 67)).astype(np.float32)
        q, a_scale, a_zero = dynamically_quantised(a)
        inputs = [a, b, b_scale, b_zero, bias]
        sums = exact_sums(q, b, a_zero, b_zero)
        got = sums.astype(np.float32) * (a_scale * b_scale) + bias
        assert status("DynamicQuantizeMatMul", inputs, got) == "pass"
        unquantised = a @ ((b.astype(np.float32) - b_zero.astype(np.float32)) * b_scale) + bias
        without_last = exact_sums(q[:, :-1], b[:-1], a_zero, b_zero) * (a_scale * b_scale) + bias
        for wrong in (unquantised, without_last, got - bias):
            assert status("DynamicQuantizeMatMul", inputs, wrong.astype(np.float32)) == "mismatch"


def test_a_range_as_wide_below_zero_as_above_leaves_the_zero_point_to_roundings():
    found = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, 300).astype(np.float32) * np.float32(rng.uniform(0.5, 40))
        x[:2] = -np.abs(x).max(), np.abs(x).max()
        node = Node.of(*model("DynamicQuantizeLinear", [x], ("uint8", "float32", "uint8")))
        outputs = dynamically_quantised(x)
        found.add(int(outputs[2]))
        for i in (0, 2):
            low, high = integers.interval(node, SINGLE, i)
            assert integers.requantises(node, i)
            assert ((outputs[i] >= low) & (outputs[i] <= high)).all()
            assert integers.delta_needed(node, outputs[i], i) < 2.0**-13
        low, high = integers.interval(node, SINGLE, 2)
        assert (low, high) == (127, 128)
    assert found == {127, 128}


def test_another_range_settles_the_zero_point():
    x = np.linspace(-1, 3, 300, dtype=np.float32)
    node = Node.of(*model("DynamicQuantizeLinear", [x], ("uint8", "float32", "uint8")))
    assert [float(v) for v in integers.interval(node, SINGLE, 2)] == [64.0, 64.0]
    low, high = integers.interval(node, SINGLE)
    assert (high - low).mean() < 0.02
    shifted = np.minimum(node.results[0].astype(int) + 1, 255)
    assert ((shifted > high) | (shifted == 255)).mean() > 0.98


def test_a_real_result_of_a_quantised_product_is_stored_in_its_type():
    a, b = np.int8([[3, -70], [11, 5]]), np.int8([[1, 90], [7, -2]])
    zero = dtypes.cast(np.zeros(()), "float8_e4m3fn")
    inputs = [a, np.float32(0.1), np.int8(1), b, np.float32(0.07), np.int8(0), np.float32(0.3), zero]
    got = right("QLinearMatMul", inputs, "float8_e4m3fn", domain="")
    assert status("QLinearMatMul", inputs, got, domain="") == "pass"
    wrong = dtypes.cast(dtypes.to_real(got) * 1.25, "float8_e4m3fn")
    assert status("QLinearMatMul", inputs, wrong, domain="") == "mismatch"
