"""Operands that are swapped, broadcast along another axis, left out or negated are recognised."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    ["operands-swapped", "broadcast-misread", "bias-dropped", "sign-flipped", "attribute-default", "term-duplicated"]
)

A, C = normal(4, 5, 6), normal(4, 5, 6, seed=1)
POSITIVE = np.abs(A) + np.float32(0.5)
X, W, B = normal(2, 3, 6, 7), normal(4, 3, 3, 2), normal(4)
SQUARE = normal(6, 6)
CHANNELS = (normal(5), normal(5, seed=1), normal(5, seed=2), np.abs(normal(5, seed=3)) + np.float32(0.5))
RECURRENT = (normal(5, 2, 3), normal(1, 4, 3, seed=1), normal(1, 4, 4, seed=2), normal(1, 8, seed=3))
CODES = np.random.default_rng(6).integers(0, 256, (2, 6, 6), np.uint8)
QUANTISED = (CODES[0], np.float32(0.02), np.uint8(7), CODES[1], np.float32(0.05), np.uint8(131), np.float32(0.9), np.uint8(120))


def swapped(operator, *inputs, outputs=("float32",), **attributes):
    return Fault("operands-swapped", operator, inputs, lambda run, a, b: run(b, a), attributes, outputs, text="swapped")


FAULTS = [
    swapped("Sub", A, C),
    swapped("Div", A, C),
    swapped("Pow", POSITIVE, np.abs(C)),
    swapped("MatMul", SQUARE, normal(6, 6, seed=1)),
    swapped("Mod", np.arange(1, 61).reshape(4, 15), np.arange(3, 63)[::-1].reshape(4, 15).copy(), outputs=("int64",)),
    swapped("Less", A, C, outputs=("bool",)),
    swapped("PRelu", A, C),
    swapped(
        "BitShift",
        np.arange(1, 13, dtype=np.uint8),
        np.arange(12, dtype=np.uint8)[::-1] % 5,
        outputs=("uint8",),
        direction="LEFT",
    ),
    Fault("operands-swapped", "Gemm", (SQUARE, normal(6, 6, seed=1), normal(6)), lambda run, a, b, c: run(b, a, c)),
    Fault("operands-swapped", "Where", (A > 0, A, C), lambda run, condition, x, y: run(condition, y, x), text="X and Y"),
    Fault("operands-swapped", "Concat", (A, C), lambda run, a, b: run(b, a), {"axis": 1}),
    Fault("operands-swapped", "LayerNormalization", (A, normal(6), normal(6, seed=1)), lambda run, x, s, b: run(x, b, s)),
    Fault(
        "operands-swapped",
        "QLinearMatMul",
        QUANTISED,
        lambda run, a, s, z, b, t, y, *out: run(b, t, y, a, s, z, *out),
        outputs=("uint8",),
    ),
    Fault("broadcast-misread", "Add", (normal(4, 6, 6), normal(6)), lambda run, a, b: run(a, b[:, None]), text="B"),
    Fault(
        "broadcast-misread", "Mul", (normal(5, 4, 5), normal(5)), lambda run, a, b: run(a, b[:, None, None]), text="first axis"
    ),
    Fault("broadcast-misread", "Sub", (normal(4, 6), normal(6)), lambda run, a, b: run(a, b[:4, None])),
    Fault("broadcast-misread", "Add", (normal(4, 6), normal(4, 1)), lambda run, a, b: run(a, b[:1])),
    Fault("broadcast-misread", "PRelu", (normal(5, 5, 3), normal(5, 1)), lambda run, x, s: run(x, s[:, :, None])),
    Fault("broadcast-misread", "Gemm", (SQUARE, normal(6, 6, seed=1), normal(6)), lambda run, a, b, c: run(a, b, c[:, None])),
    Fault(
        "broadcast-misread",
        "Conv",
        (normal(2, 3, 4, 4), normal(4, 3, 1, 1), B),
        lambda run, x, w, b: np.float64(run(x, w, None)) + b,
        text="B",
    ),
    Fault(
        "broadcast-misread",
        "LayerNormalization",
        (normal(6, 6), normal(6), normal(6, seed=1)),
        lambda run, x, s, b: np.float64(run(x, np.ones_like(s))) * s[:, None] + b[:, None],
    ),
    Fault("bias-dropped", "Conv", (X, W, B), lambda run, x, w, b: run(x, w), text="B"),
    Fault("bias-dropped", "ConvTranspose", (X, normal(3, 4, 2, 3), B), lambda run, x, w, b: run(x, w)),
    Fault("bias-dropped", "Gemm", (SQUARE, normal(6, 6, seed=1), normal(6)), lambda run, a, b, c: run(a, b), text="C"),
    Fault("bias-dropped", "LayerNormalization", (A, normal(6), normal(6, seed=1)), lambda run, x, s, b: run(x, s)),
    Fault("bias-dropped", "InstanceNormalization", (A, *CHANNELS[:2]), lambda run, x, s, b: run(x, s, np.zeros_like(b))),
    Fault("bias-dropped", "BatchNormalization", (A, *CHANNELS), lambda run, x, s, b, m, v: run(x, s, np.zeros_like(b), m, v)),
    Fault("bias-dropped", "RNN", RECURRENT, lambda run, x, w, r, b: run(x, w, r), {"hidden_size": 4}),
    Fault("bias-dropped", "RNN", RECURRENT, lambda run, x, w, r, b: run(x, w, r, b * (np.arange(8) < 4)), {"hidden_size": 4}),
    Fault("term-duplicated", "Conv", (X, W, B), lambda run, x, w, b: run(x, w, 2 * b), text="twice"),
    Fault("sign-flipped", "Add", (A, normal(6)), lambda run, a, b: run(a, -b), text="B negated"),
    Fault(
        "sign-flipped", "Gemm", (SQUARE, normal(6, 6, seed=1), normal(6)), lambda run, a, b, c: run(a, b, -c), text="C negated"
    ),
    Fault(
        "attribute-default",
        "BatchNormalization",
        (A, *CHANNELS),
        lambda run, x, s, b, m, v: run(x, s, b, 0 * m, v),
        text="mean",
    ),
    Fault(
        "attribute-default", "Clip", (A, np.float32(-0.5), np.float32(0.5)), lambda run, x, low, high: run(x, low), text="max"
    ),
    Fault(
        "attribute-default",
        "RNN",
        (*RECURRENT, None, normal(1, 2, 4)),
        lambda run, x, w, r, b, lengths, state: run(x, w, r, b),
        {"hidden_size": 4},
        text="initial_h ignored",
    ),
]


def name(fault):
    return f"{fault.word}-{fault.operator}"


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.outputs == ("float32",)], ids=name)
def test_noise_comes_from_no_other_operands(fault):
    assert_noise_is_unexplained(fault, CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
