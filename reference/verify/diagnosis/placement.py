"""Hypotheses in which a right result, or that of another node, is stored elsewhere: permuted, cut, read with other extents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from reference.node import Array, Node
from reference.verify.compare import Expected, elements
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question, changed, strict
from reference.verify.expectation import expectations

BORNE_OUT = 0.9
"""Share of the elements of a part that must be right, for the part to say what the whole is."""

Move = Callable[[Array], Array]
"""From the result's elements to the output's; the same for the values and for their bounds."""


def moved(
    question: Question, cause: str, text: str, move: Move, make: Callable[[], Node] | None = None
) -> Iterator[Hypothesis]:
    """The hypothesis that the elements of the result, or of the result of another node, go where `move` puts them; none where
    that is impossible."""
    try:
        with np.errstate(all="ignore"):
            expected = expectations(make(), question.setting)[question.index] if make else question.expected
            value, width = move(expected.value), move(half_width(expected))
    except REFUSALS:
        return
    yield from question.of_value(cause, text, value, width)


def computed(node: Node, inputs: Sequence[Array | None], **attributes: Any) -> Callable[[], Node]:
    """The operator on other inputs or with other attributes, evaluated when it is called."""
    return lambda: changed(node, inputs, **attributes)


def half_width(expected: Expected) -> Array:
    """How far each element may lie from its value, also where an interval says so; infinite where it is left open."""
    shape = expected.value.shape
    width = np.broadcast_to(np.asarray(expected.bound, np.float64), shape)
    if expected.interval is not None:
        low, high = (np.asarray(edge, np.float64) for edge in expected.interval)
        centre = expected.value.astype(np.float64)
        width = np.maximum(np.maximum(high - centre, centre - low), 0.0)
    return width if expected.open is None else np.where(expected.open, np.inf, width)


def in_order(shape: tuple[int, ...]) -> Move:
    """The elements in their own order in other extents; impossible where those hold another number of them."""

    def move(x: Array) -> Array:
        if x.size != math.prod(shape):
            raise ValueError(f"{x.shape} does not fill {shape}")
        return x.reshape(shape)

    return move


def corner(shape: tuple[int, ...]) -> Move:
    """The first elements along every axis; impossible where there are fewer."""

    def move(x: Array) -> Array:
        if x.ndim != len(shape) or any(n < m for n, m in zip(x.shape, shape, strict=True)):
            raise ValueError(f"{x.shape} has no corner of {shape}")
        return x[tuple(slice(n) for n in shape)]

    return move


def surrounded(question: Question, cause: str, text: str, make: Callable[[], Node]) -> Iterator[Hypothesis]:
    """The hypothesis that the result of another node, smaller than the output along some axes, stands in its first corner, and
    0 elsewhere. The corner must bear it out: zeros alone say nothing of a node."""
    shape, known = question.got.shape, np.zeros(question.got.shape, bool)

    def move(x: Array) -> Array:
        if x.ndim != len(shape) or 0 in x.shape or not any(n < m for n, m in zip(x.shape, shape, strict=True)):
            raise ValueError(f"{x.shape} does not leave room in {shape}")
        inside = tuple(slice(min(n, m)) for n, m in zip(x.shape, shape, strict=True))
        known[inside] = True
        found = np.zeros(shape, x.dtype)
        found[inside] = x[inside]
        return found

    for hypothesis in moved(question, cause, text, move, make):
        wrong = elements(strict(hypothesis.expected), question.got).wrong
        if np.count_nonzero(wrong[known]) <= (1 - BORNE_OUT) * np.count_nonzero(known):
            yield hypothesis
