"""Bounds of softmax, its logarithm and normalisations: every sensible algorithm in emulated units lies within them, faults do
not."""

from __future__ import annotations

import numpy as np
import pytest

from reference import dtypes
from reference.verify.bounds import sum_error
from tests.verification.bounds import RANDOM, UNIT_AND_TYPE, decided, node_of, ratio, sample, setting_of
from tests.verification.orders import sum_terms
from tests.verification.units import UNITS, add, divide, function, multiply, round_to, square_root, store, subtract

SEEDS = 20
"""Rows of every tensor; each is a sample of its own."""

RECIPES = (*RANDOM, "constant", "ramp", "offset")
CASES = (
    *((*unit, 64, recipe) for unit in UNIT_AND_TYPE for recipe in RECIPES),
    *((*unit, n, recipe) for unit in UNIT_AND_TYPE[:2] for n in (1, 5) for recipe in ("normal", "constant")),
    *((*unit, 1024, recipe) for unit in UNIT_AND_TYPE[:2] for recipe in ("normal", "positive", "ramp")),
)
"""Unit, tensor type, row length and recipe."""


def exponential(x, unit):
    """exp within 1.5 ulp before it is rounded: 2 ulp, what half precision may err and single precision need not."""
    return function(np.exp, x, unit, ulps=1.5)


def three_passes(x, unit, order):
    e = exponential(subtract(x, x.max(-1, keepdims=True), unit), unit)
    return e, sum_terms(np.moveaxis(e, -1, 0), unit, order)[..., None]


def online(x, unit, block):
    """Numerators and sum of an online softmax over blocks, with exp by base 2."""
    factor = round_to(np.array(np.log2(np.e)), unit.precision)
    largest, total = np.full((*x.shape[:-1], 1), -np.inf), np.zeros((*x.shape[:-1], 1))
    two = lambda t: function(np.exp2, multiply(t, factor, unit), unit, ulps=1.5)  # noqa: E731
    for start in range(0, x.shape[-1], block):
        part = x[..., start : start + block]
        new = np.maximum(largest, part.max(-1, keepdims=True))
        with np.errstate(invalid="ignore"):
            shrunk = np.where(np.isneginf(largest), 0.0, two(subtract(largest, new, unit)))
        added = sum_terms(np.moveaxis(two(subtract(part, new, unit)), -1, 0), unit, "chain")[..., None]
        total, largest = add(multiply(total, shrunk, unit), added, unit), new
    return two(subtract(x, largest, unit)), total


SOFTMAXES = {
    "three passes": lambda x, u: divide(*three_passes(x, u, "chain"), u),
    "three passes, pairwise": lambda x, u: divide(*three_passes(x, u, "pairwise"), u),
    "reciprocal": lambda x, u: (lambda e, s: multiply(e, divide(np.ones(()), s, u), u))(*three_passes(x, u, "simd8")),
    "online": lambda x, u: divide(*online(x, u, 1), u),
    "online in blocks": lambda x, u: divide(*online(x, u, 16), u),
}


def logarithm(x, unit):
    return function(np.log, x, unit, ulps=1.5)


def log_softmax(x, unit, order="chain"):
    _, total = three_passes(x, unit, order)
    return subtract(subtract(x, x.max(-1, keepdims=True), unit), logarithm(total, unit), unit)


def log_sum_exp(x, unit, order="chain"):
    _, total = three_passes(x, unit, order)
    return add(x.max(-1, keepdims=True), logarithm(total, unit), unit)


def plain_log_sum_exp(x, unit):
    return logarithm(sum_terms(np.moveaxis(exponential(x, unit), -1, 0), unit, "chain")[..., None], unit)


@pytest.mark.parametrize(("unit", "dtype", "n", "recipe"), CASES)
def test_every_softmax_lies_within_its_bound(unit, dtype, n, recipe):
    x = sample(recipe, (SEEDS, n), dtype)
    node, real, setting = node_of("Softmax", [x], axis=-1), dtypes.to_real(x), setting_of(unit, dtype, random=recipe in RANDOM)
    for name, algorithm in SOFTMAXES.items():
        got = store(algorithm(real, UNITS[unit]), dtype, UNITS[unit])
        assert not ratio(node, got, setting) > 1, name


@pytest.mark.parametrize(("unit", "dtype", "n", "recipe"), CASES)
def test_every_logarithm_of_a_softmax_lies_within_its_bound(unit, dtype, n, recipe):
    x = sample(recipe, (SEEDS, n), dtype)
    real, setting, u = dtypes.to_real(x), setting_of(unit, dtype, random=recipe in RANDOM), UNITS[unit]
    whole = node_of("ReduceLogSumExp", [x, np.array([-1])])
    for order in ("chain", "pairwise"):
        assert not ratio(node_of("LogSoftmax", [x], axis=-1), store(log_softmax(real, u, order), dtype, u), setting) > 1
        assert not ratio(whole, store(log_sum_exp(real, u, order), dtype, u), setting) > 1
    if recipe in ("normal", "positive", "tiny"):
        assert not ratio(whole, store(plain_log_sum_exp(real, u), dtype, u), setting) > 1


def test_a_softmax_of_falling_data_rescales_never_and_of_rising_data_always():
    rising = sample("ramp", (1, 256), "float32")
    node, setting = node_of("Softmax", [rising], axis=-1), setting_of("fp32", "float32")
    real = dtypes.to_real(rising)
    up, down = (online(x, UNITS["fp32"], 1) for x in (real, real[:, ::-1]))
    assert ratio(node, store(divide(*up, UNITS["fp32"]), "float32", UNITS["fp32"]), setting) < 1
    assert not np.array_equal(up[1], down[1])


def test_faults_of_softmax_are_found():
    setting, u = setting_of("fp32", "float32", random=True), UNITS["fp32"]
    x = sample("normal", (SEEDS, 64), "float32")
    real, node = dtypes.to_real(x), node_of("Softmax", [x], axis=-1)

    def rejects(y):
        return ratio(node, store(y, "float32", u), setting) > 1

    e, total = three_passes(real, u, "chain")
    assert not rejects(e / total)
    assert rejects(e / (total - e[:, -1:]))  # the last term is dropped
    assert rejects(real.T[:, :].T * 0 + np.exp(real) / np.exp(real).sum(0))  # another axis
    assert rejects(dtypes.round_to(e / total, "float16"))
    assert rejects(dtypes.round_to(e, "bfloat16") / total)
    assert rejects(np.exp(dtypes.round_to(real, "float16")) / np.exp(dtypes.round_to(real, "float16")).sum(-1, keepdims=True))


def test_a_float16_softmax_that_does_not_subtract_the_maximum_is_found():
    x = sample("wide", (SEEDS, 64), "float16")
    x[:, 0] = 12.0
    node, setting = node_of("Softmax", [x], axis=-1), setting_of("fp16", "float16", random=True)
    with np.errstate(all="ignore"):
        e = np.exp(x)
        assert ratio(node, (e / e.sum(-1, keepdims=True)).astype(np.float16), setting) > 1


def test_a_softmax_of_more_terms_than_sixteen_bits_can_add_has_no_bound():
    x = sample("ramp", (2, 1024), "bfloat16")
    assert decided(node_of("Softmax", [x], axis=-1), setting_of("bf16", "bfloat16")) == 0
    assert decided(node_of("Softmax", [x], axis=-1), setting_of("fp32", "bfloat16")) == 1


# Normalisations


def mean_of(x, unit, order):
    n = np.array(float(x.shape[-1]))
    return divide(sum_terms(np.moveaxis(x, -1, 0), unit, order)[..., None], n, unit)


def two_passes(x, unit, order="chain"):
    mean = mean_of(x, unit, order)
    d = subtract(x, mean, unit)
    return mean, mean_of(multiply(d, d, unit), unit, order)


def one_pass(x, unit, order="chain"):
    mean = mean_of(x, unit, order)
    return mean, subtract(mean_of(multiply(x, x, unit), unit, order), multiply(mean, mean, unit), unit)


def welford(x, unit):
    mean, m2 = np.zeros((*x.shape[:-1], 1)), np.zeros((*x.shape[:-1], 1))
    for k in range(x.shape[-1]):
        term = x[..., k : k + 1]
        d = subtract(term, mean, unit)
        mean = add(mean, divide(d, np.array(k + 1.0), unit), unit)
        m2 = add(m2, multiply(d, subtract(term, mean, unit), unit), unit)
    return mean, divide(m2, np.array(float(x.shape[-1])), unit)


MOMENTS = {
    "two passes": two_passes,
    "two passes, pairwise": lambda x, u: two_passes(x, u, "pairwise"),
    "one pass": one_pass,
    "one pass, lanes": lambda x, u: one_pass(x, u, "simd8"),
    "welford": welford,
}


def scaled(x, mean, variance, gain, shift, unit, epsilon=1e-5):
    """(x − μ)/√(V + ε)·g + b as it stands."""
    root = square_root(add(variance, round_to(np.array(epsilon), unit.precision), unit), unit)
    return add(multiply(divide(subtract(x, mean, unit), root, unit), gain, unit), shift, unit)


def folded(x, mean, variance, gain, shift, unit, epsilon=1e-5):
    """a·x + (b − a·μ)."""
    root = square_root(add(variance, round_to(np.array(epsilon), unit.precision), unit), unit)
    a = multiply(gain, divide(np.ones(()), root, unit), unit)
    return add(multiply(a, x, unit), subtract(shift, multiply(a, mean, unit), unit), unit)


def parameters(n, dtype):
    return sample("positive", (n,), dtype, 1), sample("normal", (n,), dtype, 2)


@pytest.mark.parametrize(("unit", "dtype", "n", "recipe"), CASES)
def test_every_layer_normalization_lies_within_its_bound(unit, dtype, n, recipe):
    x, (gain, shift) = sample(recipe, (SEEDS, n), dtype), parameters(n, dtype)
    node = node_of("LayerNormalization", [x, gain, shift], 3)
    setting, u = setting_of(unit, dtype, random=recipe in RANDOM), UNITS[unit]
    real = [dtypes.to_real(t) for t in (x, gain, shift)]
    for name, moments in MOMENTS.items():
        mean, variance = moments(real[0], u)
        if np.any(variance <= -1e-5):
            assert decided(node, setting) < 1, name
            continue
        for form in (scaled, folded):
            got = store(form(real[0], mean, variance, *real[1:], u), dtype, u)
            assert not ratio(node, got, setting) > 1, (name, form)
        inverse = divide(np.ones(()), square_root(add(variance, np.array(1e-5), u), u), u)
        assert not ratio(node, store(mean, node.output_types[1], u), setting, 1) > 1, name
        assert not ratio(node, store(inverse, node.output_types[2], u), setting, 2) > 1, name


@pytest.mark.parametrize(("unit", "dtype", "n", "recipe"), CASES)
def test_root_mean_squares_lie_within_their_bounds(unit, dtype, n, recipe):
    x, gain = sample(recipe, (SEEDS, n), dtype), parameters(n, dtype)[0]
    setting, u = setting_of(unit, dtype, random=recipe in RANDOM), UNITS[unit]
    real = dtypes.to_real(x)
    for order in ("chain", "pairwise", "simd8"):
        square = mean_of(multiply(real, real, u), u, order)
        got = scaled(real, np.zeros(()), square, dtypes.to_real(gain), np.zeros(()), u)
        assert not ratio(node_of("RMSNormalization", [x, gain]), store(got, dtype, u), setting) > 1, order
        mean = node_of("ReduceMean", [x, np.array([-1])])
        assert not ratio(mean, store(mean_of(real, u, order), dtype, u), setting) > 1, order
        norm = square_root(sum_terms(np.moveaxis(multiply(real, real, u), -1, 0), u, order)[..., None], u)
        assert not ratio(node_of("ReduceL2", [x, np.array([-1])]), store(norm, dtype, u), setting) > 1, order


def test_faults_of_normalisation_are_found():
    setting, u = setting_of("fp32", "float32", random=True), UNITS["fp32"]
    x, (gain, shift) = sample("normal", (SEEDS, 64), "float32"), parameters(64, "float32")
    small = sample("tiny", (SEEDS, 64), "float32")
    a, g, b, t = (dtypes.to_real(v) for v in (x, gain, shift, small))
    node, faint = (node_of("LayerNormalization", [v, gain, shift]) for v in (x, small))

    def rejects(y, of=node):
        return ratio(of, store(y, "float32", u), setting) > 1

    mean, variance = two_passes(a, u)
    assert not rejects(scaled(a, mean, variance, g, b, u))
    assert rejects(scaled(a, mean, variance * 64 / 63, g, b, u))  # an unbiased variance
    assert rejects(scaled(a, mean_of(a[:, :-1], u, "chain"), variance, g, b, u))  # the last term is dropped
    assert rejects(scaled(a, a.mean(0), a.var(0), g, b, u))  # another axis
    assert rejects(scaled(a, dtypes.round_to(mean, "bfloat16"), variance, g, b, u))
    assert rejects(scaled(a, mean, dtypes.round_to(variance, "float16"), g, b, u))
    assert rejects(scaled(a, mean, variance, b, g, u))  # gain and shift swapped
    moments = two_passes(t, u)
    assert not rejects(scaled(t, *moments, g, b, u), faint)
    assert rejects(scaled(t, *moments, g, b, u, epsilon=0.0), faint)
    outside = multiply(divide(subtract(t, moments[0], u), add(square_root(moments[1], u), np.array(1e-5), u), u), g, u)
    assert rejects(add(outside, b, u), faint)  # eps outside the root


def test_one_pass_leaves_elements_open_where_it_has_no_digits():
    x = sample("offset", (SEEDS, 1024), "float32") * np.float32(1000)
    x = (x / 1000).astype(np.float32) + np.float32(3000)
    node = node_of("LayerNormalization", [x, *parameters(1024, "float32")])
    assert decided(node, setting_of("fp32", "float32")) == 0
    assert (
        decided(
            node_of("LayerNormalization", [sample("normal", (3, 1024), "float32"), *parameters(1024, "float32")]),
            setting_of("fp32", "float32"),
        )
        == 1
    )


@pytest.mark.parametrize(
    ("operator", "shape", "attributes"),
    [
        ("InstanceNormalization", (2, 4, 8, 9), {}),
        ("GroupNormalization", (2, 4, 8, 9), {"num_groups": 2}),
    ],
)
def test_instances_and_groups_are_normalised_alike(operator, shape, attributes):
    x, (gain, shift) = sample("normal", shape, "float32"), parameters(4, "float32")
    node, u = node_of(operator, [x, gain, shift], version=22, **attributes), UNITS["fp32"]
    groups = attributes.get("num_groups", 4)
    rows = dtypes.to_real(x).reshape(2, groups, -1)
    mean, variance = one_pass(rows, u)
    a, b = (np.repeat(dtypes.to_real(t).reshape(1, groups, -1), 72, axis=-1) for t in (gain, shift))
    setting = setting_of("fp32", "float32", random=True)
    got = folded(rows, mean, variance, a, b, u).reshape(shape)
    assert ratio(node, store(got, "float32", u), setting) < 1
    wrong = folded(rows, mean, variance, a, b, u, epsilon=1e-3).reshape(shape)
    assert ratio(node, store(wrong, "float32", u), setting) > 1


@pytest.mark.parametrize("n", [2, 3, 64, 512])
@pytest.mark.parametrize(("unit", "dtype"), UNIT_AND_TYPE[:3])
def test_sums_of_random_terms_lie_within_a_of_n_in_every_order(unit, dtype, n):
    rng, u, setting = np.random.default_rng(n), UNITS[unit], setting_of(unit, dtype, random=True)
    alike, outweighed = rng.uniform(0, 1, (n, 200)), 1e-3 * rng.uniform(0, 1, (n, 200))
    outweighed[0] = 1
    for terms in (round_to(t, u.precision, emin=u.emin) for t in (alike, outweighed)):
        bound = sum_error.relative_error(terms, (0,), setting)[0] * terms.sum(0)
        for order in ("chain", "reversed", "pairwise", "simd8"):
            assert not np.any(np.abs(sum_terms(terms, u, order) - terms.sum(0)) > bound), order


def test_a_of_n_is_the_worst_case_unless_data_is_random_and_rounded_to_nearest():
    terms = np.random.default_rng(1).uniform(0.5, 1.5, (1024, 1))
    typical = float(sum_error.relative_error(terms, (0,), setting_of("fp32", "float32", random=True))[0, 0])
    assert 45 < typical * 2**24 < 60  # 1.5·√N + 2
    assert 80 < float(sum_error.random_walk(1024, setting_of("fp32", "float32", random=True))) * 2**24 < 90
    for setting in (setting_of("fp32", "float32"), setting_of("fp32-faithful", "float32", random=True)):
        assert float(sum_error.relative_error(terms, (0,), setting)[0, 0]) == float(setting.gamma(1024))
