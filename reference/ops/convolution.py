"""Conv, ConvTranspose, ConvInteger: patches and matrix products, block by block, no loop over outputs.

Every function is linear in x and in w, so that `reference.magnitudes` applies the same functions to |x|, |w| and to squares.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import sums
from reference.ops.windows import Axis, axes_of, outer, windows

Array = NDArray[Any]

BLOCK = 2**18
"""Elements of patches that are laid out at once: 2 MiB, so that they are still in a cache when they are multiplied."""


def _per_channel(b: Array, n_spatial: int) -> Array:
    return b.reshape(-1, *[1] * n_spatial)


def _convolve(view: Array, w: Array, b: Array | None, y: Array) -> None:
    """Fills y (N, M, outputs) with the products of windows (N, C, outputs, kernel) and weights (group, M/group, C/group,
    kernel), plus b (M)."""
    spatial = y.ndim - 2
    n, group, taps = len(y), len(w), math.prod(w.shape[2:])
    weights = w.reshape(*w.shape[:2], taps)
    addends = () if b is None else (b.reshape(group, -1, 1),)
    blocks = max(1, -(-n * group * taps * math.prod(y.shape[2:]) // BLOCK))
    rows = max(1, -(-y.shape[2] // blocks))
    # (N, C, outputs, kernel) → (N, C, kernel, outputs) → one matrix per image and group: (taps, positions)
    patches = view.transpose(0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial))
    axis = (slice(None),) * (2 + spatial)
    for start in range(0, y.shape[2], rows):
        part = y[:, :, start : start + rows]
        columns = patches[(*axis, slice(start, start + rows))].reshape(n, group, taps, math.prod(part.shape[2:]))
        part[...] = sums.matmul(weights, columns, *addends).reshape(part.shape)


def _check(x: Array, w: Array, kernel_shape: Sequence[int] | None) -> None:
    if kernel_shape is not None and tuple(kernel_shape) != w.shape[2:]:
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} contradicts the weights' {w.shape[2:]}")


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
    _check(x, w, kernel_shape)
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group:
        raise ValueError(f"{x.shape[1]} channels in {group} groups do not fit weights of shape {w.shape}")
    axes = axes_of(x.shape[2:], w.shape[2:], strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    y = np.empty((x.shape[0], w.shape[0], *[a.outputs for a in axes]))
    _convolve(windows(x, axes), w.reshape(group, w.shape[0] // group, *w.shape[1:]), b, y)
    return y


def conv_terms(x: Array, w: Array, *, group: int = 1, kernel_shape: Sequence[int] | None = None, **layout: Any) -> Array:
    """Products in each output of `conv` of such inputs, padding not counted: (outputs)."""
    return float(w.shape[1]) * outer([a.counts() for a in axes_of(x.shape[2:], w.shape[2:], **layout)])


@dataclasses.dataclass(frozen=True)
class _Phase:
    """Every stride-th output of a transposed convolution along one axis: which ones, which taps of the kernel reach them (in
    descending order) and the windows of the input that those taps meet."""

    outputs: slice
    taps: slice
    axis: Axis


def _phases(size: int, kernel: int, stride: int, dilation: int, begin: int, length: int) -> list[_Phase]:
    """The phases that any tap reaches of `length` outputs, the first of which is element `begin` of the uncut result.

    Input i meets tap t in element i·stride + t·dilation of the uncut result.
    """
    common = math.gcd(stride, dilation)
    step = stride // common
    phases = []
    for first in range(min(stride, length)):
        whole, rest = divmod(first + begin, stride)
        taps = [t for t in range(min(step, kernel)) if (t * dilation - rest) % stride == 0]
        if taps:
            last = taps[0] + (kernel - 1 - taps[0]) // step * step
            axis = Axis(
                size,
                kernel=(last - taps[0]) // step + 1,
                stride=1,
                dilation=dilation // common,
                begin=(last * dilation - rest) // stride - whole,
                end=0,
                outputs=-(-(length - first) // stride),
            )
            phases.append(_Phase(slice(first, None, stride), slice(last, None, -step), axis))
    return phases


def _transposed_pads(full: Sequence[int], wanted: Sequence[int], auto_pad: str) -> list[int]:
    """Elements to cut at the beginning of each axis so that `wanted` of `full` remain."""
    totals = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
    return [total // 2 if auto_pad == "SAME_UPPER" else total - total // 2 for total in totals]


def _transposed_layout(
    sizes: Sequence[int],
    kernel: Sequence[int],
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> tuple[list[int], list[list[_Phase]]]:
    """The length of each axis of the result and its phases. Raises ValueError for a negative length."""
    spatial = len(sizes)
    strides, dilations = strides or [1] * spatial, dilations or [1] * spatial
    extra, pads = output_padding or [0] * spatial, pads or [0] * 2 * spatial
    full = [
        s * (size - 1) + e + (k - 1) * d + 1 for size, k, s, d, e in zip(sizes, kernel, strides, dilations, extra, strict=True)
    ]
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * s for size, s in zip(sizes, strides, strict=True)]
    if output_shape is not None:
        lengths = list(output_shape[-spatial:])
        begins = _transposed_pads(full, lengths, auto_pad)
    else:
        begins, ends = (list(pads[:spatial]), list(pads[spatial:])) if auto_pad == "NOTSET" else ([0] * spatial,) * 2
        lengths = [f - begin - end for f, begin, end in zip(full, begins, ends, strict=True)]
    if min(lengths, default=0) < 0:
        raise ValueError(f"pads {pads} cut more than the {full} elements that there are")
    return lengths, [_phases(*axis) for axis in zip(sizes, kernel, strides, dilations, begins, lengths, strict=True)]


def _add_without_padding(view: Array, axes: Sequence[Axis], w: Array, y: Array) -> None:
    """As `_convolve`, added to y tap by tap where the tap lies inside x: padding times an infinite weight would be NaN."""
    for tap in np.ndindex(*w.shape[3:]):
        shifts = [a.begin - t * a.dilation for t, a in zip(tap, axes, strict=True)]
        inside: list[Any] = [
            slice(max(shift, 0), max(min(a.outputs, a.size + shift), 0)) for shift, a in zip(shifts, axes, strict=True)
        ]
        part = y[(..., *inside)]
        met = view[(slice(None), slice(None), *inside, *tap)]
        columns = met.reshape(len(y), len(w), w.shape[2], math.prod(part.shape[2:]))
        part += np.matmul(w[(..., *tap)], columns).reshape(part.shape)


def conv_transpose(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    **layout: Any,
) -> Array:
    """ConvTranspose-22 (1 and 11 alike): x (N, C, spatial), w (C, M/group, kernel), b (M) → (N, M, outputs).

    `layout`: auto_pad, dilations, output_padding, output_shape, pads, strides. `output_shape` overrides `pads`; where it
    asks for more than the taps reach, the end is filled with b (or 0). Version 1's sentence on SAME_UPPER contradicts its
    own attribute text; version 11 corrected it and every version is read like that.
    """
    channels, spatial = x.shape[1], x.ndim - 2
    _check(x, w, kernel_shape)
    if channels != w.shape[0] or channels % group:
        raise ValueError(f"{channels} channels in {group} groups do not fit weights of shape {w.shape}")
    lengths, phases = _transposed_layout(x.shape[2:], w.shape[2:], **layout)
    y = np.empty((x.shape[0], w.shape[1] * group, *lengths))
    finite = bool(np.isfinite(w).all())
    if not finite or any(len(parts) < s for parts, s in zip(phases, layout.get("strides") or [1] * spatial, strict=True)):
        y[...] = 0.0 if b is None else _per_channel(b, spatial)  # where no tap reaches
    for parts in itertools.product(*phases):
        axes = [p.axis for p in parts]
        kernel: list[Any] = [p.taps for p in parts]
        outputs: list[Any] = [p.outputs for p in parts]
        taps = w[(..., *kernel)]
        weights = taps.reshape(group, channels // group, *taps.shape[1:]).swapaxes(1, 2)
        if finite:
            _convolve(windows(x, axes), weights, b, y[(..., *outputs)])
        else:
            _add_without_padding(windows(x, axes), axes, weights, y[(..., *outputs)])
    return y


def conv_transpose_terms(
    x: Array, w: Array, *, group: int = 1, kernel_shape: Sequence[int] | None = None, **layout: Any
) -> Array:
    """Products in each output of `conv_transpose` of such inputs: (outputs)."""
    counts = []
    lengths, phases = _transposed_layout(x.shape[2:], w.shape[2:], **layout)
    for length, parts in zip(lengths, phases, strict=True):
        counts.append(np.zeros(length))
        for p in parts:
            counts[-1][p.outputs] = p.axis.counts()
    return float(x.shape[1] // group) * outer(counts)


def centred(x: Array, w: Array, x_zero_point: Array | None, w_zero_point: Array | None) -> tuple[Array, Array]:
    """Integer x and w less their zero points (scalar, or (M) for w) as float64."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    if x_zero_point is not None:
        x = x - x_zero_point.astype(np.float64).reshape(())
    return x, w if w_zero_point is None else w - _per_channel(w_zero_point.astype(np.float64), w.ndim - 1)


def integer_accumulator(x: Array, w: Array, x_zero_point: Array | None, w_zero_point: Array | None, **attributes: Any) -> Array:
    """Exact sums Σ(x - x_zero_point)(w - w_zero_point) as float64 (8-bit data: below 2^53 for up to 2^37 terms).

    Padding stands for the real value 0, which is x's zero point.
    """
    return conv(*centred(x, w, x_zero_point, w_zero_point), **attributes)


def conv_integer(
    x: Array, w: Array, x_zero_point: Array | None = None, w_zero_point: Array | None = None, **attributes: Any
) -> Array:
    """ConvInteger-10: 8-bit x and w as Conv's, zero points scalar or (M) for w → int32, modulo 2^32."""
    return integer_accumulator(x, w, x_zero_point, w_zero_point, **attributes).astype(np.int64).astype(np.int32)
