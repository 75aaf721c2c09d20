"""Which rung a run is held to: what a fingerprint shows, what a declaration may not say, and what is settled of both."""

from __future__ import annotations

import pytest

from backends.interface import Capabilities
from reference.verify import RUNGS, Profile
from suites.precision import ROUNDED, contradictions, infer_float32, settle

EXACT = {
    "conv": True,
    "mul_1p2m12": 1 + 2.0**-12,
    "mul_rounding": ROUNDED,
    "mul_subnormal": 2.0**-127,
    "mul_1p2m9": 1 + 2.0**-9,
    "matmul_1p2m12": 1 + 2.0**-12,
    "matmul_1p2m9": 1 + 2.0**-9,
    "matmul_sum": 128000.0,
    "function_bits": 23,
    "normalization_bits": 22,
    "softmax_bits": 23,
}
UNITS = {
    "fp32": EXACT,
    "fp32-faithful": EXACT | {"mul_rounding": 1 + 2.0**-10, "mul_subnormal": 0.0},
    "fp16-in": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0},
    "bf16-in": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "mul_1p2m9": 1.0, "matmul_1p2m9": 1.0},
    "fp16-faithful": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "matmul_sum": 65536.0},
    "bf16-faithful": EXACT
    | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "mul_1p2m9": 1.0, "matmul_1p2m9": 1.0, "matmul_sum": 120832.0},
}
"""Rung → the fingerprint of a unit that has it."""


def held(rung):
    """The profile that declares one rung for float32."""
    return Profile.of({"float32": rung})


@pytest.mark.parametrize("rung", UNITS)
def test_each_unit_is_recognised(rung):
    assert infer_float32(UNITS[rung]) == rung


@pytest.mark.parametrize("rung", UNITS)
def test_a_unit_contradicts_no_declaration_that_it_keeps(rung):
    assert contradictions(held(rung), UNITS[rung]) == []
    assert contradictions(held(rung), EXACT) == []


def test_a_float16_unit_whose_products_are_an_ulp_off_is_recognised():
    seen = UNITS["fp16-faithful"] | {"mul_1p2m12": 1 + 2.0**-23, "matmul_1p2m12": 1 + 2.0**-23}
    assert infer_float32(seen) == "fp16-faithful"


@pytest.mark.parametrize("value", [5.0, float("nan"), 0.0])
def test_a_wrong_product_infers_nothing(value):
    assert infer_float32(EXACT | {"matmul_1p2m12": value}) is None


def test_a_tf32_unit_keeps_its_word():
    assert contradictions(held("tf32"), UNITS["fp16-in"]) == []


@pytest.mark.parametrize(
    ("declared", "unit"),
    [("fp32", "fp16-in"), ("fp32", "bf16-in"), ("fp16-in", "bf16-in"), ("fp16-in", "fp16-faithful"), ("tf32", "bf16-in")],
)
def test_a_silent_downcast_contradicts_the_declaration(declared, unit):
    assert contradictions(held(declared), UNITS[unit])


def test_declared_rungs_win_and_the_inferred_one_is_said_to_be():
    inferred = settle(Capabilities(), UNITS["bf16-in"])
    assert (inferred.rungs, inferred.inferred) == ({"float32": "bf16-in"}, frozenset({"float32"}))
    declared = settle(Capabilities(precision={"float32": "fp32"}), UNITS["bf16-in"])
    assert (declared.rungs, declared.inferred) == ({"float32": "fp32"}, frozenset())
    assert settle(Capabilities(), {"matmul_1p2m12": None, "mul_1p2m12": None}).rungs == {}


def test_each_class_of_operators_has_its_own_rung():
    seen = EXACT | {"matmul_1p2m12": 1.0, "matmul_1p2m9": 1.0, "normalization_bits": 10}
    rungs = {"float32": "fp32", "linear:float32": "bf16-in", "normalization:float32": "fp16-faithful"}
    found = settle(Capabilities(), seen)
    assert (found.rungs, found.inferred) == (rungs, frozenset(rungs))
    assert found.profile.arithmetic("softmax", "float32") == RUNGS["fp32"]
    assert found.profile.arithmetic("linear", "float32") == RUNGS["bf16-in"]


@pytest.mark.parametrize("name", ["function_bits", "normalization_bits", "softmax_bits"])
def test_a_function_of_few_bits_contradicts_single_precision(name):
    assert contradictions(held("fp32"), EXACT | {name: 11})
    assert not contradictions(held("fp16-faithful"), EXACT | {name: 11})


@pytest.mark.parametrize(
    ("declared", "part"),
    [
        ({"convolution:float32": "fp32"}, "no class"),
        ({"float32": {"rung": "fp32", "speed": 3}}, "speed"),
        ({"float32": {"rounding": "nearest"}}, "rung"),
        ({"float32": {"rung": "fp32", "fused": {"bits": 3}}}, "fused|bits"),
    ],
)
def test_a_declaration_that_means_nothing_is_named(declared, part):
    with pytest.raises(ValueError, match=part):
        settle(Capabilities(precision=declared), {})


def test_an_unknown_rung_names_the_known_ones():
    with pytest.raises(ValueError, match="fp99") as caught:
        settle(Capabilities(precision={"float32": "fp99"}), {})
    assert all(rung in str(caught.value) for rung in RUNGS)
