"""Gathering and scattering: indices from both ends, repeated ones where that is defined, no indices at all."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from reference import dtypes

from ..samples import Array, Sample, any_shape, array, axis_of, call, kinds_of, shapes, version_of

INT64, INT32 = np.int64, np.int32


def _data(draw: st.DrawFn, operator: str, version: int, shape: tuple[int, ...], index: int = 0) -> Array:
    """Values of one of the types that the operator takes, special ones among them."""
    kind = draw(st.sampled_from(kinds_of(operator, version, index)))
    return array(draw, shape, kind, specials=True, extremes=True)


def _like(draw: st.DrawFn, x: Array, shape: tuple[int, ...]) -> Array:
    return array(draw, shape, dtypes.name_of(x.dtype), specials=True, extremes=True)


def _random(draw: st.DrawFn) -> np.random.Generator:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def _indices(draw: st.DrawFn, shape: tuple[int, ...], length: int, *, negative: bool) -> Array:
    """Positions on an axis of that length, some counted from the end; int32 or int64."""
    kind = draw(st.sampled_from([INT64, INT32]))
    return _random(draw).integers(-length if negative else 0, max(length, 1), shape).astype(kind)


def _gather(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Gather"), any_shape(draw, 1, 4, 4)
    axis = axis_of(draw, len(shape), negative=version >= 11) if draw(st.booleans()) else None
    length = shape[axis or 0]
    indices = _indices(draw, any_shape(draw, max_dims=3) if length else (0,), length, negative=version >= 11)
    return call("Gather", [_data(draw, "Gather", version, shape), indices], version=version, axis=axis)


def _inside(draw: st.DrawFn, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape of indices: another length along the axis, elsewhere at most the data's."""
    lengths = [draw(st.integers(1, n)) if n and draw(st.booleans()) else n for n in shape]
    lengths[axis] = draw(st.integers(0, 5)) if shape[axis] else 0
    return tuple(lengths)


def _gather_elements(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "GatherElements"), any_shape(draw, 1, 4, 4)
    axis = axis_of(draw, len(shape))
    indices = _indices(draw, _inside(draw, shape, axis), shape[axis], negative=True)
    return call("GatherElements", [_data(draw, "GatherElements", version, shape), indices], version=version, axis=axis)


def _tuples(draw: st.DrawFn, batch: tuple[int, ...], lengths: tuple[int, ...], *, distinct: bool) -> Array:
    """Tuples of positions, in the axes of `batch`, on as many of the axes as they have entries; negative ones too."""
    depth = draw(st.integers(1, len(lengths)))
    space = lengths[:depth]
    size = math.prod(space)
    shape = (*batch, *draw(shapes(0, 2, 1, 3))) if size else (*batch, 0)
    count = math.prod(shape)
    random = _random(draw)
    if distinct and count > size:
        shape, count = (size,), size
    flat = random.permutation(size)[:count] if distinct else random.integers(0, size, count)
    found = np.stack(np.unravel_index(flat, space), -1).reshape(*shape, depth)
    negative = random.random(found.shape) < 0.3
    return np.where(negative, found - np.array(space), found).astype(INT64)


def _gather_nd(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "GatherND"), any_shape(draw, 1, 4, 4)
    batch = draw(st.integers(0, len(shape) - 1)) if version >= 12 else 0
    indices = _tuples(draw, shape[:batch], shape[batch:], distinct=False)
    x = _data(draw, "GatherND", version, shape)
    return call("GatherND", [x, indices], version=version, batch_dims=batch or None)


def _reduction(draw: st.DrawFn, version: int, kind: str) -> str | None:
    """How a scattering version combines; numbers only, because sums of strings and booleans are open."""
    names = [None, *(["none", "add", "mul"] if version >= 16 else []), *(["min", "max"] if version >= 18 else [])]
    numbers = kind not in ("str", "bool") and not kind.startswith("complex")
    return draw(st.sampled_from(names if numbers else names[:2]))


def _distinct(draw: st.DrawFn, shape: tuple[int, ...], axis: int, length: int, *, negative: bool) -> Array:
    """Positions on an axis of that length, none of them twice along it."""
    random = _random(draw)
    lengths = list(shape)
    lengths[axis] = length
    every = random.random(lengths).argsort(axis)
    found = np.take(every, np.arange(min(shape[axis], length)), axis)
    from_end = negative & (random.random(found.shape) < 0.3)
    return (found - length * from_end).astype(draw(st.sampled_from([INT64, INT32])))


def _scatter_elements(operator: str, draw: st.DrawFn) -> Sample:
    """Scatter and ScatterElements: equal indices only where updates are combined."""
    version, shape = version_of(draw, operator, until=10 if operator == "Scatter" else 28), any_shape(draw, 1, 4, 4)
    negative = operator != "Scatter"
    axis = axis_of(draw, len(shape), negative=negative)
    x = _data(draw, operator, version, shape)
    reduction = _reduction(draw, version, dtypes.name_of(x.dtype))
    wanted = _inside(draw, shape, axis)
    if reduction in (None, "none"):
        indices = _distinct(draw, wanted, axis, shape[axis], negative=negative)
    else:
        indices = _indices(draw, wanted, shape[axis], negative=negative)
    inputs = [x, indices, _like(draw, x, indices.shape)]
    return call(operator, inputs, version=version, axis=axis or None, reduction=reduction)


def _scatter_nd(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "ScatterND"), any_shape(draw, 1, 4, 4)
    x = _data(draw, "ScatterND", version, shape)
    reduction = _reduction(draw, version, dtypes.name_of(x.dtype))
    indices = _tuples(draw, (), shape, distinct=reduction in (None, "none"))
    updates = _like(draw, x, (*indices.shape[:-1], *shape[indices.shape[-1] :]))
    return call("ScatterND", [x, indices, updates], version=version, reduction=reduction)


def _one_hot(draw: st.DrawFn) -> Sample:
    """Indices inside and outside of the depth, whole and not; often of types that most peers take."""
    version, shape = version_of(draw, "OneHot"), any_shape(draw, min_dims=1, max_dims=3)
    usual = ("int64", "int32", "float32") if draw(st.booleans()) else None
    kinds = [draw(st.sampled_from(usual or kinds_of("OneHot", version, i))) for i in range(3)]
    depth = draw(st.integers(1, 5))
    indices = array(draw, shape, kinds[0], draw(st.integers(-depth - 2, 0)), draw(st.integers(1, depth + 1)))
    if draw(st.booleans()):
        indices = np.trunc(indices).astype(indices.dtype)
    sizes = np.full((1,) if draw(st.integers(0, 3)) == 3 else (), depth).astype(dtypes.numpy_dtype(kinds[1]))
    axis = draw(st.none() | st.integers(-len(shape) - 1, len(shape)))
    return call("OneHot", [indices, sizes, array(draw, (2,), kinds[2], specials=True)], version=version, axis=axis)


def _nonzero(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "NonZero")
    x = _data(draw, "NonZero", version, any_shape(draw))
    nothing = "" if x.dtype == object else np.zeros((), x.dtype)
    return call("NonZero", [np.where(_random(draw).random(x.shape) < 0.5, x, nothing).astype(x.dtype)], version=version)


def _compress(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Compress"), any_shape(draw, min_dims=1)
    axis = axis_of(draw, len(shape), negative=version >= 11) if draw(st.booleans()) else None
    length = math.prod(shape) if axis is None else shape[axis]
    condition = array(draw, (draw(st.integers(0, length)),), "bool")
    return call("Compress", [_data(draw, "Compress", version, shape), condition], version=version, axis=axis)


def _unique(draw: st.DrawFn) -> Sample:
    """Few distinct values, so that they repeat, also as whole slices."""
    version, shape = version_of(draw, "Unique"), any_shape(draw, min_dims=1, max_dims=3)
    kind = draw(st.sampled_from(kinds_of("Unique", version)))
    pool = array(draw, (draw(st.integers(1, 4)),), kind, specials=True, extremes=True)
    x = pool[_random(draw).integers(0, len(pool), shape)]
    axis = axis_of(draw, len(shape)) if draw(st.booleans()) else None
    ordered = draw(st.sampled_from([None, 0, 1]))
    return call("Unique", [x], version=version, outputs=draw(st.integers(1, 4)), axis=axis, sorted=ordered)


def _tensor_scatter(draw: st.DrawFn) -> Sample:
    """A cache, and an update that fits in it, or that wraps around its end."""
    shape = draw(shapes(2, 4, 1, 4))
    axis = draw(st.none() | st.sampled_from([a for a in range(-len(shape), len(shape)) if a % len(shape)]))
    if axis is None and len(shape) == 2:  # the default, -2, is the batch axis there
        axis = 1
    place = (-2 if axis is None else axis) % len(shape)
    mode = draw(st.sampled_from([None, "linear", "circular"]))
    length = draw(st.integers(1, shape[place]))
    last = shape[place] - 1 if mode == "circular" else shape[place] - length
    starts = np.array([draw(st.integers(0, last)) for _ in range(shape[0])], INT64) if draw(st.booleans()) else None
    x = _data(draw, "TensorScatter", 24, shape)
    update = _like(draw, x, (*shape[:place], length, *shape[place + 1 :]))
    return call("TensorScatter", [x, update, starts], version=24, axis=axis, mode=mode)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(_scatter_elements, name) for name in ("Scatter", "ScatterElements")},
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _nonzero,
    "OneHot": _one_hot,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "Unique": _unique,
}
