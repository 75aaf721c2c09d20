"""Reductions, arg-reductions, running sums and products, and TopK.

Every Reduce function has data of any rank, `axes` (an attribute before opset 13 or 18, an input after; None or empty:
all axes, or none with noop_with_empty_axes) and `keepdims`. Integer results have the type of data; sums and products
wrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import sums
from reference.ops.arguments import axes_in, axis_in, single
from reference.ops.conversion import integer_range, real_to_integer

Array = NDArray[Any]
Axes = Array | Sequence[int] | None


def _chosen(x: Array, axes: Axes, noop: int) -> tuple[int, ...]:
    """The axes to reduce, as numbers in [0, rank). Raises ValueError."""
    given = () if axes is None else axes_in(np.asarray(axes).reshape(-1), x.ndim)
    return given or (() if noop else tuple(range(x.ndim)))


def reduce_sum(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceSum-13: Σx; 0 over an empty set."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    return sums.total(x, chosen, keepdims=bool(keepdims))


def reduce_mean(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceMean-18: Σx/n. Open in ONNX: integers are the exact mean truncated toward zero, and the mean of nothing
    is NaN (0 for integers) here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    keep = bool(keepdims)
    if x.dtype.kind == "f":
        return sums.mean(x, chosen, keepdims=keep)
    n = int(np.prod([x.shape[a] for a in chosen], dtype=np.int64))
    count = x.dtype.type(max(n, 1))
    divisor = np.uint64(max(n, 1))
    # Quotients and remainders apart, so that no sum overflows: Σx = n·Σ(x//n) + Σ(x mod n).
    remainder = np.sum(x % count, axis=chosen, keepdims=keep, dtype=np.uint64)
    whole = np.sum(x // count, axis=chosen, keepdims=keep, dtype=x.dtype) + (remainder // divisor).astype(x.dtype)
    return np.asarray(whole + ((whole < 0) & (remainder % divisor != 0))).astype(x.dtype)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return False if dtype.kind == "b" else -np.inf if dtype.kind == "f" else integer_range(dtype)[0]


def _highest(dtype: np.dtype[Any]) -> Any:
    return True if dtype.kind == "b" else np.inf if dtype.kind == "f" else integer_range(dtype)[1]


def reduce_max(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceMax-20: largest x, NaN if there is one; -inf, the lowest integer or false over an empty set."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    return np.asarray(np.max(x, axis=chosen, keepdims=bool(keepdims), initial=_lowest(x.dtype)))


def reduce_min(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceMin-20: smallest x, NaN if there is one; inf, the highest integer or true over an empty set."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    return np.asarray(np.min(x, axis=chosen, keepdims=bool(keepdims), initial=_highest(x.dtype)))


def reduce_product(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceProd-18: Πx; 1 over an empty set."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    return np.asarray(np.prod(x, axis=chosen, dtype=x.dtype, keepdims=bool(keepdims)))


def reduce_sum_square(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceSumSquare-18: Σx²; 0 over an empty set."""
    return sums.of_squares(x, _chosen(x, axes, noop_with_empty_axes), keepdims=bool(keepdims))


def reduce_l1(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceL1-18: Σ|x|; 0 over an empty set."""
    return reduce_sum(np.abs(x), axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)


def reduce_l2(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceL2-18: √Σx²; 0 over an empty set. Open in ONNX: for integers the exact root is truncated here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    if x.dtype.kind in "iu":
        norm = _integer_norm(x, chosen)
        return norm if keepdims else np.squeeze(norm, axis=chosen)
    squares = sums.of_squares(x, chosen, keepdims=bool(keepdims))
    if ((squares > 2.0**-900) & (squares < np.inf)).all():  # what is lost below 2^-1074 does not count
        return np.asarray(np.sqrt(squares))
    size = np.abs(x)
    largest = np.max(size, axis=chosen, keepdims=True, initial=0.0, where=np.isfinite(size))
    # A power of two scales without rounding and keeps the squares of 1e200 and 1e-200 in range.
    scale = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
    norm = np.asarray(np.sqrt(sums.of_squares(size / scale, chosen, keepdims=True)) * scale)
    return norm if keepdims else np.squeeze(norm, axis=chosen)


def _integer_norm(x: Array, axes: tuple[int, ...]) -> Array:
    """⌊√Σx²⌋ over the axes, which stay with length 1; Python's integers, since squares of 32 bits can exceed 64."""
    squares = np.asarray(np.sum(np.square(x.astype(object)), axis=axes, keepdims=True))
    roots = np.frompyfunc(lambda total: math.isqrt(total) % 2**64, 1, 1)(squares)
    return np.asarray(roots, np.uint64).astype(x.dtype)


def _integer_total(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Σx of integers over the axes as float64, rounded once: halves of 32 bits do not overflow, and do not cancel once
    the upper half has taken the carry."""
    half = x.dtype.type(min(32, 4 * x.dtype.itemsize))
    low = np.sum(x & ((x.dtype.type(1) << half) - x.dtype.type(1)), axis=axes, keepdims=keepdims, dtype=np.int64)
    high = np.sum(x >> half, axis=axes, keepdims=keepdims, dtype=np.int64) + (low >> np.int64(half))
    return np.asarray(np.ldexp(high.astype(np.float64), int(half)) + (low % (1 << int(half))))


def reduce_log_sum(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceLogSum-28 (1 to 18 alike, for integers too): ln Σx; -inf over an empty set. Open in ONNX: for integers the sum
    does not wrap and its logarithm is truncated toward zero here."""
    if x.dtype.kind in "iu":
        total = _integer_total(x, _chosen(x, axes, noop_with_empty_axes), bool(keepdims))
        return real_to_integer(np.log(total), x.dtype)
    chosen = _chosen(x, axes, noop_with_empty_axes)
    scale = sums.scale(x, chosen)
    y = np.asarray(np.log(sums.total(x / scale, chosen, keepdims=True)) + np.log(scale))
    return y if keepdims else y.squeeze(chosen)


def reduce_log_sum_exp(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceLogSumExp-28 (1 to 18 alike, for integers too): ln Σe^x; -inf over an empty set. Open in ONNX: for integers
    it is truncated toward zero here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    largest = np.max(x, axis=chosen, keepdims=True, initial=_lowest(x.dtype))
    if x.dtype.kind in "iu":
        # The largest one stays an integer, which float64 might not hold: what is above it is at most ln n.
        gap = (largest.astype(np.uint64) - x.astype(np.uint64)).astype(np.float64)
        above = np.maximum(np.log(np.sum(np.exp(-gap), axis=chosen, keepdims=True)), 0.0)
        floor = largest + np.floor(above).astype(x.dtype)
        total = floor + ((floor < 0) & (above != np.floor(above)))
    else:
        shift = np.where(np.isfinite(largest), largest, 0.0)
        total = np.log(np.sum(np.exp(x - shift), axis=chosen, keepdims=True)) + shift
    return np.asarray(total if keepdims else np.squeeze(total, axis=chosen), x.dtype)


def _arg_extreme(x: Array, axis: int, keepdims: int, last: int, *, largest: bool) -> Array:
    """Index of the first (or last) extreme value along axis, int64."""
    axis = axis_in(axis, x.ndim)
    ordered = np.flip(x, axis) if last else x
    index = np.argmax(ordered, axis=axis) if largest else np.argmin(ordered, axis=axis)
    index = np.asarray(x.shape[axis] - 1 - index if last else index, np.int64)
    return np.expand_dims(index, axis) if keepdims else index


def arg_max(x: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """ArgMax-13: int64 index of the largest value along axis, the first or the last of equal ones. Open in ONNX: NaN
    counts as largest here. An axis without elements raises ValueError."""
    return _arg_extreme(x, axis, keepdims, select_last_index, largest=True)


def arg_min(x: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """ArgMin-13: int64 index of the smallest value along axis, the first or the last of equal ones. Open in ONNX: NaN
    counts as smallest here. An axis without elements raises ValueError."""
    return _arg_extreme(x, axis, keepdims, select_last_index, largest=False)


def _running(operation: np.ufunc, x: Array, axis: Array, exclusive: int, reverse: int) -> Array:
    """The results of `operation` on all elements up to each one along axis (one integer). Raises ValueError."""
    along = axis_in(int(single(axis, "axis")), x.ndim)
    x = np.flip(x, along) if reverse else x
    y = sums.cumulative(x, along) if operation is np.add else np.asarray(operation.accumulate(x, axis=along, dtype=x.dtype))
    if exclusive:
        # Shifted, not undone by the inverse, which infinities and zeros do not have.
        first = tuple(slice(0, 1) if a == along else slice(None) for a in range(x.ndim))
        before = tuple(slice(0, -1) if a == along else slice(None) for a in range(x.ndim))
        y = np.concatenate([np.full_like(y[first], operation.identity), y[before]], axis=along)
    return np.asarray(np.flip(y, along) if reverse else y)


def cumulative_sum(x: Array, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Array:
    """CumSum-14: running sum of x along axis (one integer), shape unchanged; `reverse` runs from the end, `exclusive`
    leaves the own element out. Integers wrap."""
    return _running(np.add, x, axis, exclusive, reverse)


def cumulative_product(x: Array, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Array:
    """CumProd-26: running product of x along axis (one integer), shape unchanged; `reverse` runs from the end, `exclusive`
    leaves the own element out. Integers wrap."""
    return _running(np.multiply, x, axis, exclusive, reverse)


def top_k(x: Array, k: Array, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """TopK-24 (10, 11 alike): the k largest (or smallest) values along axis and their int64 indices, in order, the lower
    index first among equals. Raises ValueError if k exceeds the axis. Open in ONNX: the order without `sorted` (as with it
    here); NaN counts as largest here."""
    axis = axis_in(axis, x.ndim)
    count = int(single(k, "K"))
    if not 0 <= count <= x.shape[axis]:
        raise ValueError(f"k = {count} of an axis of {x.shape[axis]} elements")
    if largest:
        # Ascending order of the reversed axis, reversed: descending, and still stable.
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    index = np.take(order, np.arange(count), axis=axis).astype(np.int64)
    return np.take_along_axis(x, index, axis), index


def top_k_1(x: Array, *, k: int, axis: int = -1) -> tuple[Array, Array]:
    """TopK-1: `top_k` of the largest with k as an attribute."""
    return top_k(x, np.asarray(k), axis=axis)
