"""Bounds of fused operators: their parts one after the other in emulated units lie within them, confused kernels do not."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from reference import dtypes
from reference.ops import convolution
from reference.ops.error_function import erf
from tests.verification.bounds import node_of, ratio, sample, setting_of
from tests.verification.orders import sum_products, sum_terms
from tests.verification.units import UNITS, add, divide, function, multiply, square_root, store, subtract

ROWS = 20
"""Rows of every tensor; each is a sample of its own."""

UNITS_AND_TYPES = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"), ("fp32", "float16"))

microsoft = functools.partial(node_of, version=1, domain="com.microsoft")


def constant(value):
    return np.array(float(value))


def sigmoid(x, unit):
    return divide(np.ones(()), add(function(np.exp, -x, unit, ulps=1.5), np.ones(()), unit), unit)


def gelu(x, unit):
    """By erf."""
    inner = function(erf, multiply(x, constant(np.sqrt(0.5)), unit), unit, ulps=1.5)
    return multiply(multiply(x, constant(0.5), unit), add(inner, np.ones(()), unit), unit)


def gelu_tanh(x, unit, first=0.797885, third=0.035677):
    cube = multiply(multiply(x, x, unit), constant(third), unit)
    z = multiply(x, add(cube, constant(first), unit), unit)
    return multiply(multiply(x, constant(0.5), unit), add(function(np.tanh, z, unit, ulps=1.5), np.ones(()), unit), unit)


@pytest.mark.parametrize("recipe", ["normal", "wide", "tiny"])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_activations_after_a_bias_lie_within_their_bounds(unit, dtype, recipe):
    x, bias, u, setting = (
        sample(recipe, (ROWS, 48), dtype),
        sample("normal", (48,), dtype, 1),
        UNITS[unit],
        setting_of(unit, dtype),
    )
    total = add(dtypes.to_real(x), dtypes.to_real(bias), u)
    assert ratio(microsoft("BiasGelu", [x, bias]), store(gelu(total, u), dtype, u), setting) <= 1
    fast = microsoft("FastGelu", [x, bias])
    assert ratio(fast, store(gelu_tanh(total, u), dtype, u), setting) <= 1
    published = gelu_tanh(total, u, np.sqrt(2 / np.pi), 0.044715 * np.sqrt(2 / np.pi))
    assert ratio(fast, store(published, dtype, u), setting) <= 1
    real = dtypes.to_real(x)
    quick = multiply(real, sigmoid(multiply(real, constant(np.float32(1.702)), u), u), u)
    assert ratio(microsoft("QuickGelu", [x]), store(quick, dtype, u), setting) <= 1
    value = sample("normal", (ROWS, 48), dtype, 2)
    swiglu = multiply(multiply(real, sigmoid(real, u), u), dtypes.to_real(value), u)
    assert ratio(node_of("SwiGLU", [x, value], version=28), store(swiglu, dtype, u), setting) <= 1


def test_confused_activations_are_found():
    x, bias = sample("normal", (ROWS, 48), "float32"), sample("normal", (48,), "float32", 1)
    u, setting, real = UNITS["fp32"], setting_of("fp32", "float32"), dtypes.to_real(sample("normal", (ROWS, 48), "float32"))
    total = add(real, dtypes.to_real(bias), u)

    def rejects(node, y):
        return ratio(node, store(y, "float32", u), setting) > 1

    by_erf, by_tanh = microsoft("BiasGelu", [x, bias]), microsoft("FastGelu", [x, bias])
    assert rejects(by_erf, gelu_tanh(total, u))
    assert rejects(by_tanh, gelu(total, u))
    assert rejects(by_erf, gelu(real, u))  # the bias is forgotten
    assert rejects(by_tanh, gelu_tanh(total, u, third=0.0357))
    assert rejects(microsoft("QuickGelu", [x]), multiply(real, sigmoid(real, u), u))
    assert rejects(
        node_of("SwiGLU", [x, x[::-1].copy()], version=28), multiply(real, multiply(real[::-1], sigmoid(real[::-1], u), u), u)
    )
    assert rejects(by_erf, gelu(dtypes.round_to(total, "bfloat16"), u))


def normalised(s, gain, unit, epsilon, shift=None, mean=True, order="chain"):
    """(output, mean, inverse deviation) of rows."""
    n = constant(s.shape[-1])
    middle = divide(sum_terms(s.T, unit, order)[:, None], n, unit) if mean else np.zeros(())
    d = subtract(s, middle, unit)
    variance = divide(sum_terms(multiply(d, d, unit).T, unit, order)[:, None], n, unit)
    inverse = divide(np.ones(()), square_root(add(variance, constant(epsilon), unit), unit), unit)
    y = multiply(multiply(d, inverse, unit), gain, unit)
    return y if shift is None else add(y, shift, unit), middle, inverse


@pytest.mark.parametrize("recipe", ["normal", "wide", "tiny"])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_normalisations_of_sums_lie_within_their_bounds(unit, dtype, recipe):
    x, skip = sample(recipe, (ROWS, 48), dtype), sample(recipe, (ROWS, 48), dtype, 1)
    gain, shift, bias = sample("positive", (48,), dtype, 2), *(sample("tiny", (48,), dtype, 3 + i) for i in range(2))
    u, setting = UNITS[unit], setting_of(unit, dtype, random=True)
    a, b, g, h, c = (dtypes.to_real(t) for t in (x, skip, gain, shift, bias))
    total = add(add(a, b, u), c, u)
    full = microsoft("SkipLayerNormalization", [x, skip, gain, shift, bias], 4, epsilon=1e-5)
    simple = microsoft("SkipSimplifiedLayerNormalization", [x, skip, gain, bias], 4, epsilon=1e-5)
    for order in ("chain", "pairwise"):
        y, mean, inverse = normalised(total, g, u, 1e-5, h, order=order)
        for i, got in enumerate((y, mean, inverse, total)):
            assert not ratio(full, store(got, full.output_types[i], u), setting, i) > 1, i
        y, _, inverse = normalised(total, g, u, 1e-5, mean=False, order=order)
        for i, got in ((0, y), (2, inverse), (3, total)):
            assert not ratio(simple, store(got, simple.output_types[i], u), setting, i) > 1, i
        y, _, inverse = normalised(a, g, u, 1e-5, mean=False, order=order)
        own = node_of("SimplifiedLayerNormalization", [x, gain], 2, version=1, epsilon=1e-5)
        assert not ratio(own, store(y, own.output_types[0], u), setting) > 1
        assert not ratio(own, store(inverse, own.output_types[1], u), setting, 1) > 1


def test_faults_of_skip_normalisation_are_found():
    x, skip = sample("tiny", (ROWS, 48), "float32"), sample("tiny", (ROWS, 48), "float32", 1)
    gain, shift = sample("positive", (48,), "float32", 2), sample("tiny", (48,), "float32", 3)
    u, setting = UNITS["fp32"], setting_of("fp32", "float32", random=True)
    a, b, g, h = (dtypes.to_real(t) for t in (x, skip, gain, shift))
    node = microsoft("SkipLayerNormalization", [x, skip, gain, shift], 4, epsilon=1e-5)

    def rejects(y, output=0):
        return ratio(node, store(y, "float32", u), setting, output) > 1

    assert not rejects(normalised(add(a, b, u), g, u, 1e-5, h)[0])
    assert rejects(normalised(add(a, b, u), g, u, 1e-12, h)[0])  # eps
    assert rejects(normalised(a, g, u, 1e-5, h)[0])  # the skip is forgotten
    assert rejects(normalised(add(a, b, u), g, u, 1e-5, h, mean=False)[0])
    assert rejects(normalised(add(a, b, u), g, u, 1e-5)[0])  # the shift is
    assert rejects(normalised(add(a, b, u), g, u, 1e-5, h)[2] ** 2, 2)  # the variance for the inverse deviation
    assert rejects(a, 3)


@pytest.mark.parametrize("alpha", [1.0, 0.125, 0.3])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_a_scaled_product_of_transposed_operands(unit, dtype, alpha):
    a, b, u, setting = (
        sample("normal", (40, 9), dtype),
        sample("normal", (7, 40), dtype, 1),
        UNITS[unit],
        setting_of(unit, dtype),
    )
    node = microsoft("FusedMatMul", [a, b], transA=1, transB=1, alpha=alpha)
    x, y = dtypes.to_real(a).T, dtypes.to_real(b).T
    factor = dtypes.round_to(constant(np.float32(alpha)), dtype)
    after = multiply(sum_products(x, y, u, "chain"), factor, u)
    before = sum_products(multiply(x, factor, u), y, u, "pairwise")
    for got in (after, before):
        assert ratio(node, store(got, dtype, u), setting) <= 1
    if unit != "bf16":  # eight bits over 40 terms hide a dropped one
        assert ratio(node, store(sum_products(x[:, :-1], y[:-1], u, "chain") * alpha, dtype, u), setting) > 1
    assert alpha == 1 or ratio(node, store(sum_products(x, y, u, "chain"), dtype, u), setting) > 1


ACTIVATIONS = {
    "": ((), lambda x, u: x),
    "Relu": ((), lambda x, u: np.maximum(x, 0)),
    "Clip": ((-0.5, 1.5), lambda x, u: np.clip(x, -0.5, 1.5)),
    "LeakyRelu": ((0.25,), lambda x, u: np.where(x < 0, multiply(x, constant(0.25), u), x)),
    "Sigmoid": ((), sigmoid),
    "Tanh": ((), lambda x, u: function(np.tanh, x, u, ulps=1.5)),
    "Silu": ((), lambda x, u: multiply(x, sigmoid(x, u), u)),
    "HardSigmoid": ((0.25, 0.5), lambda x, u: np.clip(add(multiply(x, constant(0.25), u), constant(0.5), u), 0, 1)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_a_convolution_with_what_follows_it(unit, dtype, activation):
    x, w, b = sample("normal", (2, 3, 8), dtype), sample("normal", (4, 3, 3), dtype, 1), sample("normal", (4,), dtype, 2)
    z, (values, applied), u = sample("normal", (2, 4, 6), dtype, 3), ACTIVATIONS[activation], UNITS[unit]
    kinds = {"activation_params": values} if values else {}
    node = microsoft("FusedConv", [x, w, b, z], activation=activation, **kinds)
    windows = np.lib.stride_tricks.sliding_window_view(dtypes.to_real(x), 3, axis=2).transpose(0, 2, 1, 3).reshape(2, 6, 9)
    flat = dtypes.to_real(w).reshape(4, 9).T
    conv = add(sum_products(windows, flat, u, "chain"), dtypes.to_real(b), u).swapaxes(1, 2)
    np.testing.assert_allclose(conv, convolution.conv(*map(dtypes.to_real, (x, w, b))), rtol=0.1, atol=0.2)
    setting, total = setting_of(unit, dtype), add(conv, dtypes.to_real(z), u)
    assert ratio(node, store(applied(total, u), dtype, u), setting) <= 1
    assert ratio(node, store(applied(conv, u), dtype, u), setting) > 1  # z is forgotten
    assert ratio(node, store(add(applied(conv, u), dtypes.to_real(z), u), dtype, u), setting) > 1 or not activation


def blocks(dtype, n=6, k=64, block=16, zero_points=True):
    """A (rows, k), packed weights of 4 bits, scales, zero points; and the quantised numbers and zero points themselves."""
    rng = np.random.default_rng(7)
    quantised, zeros = rng.integers(0, 16, (n, k)), rng.integers(0, 16, (n, k // block))
    packed = (quantised[:, ::2] | quantised[:, 1::2] << 4).astype(np.uint8).reshape(n, k // block, block // 2)
    packed_zeros = (zeros[:, ::2] | zeros[:, 1::2] << 4).astype(np.uint8)
    scales = dtypes.cast(0.1 * dtypes.to_real(sample("positive", (n, k // block), "float32", 8)), dtype)
    a = sample("normal", (ROWS, k), dtype, 9)
    return (
        a,
        packed,
        scales,
        packed_zeros if zero_points else None,
        quantised,
        zeros if zero_points else np.full(zeros.shape, 8),
    )


@pytest.mark.parametrize("zero_points", [True, False])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES[:2])
def test_a_product_with_weights_of_few_bits(unit, dtype, zero_points):
    a, b, scales, packed, quantised, zeros = blocks(dtype, zero_points=zero_points)
    u, setting, kinds = UNITS[unit], setting_of(unit, dtype, random=True), {"K": 64, "N": 6, "block_size": 16, "bits": 4}
    node = microsoft("MatMulNBits", [a, b, scales, packed], **kinds)
    x, s = dtypes.to_real(a), dtypes.to_real(scales)
    weights = multiply(quantised - np.repeat(zeros, 16, 1).astype(float), np.repeat(s, 16, 1), u)
    whole = sum_products(x, weights.T, u, "chain")
    parts = []
    for i in range(4):
        part = np.s_[:, 16 * i : 16 * i + 16]
        products = sum_products(x[part], quantised[part].T.astype(float), u, "chain")
        shares = multiply(sum_terms(x[part].T, u, "chain")[:, None], zeros[:, i].astype(float), u)
        parts.append(multiply(subtract(products, shares, u), s[:, i], u))
    for got in (whole, sum_terms(np.stack(parts), u, "chain")):
        assert ratio(node, store(got, dtype, u), setting) <= 1
    other = multiply(quantised - np.repeat(zeros[:, ::-1], 16, 1).astype(float), np.repeat(s, 16, 1), u)
    assert (
        ratio(node, store(sum_products(x, multiply(quantised - 7.0, np.repeat(s, 16, 1), u).T, u, "chain"), dtype, u), setting)
        > 1
    )
    assert not zero_points or ratio(node, store(sum_products(x, other.T, u, "chain"), dtype, u), setting) > 1


def test_activations_of_eight_bits_pass_only_where_the_accuracy_level_allows_them():
    a, b, scales, packed, quantised, zeros = blocks("float32")
    u, setting, kinds = UNITS["fp32"], setting_of("fp32", "float32"), {"K": 64, "N": 6, "block_size": 16, "bits": 4}
    x = dtypes.to_real(a).reshape(ROWS, 4, 16)
    step = np.abs(x).max(-1, keepdims=True) / 127
    coarse = (np.rint(x / step) * step).reshape(ROWS, 64)
    weights = (quantised - np.repeat(zeros, 16, 1)) * np.repeat(dtypes.to_real(scales), 16, 1)
    inputs = {
        1: dtypes.to_real(a),
        2: dtypes.round_to(dtypes.to_real(a), "float16"),
        3: dtypes.round_to(dtypes.to_real(a), "bfloat16"),
        4: coarse,
    }
    for level in (0, 1, 2, 3, 4):
        node = microsoft("MatMulNBits", [a, b, scales, packed], accuracy_level=level, **kinds)
        for needed, operand in inputs.items():
            accepted = ratio(node, store(operand @ weights.T, "float32", u), setting) <= 1
            # An int8 of a block's scale is about as exact as a bfloat16.
            assert accepted == (needed <= max(level, 1) or (level, needed) == (3, 4)), (level, needed)
