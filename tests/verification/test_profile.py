"""Declarations of precision: what they mean, and the one line that names what is wrong with one."""

from __future__ import annotations

import pytest

from reference.verify import RUNGS, Profile
from reference.verify.arithmetic import Fused

RUNG = {"rung": "fp32"}


def test_a_class_goes_before_its_type():
    profile = Profile.of({"float32": "fp32", "linear:float32": "bf16-in"})
    assert profile.arithmetic("linear", "float32") == RUNGS["bf16-in"]
    assert profile.arithmetic("softmax", "float32") == RUNGS["fp32"]
    assert profile.arithmetic("linear", "float16") is None
    assert Profile.of(None).arithmetic("linear", "float32") is None


def test_further_declarations_change_the_rung():
    declared = RUNG | {"rounding": "toward-zero", "bits": 22, "fused": {"fraction": 20, "fan_in": 8}, "flushes": True}
    found = Profile.of({"float32": declared}).arithmetic("linear", "float32")
    assert (found.rounding, found.precision, found.fused, found.flushes) == ("toward-zero", 22, Fused(20, 8), True)
    assert found.u == 2.0**-22


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"f32": "fp32"}, "'f32' is no type"),
        ({"linear:": "fp32"}, "is no type"),
        ({"convolution:float32": "fp32"}, "no class"),
        ({":float32": "fp32"}, "no class"),
        ({3: "fp32"}, "a key is a type"),
        ({"float32": "fp99"}, "no rung"),
        ({"float32": None}, "name of a rung"),
        ({"float32": {"bits": 3}}, "name of a rung"),
        ({"float32": {"rung": ["fp32"]}}, "no rung"),
        ({"float32": RUNG | {"speed": 1}}, "'speed' cannot be declared"),
        ({"float32": RUNG | {"bits": -3}}, "bits is a whole number"),
        ({"float32": RUNG | {"bits": True}}, "bits is a whole number"),
        ({"float32": RUNG | {"bits": 30}}, "fewer than 30 bits"),
        ({"float32": RUNG | {"rounding": "up"}}, "rounding is one of"),
        ({"float32": RUNG | {"flushes": "no"}}, "flushes is true or false"),
        ({"float32": RUNG | {"inputs": "float8"}}, "inputs is one of"),
        ({"float32": RUNG | {"functions": "fast"}}, "functions is one of"),
        ({"float32": RUNG | {"fused": 4}}, "fused is a table"),
        ({"float32": RUNG | {"fused": {"fraction": 24}}}, "'fan_in' is missing"),
        ({"float32": RUNG | {"fused": {"fraction": 24, "fan_in": 0}}}, "fan_in is a whole number"),
        ({"float32": RUNG | {"requantise": {"kind": "fixd"}}}, "kind is one of"),
        ({"float32": RUNG | {"requantise": {"shift": -1}}}, "shift is a whole number"),
        ({"float32": "x" * 10_000}, "no rung"),
        ([1], "table of types"),
    ],
)
def test_what_means_nothing_is_named_in_one_line(declared, words):
    with pytest.raises(ValueError, match=words) as caught:
        Profile.of(declared)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
