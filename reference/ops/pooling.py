"""Pooling. Loops run over the taps of the kernel only; every step covers all windows of the tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reference.ops.windows import Axis, axes_of, windows

Array = NDArray[Any]


def _taps(x: Array, axes: Sequence[Axis], value: Any = 0) -> Iterator[Array]:
    """For each tap of the kernel, in row-major order, the element under it in every window: (N, C, outputs)."""
    view = windows(x, axes, value)
    for tap in np.ndindex(*[a.kernel for a in axes]):
        yield view[(..., *tap)]


def _counts(axes: Sequence[Axis], include_pad: int) -> Array:
    """Elements in each window (outputs), padding counted or not; what ceil_mode adds beyond never counts."""
    counts = np.ones((), np.float64)
    for a in axes:
        positions = np.arange(a.outputs)[:, None] * a.stride + np.arange(a.kernel) * a.dilation - a.begin
        low, high = (-a.begin, a.size + max(a.end, 0)) if include_pad else (0, a.size)
        counts = counts[..., None] * ((positions >= low) & (positions < high)).sum(axis=1)
    return counts


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
    """AveragePool-22 (7 to 19 with the attributes that they have): x (N, C, spatial) → (N, C, outputs).

    A window with no element that counts is 0/0 = NaN: ONNX leaves it open.
    """
    layout = {"strides": strides, "dilations": dilations, "pads": pads}
    axes = axes_of(x.shape[2:], kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    total = sum(_taps(x, axes), start=np.zeros(()))
    with np.errstate(invalid="ignore"):
        return np.asarray(total / _counts(axes, count_include_pad))


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
    axes = axes_of(x.shape[2:], kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    best = np.full((*x.shape[:2], *[a.outputs for a in axes]), lowest, x.dtype)
    if n_outputs == 1:
        for value in _taps(x, axes, lowest):
            best = np.maximum(best, value)
        return best
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
    """LpPool-22 (1 to 18 alike): (Σ|x|^p)^(1/p) of each window, (N, C, spatial) → (N, C, outputs)."""
    layout = {"strides": strides, "dilations": dilations, "pads": pads}
    axes = axes_of(x.shape[2:], kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode, **layout)
    return np.asarray(sum(_taps(np.abs(x) ** p, axes), start=np.zeros(())) ** (1 / p))


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def global_average_pool(x: Array) -> Array:
    """GlobalAveragePool-22: mean over the spatial axes, (N, C, spatial) → (N, C, 1, ...)."""
    return np.asarray(x.mean(axis=_spatial(x), keepdims=True))


def global_max_pool(x: Array) -> Array:
    """GlobalMaxPool-22: maximum over the spatial axes, (N, C, spatial) → (N, C, 1, ...); NaN wins."""
    return np.asarray(x.max(axis=_spatial(x), keepdims=True))


def global_lp_pool(x: Array, *, p: float = 2) -> Array:
    """GlobalLpPool-22 (1, 2 alike): (Σ|x|^p)^(1/p) over the spatial axes → (N, C, 1, ...)."""
    return np.asarray((np.abs(x) ** p).sum(axis=_spatial(x), keepdims=True) ** (1 / p))
