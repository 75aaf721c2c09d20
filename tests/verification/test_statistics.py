"""Tiers 2 and 3: the size and the direction of rounding errors over a tensor."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reference.node import Node
from reference.verify import Profile, verify
from reference.verify.arithmetic import RUNGS
from reference.verify.setting import Setting
from reference.verify.statistics import LIMIT, limit_of, spread
from tests.verification.orders import sum_products
from tests.verification.samples import sample
from tests.verification.units import Fused, Unit, convert, store


def setting(rung="fp32", dtype="float32"):
    return Setting(RUNGS[rung], dtype, random=True)


def product(k, unit, order="chain", recipe="normal", declared=None, seed=0):
    """The verdict on a matrix product of K terms computed by `unit`."""
    model, feeds = sample("MatMul", "large", recipe, k, "float32", seed)
    a, b = (convert(x.astype(np.float64), unit) for x in feeds.values())
    y = store(sum_products(a, b, unit, order), "float32", unit)
    (verdict,) = verify(model, feeds, {"y0": y}, Profile.of(declared), random=True)
    return verdict


@pytest.mark.parametrize("k", [16, 64, 256])
@pytest.mark.parametrize("order", ["chain", "reversed", "pairwise", "blocked32", "fma", "kahan", "simd8"])
def test_rounding_to_nearest_in_any_order_passes_with_24_bits(k, order):
    verdict = product(k, Unit(), order)
    assert verdict.status == "pass"
    assert verdict.numbers["rms_ratio"] < 1.2
    assert verdict.numbers["effective_bits"] > 23.7


@pytest.mark.parametrize("bits", range(1, 9))
def test_each_bit_that_is_missing_shows_in_the_effective_bits(bits):
    verdict = product(64, Unit(precision=24 - bits))
    assert verdict.tier in ("tier 1", "tier 2")
    assert verdict.numbers["effective_bits"] == pytest.approx(24 - bits, abs=0.3)
    assert product(64, Unit(precision=24 - bits), declared={"float32": {"rung": "fp32", "bits": 24 - bits}}).tier == ""


@pytest.mark.parametrize("rounding", ["down", "up"])
def test_one_direction_shows_in_z(rounding):
    verdict = product(256, Unit(rounding=rounding))
    assert verdict.status == "mismatch"
    assert abs(verdict.numbers["z"]) > 50
    assert np.sign(verdict.numbers["z"]) == (1 if rounding == "up" else -1)


def test_truncation_shows_in_z_sign_and_passes_where_it_is_declared():
    assert product(64, Unit(rounding="toward_zero")).numbers["z_sign"] < -50
    assert product(64, Unit(rounding="toward_zero"), "pairwise").tier == "tier 3"
    declared = {"linear:float32": {"rung": "fp32", "rounding": "toward-zero"}}
    assert product(64, Unit(rounding="toward_zero"), declared=declared).status == "pass_reduced"
    assert product(256, Unit(rounding="toward_zero", precision=22), declared=declared).tier == "tier 2"


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize("fraction", [13, 23, 24, 25])
def test_fused_blocks_pass_at_their_declaration_and_not_with_a_bit_less(fraction, width):
    bits = fraction + 1 if fraction > 23 else 24  # of an accumulator that does not hide the last bit of the blocks
    declared = {"float32": {"rung": "fp32", "bits": bits, "fused": {"fraction": fraction, "fan_in": width}}}
    device = Unit(precision=bits, products="exact", fused=Fused(fraction, width, accumulator=True))
    right = product(1024, device, "fused", "positive", declared)
    assert right.status != "mismatch"
    assert 0.4 < right.numbers["rms_ratio"] < 0.9
    less = dataclasses.replace(device, fused=Fused(fraction - 1, width, accumulator=True))
    assert product(1024, less, "fused", "positive", declared).tier == "tier 2"


def test_statistics_are_only_judged_on_random_data():
    model, feeds = sample("MatMul", "plain", "normal", 64)
    a, b = (x.astype(np.float64) for x in feeds.values())
    y = store(sum_products(a, b, Unit(precision=20), "chain"), "float32", Unit())
    assert verify(model, feeds, {"y0": y}, random=True)[0].tier == "tier 2"
    assert "rms_ratio" not in verify(model, feeds, {"y0": y})[0].numbers


def test_a_tensor_of_few_elements_has_a_wider_limit():
    model, feeds = sample("MatMul", "plain", "normal", 64)
    found = spread(Node.of(model, feeds), setting())
    assert limit_of(found, 1000) == LIMIT
    assert limit_of(found, 100) > limit_of(found, 999) > LIMIT
    assert limit_of(found, 1) < 15


def test_no_statistics_are_known_where_sums_of_one_sign_may_stagnate():
    model, feeds = sample("MatMul", "plain", "positive", 1024, "float16")
    assert np.isinf(spread(Node.of(model, feeds), setting("fp16", "float16")).sigma).all()
    model, feeds = sample("MatMul", "plain", "normal", 1024, "float16")
    assert np.isfinite(spread(Node.of(model, feeds), setting("fp16", "float16")).sigma).all()


def test_squares_of_few_bits_have_no_statistics():
    model, feeds = sample("ReduceSumSquare", "last", "grid", 256)
    assert spread(Node.of(model, feeds), setting()) is None
    model, feeds = sample("ReduceSumSquare", "last", "normal", 256)
    assert spread(Node.of(model, feeds), setting()) is not None
