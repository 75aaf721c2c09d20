"""Where ONNX leaves a result open: such elements are recorded, never judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference import dtypes
from reference.verify.node import Array, Node


def _cast(node: Node) -> Array | None:
    """Cast-25: conversion to an integer type of NaN, of infinities and of values out of range is undefined."""
    target, source = node.output_types[0], node.types[0]
    if not dtypes.is_integer(target) or source is None or not dtypes.is_float(source):
        return None
    bits = int(target.lstrip("uint"))
    low, high = (0.0, 2.0**bits) if target.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    x = np.rint(node.real(0)) if bits <= 4 else np.trunc(node.real(0))
    with np.errstate(invalid="ignore"):
        return np.asarray(~((x >= low) & (x < high)))


def _divisor(node: Node) -> Array | None:
    """Div and Mod: an integer divided by zero, and the lowest integer by −1."""
    a, b = node.inputs
    if a is None or b is None or a.dtype.kind not in "iu":
        return None
    overflow = (a == np.iinfo(a.dtype).min) & (b == -1) if a.dtype.kind == "i" else False
    return np.asarray((b == 0) | overflow)


def _shift(node: Node) -> Array | None:
    """BitShift by the type's width or more."""
    x, amount = node.inputs
    assert x is not None
    assert amount is not None
    return np.asarray(amount >= x.dtype.itemsize * 8) & np.ones(x.shape, bool)


def _nan_along_axis(node: Node) -> Array | None:
    """ArgMax, ArgMin, TopK: ONNX defines no order in which NaN takes part."""
    x = node.inputs[0]
    if x is None or x.dtype.kind != "f" or not np.isnan(x).any():
        return None
    axis = int(node.attribute("axis", -1 if node.operator == "TopK" else 0))
    return np.asarray(np.isnan(x).any(axis, keepdims=node.results[0].ndim == x.ndim))


def _nan_among_candidates(node: Node) -> Array | None:
    """Max, Min, Relu (max(x, 0)), ReduceMax, ReduceMin and max pools choose among values; with NaN among them ONNX does not
    say which (IEEE 754-2019 has both maximum, which keeps NaN, and maximumNumber, which drops it)."""
    floats = [x for x, t in zip(node.inputs, node.types, strict=True) if x is not None and t and dtypes.is_float(t)]
    if not any(np.isnan(x).any() for x in floats):
        return None
    marked = [np.where(np.isnan(x), 1.0, 0.0) if x is not None and x.dtype.kind == "f" else x for x in node.inputs]
    if node.operator in ("Min", "ReduceMin"):
        marked = [-x if x is not None and x.dtype.kind == "f" else x for x in marked]
    return np.asarray(np.abs(node.again(marked)[0]) == 1.0)


def _infinite_argument(node: Node) -> Array | None:
    """Activations whose formula is inf·0 at −inf (Softsign: inf/inf at both): it gives NaN, where its limit may be meant."""
    x = node.real(0)
    return np.isinf(x) if node.operator == "Softsign" else np.isneginf(x)


def _infinite_line(node: Node) -> Array | None:
    """Softmax and LogSoftmax of a line that holds +inf: exp(x − max) of the function body is NaN everywhere, the formula's
    exp(x)/Σexp(x) only where x is +inf."""
    x = node.real(0)
    axis = int(node.attribute("axis", -1 if node.version >= 13 else 1))
    axes = axis if node.version >= 13 else tuple(range(axis % max(1, x.ndim), x.ndim))
    inside = np.isposinf(x).any(axes, keepdims=True) & ~np.isnan(x).any(axes, keepdims=True)
    return inside & ~np.isposinf(x)


def _absent_limit(node: Node) -> Array | None:
    """Clip-13's text says that absent limits are the type's largest finite numbers; its reference implementation and most
    runtimes let infinities pass. It is Min(max, Max(input, min)), which leaves NaN open too."""
    x = node.real(0)
    low, high = node.given(1), node.given(2)
    return np.asarray((np.isposinf(x) & (not high)) | (np.isneginf(x) & (not low)) | np.isnan(x))


def _aligned_by_scales(node: Node) -> Array | None:
    """Resize with align_corners and scales: "length_resized" is the resized tensor's length by the text, and the unrounded
    length · scale in ONNX's own node cases; they differ where that is no integer."""
    if node.attribute("coordinate_transformation_mode", "half_pixel") != "align_corners" or not node.given(2):
        return None
    x, scales = node.inputs[0], node.inputs[2]
    assert x is not None
    assert scales is not None
    if scales.size == 0:
        return None
    axes = node.attribute("axes", range(x.ndim))
    lengths = np.array([x.shape[a] for a in axes]) * scales
    return None if (lengths == np.floor(lengths)).all() else np.ones(node.results[0].shape, bool)


def _nan(node: Node) -> Array | None:
    """QuantizeLinear and Sign of NaN; Relu, Celu and HardSigmoid of NaN, which are maxima, see `_nan_among_candidates`."""
    x = node.inputs[0]
    return np.isnan(x) if x is not None and x.dtype.kind == "f" else None


def _integer_power(node: Node) -> Array | None:
    """Pow: integer results beyond the type's range, and integers to negative powers."""
    base, exponent = node.inputs
    if base is None or exponent is None or base.dtype.kind == "f":
        return None
    with np.errstate(all="ignore"):
        size = np.power(np.abs(base.astype(np.float64)), exponent.astype(np.float64))
    return np.asarray((exponent < 0) | ~(size < np.iinfo(base.dtype).max))


RULES: dict[str, Callable[[Node], Array | None]] = {
    "ArgMax": _nan_along_axis,
    "ArgMin": _nan_along_axis,
    "BitShift": _shift,
    "Cast": _cast,
    "CastLike": _cast,
    "Celu": _nan,
    "Clip": _absent_limit,
    "Div": _divisor,
    "Gelu": _infinite_argument,
    "GlobalMaxPool": _nan_among_candidates,
    "HardSigmoid": _nan,
    "HardSwish": _infinite_argument,
    "LogSoftmax": _infinite_line,
    "Max": _nan_among_candidates,
    "MaxPool": _nan_among_candidates,
    "Min": _nan_among_candidates,
    "Mish": _infinite_argument,
    "Mod": _divisor,
    "Pow": _integer_power,
    "QuantizeLinear": _nan,
    "ReduceMax": _nan_among_candidates,
    "ReduceMin": _nan_among_candidates,
    "Relu": _nan,
    "Resize": _aligned_by_scales,
    "Sign": _nan,
    "Softmax": _infinite_line,
    "Softsign": _infinite_argument,
    "Swish": _infinite_argument,
    "TopK": _nan_along_axis,
}
"""Operator → mask of its open elements, broadcastable to the output; None where there are none."""
