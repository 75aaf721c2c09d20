"""Data movement and shapes: every result is exact, in the element type of its input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from reference import dtypes as types
from reference.ops.arguments import axes_in, axis_in, border_in, single

Array = NDArray[Any]
Integers = Sequence[int] | Array


LARGEST_COUNT = 2**48
"""More elements than any memory holds; NumPy's own check overflows."""


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
    if any(n < -1 for n in wanted):
        raise ValueError(f"shape {wanted} has a length below -1")
    if not allowzero:
        if 0 in wanted[data.ndim :]:
            raise ValueError(f"shape {wanted} copies a length that shape {data.shape} does not have")
        wanted = [data.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return data.reshape(wanted)


def transpose(data: Array, *, perm: Sequence[int] | None = None) -> Array:
    """Transpose-25 (all versions): axis i of the result is axis perm[i] of data; without `perm`, axes in reverse."""
    if perm is not None and sorted(perm) != list(range(data.ndim)):
        raise ValueError(f"perm {list(perm)} is no permutation of the axes of a tensor of rank {data.ndim}")
    return data.transpose(perm)


def flatten(x: Array, *, axis: int = 1) -> Array:
    """Flatten-25 (all versions): (product of the lengths before `axis`, product of the rest)."""
    axis = border_in(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def squeeze(data: Array, axes: Integers | None = None) -> Array:
    """Squeeze-25 (13 on; before, `axes` an attribute): drops the named axes of length 1, or all of them."""
    return data.squeeze() if axes is None else data.squeeze(axis=axes_in(np.atleast_1d(axes), data.ndim))


def unsqueeze(data: Array, axes: Integers) -> Array:
    """Unsqueeze-25 (13 on; before, `axes` an attribute): new axes of length 1, numbered in the result."""
    given = np.atleast_1d(axes)
    return np.expand_dims(data, axes_in(given, data.ndim + given.size))


def concat(*inputs: Array, axis: int = 1) -> Array:
    """Concat-13 (all versions; only version 1 has a default axis): inputs joined along `axis`."""
    return np.concatenate(inputs, axis=axis)


def _parts(x: Array, lengths: Sequence[int], axis: int) -> tuple[Array, ...]:
    """x cut along axis. Raises ValueError where lengths do not add up."""
    if sum(lengths) != x.shape[axis] or min(lengths, default=0) < 0:
        raise ValueError(f"parts {list(lengths)} do not make up an axis of length {x.shape[axis]}")
    return tuple(np.split(x, np.cumsum(lengths[:-1], dtype=np.int64), axis=axis))


def split_1(
    x: Array, lengths: Array | None = None, *, axis: int = 0, split: Sequence[int] | None = None, n_outputs: int = 1
) -> tuple[Array, ...]:
    """Split-1: as Split-2, with the lengths as attribute or as input, which holds reals. Raises ValueError for both."""
    if lengths is not None and split is not None:
        raise ValueError("the lengths of the parts are given twice, as input and as attribute")
    return split_2(x, split if lengths is None else lengths, axis=axis, n_outputs=n_outputs)


def split_2(x: Array, split: Integers | None = None, *, axis: int = 0, n_outputs: int = 1) -> tuple[Array, ...]:
    """Split-13 (2, 11 alike, with `split` as attribute): parts of the given lengths, or equal ones. Raises ValueError."""
    axis = axis_in(axis, x.ndim)
    if split is not None:
        return _parts(x, _ints(split), axis)
    if x.shape[axis] % n_outputs:
        raise ValueError(f"an axis of length {x.shape[axis]} does not fall into {n_outputs} equal parts")
    return _parts(x, [x.shape[axis] // n_outputs] * n_outputs, axis)


def split(
    x: Array, split: Integers | None = None, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int = 1
) -> tuple[Array, ...]:
    """Split-18: parts of the given lengths, or chunks of ceil(length/num_outputs), the last one smaller where they do not
    divide evenly. Raises ValueError where lengths do not add up, an uneven split has no last chunk, or both are given."""
    axis = axis_in(axis, x.ndim)
    if split is not None and num_outputs is not None:
        raise ValueError("the parts are given twice, as input split and as attribute num_outputs")
    if split is not None:
        return _parts(x, _ints(split), axis)
    parts = n_outputs if num_outputs is None else num_outputs
    if parts < 1:
        raise ValueError(f"num_outputs is {parts}, expected a positive number")
    chunk = -(-x.shape[axis] // parts)
    return _parts(x, [chunk] * (parts - 1) + [x.shape[axis] - chunk * (parts - 1)], axis)


def _bounds(length: int, start: int, end: int, step: int) -> slice:
    """Slice-13's clamping: negative bounds count from the end, then the step's sign decides the limits."""
    start, end = start + length if start < 0 else start, end + length if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), length), min(max(end, 0), length), step)
    start, end = min(max(start, 0), length - 1), min(max(end, -1), length - 1)
    return slice(max(start, 0), None if end < 0 else end, step)


def slice_(data: Array, starts: Integers, ends: Integers, axes: Integers | None = None, steps: Integers | None = None) -> Array:
    """Slice-13 (10, 11 alike; version 1 with attributes and without steps): data[start:end:step] on each of `axes`.
    Raises ValueError."""
    named = axes_in(range(len(starts)) if axes is None else axes, data.ndim)
    by = [1] * len(starts) if steps is None else _ints(steps)
    if not len(starts) == len(ends) == len(named) == len(by):
        raise ValueError(f"{len(starts)} starts, {len(ends)} ends, {len(named)} axes and {len(by)} steps, expected one number")
    index: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(named, _ints(starts), _ints(ends), by, strict=True):
        if step == 0:
            raise ValueError("a slice's step cannot be 0")
        index[axis] = _bounds(data.shape[axis], start, end, step)
    return np.asarray(data[(..., *index)])


def _source(length: int, before: int, after: int, mode: str) -> Array:
    """For each position of a padded axis, the position of `length` that it copies. Raises ValueError."""
    if length == 0:
        raise ValueError(f"mode {mode} has nothing to copy along an axis of length 0")
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

    Modes: constant (0, false or an empty string by default), reflect (the edge is not repeated), edge, wrap (19 on).
    Negative pads cut, before a mode looks at the data. Raises ValueError, also where more is cut than there is.
    """
    named = tuple(range(data.ndim)) if axes is None else axes_in(axes, data.ndim)
    amounts = _ints(pads)
    if len(amounts) != 2 * len(named):
        raise ValueError(f"{len(amounts)} pads for {len(named)} axes, expected two for each")
    fill = ("" if data.dtype == object else 0) if constant_value is None else single(constant_value, "constant_value")
    shape = list(data.shape)
    kept: list[Any] = [slice(None)] * data.ndim
    inner: list[Any] = [slice(None)] * data.ndim
    for axis, before, after in zip(named, amounts[: len(named)], amounts[len(named) :], strict=True):
        length = data.shape[axis]
        if length + min(before, 0) + min(after, 0) < 0:
            raise ValueError(f"pads {before} and {after} cut more than the {length} elements of axis {axis}")
        kept[axis] = slice(max(-before, 0), max(length + min(after, 0), 0))
        inner[axis] = slice(max(before, 0), length + before + min(after, 0))
        shape[axis] = length + before + after
    result = np.full(shape, fill, data.dtype) if mode == "constant" else np.empty(shape, data.dtype)
    result[(..., *inner)] = data[(..., *kept)]
    for axis in named if mode != "constant" else ():
        # only the border is copied; what it copies is complete along the axes before
        first, last = inner[axis].start, inner[axis].stop
        border = np.r_[0:first, last : shape[axis]]
        if border.size:
            source = _source(last - first, first, shape[axis] - last, mode)
            result[(slice(None),) * axis + (border,)] = np.take(result, first + source[border], axis=axis)
    return result


def pad_2(data: Array, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad-2: as Pad-11, with attributes in place of inputs."""
    return pad(data, pads, np.asarray(value), mode=mode)


def pad_1(data: Array, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad-1: as Pad-2, under another name for the amounts."""
    return pad(data, paddings, np.asarray(value), mode=mode)


def center_crop_pad(data: Array, shape: Integers, *, axes: Sequence[int] | None = None) -> Array:
    """CenterCropPad-18: each of `axes` cut or padded with zeros (or empty strings) to the length that `shape` names, half
    at the beginning and half at the end, where an odd difference has its extra element. Raises ValueError."""
    named = axes_in(range(data.ndim) if axes is None else axes, data.ndim)
    wanted = _ints(shape)
    if len(wanted) != len(named) or min(wanted, default=0) < 0:
        raise ValueError(f"shape {wanted} for {len(named)} axes, expected a length for each")
    totals = [n - data.shape[axis] for n, axis in zip(wanted, named, strict=True)]
    before = [total // 2 if total > 0 else -(-total // 2) for total in totals]
    return pad(data, [*before, *(total - b for total, b in zip(totals, before, strict=True))], None, named)


def expand(x: Array, shape: Integers) -> Array:
    """Expand-13 (8 alike): x broadcast with `shape`, both ways: a length of 1 in `shape` keeps x's."""
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(_ints(shape)))))


def tile(x: Array, repeats: Integers) -> Array:
    """Tile-13 (6 alike): x repeated repeats[i] times along axis i."""
    times = _ints(repeats)
    if len(times) != x.ndim or any(n < 0 for n in times):
        raise ValueError(f"repeats {times} of a tensor of rank {x.ndim}, expected one number for each axis")
    return np.tile(x, times)


def tile_1(x: Array, tiles: Array, axis: Array) -> Array:
    """Tile-1: x repeated `tiles` times along one axis; both numbers are reals."""
    repeats = [1] * x.ndim
    repeats[axis_in(int(single(axis, "axis")), x.ndim)] = int(single(tiles, "tiles"))
    return tile(x, repeats)


def _image(x: Array, mode: str) -> tuple[int, int, int, int]:
    """The shape of x. Raises ValueError unless it is (N, C, H, W) and `mode` is one of the two."""
    if mode not in ("DCR", "CRD"):
        raise ValueError(f"mode is DCR or CRD, not {mode!r}")
    if x.ndim != 4:
        raise ValueError(f"input of rank {x.ndim}, expected (N, C, H, W)")
    return x.shape[0], x.shape[1], x.shape[2], x.shape[3]


def depth_to_space(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """DepthToSpace-13 (1: DCR): (N, C·b², H, W) → (N, C, H·b, W·b).

    Channel of (row, column) in a block: DCR (row·b + column)·C + c, CRD c·b² + row·b + column.
    """
    n, channels, height, width = _image(x, mode)
    if blocksize < 1 or channels % blocksize**2:
        raise ValueError(f"{channels} channels do not make up blocks of {blocksize}·{blocksize}")
    b, depth = blocksize, channels // blocksize**2
    if mode == "DCR":
        blocks = x.reshape(n, b, b, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, depth, b, b, height, width).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, height * b, width * b)


def space_to_depth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """SpaceToDepth-28 (before it: DCR only): (N, C, H, W) → (N, C·b², H/b, W/b), the inverse of DepthToSpace."""
    n, channels, height, width = _image(x, mode)
    b = blocksize
    if b < 1 or height % b or width % b:
        raise ValueError(f"an image of {height}·{width} does not fall into blocks of {b}·{b}")
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = x.reshape(n, channels, height // b, b, width // b, b).transpose(order)
    return blocks.reshape(n, channels * b * b, height // b, width // b)


def trilu(x: Array, k: Array | None = None, *, upper: int = 1) -> Array:
    """Trilu-14: x (..., N, M), elements below (upper) or above the k-th diagonal replaced by 0."""
    if x.ndim < 2:
        raise ValueError(f"input of rank {x.ndim}, expected matrices")
    diagonal = 0 if k is None else int(single(k, "k"))
    distance = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = distance >= diagonal if upper else distance <= diagonal
    return np.where(kept, x, np.zeros((), x.dtype) if x.dtype != object else "")


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


def dense(sparse: onnx.SparseTensorProto) -> Array:
    """A sparse tensor with 0 (or "") in its gaps; its indices are linear, or one row of coordinates per value."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    lengths = np.array([math.prod(sparse.dims)] if indices.ndim == 1 else sparse.dims)
    if indices.ndim == 2 and indices.shape[1] != len(lengths):
        raise ValueError(f"coordinates of shape {indices.shape} for a sparse tensor of shape {tuple(sparse.dims)}")
    if np.any((indices < 0) | (indices >= lengths)):
        raise ValueError(f"an index lies outside of the sparse tensor's shape {tuple(sparse.dims)}")
    result = np.full(tuple(sparse.dims), "" if types.name_of(values.dtype) == "str" else 0, values.dtype)
    if indices.ndim == 1:
        result.reshape(-1)[indices] = values
    else:
        result[tuple(indices.T)] = values
    return result


def constant(
    *,
    value: Array | None = None,
    sparse_value: onnx.SparseTensorProto | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_string: str | None = None,
    value_strings: Sequence[str] | None = None,
) -> Array:
    """Constant-25 (all versions): the one attribute given, as a tensor; sparse_value from 11 on, value_* from 12 on.

    value_float, value_int and value_string are scalars, their plurals 1-D. Raises ValueError unless exactly one is given.
    """
    lists = {"float64": (value_float, value_floats), "int64": (value_int, value_ints), "str": (value_string, value_strings)}
    given = [np.array(v, types.numpy_dtype(name)) for name, pair in lists.items() for v in pair if v is not None]
    tensors = (value, None if sparse_value is None else dense(sparse_value))
    given += [types.to_real(v) for v in tensors if v is not None]
    if len(given) != 1:
        raise ValueError(f"a Constant has exactly one of its value attributes, not {len(given)}")
    return given[0]


def range_(start: Array, limit: Array, delta: Array, *, stash_type: int = 1) -> Array:
    """Range-27 (11 alike): start + i·delta for i < ceil((limit - start)/delta), the count in exact rational arithmetic;
    `stash_type` names a precision and so changes no real value. Raises ValueError for a delta of 0, infinities and NaN."""
    first, last, by = (single(v, name) for v, name in ((start, "start"), (limit, "limit"), (delta, "delta")))
    if by == 0 or not all(np.isfinite([first, last, by])):
        raise ValueError(f"there is no range from {first} to {last} by {by}")
    exact = [Fraction(v.item()) for v in (first, last, by)]
    count = max(math.ceil((exact[1] - exact[0]) / exact[2]), 0)
    if count > LARGEST_COUNT:
        raise ValueError(f"a range of {count} elements")
    return np.asarray(first + np.arange(count).astype(first.dtype) * by)


def eye_like(x: Array, *, dtype: int | None = None, k: int = 0) -> Array:
    """EyeLike-22 (9 alike): ones on the k-th diagonal, in x's shape and, unless `dtype` names another, x's type."""
    name = None if dtype is None else types.NAMES[dtype]
    target = x.dtype if name is None else np.dtype(np.float64) if types.is_float(name) else types.numpy_dtype(name)
    if x.ndim != 2:
        raise ValueError(f"input of rank {x.ndim}, expected a matrix")
    rows, columns = x.shape
    return np.asarray(np.eye(rows, columns, k=k).astype(target))


def reverse_sequence(x: Array, sequence_lens: Array, *, batch_axis: int = 1, time_axis: int = 0) -> Array:
    """ReverseSequence-28 (10 alike): the first sequence_lens[b] steps of each batch entry b in reverse, the rest as they
    are. Raises ValueError."""
    if x.ndim < 2 or sorted((batch_axis, time_axis)) != [0, 1]:
        raise ValueError(f"batch axis {batch_axis} and time axis {time_axis} of rank {x.ndim}, expected axes 0 and 1")
    inside = (sequence_lens >= 0) & (sequence_lens <= x.shape[time_axis])
    if sequence_lens.shape != (x.shape[batch_axis],) or not inside.all():
        raise ValueError(f"sequence_lens {sequence_lens.tolist()} for an input of shape {x.shape}")
    moved = np.moveaxis(x, (batch_axis, time_axis), (0, 1))
    step, length = np.arange(moved.shape[1]), sequence_lens[:, None]
    source = np.where(step < length, length - 1 - step, step)
    result = moved[np.arange(moved.shape[0])[:, None], source]
    return np.ascontiguousarray(np.moveaxis(result, (0, 1), (batch_axis, time_axis)))
