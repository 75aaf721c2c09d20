"""Sums of products and means, in every order of summation."""

from __future__ import annotations

import math

import numpy as np

from reference.node import Array, Node
from tests.verification.correct.kind import Implementation, in_every_order
from tests.verification.correct.windows import columns
from tests.verification.orders import Terms, sum_products, sum_terms
from tests.verification.units import Unit, add, convert, divide, multiply, store


def _stored(y: Array, node: Node, unit: Unit) -> list[Array]:
    return [store(y.reshape(node.results[0].shape), node.output_types[0], unit)]


def matmul(node: Node, unit: Unit, order: str) -> list[Array]:
    """MatMul of matrices and stacks of them."""
    return _stored(sum_products(convert(node.real(0), unit), convert(node.real(1), unit), unit, order), node, unit)


def gemm(node: Node, unit: Unit, order: str, bias_first: bool = False, scaled_operand: bool = False) -> list[Array]:
    """Gemm: alpha on the sums or on A; C added at last or, where it and the sums are not scaled, before all products."""
    a, b = (convert(node.real(i), unit) for i in (0, 1))
    a, b = a.T if node.attribute("transA", 0) else a, b.T if node.attribute("transB", 0) else b
    alpha, beta = (np.asarray(node.attribute(name, 1.0)) for name in ("alpha", "beta"))
    c = multiply(convert(node.real(2), unit), beta, unit) if node.given(2) else None
    bias_first = bias_first and c is not None and alpha == 1
    if scaled_operand:
        a = multiply(a, alpha, unit)
    y = sum_products(a, b, unit, order, first=c if bias_first else None)
    if not scaled_operand:
        y = multiply(y, alpha, unit)
    return _stored(y if c is None or bias_first else add(y, c, unit), node, unit)


def conv(node: Node, unit: Unit, order: str, bias_first: bool = False, taps_first: bool = False) -> list[Array]:
    """Conv in two dimensions as a matrix product (im2col); products go over the taps of one channel first, or over the
    channels of one tap."""
    x, w = convert(node.real(0), unit), convert(node.real(1), unit)
    group = node.attribute("group", 1)
    found = columns(node, x, w.shape[2:])
    n, (m, c) = len(x), w.shape[:2]
    under = found.values.reshape(n, group, c, -1, found.values.shape[-1])
    weights = w.reshape(group, m // group, c, -1)
    if not taps_first:
        under, weights = under.swapaxes(2, 3), weights.swapaxes(2, 3)
    rows, matrix = weights.reshape(group, m // group, -1), under.reshape(n, group, -1, under.shape[-1])
    bias = convert(node.real(2), unit).reshape(group, -1, 1) if node.given(2) else None
    y = sum_products(rows, matrix, unit, order, first=bias if bias_first else None)
    return _stored(y if bias is None or bias_first else add(y, bias, unit), node, unit)


def _reduced(node: Node, unit: Unit) -> Array:
    """The input of a reduction, its terms along the first axis."""
    x = convert(node.real(0), unit)
    axes = node.inputs[1] if node.given(1) else range(x.ndim)
    axes = sorted(int(a) % x.ndim for a in axes)
    moved = np.moveaxis(x, axes, range(len(axes)))
    return moved.reshape(-1, *moved.shape[len(axes) :])


def reduce_sum(node: Node, unit: Unit, order: str) -> list[Array]:
    """ReduceSum."""
    return _stored(sum_terms(_reduced(node, unit), unit, order), node, unit)


def reduce_sum_square(node: Node, unit: Unit, order: str) -> list[Array]:
    """ReduceSumSquare."""
    x = _reduced(node, unit)
    return _stored(sum_terms(Terms(len(x), lambda k: (x[k], x[k])), unit, order), node, unit)


def mean(terms: Array, count: Array, unit: Unit, order: str, way: str = "divided") -> Array:
    """Mean along the first axis: the sum divided, or times the reciprocal of the count, or of scaled terms."""
    if way == "divided":
        return divide(sum_terms(terms, unit, order), count, unit)
    reciprocal = divide(np.ones(()), count, unit)
    if way == "reciprocal":
        return multiply(sum_terms(terms, unit, order), reciprocal, unit)
    return sum_terms(multiply(terms, reciprocal, unit), unit, order)


def reduce_mean(node: Node, unit: Unit, order: str, way: str = "divided") -> list[Array]:
    """ReduceMean."""
    x = _reduced(node, unit)
    return _stored(mean(x, np.asarray(float(len(x))), unit, order, way), node, unit)


def average_pool(node: Node, unit: Unit, order: str, way: str = "divided") -> list[Array]:
    """AveragePool in two dimensions."""
    found = columns(node, convert(node.real(0), unit), tuple(node.attributes["kernel_shape"]))
    counted = found.padded if node.attribute("count_include_pad", 0) else found.data
    count = counted.sum(0).astype(np.float64)
    return _stored(mean(np.moveaxis(found.values, 2, 0), count, unit, order, way), node, unit)


def cumulative_sum(node: Node, unit: Unit) -> list[Array]:
    """CumSum along one axis, from the beginning, one after the other."""
    x = np.moveaxis(convert(node.real(0), unit), int(node.real(1)), 0)
    total, sums = np.zeros(x.shape[1:]), []
    for row in x:
        sums.append(total if node.attribute("exclusive", 0) else add(total, row, unit))
        total = add(total, row, unit)
    return _stored(np.moveaxis(np.stack(sums), 0, int(node.real(1))), node, unit)


def transposed_conv(node: Node, unit: Unit, order: str) -> list[Array]:
    """ConvTranspose in two dimensions, one group: each output sums over the channels and taps that reach it."""
    x, w = convert(node.real(0), unit), convert(node.real(1), unit)
    strides, dilations = node.attribute("strides", [1, 1]), node.attribute("dilations", [1, 1])
    pads, (n, m, *extents) = node.attribute("pads", [0, 0, 0, 0]), node.results[0].shape
    taps = []
    for tap in np.ndindex(*w.shape[2:]):
        spread = np.zeros((*x.shape[:2], *extents))
        places = [np.arange(x.shape[2 + i]) * strides[i] + tap[i] * dilations[i] - pads[i] for i in (0, 1)]
        kept = [(p >= 0) & (p < e) for p, e in zip(places, extents, strict=True)]
        spread[:, :, places[0][kept[0]][:, None], places[1][kept[1]]] = x[:, :, kept[0]][:, :, :, kept[1]]
        taps.append(spread.reshape(n, x.shape[1], math.prod(extents)))
    matrix = np.concatenate(taps, axis=1)
    rows = np.moveaxis(w.reshape(*w.shape[:2], -1), 2, 0).reshape(-1, m).T
    y = sum_products(rows, matrix, unit, order)
    return _stored(add(y, convert(node.real(2), unit)[:, None], unit) if node.given(2) else y, node, unit)


IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "AveragePool": {
        **in_every_order(average_pool),
        **in_every_order(average_pool, "reciprocal, ", way="reciprocal"),
        **in_every_order(average_pool, "scaled terms, ", way="scaled"),
    },
    "Conv": {
        **in_every_order(conv),
        **in_every_order(conv, "bias first, ", bias_first=True),
        **in_every_order(conv, "taps first, ", taps_first=True),
    },
    "ConvTranspose": in_every_order(transposed_conv),
    "CumSum": {"chain": cumulative_sum},
    "Gemm": {
        **in_every_order(gemm),
        **in_every_order(gemm, "bias first, ", bias_first=True),
        **in_every_order(gemm, "scaled operand, ", scaled_operand=True),
    },
    "MatMul": in_every_order(matmul),
    "ReduceMean": {
        **in_every_order(reduce_mean),
        **in_every_order(reduce_mean, "reciprocal, ", way="reciprocal"),
        **in_every_order(reduce_mean, "scaled terms, ", way="scaled"),
    },
    "ReduceSum": in_every_order(reduce_sum),
    "ReduceSumSquare": in_every_order(reduce_sum_square),
}
"""Operator → algorithm → implementation."""
