"""A factor, an offset and a sign of the whole tensor are recognised, and numbers that formulas are known to be off by named."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(["constant-offset", "constant-factor", "sign-flipped"])

X, A, B = normal(3, 5, 8), normal(5, 13), normal(13, 7)
LONGS = np.arange(60).reshape(5, 12) * 37

FAULTS = [
    Fault("constant-factor", "Log", (abs(X),), lambda run, x: np.log2(x), text="log2(e) times the reference"),
    Fault("constant-factor", "MatMul", (A, B), lambda run, a, b: run(a, b) / np.float32(np.sqrt(13)), text="1/√13 times"),
    Fault("constant-factor", "ReduceSum", (X, np.array([1])), lambda run, x, a: run(x, a) / 5, text="1/5 times"),
    Fault("constant-factor", "ReduceMean", (X, np.array([1])), lambda run, x, a: run(x, a) * 5, text="5 times"),
    Fault("constant-factor", "Tanh", (X,), lambda run, x: run(x) * 2, text="2 times"),
    Fault("constant-factor", "Exp", (X,), lambda run, x: run(x) * np.float32(1.2345), text="1.2345 times"),
    Fault(
        "constant-factor",
        "Softmax",
        (normal(4, 33, dtype="float16"),),
        lambda run, x: run(x) * 3,
        outputs=("float16",),
        text="3 times",
    ),
    Fault("constant-factor", "Tanh", (X,), lambda run, x: run(x) * -2, text="−2 times"),
    Fault("constant-offset", "MatMul", (A, B), lambda run, a, b: run(a, b) + np.float32(0.75), text="plus 0.75"),
    Fault("constant-offset", "Sub", (X, X[0]), lambda run, a, b: run(a, b) - np.float32(1.5), text="minus 1.5"),
    Fault("constant-offset", "Relu", (X,), lambda run, x: run(x) + np.float32(0.0437), text="plus 0.0437"),
    Fault("constant-offset", "Neg", (LONGS,), lambda run, x: run(x) - 1, outputs=("int64",), text="minus 1"),
    Fault("sign-flipped", "Conv", (normal(2, 3, 6, 7), normal(4, 3, 3, 2)), lambda run, x, w: -run(x, w), text="X negated"),
    Fault("sign-flipped", "Cos", (X,), lambda run, x: -run(x)),
    Fault("sign-flipped", "CumSum", (LONGS, np.array(1)), lambda run, x, a: -run(x, a), outputs=("int64",)),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_noise_has_no_factor(fault):
    assert_noise_is_unexplained(fault, CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES


def test_one_wrong_element_is_no_attribute_with_a_wider_bound():
    """Antialiasing changes nothing where an image grows, but allows for the rounding of more weights."""
    sizes = np.array([2, 3, 29, 19])

    def broken(run, x, *others):
        y = run(x, *others).copy()
        y[1, 1, 22, 11] *= 1 + 2.0**-9
        return y

    fault = Fault(
        "wild-element", "Resize", (normal(2, 3, 13, 11), None, None, sizes), broken, {"mode": "cubic"}, text="1 element"
    )
    assert_named(fault)


def test_a_factor_of_part_of_the_tensor_is_none_of_the_whole():
    fault = Fault(
        "constant-factor", "Tanh", (X,), lambda run, x: run(x) * np.where(np.arange(8) < 5, np.float32(2), np.float32(1))
    )
    verdict = fault.verdict(fault.faulty())
    assert verdict.status == "mismatch"
    assert not [d for d in verdict.diagnosis if d.cause in CAUSES]
