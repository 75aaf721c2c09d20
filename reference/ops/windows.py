"""Sliding windows of convolution and pooling: padding, strides, dilations, as views of one array.

Spatial axes are all axes after batch and channel. Attributes are lists with one entry per spatial axis; `pads` is
[begin of every axis, end of every axis], as ONNX stores it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Axis:
    """The windows along one spatial axis; lengths in elements. A negative `begin` leaves elements out."""

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    outputs: int

    @property
    def reach(self) -> int:
        """Elements that the windows span together, padding included."""
        return (self.outputs - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    def counts(self, low: int = 0, high: int | None = None) -> Array:
        """How many elements at positions in [low, high), of x unless told otherwise, each window has: (outputs,)."""
        positions = np.arange(self.outputs)[:, None] * self.stride + np.arange(self.kernel) * self.dilation - self.begin
        return np.asarray(((positions >= low) & (positions < (self.size if high is None else high))).sum(axis=1))


def outer(counts: Sequence[Array]) -> Array:
    """Products of one number from each axis, float64 of the axes' lengths."""
    return functools.reduce(np.multiply.outer, counts, np.ones(()))


def axes_of(
    sizes: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> list[Axis]:
    """The windows along each spatial axis. Raises ValueError where a kernel does not fit into its padded axis.

    SAME_UPPER and SAME_LOWER: ceil(size/stride) outputs, an odd padding's extra element at the end or at the beginning.
    Source: Conv-11 and MaxPool-22. With `ceil_mode`, windows that would start in the padding at the end are left out in
    every version: before version 22 the text is silent, and such a window would hold no element at all.
    """
    n = len(kernel)
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n
    axes = []
    for i, (size, k, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        begin, end = (pads[i], pads[n + i]) if auto_pad == "NOTSET" else (0, 0)
        extent = (k - 1) * dilation + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            outputs = -(-size // stride)
            total = max((outputs - 1) * stride + extent - size, 0)
            begin, end = total // 2, total - total // 2
            if auto_pad == "SAME_LOWER":
                begin, end = end, begin
        else:
            free = size + begin + end - extent
            if free < 0 and (not ceil_mode or free <= -stride):
                raise ValueError(f"extent {extent} of the kernel exceeds axis {i}, padded {size + begin + end} long")
            outputs = (-(-free // stride) if ceil_mode else free // stride) + 1
            if ceil_mode and (outputs - 1) * stride >= size + begin:
                outputs -= 1
        axes.append(Axis(size, k, stride, dilation, begin, end, outputs))
    return axes


def padded(x: Array, axes: Sequence[Axis], value: Any = 0) -> Array:
    """x (..., spatial) with its spatial axes padded by `value` to exactly what the windows span; x itself where it fits."""
    leading = x.ndim - len(axes)
    lengths = [max(a.reach, 0) for a in axes]
    kept: list[Any] = [slice(max(-a.begin, 0), max(min(a.size, n - a.begin), 0)) for a, n in zip(axes, lengths, strict=True)]
    source = x[(..., *kept)]
    if source.shape[leading:] == tuple(lengths):
        return source
    result: Array = np.empty(x.shape[:leading] + tuple(lengths), x.dtype)
    begins = [max(a.begin, 0) for a in axes]
    place: list[Any] = [slice(b, b + n) for b, n in zip(begins, source.shape[leading:], strict=True)]
    for number, inner in enumerate(place):
        before = (slice(None),) * (leading + number)
        result[(*before, slice(inner.start))] = value
        result[(*before, slice(inner.stop, None))] = value
    result[(..., *place)] = source
    return result


def windows(x: Array, axes: Sequence[Axis], value: Any = 0) -> Array:
    """Read-only view (..., outputs of every axis, kernel of every axis) of the padded x (..., spatial)."""
    n = len(axes)
    leading = x.shape[: x.ndim - n]
    if any(a.outputs < 1 for a in axes):
        return np.empty((*leading, *[a.outputs for a in axes], *[a.kernel for a in axes]), x.dtype)
    full = padded(x, axes, value)
    extents = tuple((a.kernel - 1) * a.dilation + 1 for a in axes)
    view = np.lib.stride_tricks.sliding_window_view(full, extents, axis=tuple(range(len(leading), full.ndim)))
    steps: list[Any] = [slice(None, None, a.stride) for a in axes] + [slice(None, None, a.dilation) for a in axes]
    return view[(..., *steps)]
