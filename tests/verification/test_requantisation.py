"""INT_INTERVAL accepts every correct requantiser at its declaration and rejects every fault wherever it shows: brute force over
all pairs of int8, with factors far below 1 and around it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from reference import dtypes
from reference.node import Node
from reference.ops.requantization import near_tie
from reference.verify import Profile, integers, verify
from reference.verify.requantise import Requantise
from reference.verify.setting import Setting
from tests.verification import requantisers as emulated
from tests.verification.quantised_nodes import CONTRIB, model

FACTORS = {"below 2^-6": (2.0**-9, 2.0**-6), "below 1/2": (0.1, 0.5), "around 1": (0.7, 1.6)}
"""Ranges of output steps in one accumulator step."""

NEXT_TO_HALF_WAYS = "next to half-ways"
"""One output step is an even number of accumulator steps, but for the rounding of a scale: so every quotient that would be
half-way lies within a few 2^-24 of it, where single precision takes it for either side."""

REGIMES = (*FACTORS, NEXT_TO_HALF_WAYS)


def setting(**declared):
    """The setting of a device that declares its requantisation so."""
    return Setting(Profile.of({"float32": {"rung": "fp32", "requantise": declared}}).arithmetic("", "float32"), "float32")


def verdict(operator, inputs, got, domain="", declared=None, **attributes):
    """The verdict on the only output."""
    m, feeds = model(operator, inputs, (dtypes.name_of(got.dtype),), domain, **attributes)
    profile = Profile.of({"float32": {"rung": "fp32", "requantise": declared}}) if declared else None
    return verify(m, feeds, {"y0": got}, profile)[0]


def outside(node, got, declared):
    """Mask of the elements that are wrong under a declaration."""
    low, high = integers.interval(node, setting(**declared))
    y = got.astype(np.float64)
    return (y < low) | (y > high)


def scales(rng, factor, channels=1):
    """Three float32 scales, no powers of two, whose left·right/out lies in a range or next to 1/(an even number)."""
    left = np.float32(rng.uniform(0.01, 0.05))
    right = rng.uniform(0.01, 0.05, channels).astype(np.float32)
    steps = 2 * rng.integers(1, 150) if factor == NEXT_TO_HALF_WAYS else np.exp(-rng.uniform(*np.log(FACTORS[factor])))
    terms = 8 if channels > 1 else 1  # sums of a convolution are larger than one product
    return left, right, np.float32(np.float64(left) * right[0] * steps * terms)


@functools.cache
def pairs(operator, factor, number):
    """All pairs of int8 in one QLinearMatMul (of one term) or QLinearMul: inputs, node and what requantisers take."""
    rng = np.random.default_rng([REGIMES.index(factor), number])
    values = np.arange(-128, 128).astype(np.int8)
    a, b = values[:, None], values[None, :]
    (left, right, out), (a_zero, b_zero, zero) = scales(rng, factor), rng.integers(-30, 31, 3).astype(np.int8)
    inputs = [a, left, a_zero, b, right.reshape(()), b_zero, out, zero]
    node = Node.of(*model(operator, inputs, ("int8",), CONTRIB if operator == "QLinearMul" else ""))
    sums = (a.astype(np.int64) - int(a_zero)) * (b.astype(np.int64) - int(b_zero))
    return inputs, node, (sums, np.asarray(left), right.reshape(()), np.asarray(out), int(zero))


@functools.cache
def convolution(factor, number):
    """A QLinearConv of 64 channels, each with a scale of its own, and bias: inputs, node and what requantisers take."""
    rng = np.random.default_rng([7, REGIMES.index(factor), number])
    x = rng.integers(0, 256, (1, 9, 40, 40)).astype(np.uint8)
    w = rng.integers(-128, 128, (64, 9, 1, 1)).astype(np.int8)
    bias = rng.integers(-3000, 3000, 64).astype(np.int32)
    left, right, out = scales(rng, factor, 64)
    inputs = [x, left, np.uint8(119), w, right, np.zeros(64, np.int8), out, np.uint8(131), bias]
    node = Node.of(*model("QLinearConv", inputs, ("uint8",)))
    sums = np.einsum("nchw,mc->nmhw", x.astype(np.int64) - 119, w[:, :, 0, 0].astype(np.int64)) + bias.reshape(-1, 1, 1)
    return inputs, node, (sums, np.asarray(left), right.reshape(-1, 1, 1), np.asarray(out), 131)


@pytest.mark.parametrize("factor", REGIMES)
@pytest.mark.parametrize("requantiser", emulated.CORRECT, ids=lambda f: f.__name__)
def test_every_correct_requantiser_is_accepted_as_declared(requantiser, factor):
    compared = 0
    for operator, count in (("QLinearMatMul", 6), ("QLinearMul", 2)):
        for number in range(count):
            _, node, operands = pairs(operator, factor, number)
            got = emulated.saturated(requantiser(*operands), np.int8)
            assert not outside(node, got, emulated.CORRECT[requantiser]).any()
            compared += got.size
    if requantiser is not emulated.half:  # the sums exceed 65504
        _, node, operands = convolution(factor, 0)
        got = emulated.saturated(requantiser(*operands), np.uint8)
        assert not outside(node, got, emulated.CORRECT[requantiser]).any()
        compared += got.size
    assert compared >= 8 * 2**16


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("fault", emulated.FAULTS, ids=lambda f: f.__name__)
def test_every_fault_is_rejected_wherever_it_shows(fault, factor):
    for number in range(3):
        cases = [(np.uint8, "QLinearConv", *convolution(factor, number))]
        if fault is not emulated.with_one_scale_for_all:
            cases.append((np.int8, "QLinearMatMul", *pairs("QLinearMatMul", factor, number)))
        for dtype, operator, _, node, operands in cases:
            got = emulated.saturated(fault(*operands), dtype)
            differs = (got != node.results[0]) & ~near_tie(integers.REAL[operator](*node.inputs), 2.0**-13)
            assert differs.sum() > 500
            np.testing.assert_array_equal(outside(node, got, {}) & differs, differs)
            assert integers.delta_needed(node, got) > 0.4


@pytest.mark.parametrize("fault", emulated.FAULTS[:-1], ids=lambda f: f.__name__)
def test_a_fault_is_a_mismatch_with_its_distance_on_record(fault):
    inputs, node, operands = pairs("QLinearMatMul", "below 1/2", 0)
    found = verdict("QLinearMatMul", inputs, emulated.saturated(fault(*operands), np.int8))
    assert found.status == "mismatch"
    assert found.numbers["delta_needed"] > 0.4
    assert found.numbers["compared"] == node.results[0].size


@pytest.mark.parametrize("factor", ["below 1/2", "around 1"])
def test_results_that_wrap_around_are_rejected(factor):
    inputs, node, operands = pairs("QLinearMatMul", factor, 0)
    exact = emulated.double(*operands)
    got = emulated.wrapped(exact, np.int8)
    beyond = got != emulated.saturated(exact, np.int8)
    assert beyond.sum() > 500
    np.testing.assert_array_equal(outside(node, got, {}), beyond)
    assert verdict("QLinearMatMul", inputs, got).status == "mismatch"


def test_truncation_points_down_and_a_right_result_nowhere():
    _, node, operands = pairs("QLinearMatMul", "below 2^-6", 0)
    assert abs(integers.deviations(node, node.results[0])["requantised_bias"]) < 0.02
    floored = emulated.saturated(emulated.floored(*operands), np.int8)
    assert integers.deviations(node, floored)["requantised_bias"] == pytest.approx(-0.5, abs=0.02)


@pytest.mark.parametrize(
    "requantiser", [emulated.doubly_rounded, emulated.fixed_of_sixteen_bits, emulated.half], ids=lambda f: f.__name__
)
def test_a_coarse_requantiser_that_is_not_declared_is_reduced_wherever_it_shows(requantiser):
    shown = 0
    for number in range(6):
        inputs, node, operands = pairs("QLinearMatMul", "below 2^-6", number)
        got = emulated.saturated(requantiser(*operands), np.int8)
        wrong = outside(node, got, {})
        differs = got != node.results[0]
        assert not (wrong & ~differs).any()
        assert (wrong | near_tie(integers.REAL["QLinearMatMul"](*node.inputs), 2.0**-13))[differs].all()
        found = verdict("QLinearMatMul", inputs, got)
        assert found.status == ("pass_reduced" if wrong.any() else "pass")
        assert found.numbers["delta_needed"] <= integers.REDUCED_DELTA
        assert verdict("QLinearMatMul", inputs, got, declared=emulated.CORRECT[requantiser]).status == "pass"
        shown += wrong.sum()
    assert shown > 20


def test_double_rounding_after_a_shift_by_one_is_too_coarse_unless_declared():
    def factor(node):
        return node.real(1) * node.real(4) / node.real(6)

    cases = (pairs("QLinearMatMul", "below 1/2", n) for n in range(20))
    inputs, node, operands = next(case for case in cases if 0.25 < factor(case[1]) < 0.5)
    got = emulated.saturated(emulated.doubly_rounded(*operands), np.int8)
    assert 0.2 < integers.delta_needed(node, got) <= 0.25 + 2.0**-13
    assert verdict("QLinearMatMul", inputs, got).status == "mismatch"
    assert verdict("QLinearMatMul", inputs, got, declared={"kind": "fixed-double-rounding"}).status == "pass"


def dyadic(number):
    """A QLinearMatMul of all pairs of int8 whose scales are powers of two: half-ways are met exactly."""
    values = np.arange(-128, 128).astype(np.int8)
    left, right, out = (np.asarray(2.0**-k, np.float32) for k in (4, 5 + number, 3))
    inputs = [values[:, None], left, np.int8(3), values[None, :], right, np.int8(0), out, np.int8(4)]
    sums = np.multiply.outer(values.astype(np.int64) - 3, values.astype(np.int64))
    return inputs, (sums, left, right, out, 4)


@pytest.mark.parametrize("number", [0, 2, 4])
def test_half_ways_that_are_met_exactly_go_to_the_even_side(number):
    inputs, operands = dyadic(number)
    for requantiser in (emulated.single, emulated.single_with_reciprocal, emulated.double):
        assert verdict("QLinearMatMul", inputs, emulated.saturated(requantiser(*operands), np.int8)).status == "pass"
    away = emulated.saturated(emulated.away_from_zero(*operands), np.int8)
    found = verdict("QLinearMatMul", inputs, away)
    differs = away != emulated.saturated(emulated.double(*operands), np.int8)
    assert found.status == "pass_reduced"
    assert found.numbers["delta_needed"] == 0
    node = Node.of(*model("QLinearMatMul", inputs, ("int8",)))
    np.testing.assert_array_equal(outside(node, away, {}), differs)
    assert verdict("QLinearMatMul", inputs, away, declared={"kind": "fixed"}).status == "pass"
    assert verdict("QLinearMatMul", inputs, emulated.saturated(emulated.fixed(*operands), np.int8)).status == "pass_reduced"


def added(inputs, dtype, zero_points_folded):
    """QLinearAdd in single precision, dequantised first or with the zero points folded into one constant."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = inputs
    a, b = a.astype(np.float32), b.astype(np.float32)
    if zero_points_folded:
        left, right = a_scale / scale, b_scale / scale
        constant = np.float32(zero) - (left * np.float32(a_zero) + right * np.float32(b_zero))
        return emulated.saturated(np.rint(a * left + constant + b * right), dtype)
    total = (a - np.float32(a_zero)) * a_scale + (b - np.float32(b_zero)) * b_scale
    return emulated.saturated(np.rint(total / scale) + np.float32(zero), dtype)


def added_in_fixed_point(inputs, dtype):
    """QLinearAdd as TensorFlow Lite has it: both operands shifted left by 20 and brought to twice the larger scale."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = inputs
    twice, one = np.float64(2 * max(a_scale, b_scale)), np.ones(())
    parts = [
        emulated.doubly_rounded((x.astype(np.int64) - int(z)) << 20, np.float64(s), one, twice, 0).astype(np.int64)
        for x, s, z in ((a, a_scale, a_zero), (b, b_scale, b_zero))
    ]
    return emulated.saturated(emulated.doubly_rounded(parts[0] + parts[1], twice, one, scale * 2.0**20, int(zero)), dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_sums_of_all_pairs(dtype):
    rng = np.random.default_rng(11)
    values = np.arange(256).astype(np.uint8).view(dtype)
    for _ in range(6):
        a_scale, b_scale, scale = (np.float32(s) for s in rng.uniform(0.003, 0.05, 3))
        zeros = rng.integers(0, 256, 3).astype(np.uint8).view(dtype)
        inputs = [values[:, None], a_scale, zeros[0], values[None, :], b_scale, zeros[1], np.float32(2 * scale), zeros[2]]
        node = Node.of(*model("QLinearAdd", inputs, (np.dtype(dtype).name,), CONTRIB))
        for got in (added(inputs, dtype, True), added(inputs, dtype, False), added_in_fixed_point(inputs, dtype)):
            assert not outside(node, got, {}).any()
        real = integers.REAL["QLinearAdd"](*node.inputs)
        truncated = emulated.saturated(np.floor(real), dtype)
        differs = (truncated != node.results[0]) & ~near_tie(real, 2.0**-12)
        np.testing.assert_array_equal(outside(node, truncated, {}) & differs, differs)
        assert differs.sum() > 500


@pytest.mark.parametrize(("name", "count"), [("uint8", 200_000), ("int8", 200_000), ("int16", 200_000), ("int4", 50_000)])
def test_quotients_of_reals(name, count):
    rng = np.random.default_rng(5)
    kind = dtypes.numpy_dtype(name)
    for _ in range(3):
        scale = np.float32(rng.uniform(0.01, 0.2))
        steps = {"int16": 40_000, "int4": 9}.get(name, 150)
        x = (rng.uniform(-steps, steps, count) * scale).astype(np.float32)
        zero = np.asarray(3, kind)
        node = Node.of(*model("QuantizeLinear", [x, scale, zero], (name,)))
        low, high = integers.interval(node, setting())
        info = (float(node.results[0].min()), float(node.results[0].max()))
        for quotient in (x / scale, x * (np.float32(1) / scale)):
            for y in (np.rint(quotient).astype(np.float64) + 3, np.rint(quotient + np.float32(3)).astype(np.float64)):
                y = np.clip(y, *info)
                assert ((y >= low) & (y <= high)).all()
        floored = np.clip(np.floor(x.astype(np.float64) / scale) + 3, *info)
        shows = np.abs(floored - node.results[0].astype(np.float64)) > 0
        assert shows.sum() > count / 5
        assert ((floored < low) | (floored > high))[shows].mean() > (0.9 if name == "int16" else 0.99)


def test_half_ways_of_reals_go_to_the_even_side_where_the_scale_is_a_power_of_two():
    x = np.arange(-60, 60, dtype=np.float32) / 8
    for scale, expected in ((0.25, "pass_reduced"), (0.75, "pass")):  # x/0.75 is met by luck, x·(1/0.75) is not
        inputs = [x * np.float32(scale / 0.25), np.float32(scale), np.int8(1)]
        quotient = inputs[0].astype(np.float64) / scale
        even, away = np.rint(quotient), np.trunc(quotient + np.copysign(0.5, quotient))
        assert (even != away).any()
        assert verdict("QuantizeLinear", inputs, (even + 1).astype(np.int8)).status == "pass"
        assert verdict("QuantizeLinear", inputs, (away + 1).astype(np.int8)).status == expected


def test_float16_requantisation_needs_no_more_than_four_roundings():
    """What settles u_rq = 2^-11: the largest error of a sum times a float16 factor, in units of (4·R + |r + zp|)·2^-11."""
    worst = 0.0
    for factor in REGIMES:
        for number in range(6):
            _, node, operands = pairs("QLinearMatMul", factor, number)
            real = integers.REAL["QLinearMatMul"](*node.inputs)
            size = 4 * np.abs(real - operands[-1]) + np.abs(real)
            away = np.abs(emulated.saturated(emulated.half(*operands), np.int8) - real) - 0.5
            share = away / (size * 2.0**-11 + 2.0**-30)
            worst = max(worst, float(share.max(where=np.abs(real) <= 127, initial=0.0)))
    assert 0.5 < worst <= 1.0


def test_the_right_shift_follows_from_the_multiplier_unless_it_is_declared():
    twice = Requantise("fixed-double-rounding")
    factors = np.array([1.5, 0.75, 0.4, 0.2, 2.0**-7])
    np.testing.assert_array_equal(twice.delta(np.zeros(5), factors), [0.0, 0.0, 2.0**-2, 2.0**-3, 2.0**-7])
    assert Requantise("fixed-double-rounding", shift=3).delta(np.zeros(()), factors) == 2.0**-4
    # rounded to 15 bits, a factor next to 1/4 has the multiplier 1/2 and one shift less
    next_to = np.asarray(0.25 * (1 - 2.0**-20))
    assert twice.delta(np.zeros(()), next_to) == 2.0**-3
    assert Requantise("fixed-double-rounding", multiplier_bits=16).delta(np.zeros(()), next_to) == 2.0**-2
    assert twice.delta(np.zeros(())) == 2.0**-2
    assert Requantise("fixed", multiplier_bits=16).delta(np.asarray(-64.0)) == 2.0**-9
    for kind in ("float", "double", "fixed"):
        assert Requantise(kind).delta(np.asarray(100.0), factors).max() == 0
