"""What the error of a sum of products is measured by: B = Σ|P_k|, Q = ΣP_k² and the number of products P_k, per output element.

B and Q are the operator itself on other inputs: a linear operator on |a|, |b| gives Σ|a·b|, on a², b² it gives Σ(a·b)². The
number of products follows from shapes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import exact
from reference.node import Array, Node
from reference.ops import convolution, matrix, pooling, resize
from reference.ops.windows import outer

Real = NDArray[np.float64]


Sum = Callable[[list[Real], int], Array]
"""Sizes of the factors, all to the power of 1 or 2, and that power → Σ|P_k|^power."""


class Magnitudes:
    """Magnitudes of the first output of a linear operator; a bias is a product of its own.

    Products of what is not finite count as 0: a sum with an infinite term is exact in any order, unless the finite ones
    overflow on the way. B and Q are computed when they are asked for.
    """

    def __init__(self, terms: Array | float, factors: Sequence[Array], sum_of: Sum) -> None:
        self._terms, self._sum_of = terms, sum_of
        self._factors = factors

    @functools.cached_property
    def terms(self) -> Real:
        """How many products an element is the sum of; broadcasts to the output."""
        return np.asarray(self._terms, np.float64)

    @functools.cached_property
    def _sizes(self) -> list[Real]:
        """|x| of every factor, as a new array."""
        return [np.asarray(np.abs(x.astype(np.float64, copy=False))) for x in self._factors]

    def _sum(self, power: int) -> Real:
        with np.errstate(all="ignore"), exact.sums(wanted=False):
            y = np.asarray(self._sum_of(self._sizes, power), np.float64)
        return y.copy() if any(np.may_share_memory(y, x) for x in self._sizes) else y

    @functools.cached_property
    def B(self) -> Real:
        """Σ|P_k|, infinite where it overflows."""
        y = self._sum(1)
        if y.max(initial=0.0) < np.inf:  # no NaN either
            return y
        for x in self._sizes:
            x[~np.isfinite(x)] = 0.0
        return self._sum(1)

    @functools.cached_property
    def Q(self) -> Real:
        """ΣP_k², infinite where a square overflows."""
        b = self.B
        with np.errstate(over="ignore"):
            for x in self._sizes:
                np.square(x, out=x)
        y = self._sum(2)
        del self._sizes  # no longer what B is made of
        if y.max(initial=0.0) < np.inf:
            return y
        # A square that overflowed may have met 0. A mean of nothing stays NaN.
        return np.where(np.isnan(y) & ~np.isnan(b), np.inf, y)


def of(node: Node) -> Magnitudes | None:
    """The magnitudes of a node, None for one that is no linear operator."""
    find = LINEAR.get(node.operator) if node.domain in ("", "ai.onnx") else None
    return find(node) if find else None


def _given(node: Node, n: int | None = None) -> list[Array]:
    """The inputs that are there, of the first n."""
    return [x for x in node.inputs[:n] if x is not None]


def _same(node: Node, terms: Array | float) -> Magnitudes:
    """An operator whose products have a factor from each input, or are the inputs' own elements."""
    return Magnitudes(terms, _given(node), lambda sizes, power: node.again(sizes)[0])


def _first(node: Node, terms: Array | float, divisor: float = 1.0) -> Magnitudes:
    """An operator whose products are the elements of its first input over `divisor`."""

    def sum_of(sizes: list[Real], power: int) -> Array:
        y = node.again([*sizes, *node.inputs[1:]])[0]
        return y if power == 1 else np.asarray(y / divisor)

    return Magnitudes(terms, _given(node, 1), sum_of)


def _conv(node: Node) -> Magnitudes:
    return _same(node, convolution.conv_terms(*_given(node, 2), **node.attributes) + node.given(2))


def _conv_transpose(node: Node) -> Magnitudes:
    return _same(node, convolution.conv_transpose_terms(*_given(node, 2), **node.attributes) + node.given(2))


def _convolution(operands: Sequence[Array], attributes: Mapping[str, Any]) -> Magnitudes:
    """x, w and an optional bias, of real values."""
    terms = convolution.conv_terms(*operands[:2], **attributes) + len(operands) - 2
    return Magnitudes(terms, operands, lambda sizes, power: convolution.conv(*sizes, **attributes))


def _conv_integer(node: Node) -> Magnitudes:
    """(x - zero point)·(w - zero point)."""
    x, w = _given(node, 2)
    return _convolution(convolution.centred(x, w, *(*node.inputs[2:], None, None)[:2]), node.attributes)


def _qlinear_conv(node: Node) -> Magnitudes:
    """Products of the real values that the integers stand for, before the division by y_scale."""
    x, x_scale, x_zero_point, w, w_scale, w_zero_point, _, _, *bias = _given(node)
    data, weights = convolution.centred(x, w, x_zero_point, w_zero_point)
    operands = [data * x_scale.reshape(()), weights * w_scale.reshape(-1, *[1] * (w.ndim - 1))]
    return _convolution([*operands, *(b * (x_scale.reshape(()) * w_scale.reshape(-1)) for b in bias)], node.attributes)


def _product(a: Array, b: Array) -> Magnitudes:
    return Magnitudes(a.shape[-1], [a, b], lambda sizes, power: np.asarray(np.matmul(*sizes)))


def _matmul(node: Node) -> Magnitudes:
    return _product(*_given(node, 2))


def _matmul_integer(node: Node) -> Magnitudes:
    """(a - zero point)·(b - zero point)."""
    a, b = _given(node, 2)
    return _product(*matrix.centred(a, b, *(*node.inputs[2:], None, None)[:2]))


def _qlinear_matmul(node: Node) -> Magnitudes:
    """Products of the real values that the elements stand for, before the division by y_scale."""
    a, a_scale, a_zero_point, b, b_scale, b_zero_point = (x.astype(np.float64) for x in _given(node, 6))
    return _product((a - matrix.per_row(a_zero_point)) * matrix.per_row(a_scale), (b - b_zero_point) * b_scale)


def _gemm(node: Node) -> Magnitudes:
    """alpha·a·b and beta·c."""
    inputs = _given(node)
    terms = inputs[0].shape[0 if node.attribute("transA", 0) else 1] + len(inputs) - 2

    def sum_of(sizes: list[Real], power: int) -> Array:
        scales = {name: abs(node.attribute(name, 1.0)) ** power for name in ("alpha", "beta")}
        return node.again(sizes, **scales)[0]

    return Magnitudes(terms, inputs, sum_of)


def _einsum(node: Node) -> Magnitudes:
    """Products of one element of each operand."""
    operands = tuple(_given(node))
    labels, output = exact.subscripts(node.attributes["equation"].replace(" ", ""), operands)
    lengths: dict[int, int] = {}
    for names, x in zip(labels, operands, strict=True):
        for name, n in zip(names, x.shape, strict=True):
            lengths[name] = n if lengths.get(name, 1) == 1 else lengths[name]
    return _same(node, math.prod(n for name, n in lengths.items() if name not in output))


def _reduced(node: Node) -> int:
    """Elements of the first input that meet in one of the output."""
    (x,) = _given(node, 1)
    return x.size // max(1, node.results[0].size)


def _sum(node: Node) -> Magnitudes:
    """ReduceSum, ReduceL1, ReduceSumSquare: all elements along some axes, squared or not."""
    return _first(node, _reduced(node))


def _mean(node: Node) -> Magnitudes:
    """ReduceMean, GlobalAveragePool."""
    return _first(node, _reduced(node), _reduced(node))


def _sum_of_inputs(node: Node) -> Magnitudes:
    return _same(node, len(node.inputs))


def _mean_of_inputs(node: Node) -> Magnitudes:
    n = len(node.inputs)
    return Magnitudes(n, _given(node), lambda sizes, power: np.asarray(node.again(sizes)[0] / n ** (power - 1)))


def _cumulative_sum(node: Node) -> Magnitudes:
    """One term more from element to element."""
    x, axis = _given(node)
    along = int(axis.reshape(())) % x.ndim
    terms = np.arange(x.shape[along]) + 1.0 - node.attribute("exclusive", 0)
    terms = terms[::-1] if node.attribute("reverse", 0) else terms
    return _first(node, terms.reshape(-1, *[1] * (x.ndim - 1 - along)))


def _average_pool(node: Node) -> Magnitudes:
    (x,) = _given(node)
    terms, divisor = pooling.window_counts(x, **node.attributes)

    def sum_of(sizes: list[Real], power: int) -> Array:
        return np.asarray(pooling.window_sums(*sizes, **node.attributes) * (1 / divisor**power))

    return Magnitudes(terms, [x], sum_of)


def _lp_pool(node: Node) -> Magnitudes | None:
    """With p = 1; with another p it is not linear."""
    if node.attribute("p", 2) != 1:
        return None
    layout = {name: value for name, value in node.attributes.items() if name != "p"}
    return _first(node, pooling.window_counts(*_given(node), **layout)[0])


def _global_lp_pool(node: Node) -> Magnitudes | None:
    return _sum(node) if node.attribute("p", 2) == 1 else None


def _scatter(node: Node) -> Magnitudes | None:
    """With reduction="add": what is there and the updates that meet it."""
    if node.attribute("reduction", "none") != "add":
        return None
    data, indices, updates = _given(node)
    terms = node.again([np.ones(data.shape), indices, np.ones(updates.shape)])[0]
    return Magnitudes(terms, [data, updates], lambda sizes, power: node.again([sizes[0], indices, sizes[1]])[0])


def _resize(node: Node) -> Magnitudes | None:
    """Linear and cubic: the weights of a tap along each axis times the element under it; where nothing lies under a region of
    interest, the value that stands there."""
    mode = node.attribute("mode", "nearest")
    if mode == "nearest" or 0 in node.results[0].shape:
        return None
    (x,) = _given(node, 1)
    along = tables(node, x)
    counts = {axis: np.count_nonzero(weights, axis=1) for axis, _, weights in along}
    terms = outer([counts.get(axis, np.ones(1)) for axis in range(x.ndim)])

    def sum_of(sizes: list[Real], power: int) -> Array:
        y: Array = sizes[0]
        for axis, position, weights in along:
            y = resize.apply_table(y, axis, position, np.abs(weights) ** power)
        return y

    if node.attribute("coordinate_transformation_mode", "") != "tf_crop_and_resize":
        return Magnitudes(terms, [x], sum_of)
    outside = node.again([np.zeros(x.shape), *node.inputs[1:]], extrapolation_value=1.0)[0] == 1.0
    value = node.attribute("extrapolation_value", 0.0)
    return Magnitudes(
        np.where(outside, 1.0, terms),
        [x],
        lambda sizes, power: np.where(outside, abs(value) ** power, sum_of(sizes, power)),
    )


def tables(node: Node, x: Array, **changed: Any) -> list[tuple[int, Array, Array]]:
    """Axes, positions and weights of a Resize or Upsample of any version, with some attributes changed."""
    attributes = {**node.attributes, **changed}
    if node.operator == "Resize" and node.version >= 11:
        return resize.interpolation(x, *node.inputs[1:], **attributes)
    if "height_scale" in attributes:
        attributes = resize.scales_1(**attributes)
    scales = node.inputs[1] if node.given(1) else np.asarray(attributes.pop("scales"), np.float64)
    return resize.interpolation(x, None, scales, **{**resize.EARLY, **attributes})


LINEAR: Mapping[str, Callable[[Node], Magnitudes | None]] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvInteger": _conv_integer,
    "ConvTranspose": _conv_transpose,
    "CumSum": _cumulative_sum,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "GlobalAveragePool": _mean,
    "GlobalLpPool": _global_lp_pool,
    "LpPool": _lp_pool,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
    "Mean": _mean_of_inputs,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "ReduceL1": _sum,
    "ReduceMean": _mean,
    "ReduceSum": _sum,
    "ReduceSumSquare": _sum,
    "Resize": _resize,
    "ScatterElements": _scatter,
    "ScatterND": _scatter,
    "Sum": _sum_of_inputs,
    "Upsample": _resize,
}
"""Operator → how its magnitudes are found."""
