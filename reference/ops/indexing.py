"""Gathering and scattering. Negative indices count from the end; indices out of range raise IndexError."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

REDUCTIONS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def gather(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """Gather-13 (all versions): `axis` of data is replaced by the axes of indices."""
    return np.take(data, indices, axis=axis)


def _element_index(data: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    """Index arrays into data for each entry of indices: its own position, but indices' value along `axis`."""
    index: list[Array] = list(np.indices(indices.shape, sparse=True))
    index[axis] = indices
    return tuple(index)


def gather_elements(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """GatherElements-13 (11 alike): data at each entry's own position, but with indices' value along `axis`."""
    return np.asarray(data[_element_index(data, indices, axis)])


def gather_nd(data: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """GatherND-13 (11, 12 alike): indices (batch, ..., k) → data[batch, i1, …, ik], (batch, ..., axes left)."""
    batch = np.indices(indices.shape[:-1], sparse=True)[:batch_dims]
    return np.asarray(data[(*batch, *np.moveaxis(indices, -1, 0))])


def _scattered(data: Array, index: tuple[Array, ...], updates: Array, reduction: str) -> Array:
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
    return _scattered(data, _element_index(data, indices, axis), updates, reduction)


def scatter_nd(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """ScatterND-18 (all versions): updates (..., the axes left) put at data[i1, …, ik] for indices (..., k).

    Equal indices without a reduction: the last entry stays (ONNX forbids them).
    """
    return _scattered(data, tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


def _one_hot(hit: Array, values: Array, axis: int) -> Array:
    return np.moveaxis(np.where(hit, values[1], values[0]), -1, axis)


def one_hot_9(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """OneHot-9: values = [off, on] on a new axis of length depth; indices outside [0, depth) give a row of off."""
    classes = np.arange(int(np.asarray(depth).reshape(())))
    return _one_hot(indices.astype(np.int64)[..., None] == classes, values, axis)


def one_hot(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """OneHot-11: as version 9, but indices from -depth on count from the end."""
    length = int(np.asarray(depth).reshape(()))
    whole = indices.astype(np.int64)
    whole = np.where(whole < 0, whole + length, whole)
    return _one_hot(whole[..., None] == np.arange(length), values, axis)


def nonzero(x: Array) -> Array:
    """NonZero-13 (9 alike): positions of the non-zero elements in row-major order, int64 (rank, count)."""
    if x.ndim == 0:
        return np.zeros((0, int(x != 0)), np.int64)
    return np.array(np.nonzero(x), np.int64)


def compress(x: Array, condition: Array, *, axis: int | None = None) -> Array:
    """Compress-11 (9 alike): the slices along `axis`, or elements of x flattened, whose condition holds."""
    return np.compress(condition, x, axis=axis)
