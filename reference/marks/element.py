"""What arithmetic, comparisons, activations, reductions, casts and resizing leave open; see `reference.marks`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.ops import resize, text

Mask = Array | None

LARGEST_EXPONENT = 708.0
"""From −708 to 708 exp(x) is a normal number of float64."""


def cast(node: Node) -> Mask:
    """Cast and CastLike. To integers: NaN, infinities and values out of range, also in strings, and strings with a fraction.
    To strings: the number of digits of reals (their notation is plain), and how bool is written. From strings: bool. To
    float8_e8m0fnu: values below zero and −0. NaN to formats without it: the largest number by ONNX's technical details, 0 in
    its node cases."""
    x, source, target = node.inputs[0], node.types[0], node.output_types[0]
    assert x is not None
    assert source is not None
    real = text.reals(x, exactly=True) if source == "str" else node.real(0)
    inexact = source == "str" or dtypes.is_float(source)
    if target == "str":
        return np.isfinite(real) if source == "bool" or dtypes.is_float(source) else None
    if target == "bool":
        return np.ones(x.shape, bool) if source == "str" else None
    if dtypes.is_integer(target):
        fraction = (source == "str") & (real != np.trunc(real))
        return no_integer(real, target) | fraction if inexact else None
    if target == dtypes.SCALE:
        return np.signbit(real) & ~np.isnan(real)
    return None if dtypes.FLOATS[target].has_nan else np.isnan(real)


def no_integer(x: Array, target: str) -> Array:
    """Where the reals x are, rounded as Cast does, no values of the integer type."""
    bits = int(target.lstrip("uint"))
    low, high = (0.0, 2.0**bits) if target.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    whole = np.rint(x) if bits <= 4 else np.trunc(x)
    with np.errstate(invalid="ignore"):
        return np.asarray(~((whole >= low) & (whole < high)))


def divisor(node: Node) -> Array | None:
    """Div and Mod: an integer divided by zero, and the lowest integer by −1."""
    a, b = node.inputs
    if a is None or b is None or a.dtype.kind not in "iu":
        return None
    overflow = (a == np.iinfo(a.dtype).min) & (b == -1) if a.dtype.kind == "i" else False
    return np.asarray((b == 0) | overflow)


def shift(node: Node) -> Array | None:
    """BitShift before opset 28 by the type's width or more."""
    if node.version >= 28:
        return None
    x, amount = node.inputs
    assert x is not None
    assert amount is not None
    return np.asarray(amount >= x.dtype.itemsize * 8) & np.ones(x.shape, bool)


def nan_along_axis(node: Node) -> Array | None:
    """ArgMax, ArgMin, TopK: ONNX defines no order in which NaN takes part."""
    x = node.inputs[0]
    if x is None or x.dtype.kind != "f" or not np.isnan(x).any():
        return None
    axis = int(node.attribute("axis", -1 if node.operator == "TopK" else 0))
    return np.asarray(np.isnan(x).any(axis, keepdims=node.results[0].ndim == x.ndim))


def top(node: Node) -> Array | None:
    """TopK: the order without `sorted`, and NaN."""
    return np.ones(node.results[0].shape, bool) if not node.attribute("sorted", 1) else nan_along_axis(node)


def nan_line(node: Node) -> Array | None:
    """Hardmax: whether NaN is a maximum, in its lines (before opset 13 all axes from `axis` on)."""
    x = node.real(0)
    axis = int(node.attribute("axis", -1 if node.version >= 13 else 1))
    axes = axis if node.version >= 13 else tuple(range(axis % max(1, x.ndim), x.ndim))
    return np.isnan(x).any(axes, keepdims=True) & np.ones(x.shape, bool)


def integer_overflow(node: Node) -> Array | None:
    """Shrink and reductions of integers whose exact result the type cannot hold: ONNX does not say whether they wrap or
    saturate. At 64 bits float64 tells the results apart but near the ends of the range, which count as beyond."""
    x, *axes = node.inputs
    if x is None or x.dtype.kind not in "iu":
        return None
    low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    exact = node.again([x.astype(np.float64), *axes])[0]
    reach = 1 - 2.0**-40 if x.dtype.itemsize == 8 else 1.0
    return np.asarray((exact < low * reach) | (exact > high * reach))


def integer_products(node: Node) -> Mask:
    """Einsum and Gemm of integers where a partial sum may leave the type's range: ONNX does not say whether it wraps or
    saturates. Gemm too where alpha or beta scales integers by no whole number, or unsigned ones by a negative."""
    inputs = [None if x is None else np.abs(x.astype(np.float64)) for x in node.inputs]
    if node.inputs[0] is None or node.inputs[0].dtype.kind not in "iu":
        return None
    factors = {name: float(node.attribute(name, 1.0)) for name in ("alpha", "beta") if node.operator == "Gemm"}
    lowest = 0 if node.inputs[0].dtype.kind == "u" else -np.inf
    if any(f < lowest or not f.is_integer() for f in factors.values()):
        return np.ones(node.results[0].shape, bool)
    size = node.again(inputs, **{name: abs(f) for name, f in factors.items()})[0]
    return np.asarray(size > np.iinfo(node.inputs[0].dtype).max * (1 - 2.0**-40))


def nothing_reduced(node: Node) -> Mask:
    """ReduceMean of no elements is undefined, ReduceLogSum and ReduceLogSumExp of none too for integers, which have no −∞; nor
    have they the logarithm of a sum of 0 or less. ReduceLogSumExp of reals whose exponentials leave the range of float64, in
    which ONNX's function body adds them: infinite by the body, finite by the text."""
    x, *axes = node.inputs
    assert x is not None
    if node.operator == "ReduceMean":
        return np.ones(node.results[0].shape, bool) if x.size == 0 else None
    if node.operator == "ReduceLogSumExp" and x.dtype.kind == "f":
        return np.isfinite(node.results[0]) & (np.abs(node.results[0]) > LARGEST_EXPONENT)
    return None if x.dtype.kind == "f" else ~np.isfinite(node.again([x.astype(np.float64), *axes])[0])


def integer_error_function(node: Node) -> Array | None:
    """Erf-9 of integers: how what lies between −1 and 1 is rounded."""
    x = node.inputs[0]
    return np.asarray(x != 0) if x is not None and x.dtype.kind in "iu" else None


def nan_among_candidates(node: Node) -> Array | None:
    """Max, Min, Relu (max(x, 0)), ReduceMax, ReduceMin and GlobalMaxPool choose among values; with NaN among them ONNX does not
    say which (IEEE 754-2019 has both maximum, which keeps NaN, and maximumNumber, which drops it)."""
    floats = [x for x, t in zip(node.inputs, node.types, strict=True) if x is not None and t and dtypes.is_float(t)]
    if not any(np.isnan(x).any() for x in floats):
        return None
    marked = [np.where(np.isnan(x), 1.0, 0.0) if x is not None and x.dtype.kind == "f" else x for x in node.inputs]
    if node.operator in ("Min", "ReduceMin"):
        marked = [-x if x is not None and x.dtype.kind == "f" else x for x in marked]
    return np.asarray(np.abs(node.again(marked)[0]) == 1.0)


def infinite_argument(node: Node) -> Array | None:
    """Activations whose formula is inf·0 at −inf (Swish and SwiGLU: where the gate closes; Softsign: inf/inf at both): it
    gives NaN, where its limit may be meant."""
    x = node.real(0)
    if node.operator in ("Swish", "SwiGLU"):
        return np.isneginf(float(node.attribute("alpha", 1.0)) * x)
    return np.isinf(x) if node.operator == "Softsign" else np.isneginf(x)


def infinite_line(node: Node) -> Array | None:
    """Softmax and LogSoftmax of a line that holds +inf: exp(x − max) of the function body is NaN everywhere, the formula's
    exp(x)/Σexp(x) only where x is +inf."""
    x = node.real(0)
    axis = int(node.attribute("axis", -1 if node.version >= 13 else 1))
    axes = axis if node.version >= 13 else tuple(range(axis % max(1, x.ndim), x.ndim))
    inside = np.isposinf(x).any(axes, keepdims=True) & ~np.isnan(x).any(axes, keepdims=True)
    return inside & ~np.isposinf(x)


def absent_limit(node: Node) -> Array | None:
    """Clip-13's text says that absent limits are the type's largest finite numbers; its reference implementation and most
    runtimes let infinities pass. It is Min(max, Max(input, min)), which leaves NaN open too."""
    x, y = node.real(0), node.results[0]
    low, high = (node.given(i) or name in node.attributes for i, name in ((1, "min"), (2, "max")))
    return np.asarray((np.isposinf(y) & (not high)) | (np.isneginf(x) & (not low)) | np.isnan(x))


def beyond_integers(node: Node) -> Array | None:
    """Interpolated integers that their type cannot hold: nothing says whether they wrap or saturate."""
    x, *others = node.inputs
    if x is None or x.dtype.kind not in "iu" or node.attribute("mode", "nearest") == "nearest":
        return None
    exact, limits = node.again([x.astype(np.float64), *others])[0], np.iinfo(x.dtype)
    return np.asarray((exact < limits.min) | (exact > limits.max))


def resized(node: Node) -> Array | None:
    """Resize and Upsample: see `aligned_by_scales`, `beyond_integers` and, for version 10, `resize.resize_10_open`."""
    masks = [beyond_integers(node), aligned_by_scales(node)]
    if node.version == 10:
        early: Callable[..., Array] = resize.resize_10_open
        masks.append(early(*node.inputs, **node.attributes))
    marked = [m for m in masks if m is not None and m.any()]
    return functools.reduce(np.logical_or, marked) if marked else None


def aligned_by_scales(node: Node) -> Array | None:
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


def nan(node: Node) -> Array | None:
    """QuantizeLinear and Sign of NaN; Relu, Celu and HardSigmoid of NaN, which are maxima, see `nan_among_candidates`."""
    x = node.inputs[0]
    return np.isnan(x) if x is not None and x.dtype.kind == "f" else None


def constant_lines(node: Node) -> Mask:
    """MeanVarianceNormalization of equal values: 0/0 by the text's formula, 0 by the function body, which adds 1e-9 (onnx
    issue 3947)."""
    x, axes = node.real(0), tuple(int(a) for a in node.attribute("axes", (0, 2, 3)))
    highest, lowest = x.max(axes, keepdims=True, initial=-np.inf), x.min(axes, keepdims=True, initial=np.inf)
    return np.asarray(highest == lowest) & np.ones(x.shape, bool)


def saved_variance(node: Node) -> Sequence[Mask]:
    """BatchNormalization below version 14: the fifth output is a variance or its inverse root, and nothing says of which
    kind; that also leaves the running variance open."""
    open_for = (2, 4) if node.version < 14 else ()
    return [np.ones(r.shape, bool) if i in open_for else None for i, r in enumerate(node.results)]


def integer_power(node: Node) -> Array | None:
    """Pow: integer results beyond the type's range, and integers to negative powers."""
    base, exponent = node.inputs
    if base is None or exponent is None or base.dtype.kind == "f":
        return None
    with np.errstate(all="ignore"):
        size = np.power(np.abs(base.astype(np.float64)), exponent.astype(np.float64))
    return np.asarray((exponent < 0) | ~(size < np.iinfo(base.dtype).max))
