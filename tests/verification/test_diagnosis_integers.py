"""Overflow, rounding, scales and zero points, narrow integers, nibbles and signs are recognised."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import onnx
import pytest

from reference.verify.diagnosis.rounding import half_away, half_up
from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    [
        *("wraps", "saturates", "rounding-truncates", "rounding-down", "rounding-up", "rounding-half-away"),
        *("rounding-half-even", "rounding-half-up", "scale-per-tensor", "zero-point-per-tensor", "zero-point-ignored"),
        *("requantised-off-by-one", "int64-as-int32", "integers-as-float", "nibbles-swapped", "sign-misread"),
    ]
)

RNG = np.random.default_rng(7)


def integers(low, high, shape, dtype):
    return RNG.integers(low, high, shape, dtype=np.int64).astype(dtype)


X = normal(4, 6, 5) * np.float32(40)
TIES = (integers(-60, 60, (4, 6, 5), np.float32) + np.float32(0.5)) * np.float32(0.5)
HALF, ZERO = np.array(0.5, np.float32), np.array(3, np.int8)
SCALES = np.array([0.3, 0.7, 0.45, 1.1, 0.9, 0.6], np.float32)
ZEROS = np.array([3, -5, 0, 7, 11, -2], np.int8)
SMALL = np.array(0.07, np.float32)
I8, WIDE = integers(-128, 128, (4, 6, 5), np.int8), integers(-(2**40), 2**40, (4, 9), np.int64)
I32, J32 = integers(-(2**31), 2**31, (4, 9), np.int32), integers(-(2**31), 2**31, (9,), np.int32)
A8, B8 = integers(-128, 128, (5, 13), np.int8), integers(-128, 128, (13, 7), np.int8)
NIBBLES = integers(-8, 8, (4, 6), ml_dtypes.int4)


def quantised(x, scale, zero, rule, low=-128, high=127):
    """x/scale rounded by a rule, in exact enough arithmetic: these scales are few bits."""
    return np.clip(rule(x.astype(np.float64) / np.float64(scale)) + zero, low, high)


def quantize(word, rule, x=X, text=""):
    return Fault(
        word, "QuantizeLinear", (x, HALF, ZERO), lambda run, x, s, z: quantised(x, s, z, rule), outputs=("int8",), text=text
    )


def wrapped(real, dtype):
    return real.astype(np.int64).astype(dtype)


def saturated(real, dtype):
    info = np.iinfo(dtype)
    return np.clip(real, info.min, info.max)


def sum_in_64(a, b):
    return a.astype(np.int64) + b


def in_float32(x):
    return saturated(x.astype(np.float32).astype(np.float64), np.int32).astype(np.int32)


def pairs_swapped(x):
    return x.reshape(-1, 2)[:, ::-1].reshape(x.shape)


QLINEAR = (A8, SMALL, ZERO, B8, SMALL, np.array(-7, np.int8), np.array(1.3, np.float32), np.array(20, np.int8))


def qlinear(word, broken, text=""):
    return Fault(word, "QLinearMatMul", QLINEAR, broken, outputs=("int8",), text=text)


def qlinear_real(a, sa, za, b, sb, zb, sy, zy):
    product = (a.astype(np.float64) - za) @ (b.astype(np.float64) - zb)
    return product * np.float64(sa) * np.float64(sb) / np.float64(sy) + zy


def indefinite(real):
    """As x86 converts to int32: −2^31 for all that it does not hold."""
    return np.where(np.abs(real) < 2.0**31, real, -(2.0**31)).astype(np.int64)


POWERS = np.array([[3, 47_000, -13, 2**33 + 7], [1291, -11, 15, 77], [46_340, 1290, 19, -39]])
EDGES = np.concatenate([WIDE.reshape(-1), 2**31 + WIDE.reshape(-1) % 2**31, np.arange(-5, 5)])
OTHERS = EDGES ^ integers(0, 2**32, EDGES.shape, np.int64)  # with the same upper halves
COMPARED = {
    "Max": (EDGES, OTHERS),
    "Min": (EDGES, OTHERS, np.array([2**39])),
    "Clip": (EDGES, np.array(5), np.array(2**33 + 5)),
    "Sign": (EDGES,),
    "Relu": (EDGES,),
}


def below(a, b):
    """a < b with both halves as int32, the upper ones first."""
    (high, low), (other, lowest) = ((x >> 32, x.astype(np.int32)) for x in (a, b))
    return (high < other) | ((high == other) & (low < lowest))


def by_halves(operator, *inputs):
    """A node of operands that are compared so; the comparisons are those of the vectors of ONNX Runtime 1.21."""
    folds = {
        "Max": lambda run, *x: functools.reduce(lambda a, b: np.where(below(a, b), b, a), x),
        "Min": lambda run, *x: functools.reduce(lambda a, b: np.where(below(b, a), b, a), x),
        "Clip": lambda run, x, low, high: lower(np.where(below(x, low), low, x), high),
        "Sign": lambda run, x: below(0 * x, x).astype(np.int64) - below(x, 0 * x),
        "Relu": lambda run, x: np.where(below(x, 0 * x), 0, x),
    }
    return Fault("int64-as-int32", operator, inputs, folds[operator], outputs=("int64",), text="by their halves")


def lower(a, b):
    return np.where(below(b, a), b, a)


ROUNDINGS = [
    quantize("rounding-truncates", np.trunc, text="towards zero, before the zero point"),
    quantize("rounding-down", np.floor),
    quantize("rounding-up", np.ceil),
    Fault("rounding-half-away", "Cast", (TIES * 2,), lambda run, x: half_away(x), {"to": onnx.TensorProto.INT32}, ("int32",)),
    Fault("rounding-half-up", "Cast", (TIES * 2,), lambda run, x: half_up(x), {"to": onnx.TensorProto.INT64}, ("int64",)),
    Fault("rounding-half-up", "Round", (TIES * 2,), lambda run, x: half_up(x), text="plus infinity"),
    Fault("rounding-half-away", "Round", (TIES * 2,), lambda run, x: half_away(x)),
    Fault("rounding-truncates", "Round", (X,), lambda run, x: np.trunc(x), text="rounded towards zero"),
    Fault("rounding-truncates", "Floor", (X,), lambda run, x: np.trunc(x)),
    Fault("rounding-half-even", "Cast", (X,), lambda run, x: np.rint(x), {"to": onnx.TensorProto.INT32}, ("int32",)),
    Fault("rounding-down", "Cast", (X,), lambda run, x: np.floor(x), {"to": onnx.TensorProto.INT16}, ("int16",)),
    Fault("rounding-down", "Div", (I32, J32 | 1), lambda run, a, b: a.astype(np.int64) // b, outputs=("int32",)),
    Fault(
        "rounding-truncates",
        "Mul",
        (normal(4, 9), normal(9)),
        lambda run, a, b: truncated_product(a, b),
        text="towards zero to float32",
    ),
    qlinear("rounding-truncates", lambda run, *x: np.clip(np.trunc(qlinear_real(*x) - x[7]) + x[7], -128, 127)),
]


def truncated_product(a, b):
    exact = a.astype(np.float64) * b
    near = exact.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(exact), np.nextafter(near, np.float32(0)), near)


FAULTS = [
    *ROUNDINGS,
    Fault(
        "wraps",
        "QuantizeLinear",
        (X * 4, HALF, ZERO),
        lambda run, x, s, z: wrapped(np.rint(x.astype(np.float64) * 2) + z, np.int8),
        outputs=("int8",),
        text="modulo 2^8",
    ),
    qlinear("wraps", lambda run, *x: wrapped(np.rint(qlinear_real(*x)), np.int8)),
    Fault("saturates", "Add", (I32, J32), lambda run, a, b: saturated(sum_in_64(a, b), np.int32), outputs=("int32",)),
    Fault(
        "saturates",
        "Mul",
        (A8, A8[0]),
        lambda run, a, b: saturated(a.astype(np.int64) * b, np.int8),
        outputs=("int8",),
        text="[-128, 127]",
    ),
    Fault("saturates", "Cast", (I32,), lambda run, x: saturated(x, np.int8), {"to": onnx.TensorProto.INT8}, ("int8",)),
    Fault(
        "saturates",
        "Neg",
        (np.where(A8 > 90, np.int8(-128), A8),),
        lambda run, x: saturated(-x.astype(np.int64), np.int8),
        outputs=("int8",),
    ),
    Fault(
        "scale-per-tensor",
        "QuantizeLinear",
        (X, SCALES),
        lambda run, x, s: run(x, s[:1].repeat(6)),
        {"axis": 1},
        ("uint8",),
        text="first scale",
    ),
    Fault(
        "scale-per-tensor",
        "DequantizeLinear",
        (I8, SCALES, ZEROS),
        lambda run, x, s, z: run(x, s.max().repeat(6), z),
        text="largest scale of input 1",
    ),
    Fault(
        "scale-per-tensor",
        "DequantizeLinear",
        (I8, SCALES, ZEROS),
        lambda run, x, s, z: run(x, s[:1].repeat(6), z[:1].repeat(6)),
        text="scale and zero point",
    ),
    Fault(
        "zero-point-per-tensor",
        "DequantizeLinear",
        (I8, SCALES, ZEROS),
        lambda run, x, s, z: run(x, s, z[:1].repeat(6)),
        text="first zero point of input 2",
    ),
    Fault("zero-point-ignored", "DequantizeLinear", (I8, SCALES, ZEROS), lambda run, x, s, z: run(x, s)),
    Fault(
        "zero-point-ignored",
        "QuantizeLinear",
        (X, HALF, ZERO),
        lambda run, x, s, z: run(x, s, z * np.int8(0)),
        outputs=("int8",),
    ),
    Fault(
        "zero-point-ignored",
        "MatMulInteger",
        (A8, B8, np.array(5, np.int8), np.array(-3, np.int8)),
        lambda run, a, b, za, zb: run(a, b, za * np.int8(0), zb),
        outputs=("int32",),
        text="input 2",
    ),
    qlinear("zero-point-ignored", lambda run, *x: run(*x[:5], x[5] * np.int8(0), *x[6:]), "input 5"),
    qlinear("requantised-off-by-one", lambda run, *x: one_off(run(*x)), "one above"),
    Fault(
        "int64-as-int32",
        "Add",
        (WIDE, WIDE[0]),
        lambda run, a, b: sum_in_64(a.astype(np.int32), b.astype(np.int32)).astype(np.int32),
        outputs=("int64",),
    ),
    Fault(
        "int64-as-int32",
        "Identity",
        (WIDE,),
        lambda run, x: np.clip(x, -(2**31), 2**31 - 1),
        outputs=("int64",),
        text="clipped",
    ),
    Fault("int64-as-int32", "Transpose", (WIDE,), lambda run, x: run(x & 0xFFFFFFFF), outputs=("int64",), text="uint32"),
    Fault(
        "integers-as-float",
        "Add",
        (I32 // 2, J32 // 2),
        lambda run, a, b: (a.astype(np.float32) + b.astype(np.float32)).astype(np.float64),
        outputs=("int32",),
        text="float32",
    ),
    Fault(
        "integers-as-float",
        "Identity",
        (WIDE * 2**20 + 1,),
        lambda run, x: x.astype(np.float64),
        outputs=("int64",),
        text="float64",
    ),
    Fault("integers-as-float", "Max", (I32, J32), lambda run, a, b: run(in_float32(a), in_float32(b)), outputs=("int32",)),
    *[by_halves(operator, *inputs) for operator, inputs in COMPARED.items()],
    Fault(
        "int64-as-int32",
        "Pow",
        (POWERS, np.array([2, 3, 9, 5])),
        lambda run, x, y: indefinite(x.astype(np.int32).astype(np.float32) ** y.astype(np.float32)),
        outputs=("int64",),
        text="float32, with −2^31 for results beyond int32",
    ),
    Fault(
        "integers-as-float",
        "Mul",
        (I32 // 2**14, J32 // 2**14),
        lambda run, a, b: indefinite(a.astype(np.float32) * b.astype(np.float32)),
        outputs=("int32",),
        text="−2^31 for results beyond int32",
    ),
    Fault(
        "nibbles-swapped",
        "DequantizeLinear",
        (NIBBLES, np.array(0.3, np.float32)),
        lambda run, x, s: run(pairs_swapped(x), s),
        text="share a byte",
    ),
    Fault(
        "nibbles-swapped",
        "QuantizeLinear",
        (X, np.array(9, np.float32), np.array(1, ml_dtypes.int4)),
        lambda run, *x: pairs_swapped(run(*x)),
        outputs=("int4",),
    ),
    Fault(
        "sign-misread", "DequantizeLinear", (I8, SMALL), lambda run, x, s: x.view(np.uint8) * np.float64(s), text="other sign"
    ),
    Fault(
        "sign-misread",
        "MatMulInteger",
        (A8, B8),
        lambda run, a, b: a.view(np.uint8).astype(np.int32) @ b.astype(np.int32),
        outputs=("int32",),
        text="input 0",
    ),
    Fault(
        "sign-misread",
        "Max",
        (A8, A8[0]),
        lambda run, a, b: np.maximum(a.view(np.uint8), b.view(np.uint8)).view(np.int8),
        outputs=("int8",),
    ),
    Fault(
        "sign-misread",
        "QuantizeLinear",
        (X, HALF, ZERO),
        lambda run, *x: run(*x) ^ np.int8(-128),
        outputs=("int8",),
        text="128 off",
    ),
]


def one_off(y):
    """One step up or down in every third element."""
    z = y.astype(np.int64).reshape(-1)
    z[::3] += np.where(np.arange(z[::3].size) % 2, 1, -1)
    return np.clip(z, -128, 127).reshape(y.shape)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


def test_noise_is_no_integer_arithmetic():
    for operator, inputs, outputs in (
        ("Mul", (X, X[0]), "float32"),
        ("Add", (I32, J32), "int32"),
        ("Add", (WIDE, WIDE), "int64"),
    ):
        assert_noise_is_unexplained(Fault("wraps", operator, inputs, lambda run, *x: run(*x), outputs=(outputs,)), CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
