"""Units to which subnormal numbers are zero, and formats that lose infinities, as XLA on CPUs and cuDNN were seen to do."""

from __future__ import annotations

import numpy as np
import pytest

from reference.node import Node
from reference.verify import Profile, verify
from tests.verification.single_nodes import model

SMALLEST = np.finfo(np.float32).smallest_normal
BELOW = np.float32(1.1754942e-38)
FLUSHING = Profile.of({"float32": "fp32-faithful"})


def flushed(x):
    return np.where(np.abs(x) < SMALLEST, np.copysign(np.float32(0), x), x)


def verdict(operator, inputs, got, version, *, profile=FLUSHING, random=False, **attributes):
    made, feeds = model(operator, inputs, (np.asarray(got).dtype.name,), version, **attributes)
    return verify(made, feeds, {"y0": got}, profile, random=random)[0]


@pytest.mark.parametrize("signed", [True, False])
def test_a_flushed_divisor_is_a_zero_of_its_sign_or_a_positive_one(signed):
    x = np.array([BELOW, -BELOW, 2.0, -0.5], np.float32)
    with np.errstate(divide="ignore"):
        got = 1 / (flushed(x) if signed else np.where(np.abs(x) < SMALLEST, np.float32(0), x))
    found = verdict("Reciprocal", [x], got, 13, profile=Profile())
    assert (found.status, found.message) == ("pass_reduced", "flushes subnormal operands")


def test_infinity_of_another_sign_than_the_divisor_s_is_wrong():
    x = np.array([BELOW, -BELOW, 2.0, -0.5], np.float32)
    with np.errstate(divide="ignore"):
        got = 1 / -np.abs(flushed(x))
    assert verdict("Reciprocal", [x], got, 13).status == "mismatch"


def test_a_subnormal_number_that_counts_as_zero_may_pass_unchanged():
    x = np.array([-BELOW, BELOW, -1.0, 1.0], np.float32)
    got = np.where(flushed(x) >= 0, x, x * np.float32(0.01))
    assert got[0] == -BELOW
    assert verdict("LeakyRelu", [x], got, 16).status == "pass_reduced"
    assert verdict("LeakyRelu", [x], got, 16, profile=Profile()).status == "mismatch"


def test_a_step_that_flushing_makes_zero_leaves_the_verdict():
    start, limit, delta = np.float32(0), np.float32(4e-38), BELOW
    assert verdict("Range", [start, limit, delta], np.zeros(4, np.float32), 11).status == "mismatch"


def test_a_product_on_the_way_may_overflow_or_underflow():
    x = np.array([[3e38, 1.0]], np.float32).T.reshape(2, 1)
    scale, shift, mean, variance = (np.array([v], np.float32) for v in (BELOW, 0.0, 0.0, 0.25))
    with np.errstate(over="ignore"):
        in_order = x / np.sqrt(variance) * scale  # overflows where scale/√variance would not
    found = verdict("BatchNormalization", [x, scale, shift, mean, variance], in_order, 15, profile=Profile(), epsilon=0.0)
    assert np.isinf(in_order[0, 0])
    assert found.status in ("pass", "inconclusive")


@pytest.mark.parametrize(
    ("lost", "text"), [(lambda y: y == -np.inf, "0 in place of −inf"), (np.isinf, "0 in place of infinity")]
)
def test_infinity_that_becomes_zero_is_named(lost, text):
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float16) for shape in ((1, 3, 9, 9), (4, 3, 2, 2)))
    x[0, 1, 4, 4] = np.inf
    made, feeds = model("Conv", [x, w], ("float16",), 11)
    right = Node.of(made, feeds).results[0].astype(np.float16)
    found = verify(made, feeds, {"y0": np.where(lost(right), np.float16(0), right)})[0]
    assert found.status == "mismatch"
    assert (found.diagnosis[0].cause, found.diagnosis[0].complete) == ("infinity-clamped", True)
    assert text in found.diagnosis[0].text


def products(k, rows=20, columns=30):
    rng = np.random.default_rng(k)
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, k), (k, columns)))
    return a, b, a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)


def test_formats_that_the_data_cannot_tell_apart_are_both_named():
    a, b, got = products(64)
    assert "float16 or tf32" in verdict("MatMul", [a, b], got, 13, profile=Profile(), random=True).diagnosis[0].text
    a[0, 0] = 7e-6  # a float16 of few bits
    got = a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)
    assert all("or tf32" not in d.text for d in verdict("MatMul", [a, b], got, 13, profile=Profile()).diagnosis)


def test_the_arithmetic_that_is_proposed_has_the_format_that_is_named():
    a, b, got = products(4099, 3, 2)
    found = verdict("MatMul", [a, b], got, 13, profile=Profile(), random=True)
    assert (found.tier, found.diagnosis[0].cause) == ("tier 2", "inputs-float16")
    assert found.message.endswith("right for the arithmetic 'tf32'")  # long sums that are cut would err as much
