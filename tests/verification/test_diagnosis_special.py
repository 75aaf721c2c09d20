"""Lost and made NaN, infinities, subnormal numbers and signs of zero are recognised, and what stands there instead."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(["subnormals-flushed", "nan-lost", "nan-made", "infinity-clamped", "infinity-made", "zero-sign-lost"])

SMALLEST = np.float32(2.0**-126)


def with_some(x, number, every=5):
    """x with `number` in every fifth element."""
    y = x.copy()
    y.reshape(-1)[::every] = number
    return y


TINY = with_some(normal(3, 4, 7), np.float32(2.0**-130))
NANS = with_some(normal(3, 4, 7), np.nan)
INFINITE = with_some(with_some(normal(3, 4, 7), np.inf), -np.inf, 7)
LARGE = normal(4, 9) * np.float32(60)


def flushed(x):
    return np.where(np.abs(x) < SMALLEST, np.copysign(0, x), x)


def softmax(x):
    with np.errstate(all="ignore"):
        e = np.exp(x.astype(np.float32))
        return e / e.sum(-1, keepdims=True)


def exploded(x):
    with np.errstate(all="ignore"):
        return np.asarray(np.log(np.exp(x).sum()))


FAULTS = [
    Fault("subnormals-flushed", "Identity", (TINY,), lambda run, x: flushed(x), text="0 in place of subnormal results"),
    Fault("subnormals-flushed", "Neg", (TINY,), lambda run, x: np.where(np.arange(7) % 2, flushed(-x), -x), text="places"),
    Fault("subnormals-flushed", "Concat", (TINY, normal(3, 4, 2)), lambda run, x, y: run(flushed(x), y), {"axis": 2}),
    Fault(
        "subnormals-flushed",
        "Transpose",
        (normal(5, 6, dtype="float16") * np.float16(0.0001),),
        lambda run, x: np.where(abs(run(x)) < 2.0**-14, 0, run(x)),
        outputs=("float16",),
    ),
    Fault("nan-lost", "Tanh", (NANS,), lambda run, x: np.nan_to_num(run(x), nan=0), text="0 in place of NaN"),
    Fault("nan-lost", "Sub", (NANS, normal(7)), lambda run, x, y: np.where(np.isnan(x), y, run(x, y)), text="input 1"),
    Fault("nan-lost", "CumSum", (NANS, np.array(2)), lambda run, x, a: run(np.nan_to_num(x, nan=0), a), text="computed with 0"),
    Fault("nan-lost", "Sqrt", (normal(5, 8),), lambda run, x: np.nan_to_num(run(x), nan=0)),
    Fault("nan-lost", "Log", (normal(5, 8),), lambda run, x: np.nan_to_num(run(x), nan=-np.inf), text="−inf"),
    Fault("nan-made", "Softmax", (LARGE,), lambda run, x: softmax(x), text="without subtracting"),
    Fault("nan-made", "Abs", (INFINITE,), lambda run, x: np.where(np.isinf(x), np.nan, abs(x)), text="place of infinity"),
    Fault("nan-made", "Sigmoid", (LARGE * 2,), lambda run, x: np.exp(x) / (1 + np.exp(x)), text="exp(x)/(1 + exp(x))"),
    Fault("infinity-clamped", "Identity", (INFINITE,), lambda run, x: np.nan_to_num(x), text="3.40282e+38"),
    Fault("infinity-clamped", "Exp", (LARGE,), lambda run, x: np.nan_to_num(run(x)), text="in place of infinity"),
    Fault("infinity-clamped", "Neg", (INFINITE,), lambda run, x: np.clip(-x, -65504, 65504), text="float16's"),
    Fault("infinity-made", "Softplus", (LARGE * 2,), lambda run, x: np.log1p(np.exp(x)), text="log(1 + exp(x))"),
    Fault(
        "infinity-made",
        "Mul",
        (normal(4, 6) * np.float32(300), normal(4, 6, seed=1) * np.float32(400)),
        lambda run, a, b: np.where(abs(run(a, b)) > 65520, np.copysign(np.inf, run(a, b)), run(a, b)),
        text="float16's",
    ),
    Fault("infinity-made", "ReduceLogSumExp", (LARGE * 3,), lambda run, x: exploded(x), {"keepdims": 0}, text="maximum"),
    Fault("infinity-made", "Sub", (normal(4, 6), normal(6)), lambda run, a, b: np.where(run(a, b) > 1, np.inf, run(a, b))),
    Fault(
        "zero-sign-lost",
        "Neg",
        (with_some(normal(3, 4), 0.0, 3),),
        lambda run, x: run(x) + np.float32(0),
        text="0 in place of −0",
    ),
    Fault("zero-sign-lost", "Identity", (with_some(normal(3, 4), -0.0, 3),), lambda run, x: x + np.float32(0)),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    with np.errstate(all="ignore"):
        assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


def test_noise_is_no_special_value():
    assert_noise_is_unexplained(Fault("nan-lost", "Tanh", (normal(4, 9),), lambda run, x: run(x)), CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
