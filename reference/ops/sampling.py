"""GridSample, AffineGrid, DeformConv: values between the elements of a tensor, at locations that are data themselves.

Location x = 0 is the middle of the first element of an axis. GridSample keeps it doubled, s = 2x = grid·m + length - 1 with a
whole m, together with what float64 lost of it: ends and half-ways are whole numbers then, and the side of them is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.exact import two_product, two_sum
from reference.ops.conversion import real_to_integer
from reference.ops.windows import axes_of

Array = NDArray[Any]
Taps = tuple[Array, Array]
"""Positions along one axis, int64 (N, points, taps), and their weights, float64 of that shape."""

MOVE = 2.0**-20
"""Ties are what a relative move of the coordinates by this much would decide otherwise."""

FAR = 2.0**900
"""Where infinite locations are put, and NaN on the negative side: products with lengths stay finite there."""

KERNELS = {"bilinear": "linear", "bicubic": "cubic"}
"""Version 16's names of the modes → those from version 20 on."""


def _ends(length: int, align_corners: int) -> tuple[int, int]:
    """Where the outside begins, doubled: at the middles of the end elements, or at their outer edges."""
    return (0, 2 * length - 2) if align_corners else (-1, 2 * length - 1)


def _finite(locations: Array) -> Array:
    return np.asarray(np.fmin(np.fmax(locations, -FAR), FAR))


def _doubled(grid: Array, length: int, align_corners: int) -> tuple[Array, Array]:
    """Doubled locations and the rest that they lack, for normalized coordinates along an axis of `length`."""
    product, rest = two_product(_finite(grid), float(length - 1 if align_corners else length))
    s, lost = two_sum(product, np.asarray(length - 1.0))
    return two_sum(s, lost + rest)


def _reflected(s: Array, rest: Array, low: int, high: int) -> tuple[Array, Array]:
    """Doubled locations outside the ends, reflected there until they are inside; ends that coincide leave one location."""
    if low == high:
        return np.full_like(s, low), np.zeros_like(s)
    span, below = 2.0 * (high - low), s < low
    # exact: the distance from the near end has no more digits than s, and neither fmod nor the return rounds
    distance = np.fmod(np.where(below, low - s, s - high), span)
    returned = distance > span / 2
    distance = np.where(returned, span - distance, distance)
    inside, lost = two_sum(np.where(below, low, high), np.where(below, distance, -distance))
    outside = below | (s > high)
    return np.where(outside, inside, s), np.where(outside, lost + np.where(returned, rest, -rest), rest)


def _placed(index: Array, length: int, padding_mode: str, align_corners: int) -> tuple[Array, Array]:
    """Positions within the axis for whole locations, and a mask of the locations that have an element."""
    whole = np.clip(index, -4, length + 3).astype(np.int64)
    inside = (whole >= 0) & (whole < length)
    if padding_mode == "reflection":
        period = max(2 * length - 2, 1) if align_corners else 2 * length
        whole = whole % period
        whole = np.where(whole < length, whole, (2 * length - 2 if align_corners else 2 * length - 1) - whole)
    return np.clip(whole, 0, length - 1), inside | (padding_mode != "zeros")


def _kernel(x: Array, mode: str) -> Taps:
    """Whole locations around x and their weights, a new last axis; cubic is Keys' kernel with a = -3/4, as in ONNX's cases."""
    first = np.floor(x)
    t = (x - first)[..., None]
    if mode == "linear":
        return first[..., None] + np.arange(2), np.concatenate([1 - t, t], axis=-1)
    a, near, far = -0.75, np.concatenate([t, 1 - t], axis=-1), np.concatenate([1 + t, 2 - t], axis=-1)
    inner, outer = ((a + 2) * near - (a + 3)) * near * near + 1, ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    weights = np.stack([outer[..., 0], inner[..., 0], inner[..., 1], outer[..., 1]], axis=-1)
    return first[..., None] + np.arange(-1, 3), weights


def _sampled(x: Array, axes: Sequence[Taps]) -> Array:
    """Σ over taps of weights·x: x (N, C, spatial), an entry per spatial axis → (N, C, points). Weight 0 adds nothing."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    finite = bool(np.isfinite(x).all())
    y = np.zeros((*x.shape[:2], axes[0][0].shape[1]), x.dtype if x.dtype.kind == "c" else np.float64)
    for tap in np.ndindex(*[position.shape[-1] for position, _ in axes]):
        index: Any = 0
        weight: Any = 1.0
        for (position, weights), k, length in zip(axes, tap, x.shape[2:], strict=True):
            index, weight = index * length + position[..., k], weight * weights[..., k]
        for image, total, where, factor in zip(flat, y, index, weight, strict=True):
            value = np.take(image, where, axis=1)
            total += factor * (value if finite else np.where(factor == 0, 0.0, value))
    return y


def _check_grid(x: Array, grid: Array, mode: str, padding_mode: str) -> str:
    """The name of the mode from version 20 on. Raises ValueError."""
    mode = KERNELS.get(mode, mode)
    if mode not in ("linear", "nearest", "cubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"unknown mode {mode!r} or padding_mode {padding_mode!r}")
    if x.ndim < 3 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != x.ndim - 2:
        raise ValueError(f"a grid of shape {grid.shape} does not fit x of shape {x.shape}")
    if 0 in x.shape[2:] and grid.size:
        raise ValueError(f"x of shape {x.shape} has no element to sample")
    if mode != "nearest" and x.dtype.kind == "O":
        raise ValueError(f"strings have no {mode} interpolation")
    return mode


def _axis_grids(x: Array, grid: Array) -> list[tuple[Array, int]]:
    """For each spatial axis its coordinates (N, points) and its length; grid lists the innermost axis first."""
    points = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1])
    return [(points[..., -1 - i], length) for i, length in enumerate(x.shape[2:])]


def _nearest(s: Array, rest: Array, length: int, padding_mode: str, align_corners: int) -> tuple[Array, Array]:
    """`_placed` of the nearest whole location, half-ways to the even one."""
    if padding_mode == "reflection":
        s, rest = _reflected(s, rest, *_ends(length, align_corners))
    half_way = np.fmod(np.abs(s), 2) == 1
    return _placed(np.rint(np.where(half_way, s + np.sign(rest), s) / 2), length, padding_mode, align_corners)


def _interpolation(s: Array, rest: Array, length: int, mode: str, padding_mode: str, align_corners: int) -> Taps:
    low, high = _ends(length, align_corners)
    if padding_mode == "reflection":
        s, _ = _reflected(s, rest, low, high)
    elif padding_mode == "border":
        s = np.where((s < low) | (s > high), np.clip(s, 0, 2 * length - 2), s)
    index, weights = _kernel(s / 2, mode)
    position, inside = _placed(index, length, padding_mode, align_corners)
    return position, np.where(inside, weights, 0.0)


def _from_real(y: Array, x: Array) -> Array:
    """Interpolated values in x's type: integers truncated as by Cast, with float64's own errors taken for none."""
    if x.dtype.kind not in "iu":
        return y.astype(x.dtype, copy=False)
    noise = 2.0**-44 * np.abs(x.astype(np.float64)).max(initial=1.0)
    return real_to_integer(np.where(np.abs(y - np.rint(y)) <= noise, np.rint(y), y), x.dtype)


def grid_sample(x: Array, grid: Array, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Array:
    """GridSample-22 (20 alike; 16 with its names of the modes): x (N, C, spatial), grid (N, outputs, rank of spatial) → (N, C,
    outputs).

    `border` brings a location outside to the end element, and so do taps of an inner location that reach out; reflection
    comes before rounding. Open in ONNX: NaN (outside here) and infinite locations, cubic's border, see `grid_sample_open`.
    Raises ValueError.
    """
    mode = _check_grid(x, grid, mode, padding_mode)
    axes = [(_doubled(g, length, align_corners), length) for g, length in _axis_grids(x, grid)]
    outputs = (*x.shape[:2], *grid.shape[1:-1])
    if mode != "nearest":
        taps = [_interpolation(*s, length, mode, padding_mode, align_corners) for s, length in axes]
        return _from_real(_sampled(x, taps), x).reshape(outputs)
    index, inside = np.zeros((), np.int64), np.ones((), bool)
    for s, length in axes:
        position, there = _nearest(*s, length, padding_mode, align_corners)
        index, inside = index * length + position, inside & there
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    value = np.take_along_axis(flat, index[:, None], axis=2)
    zero = "" if x.dtype.kind == "O" else x.dtype.type(0)
    return np.where(inside[:, None], value, zero).astype(x.dtype).reshape(outputs)


def grid_sample_ties(
    x: Array, grid: Array, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Array:
    """Mask of `grid_sample`'s ties, broadcastable to its result: half-way locations of nearest, whole values of integer
    tensors, which truncation may turn into the ones below."""
    mode = _check_grid(x, grid, mode, padding_mode)
    outputs = grid.shape[1:-1]
    if mode != "nearest" and x.dtype.kind in "iu":
        real = x.astype(np.float64)
        y = grid_sample(real, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)
        return np.asarray(np.abs(y - np.rint(y)) <= MOVE * (1 + sum(x.shape[2:])) * np.abs(real).max(initial=0.0))
    ties = np.zeros((grid.shape[0], math.prod(outputs)), bool)
    for g, length in _axis_grids(x, grid) if mode == "nearest" else []:
        s, rest = _doubled(g, length, align_corners)
        move = MOVE * (np.abs(s) + length)
        places = [_nearest(s + d, rest, length, padding_mode, align_corners) for d in (-move, move)]
        ties |= (places[0][0] != places[1][0]) | (places[0][1] != places[1][1])
    return ties.reshape(grid.shape[0], 1, *outputs)


def grid_sample_open(
    x: Array, grid: Array, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Array:
    """Mask of the elements that ONNX leaves open, broadcastable to the result: NaN and infinite locations, what a string
    outside is, and cubic with border less than an element outside, where the text brings the location to the border, and
    PyTorch, which it refers to, only the taps."""
    mode = _check_grid(x, grid, mode, padding_mode)
    marked = ~np.isfinite(grid).all(axis=-1).reshape(grid.shape[0], math.prod(grid.shape[1:-1]))
    for g, length in _axis_grids(x, grid) if mode == "cubic" and padding_mode == "border" else []:
        s, _ = _doubled(g, length, align_corners)
        low, high = _ends(length, align_corners)
        move = MOVE * (np.abs(s) + length)
        marked |= ((s > -2 - move) & (s < low + move)) | ((s > high - move) & (s < 2 * length + move))
    marked = marked.reshape(grid.shape[0], 1, *grid.shape[1:-1])
    if x.dtype.kind == "O":
        there = grid_sample(np.ones(x.shape), grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)
        marked = marked | (there == 0)
    return marked


def affine_grid(theta: Array, size: Array, *, align_corners: int = 0) -> Array:
    """AffineGrid-20: theta (N, r, r + 1) for size (N, C, r lengths), r = 2 or 3 → locations (N, lengths, r), the innermost
    axis first.

    Open in ONNX: an axis of one element with align_corners, which is at -1 and 1 at once (0 here). Raises ValueError.
    """
    lengths = [int(n) for n in size[2:]]
    rank = len(lengths)
    if rank not in (2, 3) or theta.shape != (int(size[0]), rank, rank + 1):
        raise ValueError(f"theta of shape {theta.shape} does not fit size {size.tolist()}")
    grid = theta[:, :, rank].reshape(-1, *[1] * rank, rank)
    for i, n in enumerate(lengths):
        steps = max(n - 1, 1) if align_corners else n
        place = (2.0 * np.arange(n) - (n - 1)) / max(steps, 1)
        grid = grid + theta[:, :, rank - 1 - i].reshape(-1, *[1] * rank, rank) * place.reshape(-1, *[1] * (rank - i))
    return np.asarray(grid)


def affine_grid_open(theta: Array, size: Array, *, align_corners: int = 0) -> Array:
    """Whether an axis of one element with align_corners leaves the result open, broadcastable to it."""
    return np.full((1,) * len(size), bool(align_corners and (size[2:] == 1).any()))


def _deformed(
    x: Array, w: Array, offset: Array, offset_group: int, kernel_shape: Sequence[int] | None, layout: dict[str, Any]
) -> tuple[list[Array], tuple[int, ...]]:
    """For each spatial axis the locations (N·offset_group, kernel, outputs), and the outputs. Raises ValueError."""
    kernel = w.shape[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} contradicts the weights' {kernel}")
    axes = axes_of(x.shape[2:], kernel, **layout)
    outputs, taps = tuple(a.outputs for a in axes), math.prod(kernel)
    if x.shape[1] % offset_group or offset.shape != (x.shape[0], offset_group * taps * len(axes), *outputs):
        raise ValueError(
            f"offset of shape {offset.shape} does not fit {x.shape[1]} channels in {offset_group} groups, "
            f"a kernel of {kernel} and outputs of {outputs}"
        )
    moved = offset.reshape(x.shape[0] * offset_group, taps, len(axes), math.prod(outputs))
    locations = []
    for i, a in enumerate(axes):
        tap, output = np.indices(kernel)[i].reshape(-1, 1), np.indices(outputs)[i].reshape(1, -1)
        locations.append(tap * a.dilation + output * a.stride - a.begin + moved[:, :, i])
    return locations, outputs


def deform_conv(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """DeformConv-22 (19 alike): x (N, C, spatial), w (M, C/group, kernel), offset (N, offset_group·taps·rank, outputs), b (M),
    mask (N, offset_group·taps, outputs) → (N, M, outputs).

    Elements around a location that are outside x count as zeros (equation 3 of the paper). See `deform_conv_open`. The
    mask's shape for other ranks than 2 in the text has a factor too many. Raises ValueError.
    """
    layout = {"dilations": dilations, "pads": pads, "strides": strides}
    locations, outputs = _deformed(x, w, offset, offset_group, kernel_shape, layout)
    n, channels, taps = x.shape[0], x.shape[1], math.prod(w.shape[2:])
    if channels != w.shape[1] * group or w.shape[0] % group:
        raise ValueError(f"{channels} channels in {group} groups do not fit weights of shape {w.shape}")
    if mask is not None and mask.shape != (n, offset_group * taps, *outputs):
        raise ValueError(f"mask of shape {mask.shape}, expected {(n, offset_group * taps, *outputs)}")
    axes = []
    for place, length in zip(locations, x.shape[2:], strict=True):
        index, weights = _kernel(_finite(place).reshape(n * offset_group, taps * math.prod(outputs)), "linear")
        position, inside = _placed(index, length, "zeros", 0)
        axes.append((position, np.where(inside, weights, 0.0)))
    grouped = x.reshape(n * offset_group, channels // offset_group, *x.shape[2:])
    columns = _sampled(grouped, axes).reshape(n * offset_group, channels // offset_group, taps, math.prod(outputs))
    if mask is not None:
        columns = columns * mask.reshape(n * offset_group, 1, taps, math.prod(outputs))
    matrix = w.reshape(group, w.shape[0] // group, w.shape[1] * taps)
    y = np.matmul(matrix, columns.reshape(n, group, w.shape[1] * taps, math.prod(outputs)))
    y = y.reshape(n, w.shape[0], *outputs)
    return np.asarray(y if b is None else y + b.reshape(-1, *[1] * len(outputs)))


def deform_conv_open(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    *,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    **others: Any,
) -> Array:
    """Mask of the elements that ONNX leaves open, broadcastable to the result: those with a location outside the padded input
    and less than an element away from x, which gives zero by the text and not quite zero by the paper that it refers to, and
    those with a location that is no finite number."""
    layout = {"pads": pads, "dilations": others.get("dilations"), "strides": others.get("strides")}
    locations, outputs = _deformed(x, w, offset, offset_group, kernel_shape, layout)
    rank = len(outputs)
    marked = np.zeros(locations[0].shape, bool)
    for i, (place, length) in enumerate(zip(locations, x.shape[2:], strict=True)):
        begin, end = (pads[i], pads[rank + i]) if pads else (0, 0)
        edge = ((place > -1) & (place < -begin)) | ((place > length - 1 + end) & (place < length))
        marked |= edge | ~np.isfinite(place)
    by_image = marked.reshape(x.shape[0], offset_group * math.prod(w.shape[2:]), math.prod(outputs))
    return by_image.any(axis=1).reshape(x.shape[0], 1, *outputs)
