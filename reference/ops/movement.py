"""Data movement and shapes: every result is exact, in the element type of its input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types

Array = NDArray[Any]
Integers = Sequence[int] | Array


def _ints(values: Iterable[Any]) -> list[int]:
    return [int(v) for v in values]


def identity(x: Array) -> Array:
    """Identity-25 (all versions): x."""
    return x


def reshape(data: Array, shape: Integers, *, allowzero: int = 0) -> Array:
    """Reshape-25 (all versions; 1: `shape` an attribute): 0 copies data's dimension unless `allowzero`.

    -1, at most once, takes what remains. Raises ValueError for a shape of another size, or -1 beside a length of 0.
    """
    wanted = _ints(shape)
    if not allowzero:
        wanted = [data.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return data.reshape(wanted)


def transpose(data: Array, *, perm: Sequence[int] | None = None) -> Array:
    """Transpose-25 (all versions): axis i of the result is axis perm[i] of data; without `perm`, axes in reverse."""
    return np.ascontiguousarray(data.transpose(perm)) if data.ndim else data


def flatten(x: Array, *, axis: int = 1) -> Array:
    """Flatten-25 (all versions): (product of the lengths before `axis`, product of the rest)."""
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def squeeze(data: Array, axes: Integers | None = None) -> Array:
    """Squeeze-25 (13 on; before, `axes` an attribute): drops the named axes of length 1, or all of them."""
    return data.squeeze() if axes is None else data.squeeze(axis=tuple(_ints(axes)))


def unsqueeze(data: Array, axes: Integers) -> Array:
    """Unsqueeze-25 (13 on; before, `axes` an attribute): new axes of length 1, numbered in the result."""
    return np.expand_dims(data, tuple(_ints(np.atleast_1d(axes))))


def concat(*inputs: Array, axis: int = 1) -> Array:
    """Concat-13 (all versions; only version 1 has a default axis): inputs joined along `axis`."""
    return np.concatenate(inputs, axis=axis)


def split(
    x: Array, split: Integers | None = None, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int = 1
) -> tuple[Array, ...]:
    """Split-18 (all versions; `split` an attribute in 2 and 11): parts of the given lengths, or equal ones.

    Chunks of ceil(length/parts), the last one smaller where `num_outputs` (18) does not divide. Raises ValueError where
    lengths do not add up, or an uneven split has no last chunk.
    """
    length = x.shape[axis]
    if split is None:
        parts = num_outputs or n_outputs
        chunk = -(-length // parts)
        lengths = [chunk] * (parts - 1) + [length - chunk * (parts - 1)]
    else:
        lengths = _ints(split)
    if sum(lengths) != length or min(lengths, default=0) < 0:
        raise ValueError(f"parts {lengths} do not make up an axis of length {length}")
    return tuple(np.split(x, np.cumsum(lengths[:-1], dtype=np.int64), axis=axis))


def _bounds(length: int, start: int, end: int, step: int) -> slice:
    """Slice-13's clamping: negative bounds count from the end, then the step's sign decides the limits."""
    start, end = start + length if start < 0 else start, end + length if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), length), min(max(end, 0), length), step)
    start, end = min(max(start, 0), length - 1), min(max(end, -1), length - 1)
    return slice(max(start, 0), None if end < 0 else end, step)


def slice_(data: Array, starts: Integers, ends: Integers, axes: Integers | None = None, steps: Integers | None = None) -> Array:
    """Slice-13 (10, 11 alike; version 1 with attributes and without steps): data[start:end:step] on each of `axes`."""
    named = range(len(starts)) if axes is None else _ints(axes)
    by = [1] * len(starts) if steps is None else _ints(steps)
    index = [slice(None)] * data.ndim
    for axis, start, end, step in zip(named, _ints(starts), _ints(ends), by, strict=True):
        if step == 0:
            raise ValueError("a slice's step cannot be 0")
        index[axis] = _bounds(data.shape[axis], start, end, step)
    return np.ascontiguousarray(data[tuple(index)]) if data.ndim else data


def _source(length: int, before: int, after: int, mode: str) -> Array:
    """For each position of a padded axis, the position of `length` that it copies."""
    position = np.arange(-before, length + after)
    if mode == "edge":
        return np.clip(position, 0, length - 1)
    if mode == "wrap":
        return position % length
    if mode != "reflect":
        raise ValueError(f"unknown padding mode {mode!r}")
    period = max(2 * (length - 1), 1)
    return np.minimum(position % period, -position % period)


def pad(
    data: Array,
    pads: Integers,
    constant_value: Array | None = None,
    axes: Integers | None = None,
    *,
    mode: str = "constant",
) -> Array:
    """Pad-25 (11 to 24 with their inputs): pads = [begin of each of `axes`, end of each].

    Modes: constant, reflect (the edge is not repeated), edge, wrap (19 on). Negative pads cut, before a mode looks at
    the data.
    """
    named = list(range(data.ndim)) if axes is None else [axis % data.ndim for axis in _ints(axes)]
    amounts = _ints(pads)
    fill = 0 if constant_value is None else np.asarray(constant_value).reshape(())
    for axis, before, after in zip(named, amounts[: len(named)], amounts[len(named) :], strict=True):
        length = data.shape[axis]
        kept = slice(max(-before, 0), max(length + min(after, 0), 0))
        data = data[(slice(None),) * axis + (kept,)]
        before, after = max(before, 0), max(after, 0)
        if mode == "constant":
            widths = [(0, 0)] * data.ndim
            widths[axis] = (before, after)
            result = np.full([n + sum(w) for n, w in zip(data.shape, widths, strict=True)], fill, data.dtype)
            result[(slice(None),) * axis + (slice(before, before + data.shape[axis]),)] = data
            data = result
        elif before or after:
            data = np.take(data, _source(data.shape[axis], before, after, mode), axis=axis)
    return data


def pad_2(data: Array, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad-2: as Pad-11, with attributes in place of inputs."""
    return pad(data, pads, np.asarray(value), mode=mode)


def pad_1(data: Array, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad-1: as Pad-2, under another name for the amounts."""
    return pad(data, paddings, np.asarray(value), mode=mode)


def expand(x: Array, shape: Integers) -> Array:
    """Expand-13 (8 alike): x broadcast with `shape`, both ways: a length of 1 in `shape` keeps x's."""
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(_ints(shape)))))


def tile(x: Array, repeats: Integers) -> Array:
    """Tile-13 (6 alike): x repeated repeats[i] times along axis i."""
    return np.tile(x, tuple(_ints(repeats)))


def tile_1(x: Array, tiles: Array, axis: Array) -> Array:
    """Tile-1: x repeated `tiles` times along one axis."""
    repeats = [1] * x.ndim
    repeats[int(axis.reshape(()))] = int(tiles.reshape(()))
    return np.tile(x, repeats)


def depth_to_space(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """DepthToSpace-13 (1: DCR): (N, C·b², H, W) → (N, C, H·b, W·b).

    Channel of (row, column) in a block: DCR (row·b + column)·C + c, CRD c·b² + row·b + column.
    """
    n, channels, height, width = x.shape
    b, depth = blocksize, channels // blocksize**2
    if mode == "DCR":
        blocks = x.reshape(n, b, b, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, depth, b, b, height, width).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, height * b, width * b)


def space_to_depth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """SpaceToDepth-28 (before it: DCR only): (N, C, H, W) → (N, C·b², H/b, W/b), the inverse of DepthToSpace."""
    n, channels, height, width = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = x.reshape(n, channels, height // b, b, width // b, b).transpose(order)
    return blocks.reshape(n, channels * b * b, height // b, width // b)


def trilu(x: Array, k: Array | None = None, *, upper: int = 1) -> Array:
    """Trilu-14: x (..., N, M), elements below (upper) or above the k-th diagonal replaced by 0."""
    diagonal = 0 if k is None else int(np.asarray(k).reshape(()))
    distance = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = distance >= diagonal if upper else distance <= diagonal
    return np.where(kept, x, np.zeros((), x.dtype))


def shape(data: Array, *, start: int = 0, end: int | None = None) -> Array:
    """Shape-25 (start, end from 15 on): int64 lengths of the axes start … end-1; bounds out of range are clamped."""
    return np.array(data.shape[start:end], np.int64)


def size(data: Array) -> Array:
    """Size-25 (all versions): the number of elements, a scalar int64."""
    return np.array(data.size, np.int64)


def constant_of_shape(lengths: Array, *, value: Array | None = None) -> Array:
    """ConstantOfShape-25 (all versions): a tensor of those lengths filled with `value` (default: float32 0)."""
    fill = np.zeros((), np.float64) if value is None else types.to_real(np.asarray(value)).reshape(())
    return np.full(tuple(_ints(lengths)), fill, fill.dtype)


def range_(start: Array, limit: Array, delta: Array) -> Array:
    """Range-11: start + i·delta for i < ceil((limit - start)/delta), the count in exact rational arithmetic."""
    first, last, by = (np.asarray(v).reshape(()) for v in (start, limit, delta))
    exact = [Fraction(v.item()) for v in (first, last, by)]
    count = max(math.ceil((exact[1] - exact[0]) / exact[2]), 0)
    return np.asarray(first + np.arange(count).astype(first.dtype) * by)


def eye_like(x: Array, *, dtype: int | None = None, k: int = 0) -> Array:
    """EyeLike-22 (9 alike): ones on the k-th diagonal, in x's shape and, unless `dtype` names another, x's type."""
    name = None if dtype is None else types.NAMES[dtype]
    target = x.dtype if name is None else np.dtype(np.float64) if types.is_float(name) else types.numpy_dtype(name)
    rows, columns = x.shape
    return np.asarray(np.eye(rows, columns, k=k).astype(target))


def reverse_sequence(x: Array, sequence_lens: Array, *, batch_axis: int = 1, time_axis: int = 0) -> Array:
    """ReverseSequence-10: the first sequence_lens[b] steps of each batch entry b in reverse, the rest as they are."""
    moved = np.moveaxis(x, (batch_axis, time_axis), (0, 1))
    step, length = np.arange(moved.shape[1]), sequence_lens[:, None]
    source = np.where(step < length, length - 1 - step, step)
    result = moved[np.arange(moved.shape[0])[:, None], source]
    return np.ascontiguousarray(np.moveaxis(result, (0, 1), (batch_axis, time_axis)))
