"""Which rung a run is held to: what a fingerprint shows, what a declaration may not say, and what is settled of both."""

from __future__ import annotations

import pytest

from backends.interface import Capabilities
from reference.verify import RUNGS
from suites.precision import ROUNDED, contradictions, infer_float32, settle

EXACT = {
    "conv": True,
    "mul_1p2m12": 1 + 2.0**-12,
    "mul_rounding": ROUNDED,
    "mul_subnormal": 2.0**-127,
    "mul_1p2m9": 1 + 2.0**-9,
    "matmul_1p2m12": 1 + 2.0**-12,
    "matmul_sum": 128000.0,
}
UNITS = {
    "fp32": EXACT,
    "fp32-faithful": EXACT | {"mul_rounding": 1 + 2.0**-10, "mul_subnormal": 0.0},
    "fp16-in": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0},
    "bf16-in": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "mul_1p2m9": 1.0},
    "fp16-faithful": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "matmul_sum": 65536.0},
    "bf16-faithful": EXACT | {"mul_1p2m12": 1.0, "matmul_1p2m12": 1.0, "mul_1p2m9": 1.0, "matmul_sum": 120832.0},
}
"""Rung → the fingerprint of a unit that has it."""


@pytest.mark.parametrize("rung", UNITS)
def test_each_unit_is_recognised(rung):
    assert infer_float32(UNITS[rung]) == rung


@pytest.mark.parametrize("rung", UNITS)
def test_a_unit_contradicts_no_declaration_that_it_keeps(rung):
    assert contradictions(rung, UNITS[rung]) == []
    assert contradictions(rung, EXACT) == []


def test_a_float16_unit_whose_products_are_an_ulp_off_is_recognised():
    seen = UNITS["fp16-faithful"] | {"mul_1p2m12": 1 + 2.0**-23, "matmul_1p2m12": 1 + 2.0**-23}
    assert infer_float32(seen) == "fp16-faithful"


@pytest.mark.parametrize("value", [5.0, float("nan"), 0.0])
def test_a_wrong_product_infers_nothing(value):
    assert infer_float32(EXACT | {"matmul_1p2m12": value}) is None


def test_a_tf32_unit_keeps_its_word():
    assert contradictions("tf32", UNITS["fp16-in"]) == []


@pytest.mark.parametrize(
    ("declared", "unit"),
    [("fp32", "fp16-in"), ("fp32", "bf16-in"), ("fp16-in", "bf16-in"), ("fp16-in", "fp16-faithful"), ("tf32", "bf16-in")],
)
def test_a_silent_downcast_contradicts_the_declaration(declared, unit):
    assert contradictions(declared, UNITS[unit])


def test_declared_rungs_win_and_the_inferred_one_is_said_to_be():
    inferred = settle(Capabilities(), UNITS["bf16-in"])
    assert (inferred.rungs, inferred.inferred) == ({"float32": "bf16-in"}, frozenset({"float32"}))
    declared = settle(Capabilities(precision={"float32": "fp32"}), UNITS["bf16-in"])
    assert (declared.rungs, declared.inferred) == ({"float32": "fp32"}, frozenset())
    assert settle(Capabilities(), {"matmul_1p2m12": None, "mul_1p2m12": None}).rungs == {}


def test_an_unknown_rung_names_the_known_ones():
    with pytest.raises(ValueError, match="fp99") as caught:
        settle(Capabilities(precision={"float32": "fp99"}), {})
    assert all(rung in str(caught.value) for rung in RUNGS)
