"""Attributes whose value on the device is estimated from the output: one number for all elements.

A number that nobody would guess is found where the output says it: by Newton's steps on the median element, from the value that
the model gives. It must then explain far more elements than it was taken from. Asked last, since a factor of the whole tensor
is simpler where both explain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify.diagnosis.fitting import explains, leaves_little
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.parameters import default, instead, names

FEWEST = 64
"""Elements that an output must have for a number to be estimated from it."""

STEPS = 16
"""Newton's steps at most: a linear attribute takes one, a constant under a root a few for each factor of 3."""

DIGITS = 7
"""Decimal digits of a float32."""

MOST = 4
"""Attributes of an operator that are tried at most."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """For real outputs of the right shape and attributes that are one real number."""
    node = question.node
    if not question.same_shape or question.got.size < FEWEST or not dtypes.is_float(question.expected.dtype):
        return
    got = dtypes.to_real(question.got).astype(np.float64)
    numbers = [name for name in names(node) if isinstance(_given(node, name), float)]
    for name in numbers[:MOST]:
        found = _estimate(question, name, got)
        if found is None:
            continue
        given = float(_given(node, name))
        for value in rounded(found):
            text = instead(name, value, given)
            stored = float(np.float32(value))
            for hypothesis in question.of_attributes("attribute-value", text, **{name: stored}):
                if value != given and explains(question, hypothesis) and leaves_little(question, hypothesis):
                    yield hypothesis
                    return


def _given(node: Node, name: str) -> Any:
    return node.attributes.get(name, default(node, name))


def rounded(value: float) -> Iterator[float]:
    """The number in as few decimal digits as it may have been written with, then as it is."""
    yield from dict.fromkeys([*(float(f"{value:.{digits}g}") for digits in range(1, DIGITS + 1)), value])


def _estimate(question: Question, name: str, got: Array) -> float | None:
    """The value with which the median element is what the device returned; None where there is no such value."""
    given = value = float(_given(question.node, name))
    unit = dtypes.FLOATS[question.expected.dtype].unit_roundoff
    for _ in range(STEPS):
        step = _step(question, name, value, got)
        if step is None:
            return None
        before, value = value, value + step
        if given > 0 >= value:  # what is positive stays so
            value = before / 8
        if abs(value - before) <= unit * abs(value):
            break
    return value if math.isfinite(value) and value != given else None


def _step(question: Question, name: str, value: float, got: Array) -> float | None:
    """Newton's step on the median of the elements that depend on the attribute most."""
    node, at = question.node, question.index
    delta = 1e-6 * abs(value) or 1e-6
    try:
        with np.errstate(all="ignore"):
            here, there = (node.again(node.inputs, **{name: v})[at].astype(np.float64) for v in (value, value + delta))
            slope = (there - here) / delta
            weight = np.where(np.isfinite(slope) & np.isfinite(got - here), np.abs(slope), 0.0)
            known = weight > 0
            if here.shape != got.shape or np.count_nonzero(known) < FEWEST:
                return None
            strong = known & (weight >= np.median(weight[known]))
            return float(np.median((got - here)[strong] / slope[strong]))
    except REFUSALS:
        return None
