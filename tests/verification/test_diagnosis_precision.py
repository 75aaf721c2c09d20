"""Narrower inputs, results and accumulators are recognised: rebuilt where that is possible, else by the spread of errors."""

from __future__ import annotations

import numpy as np
import pytest

from reference.dtypes import round_to
from reference.verify.diagnosis.precision import truncated
from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    [
        *("float64-as-float32", "inputs-float16", "inputs-bfloat16", "inputs-tf32", "outputs-narrow", "accumulator-narrow"),
        *("accumulator-truncates", "accumulator-biased", "precision-low"),
    ]
)

A, B = normal(20, 96), normal(96, 50)
C = normal(50, seed=7) * 5
WIDE_A, WIDE_B = normal(5, 16, dtype="float64"), normal(16, 7, dtype="float64")
X, W, BIAS = normal(2, 3, 9, 11), normal(4, 3, 3, 2, seed=2), normal(4, seed=3)
"""Exponents far beyond float16's tell it from tf32."""
SPREAD_A = A * np.float32(2.0) ** (np.arange(96, dtype=np.float32) - 48)
SPREAD_B = B / np.float32(2.0) ** (np.arange(96, dtype=np.float32) - 48)[:, None]


def near(x, name):
    return round_to(x.astype(np.float64), name)


def on(*names):
    """The right device on inputs of other formats."""
    return lambda run, *x: run(*[v if n is None else near(v, n).astype(v.dtype) for v, n in zip(x, names, strict=True)])


def summed(a, b, c, unit):
    """a·b + c in a unit, summed pairwise but for c."""
    return unit(in_pairs(a, b, unit) + c)


def mean(x, unit):
    """Of the last axis, summed one by one and then divided, in a unit."""
    y = x[..., 0].astype(np.float64)
    for k in range(1, x.shape[-1]):
        y = unit(y + x[..., k])
    return unit(y / x.shape[-1])


def matmul(word, broken, a=A, b=B, text="", random=True):
    return Fault(word, "MatMul", (a, b), broken, text=text, random=random)


def chain(a, b, name):
    """a·b with products and sums rounded to a format, in the order of k."""
    y = near(a[:, :1] * b[:1].astype(np.float64), name)
    for k in range(1, a.shape[1]):
        y = near(y + near(a[:, k : k + 1] * b[k : k + 1].astype(np.float64), name), name)
    return y


def in_pairs(a, b, unit):
    """a·b in a unit, summed pairwise: an order that diagnosis does not rebuild."""
    y = a[:, :, None].astype(np.float64) * b
    while y.shape[1] > 1:
        y = np.concatenate([unit(y[:, 0:-1:2] + y[:, 1::2]), y[:, y.shape[1] - y.shape[1] % 2 :]], axis=1)
    return unit(y[:, 0])


def directed(rule, bits=24):
    """A unit that rounds to `bits` significand bits by a rule."""

    def unit(x):
        step = 2.0 ** (np.frexp(x)[1] - bits)
        return rule(x / step) * step

    return unit


FAULTS = [
    matmul("inputs-bfloat16", on("bfloat16", "bfloat16"), text="inputs rounded to bfloat16"),
    matmul("inputs-bfloat16", on(None, "bfloat16"), text="input 1 rounded to bfloat16"),
    matmul(
        "inputs-bfloat16",
        lambda run, a, b: run(*(truncated(v.astype(np.float64), "bfloat16").astype(np.float32) for v in (a, b))),
        text="truncated",
    ),
    matmul("inputs-float16", on("float16", "float16"), random=False),
    matmul("inputs-tf32", on("tf32", "tf32"), SPREAD_A, SPREAD_B),
    Fault("inputs-bfloat16", "Conv", (X, W, BIAS), on("bfloat16", "bfloat16", None), text="inputs 0 and 1"),
    Fault("inputs-float16", "Exp", (X,), on("float16")),
    Fault("inputs-bfloat16", "Softmax", (A,), on("bfloat16")),
    Fault(
        "inputs-bfloat16",
        "Add",
        (normal(6, 9, dtype="float16"), normal(9, dtype="float16")),
        on("bfloat16", "bfloat16"),
        outputs=("float16",),
    ),
    Fault(
        "float64-as-float32",
        "MatMul",
        (WIDE_A, WIDE_B),
        lambda run, a, b: a.astype(np.float32) @ b.astype(np.float32),
        outputs=("float64",),
    ),
    Fault("float64-as-float32", "Exp", (WIDE_A,), lambda run, x: np.exp(x.astype(np.float32)), outputs=("float64",)),
    Fault("float64-as-float32", "Identity", (WIDE_A,), lambda run, x: x.astype(np.float32), outputs=("float64",)),
    Fault("outputs-narrow", "Tanh", (X,), lambda run, x: near(run(x), "bfloat16"), text="bfloat16, rounded to nearest"),
    Fault("outputs-narrow", "Conv", (X, W, BIAS), lambda run, *x: near(run(*x), "float16"), text="float16"),
    Fault("outputs-narrow", "Sigmoid", (X,), lambda run, x: truncated(run(x).astype(np.float64), "bfloat16"), text="truncated"),
    Fault(
        "outputs-narrow",
        "Mul",
        (A, A[0]),
        lambda run, a, b: near(near(a, "bfloat16") * near(b, "bfloat16"), "bfloat16"),
        text="inputs and stored in bfloat16",
    ),
    matmul("accumulator-narrow", lambda run, a, b: chain(a, b, "float16"), text="accumulated in float16, k in order"),
    matmul(
        "accumulator-narrow",
        lambda run, a, b: chain(near(a, "bfloat16"), near(b, "bfloat16"), "bfloat16"),
        text="on inputs rounded to bfloat16",
    ),
    Fault(
        "accumulator-narrow",
        "ReduceSum",
        (A, np.array([1])),
        lambda run, x, a: chain(x, np.ones((96, 1)), "float16"),
        text="in the order of memory",
    ),
    matmul("accumulator-narrow", lambda run, a, b: in_pairs(a, b, directed(np.rint, 14)), text="bits, not 24"),
    matmul("accumulator-truncates", lambda run, a, b: in_pairs(a, b, directed(np.trunc)), text="towards zero"),
    matmul("accumulator-biased", lambda run, a, b: in_pairs(a, b, directed(np.floor)), text="minus infinity"),
    matmul("accumulator-biased", lambda run, a, b: in_pairs(a, b, directed(np.ceil)), text="plus infinity"),
    *(
        Fault(word, "Gemm", (A, B, C), lambda run, a, b, c, rule=rule: summed(a, b, c, directed(rule)), random=True, text=text)
        for word, rule, text in (
            ("accumulator-truncates", np.trunc, "towards zero"),
            ("accumulator-biased", np.floor, "minus infinity"),
            ("accumulator-biased", np.ceil, "plus infinity"),
        )
    ),
    Fault("accumulator-narrow", "Gemm", (A, B, C), lambda run, a, b, c: summed(a, b, c, directed(np.rint, 21)), random=True),
    Fault(
        "accumulator-truncates",
        "ReduceMean",
        (normal(40, 30, 96), np.array([2])),
        lambda run, x, axes: mean(x, directed(np.trunc)),
        {"keepdims": 0},
        random=True,
        text="towards zero",
    ),
    Fault(
        "precision-low",
        "Elu",
        (normal(20, 30),),
        lambda run, x: np.where(x > 0, x, directed(np.rint, 13)(np.exp(np.minimum(x, 0).astype(np.float64))) - 1),
        text="fewer than",
    ),
    Fault(
        "precision-low",
        "LayerNormalization",
        (A, abs(normal(96, seed=5)), normal(96, seed=6)),
        lambda run, x, scale, bias: directed(np.rint, 15)(directed(np.rint, 15)(run(x, scale) * 1.0) + bias),
        text="-bit arithmetic",
    ),
    Fault(
        "precision-low",
        "Sqrt",
        (abs(normal(20, 30)),),
        lambda run, x: run(x) * (1 + 2.0**-12 * normal(20, 30, seed=4)),
        text="-bit arithmetic",
    ),
    Fault(
        "attribute-value",
        "LeakyRelu",
        (X,),
        lambda run, x: run(x, alpha=float(np.float16(0.01))),
        {"alpha": 0.01},
        text="rounded to float16",
    ),
]

NAMED_ELSEWHERE = frozenset(["attribute-value"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    assert_named(fault)


def test_a_bias_that_columns_share_is_no_direction_of_rounding():
    """Errors of a column agree, those of columns do not."""
    shared = Fault(
        "accumulator-narrow", "Gemm", (A, B, C), lambda run, a, b, c: run(a, b, c + 2.0**-16 * normal(50, seed=9)), random=True
    )
    verdict = shared.verdict(shared.faulty())
    assert verdict.status == "mismatch"
    assert not [d for d in verdict.diagnosis if d.cause in ("accumulator-truncates", "accumulator-biased")], verdict.diagnosis


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_noise_is_no_arithmetic(fault):
    assert_noise_is_unexplained(fault, CAUSES)


def test_few_elements_of_few_bits_are_named_by_the_arithmetic_that_would_fit():
    """Too few for a distribution."""
    coarse = Fault("precision-low", "Tanh", (normal(7),), lambda run, x: run(x) * (1 + 2.0**-14 * np.resize([1, -1, 0.7], 7)))
    verdict = coarse.verdict(coarse.faulty())
    assert [d.cause for d in verdict.diagnosis] == ["precision-low"]
    assert "'tf32'" in verdict.diagnosis[0].text
    assert verdict.message.endswith("right for the arithmetic 'tf32'")


def test_an_arithmetic_that_would_fit_is_no_cause_of_an_element_without_right_bits():
    tiny = np.array([2.0**-126, 0.3, 1.5], np.float32)
    lost = Fault("", "Tanh", (tiny,), lambda run, x: run(x) * np.array([0, 1 + 2.0**-14, 1 - 2.0**-14]))
    verdict = lost.verdict(lost.faulty())
    assert "right for the arithmetic" in verdict.message
    assert "precision-low" not in [d.cause for d in verdict.diagnosis]


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES | NAMED_ELSEWHERE
