"""Pooling. Loops run over the taps of the kernel only, of one axis at a time where they can; every step covers all windows
of the tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reference import exact
from reference.ops import sums
from reference.ops.windows import Axis, axes_of, outer, padded, windows

Array = NDArray[Any]


def _layout(x: Array, kernel_shape: Sequence[int], **attributes: Any) -> list[Axis]:
    """The windows along each spatial axis of x. Raises ValueError for attributes of another rank, and unless kernels,
    strides and dilations are positive.

    auto_pad="VALID" has the outputs of no padding, also with ceil_mode: so ONNX infers shapes, while its text has no more
    outputs with ceil_mode than without.
    """
    rank = x.ndim - 2
    lengths = {"kernel_shape": rank, "strides": rank, "dilations": rank, "pads": 2 * rank}
    for name, length in lengths.items():
        given = kernel_shape if name == "kernel_shape" else attributes[name]
        if given is not None and len(given) != length:
            raise ValueError(f"{name} has {len(given)} entries for {rank} spatial axes, expected {length}")
        if given is not None and name != "pads" and any(n < 1 for n in given):
            raise ValueError(f"{name} is {list(given)}, expected positive numbers")
    if attributes["auto_pad"] not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        raise ValueError(f"auto_pad is NOTSET, SAME_UPPER, SAME_LOWER or VALID, not {attributes['auto_pad']!r}")
    return axes_of(x.shape[2:], kernel_shape, **attributes)


def _taps(x: Array, axes: Sequence[Axis], value: Any = 0) -> Iterator[Array]:
    """For each tap of the kernel, in row-major order, the element under it in every window: (N, C, outputs)."""
    view = windows(x, axes, value)
    for tap in np.ndindex(*[a.kernel for a in axes]):
        yield view[(..., *tap)]


def _folded(operation: np.ufunc, x: Array, axes: Sequence[Axis], value: Any = 0) -> Array:
    """`operation` over the elements of each window, (N, C, outputs): axis by axis, since windows are boxes."""
    y = padded(x, axes, value)
    for number, a in enumerate(axes, start=x.ndim - len(axes)):
        before = (slice(None),) * number
        span = max((a.outputs - 1) * a.stride + 1, 0)
        taps = [y[(*before, slice(t * a.dilation, t * a.dilation + span, a.stride))] for t in range(a.kernel)]
        y = operation(taps[0], taps[1]) if len(taps) > 1 else taps[0]
        for tap in taps[2:]:
            operation(y, tap, out=y)
    return y


def _total(x: Array, axes: Sequence[Axis]) -> Array:
    """Sum of each window, (N, C, outputs)."""
    if exact.wanted():
        return exact.total(windows(x, axes), tuple(range(x.ndim, x.ndim + len(axes))))
    return _folded(np.add, x, axes)


def _counts(axes: Sequence[Axis], include_pad: int) -> Array:
    """Elements in each window (outputs), padding counted or not; what ceil_mode adds beyond never counts."""
    return outer([a.counts(-a.begin, a.size + max(a.end, 0)) if include_pad else a.counts() for a in axes])


def _axes(x: Array, kernel_shape: Sequence[int], **layout: Any) -> list[Axis]:
    """`_layout` of the attributes that a node has."""
    return _layout(
        x, kernel_shape, **{"auto_pad": "NOTSET", "ceil_mode": 0, "dilations": None, "pads": None, "strides": None, **layout}
    )


def window_counts(x: Array, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **layout: Any) -> tuple[Array, Array]:
    """How many elements each window of a pooling operator has, and what an average divides by: (outputs)."""
    axes = _axes(x, kernel_shape, **layout)
    return _counts(axes, 0), _counts(axes, count_include_pad)


def has_negative_padding(x: Array, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", **layout: Any) -> bool:
    """Whether an axis is longer than the windows that SAME_UPPER or SAME_LOWER lay out."""
    axes = _axes(x, kernel_shape, auto_pad=auto_pad, **layout)
    return auto_pad.startswith("SAME") and any(a.reach < a.size for a in axes)


def tied_windows(x: Array, *, kernel_shape: Sequence[int], **layout: Any) -> Array:
    """Mask (N, C, outputs) of the windows whose maximum occurs twice."""
    axes = _axes(x, kernel_shape, **layout)
    best, position = max_pool(x, kernel_shape=kernel_shape, n_outputs=2, **layout)
    inside = _taps(np.ones_like(x), axes)
    alike = ((tap == best) & (exists == 1) for tap, exists in zip(_taps(x, axes), inside, strict=True))
    return np.asarray(sum(alike, start=np.zeros(position.shape, int)) > 1)


def window_sums(x: Array, *, kernel_shape: Sequence[int], count_include_pad: int = 0, **layout: Any) -> Array:
    """What an average divides: sums of windows, (N, C, outputs)."""
    return _total(x, _axes(x, kernel_shape, **layout))


def average_pool(
    x: Array,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """AveragePool-22 (1 to 19 with the attributes that they have): x (N, C, spatial) → (N, C, outputs).

    A window with no element that counts is 0/0 = NaN: ONNX leaves it open.
    """
    layout = {"strides": strides, "dilations": dilations, "pads": pads}
    axes = _layout(x, kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    with np.errstate(invalid="ignore"):
        return np.asarray(_total(x, axes) / _counts(axes, count_include_pad))


def _flat_indices(shape: Sequence[int], storage_order: int) -> Array:
    """MaxPool's index of every element (N, C, spatial); column-major order concerns the spatial axes only."""
    order: Literal["F", "C"] = "F" if storage_order else "C"
    spatial = np.arange(math.prod(shape[2:]), dtype=np.int64).reshape(tuple(shape[2:]), order=order)
    planes = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape[0], shape[1], *[1] * spatial.ndim)
    return np.asarray(planes * spatial.size + spatial)


def max_pool(
    x: Array,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """MaxPool-22 (1 to 12 with their attributes): x (N, C, spatial) → Y and, if wanted, Indices: (N, C, outputs).

    Equal elements: the first in row-major order (ONNX leaves it open). NaN wins. A window wholly in padding gives the
    lowest value of the type (-inf for reals) and index -1.
    """
    layout = {"strides": strides, "dilations": dilations, "pads": pads}
    axes = _layout(x, kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    if n_outputs == 1:
        return _folded(np.maximum, x, axes, lowest)
    best = np.full((*x.shape[:2], *[a.outputs for a in axes]), lowest, x.dtype)
    where = np.full(best.shape, -1, np.int64)
    for value, index in zip(_taps(x, axes, lowest), _taps(_flat_indices(x.shape, storage_order), axes, -1), strict=True):
        taken = (index >= 0) & ((where < 0) | (value > best) | ((value != value) & (best == best)))
        best, where = np.where(taken, value, best), np.where(taken, index, where)
    return best, where


def lp_pool(
    x: Array,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    p: float = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """LpPool-22 (1 to 18 alike): (Σ|x|^p)^(1/p) of each window, (N, C, spatial) → (N, C, outputs). Raises ValueError
    unless p > 0: there is no such norm."""
    layout = {"strides": strides, "dilations": dilations, "pads": pads}
    axes = _layout(x, kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    size = np.abs(x)
    if p == 1:
        return _total(size, axes)
    scale = _scale(_folded(np.fmax, size, axes))
    return _root(sum((np.power(tap / scale, p) for tap in _taps(size, axes)), start=np.zeros(())), scale, p)


def _scale(largest: Array) -> Array:
    """Powers of two next to the largest values of windows, which scale without rounding and keep p-th powers in range."""
    return np.where(np.isfinite(largest) & (largest > 0), np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


def _root(total: Array, scale: Array, p: float) -> Array:
    """The p-th root of sums whose terms were scaled. Raises ValueError unless 0 < p < inf."""
    if not 0 < p < np.inf:
        raise ValueError(f"p is {p}, expected a positive number")
    return np.asarray(total ** (1 / p) * scale)


def _spatial(x: Array) -> tuple[int, ...]:
    """The axes after batch and channel. Raises ValueError where there are not even those."""
    if x.ndim < 2:
        raise ValueError(f"input of rank {x.ndim}, expected batch and channel at least")
    return tuple(range(2, x.ndim))


def global_average_pool(x: Array) -> Array:
    """GlobalAveragePool-22: mean over the spatial axes, (N, C, spatial) → (N, C, 1, ...)."""
    return sums.mean(x, _spatial(x), keepdims=True)


def global_max_pool(x: Array) -> Array:
    """GlobalMaxPool-22: maximum over the spatial axes, (N, C, spatial) → (N, C, 1, ...); NaN wins, nothing gives -inf."""
    return np.asarray(x.max(axis=_spatial(x), keepdims=True, initial=-np.inf))


def global_lp_pool(x: Array, *, p: float = 2) -> Array:
    """GlobalLpPool-22 (1, 2 alike): (Σ|x|^p)^(1/p) over the spatial axes → (N, C, 1, ...). Raises ValueError unless p > 0."""
    size = np.abs(x)
    scale = _scale(size.max(axis=_spatial(x), keepdims=True, initial=0.0, where=np.isfinite(size)))
    return _root(np.power(size / scale, p).sum(axis=_spatial(x), keepdims=True), scale, p)
