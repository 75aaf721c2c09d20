"""Moved data, maxima, conversions and interpolation."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from tests.verification.correct.kind import Implementation
from tests.verification.correct.windows import columns
from tests.verification.orders import Terms, sum_terms
from tests.verification.units import Unit, add, convert, divide, multiply, store, subtract


def _typed(y: Array, node: Node) -> list[Array]:
    """Moved data as it was."""
    return [y.astype(dtypes.numpy_dtype(node.output_types[0]))]


def transpose(node: Node, unit: Unit) -> list[Array]:
    """Transpose."""
    x = node.inputs[0]
    assert x is not None
    return _typed(np.transpose(x, node.attribute("perm", None)), node)


def reshape(node: Node, unit: Unit) -> list[Array]:
    """Reshape to positive extents."""
    x, shape = node.inputs[:2]
    assert x is not None
    assert shape is not None
    return _typed(x.reshape([int(n) for n in shape]), node)


def pad(node: Node, unit: Unit) -> list[Array]:
    """Pad, of all axes."""
    x, pads = node.real(0), [int(p) for p in node.real(1)]
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    mode = node.attribute("mode", "constant")
    if mode == "constant":
        return _typed(np.pad(x, widths, constant_values=float(node.real(2)) if node.given(2) else 0.0), node)
    return _typed(np.pad(x, widths, mode=mode), node)


def slices(node: Node, unit: Unit) -> list[Array]:
    """Slice with axes and steps."""
    x = node.inputs[0]
    assert x is not None
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(*(node.real(i).astype(int) for i in range(1, 5)), strict=True):
        parts[axis] = slice(int(start), int(end), int(step))
    return _typed(x[tuple(parts)], node)


def concat(node: Node, unit: Unit) -> list[Array]:
    """Concat."""
    return _typed(np.concatenate([x for x in node.inputs if x is not None], node.attributes["axis"]), node)


def cast(node: Node, unit: Unit) -> list[Array]:
    """Cast to a floating-point type, or to an integer type: reals towards zero, integers modulo 2^bits."""
    x, dtype = node.inputs[0], node.output_types[0]
    assert x is not None
    if dtypes.is_float(dtype):
        return [dtypes.cast(node.real(0), dtype)]
    with np.errstate(all="ignore"):
        return [np.trunc(x).astype(np.int64).astype(dtypes.numpy_dtype(dtype))]


def max_pool(node: Node, unit: Unit, maximum: np.ufunc = np.maximum) -> list[Array]:
    """MaxPool in two dimensions; NaN wins, or with np.fmax loses: ONNX leaves it open."""
    found = columns(node, node.real(0), tuple(node.attributes["kernel_shape"]), -np.inf)
    return _typed(maximum.reduce(found.values, axis=2).reshape(node.results[0].shape), node)


def _positions(length: int, resized: int, node: Node, unit: Unit) -> tuple[Array, Array, Array]:
    """Along one axis: lower and upper neighbour, and the weight of the upper one, computed in the unit."""
    i = np.arange(resized, dtype=np.float64)
    one, half = np.asarray(1.0), np.asarray(0.5)
    mode = node.attribute("coordinate_transformation_mode", "half_pixel")
    inverse = divide(np.asarray(float(length)), np.asarray(float(resized)), unit)
    if mode == "align_corners":
        inverse = divide(np.asarray(length - 1.0), np.asarray(max(resized - 1.0, 1.0)), unit)
    place = multiply(i, inverse, unit)
    if mode == "half_pixel":
        place = subtract(multiply(add(i, half, unit), inverse, unit), half, unit)
    place = np.clip(place, 0.0, length - 1.0)
    low = np.floor(place)
    return low.astype(int), np.minimum(low + one, length - 1).astype(int), subtract(place, low, unit)


def resize_linear(node: Node, unit: Unit, separable: bool) -> list[Array]:
    """Resize, mode linear, by sizes, of the last two axes: one axis after the other, or four weighted neighbours."""
    y = convert(node.real(0), unit)
    one, shape = np.asarray(1.0), node.results[0].shape
    axes = [_positions(y.shape[a], shape[a], node, unit) for a in (2, 3)]
    weights = [[subtract(one, upper, unit), upper] for _, _, upper in axes]
    if separable:
        for axis, (low, high, _), (w_low, w_high) in zip((3, 2), axes[::-1], weights[::-1], strict=True):
            column = (-1, *[1] * (3 - axis))
            parts = [multiply(np.take(y, at, axis), w.reshape(column), unit) for at, w in ((low, w_low), (high, w_high))]
            y = add(*parts, unit)
        return [store(y, node.output_types[0], unit)]
    places = list(itertools.product((0, 1), repeat=2))
    factors = [multiply(weights[0][p][:, None], weights[1][q], unit) for p, q in places]
    values = [y[:, :, axes[0][p][:, None], axes[1][q]] for p, q in places]
    terms = Terms(math.prod((2, 2)), lambda k: (values[k], factors[k]))
    return [store(sum_terms(terms, unit), node.output_types[0], unit)]


IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "Cast": {"plain": cast},
    "Concat": {"plain": concat},
    "MaxPool": {"plain": max_pool, "NaN loses": functools.partial(max_pool, maximum=np.fmax)},
    "Pad": {"plain": pad},
    "Reshape": {"plain": reshape},
    "Resize": {
        "separable": functools.partial(resize_linear, separable=True),
        "four neighbours": functools.partial(resize_linear, separable=False),
    },
    "Slice": {"plain": slices},
    "Transpose": {"plain": transpose},
}
"""Operator → algorithm → implementation; Resize: mode linear only."""
