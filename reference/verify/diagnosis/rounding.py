"""Rounding in another direction than ONNX asks for: of quotients, of reals to whole numbers, of reals to narrower types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify import integers as intervals
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.ranges import limits_of, saturated

U_SINGLE = 2.0**-24
"""Roundoff of requantisation in single precision."""

Rule = Callable[[Array], Array]


def half_away(x: Array) -> Array:
    """To nearest, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0.0))


def half_up(x: Array) -> Array:
    """To nearest, halves towards plus infinity."""
    below = np.floor(x)
    return np.asarray(np.where(x - below >= 0.5, below + 1, below))


RULES: dict[str, tuple[str, Rule]] = {
    "rounding-half-even": ("to nearest, halves to even", np.rint),
    "rounding-half-away": ("to nearest, halves away from zero", half_away),
    "rounding-half-up": ("to nearest, halves towards plus infinity", half_up),
    "rounding-truncates": ("towards zero", np.trunc),
    "rounding-down": ("towards minus infinity", np.floor),
    "rounding-up": ("towards plus infinity", np.ceil),
}
"""Cause → (how it rounds, the rule for whole numbers)."""

WHOLE = frozenset(["Ceil", "Floor", "Round"])
"""Operators that make whole numbers of their first input."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Of whole numbers where the operator makes them, else of the stored result."""
    if not question.same_shape or not question.node.inputs:
        return
    node, dtype = question.node, question.expected.dtype
    try:
        if node.operator in intervals.REAL and question.index == 0 and dtypes.is_integer(dtype):
            yield from _requantised(question)
        elif (real := _whole(node, dtype)) is not None:
            for cause, (text, rule) in RULES.items():
                yield from question.of_value(cause, f"the reference rounded {text}", _held(rule(real), question))
        elif dtypes.is_float(dtype):
            yield from _stored(question)
    except REFUSALS:
        return


def _whole(node: Node, dtype: str) -> Array | None:
    """The real numbers that the operator rounds to whole ones."""
    types = node.types[0]
    if node.operator in WHOLE:
        return node.real(0)
    if node.operator in ("Cast", "CastLike") and types is not None and dtypes.is_float(types) and dtypes.is_integer(dtype):
        return node.real(0)
    if node.operator == "Div" and dtypes.is_integer(dtype):
        return np.asarray(node.real(0) / node.real(1))
    return None


def _held(whole: Array, question: Question) -> Array:
    if dtypes.is_float(question.expected.dtype):
        return whole
    return saturated(whole, question.expected.dtype)


def _requantised(question: Question) -> Iterator[Hypothesis]:
    """The quotient, or quotient and zero point, rounded by another rule; where single precision may put it on either side of
    a decision, both sides are allowed."""
    node = question.node
    real = np.asarray(intervals.REAL[node.operator](*node.inputs, **node.attributes), np.float64)
    low, high = limits_of(question.expected.dtype)
    doubt = 5 * (np.abs(real) + max(abs(low), abs(high))) * U_SINGLE
    zero = _zero_points(node, real.shape)
    sure = np.nan_to_num(real)
    for cause, (text, rule) in RULES.items():
        for added, before in ((zero, "before"), (0.0, "after")) if np.any(zero) else ((zero, "before"),):
            value, least, most = (np.clip(rule(sure - added + d) + added, low, high) for d in (0.0, -doubt, doubt))
            how = f"{text}, {before} the zero point is added" if np.any(zero) else text
            expected = dataclasses.replace(
                question.expected, value=value.astype(np.int64).astype(question.got.dtype), bound=0.0, interval=(least, most)
            )
            yield Hypothesis(cause, f"the reference rounded {how}", expected)


def _zero_points(node: Node, shape: tuple[int, ...]) -> Array:
    """The output's zero point for every element."""
    if node.operator == "DynamicQuantizeLinear":
        return np.asarray(node.results[2].astype(np.float64))
    index = 2 if node.operator == "QuantizeLinear" else 7
    if not node.given(index):
        return np.zeros(())
    zero = node.real(index)
    if zero.size == 1:
        return zero.reshape(())
    axis = int(node.attribute("axis", 1)) % len(shape)
    if node.operator == "QuantizeLinear" and zero.shape == (shape[axis],):
        return zero.reshape(-1, *[1] * (len(shape) - 1 - axis))
    return np.zeros(())  # of blocks or rows: then the rule sees quotient and zero point together


def _stored(question: Question) -> Iterator[Hypothesis]:
    """The exact result, brought into the tensor's type in another direction."""
    dtype = question.expected.dtype
    form, reference = dtypes.FLOATS[dtype], question.reference.astype(np.float64)
    if dtype in ("float64", dtypes.SCALE):
        return
    with np.errstate(all="ignore"):
        step = dtypes.quantum(reference, dtype)
        for cause in ("rounding-truncates", "rounding-down", "rounding-up", "rounding-half-away"):
            text, rule = RULES[cause]
            value = np.where(np.isfinite(reference), rule(reference / step) * step, reference)
            value = np.where(np.abs(value) > form.largest, dtypes.round_to(reference, dtype), value)
            yield from question.of_value(cause, f"the reference rounded {text} to {dtype}", value, 0.0)
