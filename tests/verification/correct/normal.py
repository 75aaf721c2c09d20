"""Softmax and normalisations: in one pass and in two."""

from __future__ import annotations

import functools

import numpy as np

from reference.node import Array, Node
from tests.verification.correct.kind import Implementation, in_every_order
from tests.verification.correct.sums import mean
from tests.verification.orders import sum_terms
from tests.verification.units import Unit, add, convert, divide, function, multiply, square_root, store, subtract

LOG2_E = 1 / np.log(2)


def exponential(t: Array, unit: Unit, way: str = "exp") -> Array:
    """exp(t): a library's, off by up to 2 ulp with "library", or by way of powers of two."""
    if way == "powers of two":
        return function(np.exp2, multiply(t, function(np.copy, np.asarray(LOG2_E), unit), unit), unit)
    return function(np.exp, t, unit, 2.0 if way == "library" else 0.0)


def softmax(node: Node, unit: Unit, order: str = "chain", way: str = "exp", reciprocal: bool = False) -> list[Array]:
    """Softmax, and LogSoftmax as x − m − log Σexp(x − m), in two passes."""
    axis = node.attribute("axis", -1)
    x = np.moveaxis(convert(node.real(0), unit), axis, 0)
    t = subtract(x, x.max(0), unit)
    e = exponential(t, unit, way)
    total = sum_terms(e, unit, order)
    if node.operator == "LogSoftmax":
        y = subtract(t, function(np.log, total, unit, 1.0 if way == "library" else 0.0), unit)
        if reciprocal:  # the sum of maximum and logarithm is subtracted at once
            y = subtract(x, add(x.max(0), function(np.log, total, unit), unit), unit)
    else:
        y = multiply(e, divide(np.ones(()), total, unit), unit) if reciprocal else divide(e, total, unit)
    return [store(np.moveaxis(y, 0, axis), node.output_types[0], unit)]


def online_softmax(node: Node, unit: Unit, way: str = "exp") -> list[Array]:
    """The sum is rescaled whenever the maximum grows (Milakov and Gimelshein, 2018)."""
    axis = node.attribute("axis", -1)
    x = np.moveaxis(convert(node.real(0), unit), axis, 0)
    largest, total = x[0], np.ones(x.shape[1:])
    for row in x[1:]:
        grown = np.maximum(largest, row)
        kept = multiply(total, exponential(subtract(largest, grown, unit), unit, way), unit)
        total, largest = add(kept, exponential(subtract(row, grown, unit), unit, way), unit), grown
    t = subtract(x, largest, unit)
    if node.operator == "LogSoftmax":
        y = subtract(t, function(np.log, total, unit), unit)
    else:
        y = divide(exponential(t, unit, way), total, unit)
    return [store(np.moveaxis(y, 0, axis), node.output_types[0], unit)]


def _moments(x: Array, unit: Unit, order: str, way: str) -> tuple[Array, Array]:
    """Mean and variance of the population along the first axis, by two passes, one pass, or Welford's recurrence."""
    count = np.asarray(float(len(x)))
    if way == "welford":
        average, squares = x[0], np.zeros(x.shape[1:])
        for k, row in enumerate(x[1:], start=2):
            away = subtract(row, average, unit)
            average = add(average, divide(away, np.asarray(float(k)), unit), unit)
            squares = add(squares, multiply(away, subtract(row, average, unit), unit), unit)
        return average, divide(squares, count, unit)
    average = mean(x, count, unit, order)
    if way == "one pass":
        square = mean(multiply(x, x, unit), count, unit, order)
        return average, np.maximum(subtract(square, multiply(average, average, unit), unit), 0.0)
    away = subtract(x, average, unit)
    return average, mean(multiply(away, away, unit), count, unit, order)


def layer_normalization(
    node: Node, unit: Unit, order: str = "chain", way: str = "two passes", root: bool = False
) -> list[Array]:
    """LayerNormalization, and RMSNormalization, whose mean is 0; divided by the root, or times its reciprocal."""
    x = convert(node.real(0), unit)
    rank = x.ndim - int(node.attribute("axis", -1)) % x.ndim
    terms = np.moveaxis(x.reshape(*x.shape[: x.ndim - rank], -1), -1, 0)
    if node.operator == "RMSNormalization":
        average, variance = np.zeros(()), mean(multiply(terms, terms, unit), np.asarray(float(len(terms))), unit, order)
        away = terms
    else:
        average, variance = _moments(terms, unit, order, way)
        away = subtract(terms, average, unit)
    deviation = square_root(add(variance, np.asarray(node.attribute("epsilon", 1e-5)), unit), unit)
    inverse = divide(np.ones(()), deviation, unit)
    y = divide(away, deviation, unit) if root else multiply(away, inverse, unit)
    y = np.moveaxis(y, 0, -1).reshape(x.shape)
    y = multiply(y, convert(node.real(1), unit), unit)
    if node.given(2):
        y = add(y, convert(node.real(2), unit), unit)
    moments = [
        np.broadcast_to(m, inverse.shape).reshape(r.shape) for m, r in zip((average, inverse), node.results[1:], strict=False)
    ]
    return [store(v, t, unit) for v, t in zip([y, *moments], node.output_types, strict=False)]


_SOFTMAX: dict[str, Implementation] = {
    **in_every_order(softmax),
    **{f"{way}": functools.partial(softmax, way=way) for way in ("library", "powers of two")},
    "reciprocal": functools.partial(softmax, reciprocal=True),
    "online": online_softmax,
    "online, library": functools.partial(online_softmax, way="library"),
}

IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "LayerNormalization": {
        **in_every_order(layer_normalization),
        "one pass": functools.partial(layer_normalization, way="one pass"),
        "one pass, pairwise": functools.partial(layer_normalization, way="one pass", order="pairwise"),
        "welford": functools.partial(layer_normalization, way="welford"),
        "divided": functools.partial(layer_normalization, root=True),
    },
    "LogSoftmax": _SOFTMAX,
    "RMSNormalization": {
        **in_every_order(layer_normalization),
        "divided": functools.partial(layer_normalization, root=True),
    },
    "Softmax": _SOFTMAX,
}
"""Operator → algorithm → implementation."""
