"""Gathering and scattering. Negative indices count from the end; indices out of range raise ValueError."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.arguments import axis_in, single

Array = NDArray[Any]

REDUCTIONS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _inside(indices: Array, length: int) -> Array:
    """The indices. Raises ValueError if one of them is none of an axis of that length."""
    outside = (indices < -length) | (indices >= length)
    if outside.any():
        raise ValueError(f"index {indices[outside][0]} of an axis of length {length}")
    return indices


def gather(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """Gather-13 (all versions): `axis` of data is replaced by the axes of indices."""
    axis = axis_in(axis, data.ndim)
    return np.take(data, _inside(indices, data.shape[axis]), axis=axis)


def _element_index(data: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    """Index arrays into data for each entry of indices: its own position, but indices' value along `axis`. Raises
    ValueError."""
    axis = axis_in(axis, data.ndim)
    if indices.ndim != data.ndim or any(n > m for n, m in zip(_without(indices, axis), _without(data, axis), strict=True)):
        raise ValueError(f"indices of shape {indices.shape} for data of shape {data.shape} and axis {axis}")
    index: list[Array] = list(np.indices(indices.shape, sparse=True))
    index[axis] = _inside(indices, data.shape[axis])
    return tuple(index)


def _without(x: Array, axis: int) -> tuple[int, ...]:
    return x.shape[:axis] + x.shape[axis + 1 :]


def gather_elements(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """GatherElements-13 (11 alike): data at each entry's own position, but with indices' value along `axis`."""
    return np.asarray(data[_element_index(data, indices, axis)])


def gather_nd(data: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """GatherND-13 (11, 12 alike): indices (batch, ..., k) → data[batch, i1, …, ik], (batch, ..., axes left)."""
    if not 0 <= batch_dims < min(data.ndim, indices.ndim) or data.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise ValueError(f"shapes {data.shape} and {indices.shape} do not have {batch_dims} batch axes in common")
    batch = np.indices(indices.shape[:-1], sparse=True)[:batch_dims]
    return np.asarray(data[(*batch, *_tuples(indices, data.shape[batch_dims:]))])


def _tuples(indices: Array, lengths: tuple[int, ...]) -> tuple[Array, ...]:
    """The columns of indices (..., k), one for each of the first k axes of those lengths. Raises ValueError."""
    if indices.ndim < 1 or not 1 <= indices.shape[-1] <= len(lengths):
        raise ValueError(f"indices of shape {indices.shape} for axes of lengths {lengths}")
    columns = np.moveaxis(indices, -1, 0)
    return tuple(_inside(column, length) for column, length in zip(columns, lengths, strict=False))


def _scattered(data: Array, index: tuple[Array, ...], updates: Array, shape: tuple[int, ...], reduction: str) -> Array:
    """Data with updates, which must have that shape, at index. Raises ValueError."""
    if updates.shape != shape:
        raise ValueError(f"updates of shape {updates.shape}, expected {shape}")
    if reduction != "none" and reduction not in REDUCTIONS:
        raise ValueError(f"reduction is none, {', '.join(REDUCTIONS)}, not {reduction!r}")
    result = np.array(data)
    if reduction == "none":
        result[index] = updates
    else:
        REDUCTIONS[reduction].at(result, index, updates)
    return result


def scatter_elements(data: Array, indices: Array, updates: Array, *, axis: int = 0, reduction: str = "none") -> Array:
    """ScatterElements-18 (all versions; Scatter): updates at each entry's position, but indices' value along `axis`.

    Reductions combine with what is there. Equal indices without a reduction: the last entry stays (ONNX forbids them).
    """
    return _scattered(data, _element_index(data, indices, axis), updates, indices.shape, reduction)


def scatter_nd(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """ScatterND-18 (all versions): updates (..., the axes left) put at data[i1, …, ik] for indices (..., k).

    Equal indices without a reduction: the last entry stays (ONNX forbids them).
    """
    index = _tuples(indices, data.shape)
    return _scattered(data, index, updates, indices.shape[:-1] + data.shape[len(index) :], reduction)


def _one_hot(indices: Array, depth: Array, values: Array, axis: int, *, negative: bool) -> Array:
    """values[1] where the new axis is at the index, truncated if real, else values[0]. Raises ValueError."""
    length = int(single(depth, "depth"))
    axis = axis_in(axis, indices.ndim + 1)
    if length < 0 or values.shape != (2,):
        raise ValueError(f"depth {length} and values of shape {values.shape}, expected a length and two values")
    whole = np.trunc(indices) if indices.dtype.kind == "f" else indices
    inside = (whole >= (-length if negative else 0)) & (whole < length)
    index = np.where(inside, whole, 0).astype(np.int64) % max(length, 1)
    hit = inside[..., None] & (index[..., None] == np.arange(length))
    return np.moveaxis(np.where(hit, values[1], values[0]), -1, axis)


def one_hot_9(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """OneHot-9: values = [off, on] on a new axis of length depth; indices outside [0, depth) give a row of off."""
    return _one_hot(indices, depth, values, axis, negative=False)


def one_hot(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """OneHot-28 (11 alike): as version 9, but indices from -depth on count from the end."""
    return _one_hot(indices, depth, values, axis, negative=True)


def nonzero(x: Array) -> Array:
    """NonZero-13 (9 alike): positions of the non-zero elements in row-major order, int64 (rank, count); "" is a string's
    zero."""
    if x.ndim == 0:
        return np.zeros((0, int(np.count_nonzero(x))), np.int64)
    return np.array(np.nonzero(x), np.int64)


def compress(x: Array, condition: Array, *, axis: int | None = None) -> Array:
    """Compress-28 (9, 11 alike): the slices along `axis`, or elements of x flattened, whose condition holds. A condition
    may be shorter than the axis. Raises ValueError if it is longer."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_in(axis, x.ndim)
    if condition.ndim != 1 or len(condition) > x.shape[axis]:
        raise ValueError(f"condition of shape {condition.shape} for an axis of length {x.shape[axis]}")
    return np.compress(condition, x, axis=axis)


def unique(x: Array, *, axis: int | None = None, sorted: int = 1) -> tuple[Array, Array, Array, Array]:
    """Unique-28 (11 alike): the distinct elements of x flattened, or its distinct slices along `axis`; int64 (first
    positions, the place of each element or slice in the result, counts).

    In ascending order (slices compare element by element), or by first occurrence where sorted = 0. Of equal values the first
    one stays, 0.0 and -0.0 being equal. Open in ONNX: NaN, here equal to itself and behind all numbers. Raises ValueError for
    an axis that x has not.
    """
    slices = x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis_in(axis, x.ndim), 0)
    # Ranks in place of values, because NumPy tells NaN from NaN in slices, and cannot sort slices of strings.
    _, rank = np.unique(slices, return_inverse=True)
    rows = rank.reshape(len(slices), math.prod(slices.shape[1:]))
    _, first, place, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        first, counts, place = first[order], counts[order], np.argsort(order)[place]
    y = x.reshape(-1)[first] if axis is None else np.take(x, first, axis=axis)
    return y, first.astype(np.int64), place.astype(np.int64), counts.astype(np.int64)
