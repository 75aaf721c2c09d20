"""Conv, ConvTranspose, ConvInteger: patches and one batched matrix product per call, no loop over outputs.

Every function is linear in x and in w, so the verifier gets its magnitudes from the same functions applied to |x|, |w|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.windows import axes_of, windows

Array = NDArray[Any]


def _per_channel(b: Array, n_spatial: int) -> Array:
    return b.reshape(-1, *[1] * n_spatial)


def conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Conv-22 (1, 11 alike): x (N, C, spatial), w (M, C/group, kernel), b (M) → (N, M, outputs); padding is zeros.

    Raises ValueError for channels that do not match `group` or w, or a kernel that does not fit.
    """
    n, channels, kernel = x.shape[0], x.shape[1], w.shape[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} contradicts the weights' {kernel}")
    if channels != w.shape[1] * group or w.shape[0] % group:
        raise ValueError(f"{channels} channels in {group} groups do not fit weights of shape {w.shape}")
    axes = axes_of(x.shape[2:], kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    spatial, taps = len(axes), w.shape[1] * math.prod(kernel)
    view = windows(x, axes)
    outputs = view.shape[2 : 2 + spatial]
    # (N, C, outputs, kernel) → (N, C, kernel, outputs) → one matrix per image and group: (taps, positions)
    order = [0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial)]
    columns = view.transpose(order).reshape(n, group, taps, math.prod(outputs))
    y = np.matmul(w.reshape(group, w.shape[0] // group, taps), columns).reshape(n, w.shape[0], *outputs)
    return np.asarray(y if b is None else y + _per_channel(b, spatial))


def _transposed_pads(full: Sequence[int], wanted: Sequence[int], auto_pad: str) -> list[int]:
    """Elements to cut at the beginning of each axis so that `wanted` of `full` remain."""
    totals = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
    return [total // 2 if auto_pad == "SAME_UPPER" else total - total // 2 for total in totals]


def conv_transpose(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """ConvTranspose-22 (1 and 11 alike): x (N, C, spatial), w (C, M/group, kernel), b (M) → (N, M, outputs).

    `output_shape` overrides `pads`; where it asks for more than the taps reach, the end is filled with b (or 0).
    Version 1's sentence on SAME_UPPER contradicts its own attribute text; version 11 corrected it and every version is
    read like that.
    """
    n, channels, spatial, kernel = x.shape[0], x.shape[1], x.ndim - 2, w.shape[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} contradicts the weights' {kernel}")
    if channels != w.shape[0] or channels % group:
        raise ValueError(f"{channels} channels in {group} groups do not fit weights of shape {w.shape}")
    strides, dilations = strides or [1] * spatial, dilations or [1] * spatial
    extra, pads = output_padding or [0] * spatial, pads or [0] * 2 * spatial
    full = [
        s * (size - 1) + e + (k - 1) * d + 1
        for size, k, s, d, e in zip(x.shape[2:], kernel, strides, dilations, extra, strict=True)
    ]
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * s for size, s in zip(x.shape[2:], strides, strict=True)]
    if output_shape is not None:
        output_shape = output_shape[-spatial:]
        begins = _transposed_pads(full, output_shape, auto_pad)
    else:
        begins, ends = (list(pads[:spatial]), list(pads[spatial:])) if auto_pad == "NOTSET" else ([0] * spatial,) * 2
        output_shape = [f - begin - end for f, begin, end in zip(full, begins, ends, strict=True)]
    per_group = channels // group
    # one matrix product gives what every input position adds at every tap: (N, group, M/group, kernel, positions)
    matrix = w.reshape(group, per_group, -1).transpose(0, 2, 1)
    added = np.matmul(matrix, x.reshape(n, group, per_group, math.prod(x.shape[2:])))
    added = added.reshape(n, w.shape[1] * group, *kernel, *x.shape[2:])
    lengths = [max(f, begin + o) for f, begin, o in zip(full, begins, output_shape, strict=True)]
    canvas = np.zeros((n, w.shape[1] * group, *lengths), x.dtype)
    for tap in np.ndindex(*kernel):
        place: list[Any] = [
            slice(t * d, t * d + s * (size - 1) + 1, s)
            for t, d, s, size in zip(tap, dilations, strides, x.shape[2:], strict=True)
        ]
        canvas[(..., *place)] += added[(slice(None), slice(None), *tap)]
    kept: list[Any] = [slice(begin, begin + o) for begin, o in zip(begins, output_shape, strict=True)]
    y = canvas[(..., *kept)]
    return np.asarray(y if b is None else y + _per_channel(b, spatial))


def integer_accumulator(x: Array, w: Array, x_zero_point: Array | None, w_zero_point: Array | None, **attributes: Any) -> Array:
    """Exact sums Σ(x - x_zero_point)(w - w_zero_point) as float64 (8-bit data: below 2^53 for up to 2^37 terms).

    Padding stands for the real value 0, which is x's zero point.
    """
    centred = x.astype(np.float64) - (0 if x_zero_point is None else x_zero_point.astype(np.float64).reshape(()))
    weights = w.astype(np.float64)
    if w_zero_point is not None:
        weights = weights - _per_channel(w_zero_point.astype(np.float64), w.ndim - 1)
    return conv(centred, weights, **attributes)


def conv_integer(
    x: Array, w: Array, x_zero_point: Array | None = None, w_zero_point: Array | None = None, **attributes: Any
) -> Array:
    """ConvInteger-10: 8-bit x and w as Conv's, zero points scalar or (M) for w → int32, modulo 2^32."""
    exact = integer_accumulator(x, w, x_zero_point, w_zero_point, **attributes)
    return exact.astype(np.int64).astype(np.int32)
