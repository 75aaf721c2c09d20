"""Faults of the whole tensor: every element has the other sign, or is off by the same factor or the same amount.

Factor and amount are estimated from the output itself, so they must explain far more elements than the one they are taken
from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from reference import dtypes
from reference.node import Array
from reference.verify.diagnosis.fitting import EXPLAINED, explains, leaves_little
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.ranges import saturated

FEWEST = 8
"""Elements from which on a factor or an offset may be estimated."""

DISTINCT = 4
"""Different values that the reference must have at least: a constant tensor is off by a factor and an offset alike."""

NAMED = {
    "2": 2.0,
    "1/2": 0.5,
    "4": 4.0,
    "1/4": 0.25,
    "3": 3.0,
    "1/3": 1 / 3,
    "log2(e)": math.log2(math.e),
    "ln(2)": math.log(2),
    "log10(e)": math.log10(math.e),
    "ln(10)": math.log(10),
    "√2": math.sqrt(2),
    "1/√2": math.sqrt(0.5),
    "π": math.pi,
    "1/π": 1 / math.pi,
    "2π": 2 * math.pi,
    "1/(2π)": 0.5 / math.pi,
    "180/π": 180 / math.pi,
    "π/180": math.pi / 180,
    "√(2/π)": math.sqrt(2 / math.pi),
    "√(2π)": math.sqrt(2 * math.pi),
    "255/256": 255 / 256,
    "256/255": 256 / 255,
}
"""Factors that formulas are known to be off by."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """For numbers of the right shape."""
    dtype = question.expected.dtype
    real = dtypes.is_float(dtype)
    if not question.same_shape or not (real or dtypes.is_integer(dtype)) or dtypes.name_of(question.got.dtype) != dtype:
        return
    if real or dtype.startswith("int"):
        yield from question.of_value("sign-flipped", "the reference with the other sign", -question.reference)
    with np.errstate(all="ignore"):
        got, reference = (x.astype(np.float64) for x in (question.got, question.reference))
        known = np.isfinite(got) & np.isfinite(reference)
        if np.unique(reference[known]).size >= DISTINCT:
            yield from _factor(question, got, reference, known)
            yield from _offset(question, got, reference, known)


def _factor(question: Question, got: Array, reference: Array, known: Array) -> Iterator[Hypothesis]:
    """y = f·reference, with a name for f where one lies as near as the output tells."""
    use = known & (reference != 0)
    if np.count_nonzero(use) < FEWEST or not dtypes.is_float(question.expected.dtype):
        return
    ratios = got[use] / reference[use]
    middle = float(np.median(ratios))
    near = np.abs(ratios - middle) <= 0.05 * abs(middle)
    if middle == 0 or np.count_nonzero(near) < EXPLAINED * ratios.size:
        return
    x, y = reference[use][near], got[use][near]
    estimate = float((x / np.abs(x).max() * y).sum() / (x / np.abs(x).max() * x).sum())
    unit = dtypes.FLOATS[question.expected.dtype].unit_roundoff
    if not math.isfinite(estimate) or abs(estimate - 1) < 2 * unit:
        return
    bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), got.shape)
    for name, factor in (*_factors(question, estimate, 4 * unit), (f"{estimate:.6g}", estimate)):
        wide = abs(factor) * bound + dtypes.quantum(factor * reference, question.expected.dtype)
        for found in question.of_value("constant-factor", f"{name} times the reference", factor * reference, wide):
            if explains(question, found) and leaves_little(question, found):
                yield found
                return


def _factors(question: Question, estimate: float, tolerance: float) -> Iterator[tuple[str, float]]:
    """Names of the factor: extents of the operands and powers of them, attributes, constants."""
    named = dict(NAMED)
    for x in question.node.inputs:
        for n in (*x.shape, x.size) if isinstance(x, np.ndarray) else ():
            if n > 4:
                named |= {f"1/{n}": 1 / n, str(n): float(n), f"1/√{n}": n**-0.5, f"√{n}": n**0.5}
                named |= {f"{n}/{n - 1}": n / (n - 1), f"{n - 1}/{n}": (n - 1) / n}
    for name, value in question.node.attributes.items():
        if isinstance(value, float) and value not in (0.0, 1.0):
            named |= {f"{name} ({value:g})": value, f"1/{name} (1/{value:g})": 1 / value}
    for i, x in enumerate(question.node.inputs):
        if isinstance(x, np.ndarray) and x.size == 1 and x.dtype == np.float64 and x.item():
            named |= {f"input {i} ({x.item():g})": x.item(), f"1/input {i} (1/{x.item():g})": 1 / x.item()}
    near = [(abs(f / abs(estimate) - 1), name, f) for name, f in named.items()]
    for distance, name, factor in sorted(near):
        if distance <= max(tolerance, 1e-6):
            yield (name, factor) if estimate > 0 else (f"−{name}", -factor)


def _offset(question: Question, got: Array, reference: Array, known: Array) -> Iterator[Hypothesis]:
    """y = reference + d."""
    if np.count_nonzero(known) < FEWEST:
        return
    errors = (got - reference)[known]
    middle = float(np.median(errors))
    dtype = question.expected.dtype
    if middle == 0 or not math.isfinite(middle) or np.ptp(got[known]) == 0:  # a constant is no offset of anything
        return
    if dtypes.is_integer(dtype):
        value = saturated(question.reference.astype(object) + int(middle), dtype)
        found = question.of_value("constant-offset", f"the reference {_signed(int(middle))}", value, 0.0)
    else:
        near = np.abs(errors - middle) <= 0.05 * abs(middle)
        if np.count_nonzero(near) < EXPLAINED * errors.size:
            return
        step = dtypes.quantum(got[known][near], dtype)
        estimate = float(np.average(errors[near], weights=(step.min() / step) ** 2))  # small elements say it best
        bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), got.shape)
        if estimate == 0 or abs(estimate) < 2 * np.median(bound):
            return
        steps = dtypes.quantum(np.abs(reference) + abs(estimate), dtype)
        found = question.of_value("constant-offset", f"the reference {_signed(estimate)}", reference + estimate, bound + steps)
    for hypothesis in found:
        if explains(question, hypothesis) and leaves_little(question, hypothesis):
            yield hypothesis


def _signed(x: float) -> str:
    return f"{'plus' if x > 0 else 'minus'} {abs(x):.6g}"
