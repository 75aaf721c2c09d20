"""Reductions, arg-reductions, running sums and TopK.

Every Reduce function has data of any rank, `axes` (an attribute before opset 13 or 18, an input after; None or empty:
all axes, or none with noop_with_empty_axes) and `keepdims`. Integer results have the type of data; sums and products
wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.conversion import integer_range, real_to_integer

Array = NDArray[Any]
Axes = Array | Sequence[int] | None


def _chosen(x: Array, axes: Axes, noop: int) -> tuple[int, ...]:
    """The axes to reduce, as numbers in [0, rank). Raises ValueError."""
    given = [] if axes is None else [int(a) for a in np.asarray(axes).reshape(-1)]
    if not given:
        return () if noop else tuple(range(x.ndim))
    return tuple(_axis(x, a) for a in given)


def _axis(x: Array, axis: int) -> int:
    """`axis` in [-rank, rank) as a number in [0, rank). Raises ValueError."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} of a tensor of rank {x.ndim}")
    return axis % x.ndim


def _like(y: Array, x: Array) -> Array:
    """The real y in the type of x: integers truncate toward zero."""
    return real_to_integer(y, x.dtype) if x.dtype.kind in "iu" else np.asarray(y)


def reduce_sum(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceSum-13: Σx; 0 over an empty set."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    return np.asarray(np.sum(x, axis=chosen, dtype=x.dtype, keepdims=bool(keepdims)))


def reduce_mean(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceMean-18: Σx/n. Open in ONNX: integers are the exact mean truncated toward zero, and the mean of nothing
    is NaN (0 for integers) here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    keep = bool(keepdims)
    n = int(np.prod([x.shape[a] for a in chosen], dtype=np.int64))
    if x.dtype.kind == "f":
        return np.asarray(np.sum(x, axis=chosen, keepdims=keep) / np.float64(n))
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
    return reduce_sum(x * x, axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)


def reduce_l1(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceL1-18: Σ|x|; 0 over an empty set."""
    return reduce_sum(np.abs(x), axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)


def reduce_l2(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceL2-18: √Σx²; 0 over an empty set. Open in ONNX: integers are computed in float64 and truncated
    here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    size = np.abs(x.astype(np.float64))
    largest = np.max(size, axis=chosen, keepdims=True, initial=0.0, where=np.isfinite(size))
    # A power of two scales without rounding and keeps the squares of 1e200 and 1e-200 in range.
    scale = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
    norm = np.sqrt(np.sum((size / scale) ** 2, axis=chosen, keepdims=True)) * scale
    return _like(norm if keepdims else np.squeeze(norm, axis=chosen), x)


def reduce_log_sum(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceLogSum-18: ln Σx; -inf over an empty set. Open in ONNX: integers are computed in float64 and truncated
    here."""
    total = reduce_sum(x.astype(np.float64), axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
    return _like(np.log(total), x)


def reduce_log_sum_exp(x: Array, axes: Axes = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
    """ReduceLogSumExp-18: ln Σe^x; -inf over an empty set. Open in ONNX: integers are computed in float64 and
    truncated here."""
    chosen = _chosen(x, axes, noop_with_empty_axes)
    real = x.astype(np.float64)
    largest = np.max(real, axis=chosen, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = np.log(np.sum(np.exp(real - shift), axis=chosen, keepdims=True)) + shift
    return _like(total if keepdims else np.squeeze(total, axis=chosen), x)


def _arg_extreme(x: Array, axis: int, keepdims: int, last: int, *, largest: bool) -> Array:
    """Index of the first (or last) extreme value along axis, int64."""
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


def cumulative_sum(x: Array, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Array:
    """CumSum-14: running sum of x along axis (one integer), shape unchanged; `reverse` runs from the end, `exclusive`
    leaves the own element out. Integers wrap."""
    along = _axis(x, int(np.asarray(axis).reshape(())))
    x = np.flip(x, along) if reverse else x
    y = np.cumsum(x, axis=along, dtype=x.dtype)
    if exclusive:
        # Shifted, not subtracted: sum - x would turn infinities into NaN.
        first = tuple(slice(0, 1) if a == along else slice(None) for a in range(x.ndim))
        before = tuple(slice(0, -1) if a == along else slice(None) for a in range(x.ndim))
        y = np.concatenate([np.zeros_like(y[first]), y[before]], axis=along)
    return np.asarray(np.flip(y, along) if reverse else y)


def top_k(x: Array, k: Array, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """TopK-11: the k largest (or smallest) values along axis and their int64 indices, in order, the lower index first
    among equals. Raises ValueError if k exceeds the axis. Open in ONNX: the order without `sorted` (as with it here);
    NaN counts as largest here."""
    count = int(np.asarray(k).reshape(()))
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
