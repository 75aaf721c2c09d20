"""Data movement and shapes: every element type, axes counted from both ends, axes of length 0, amounts beyond the ends."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st
from onnx import helper

from reference import dtypes, signature

from ..samples import Array, Sample, any_shape, array, axis_of, broadcastable, call, kinds_of, shapes, version_of

INT64, INT32 = np.int64, np.int32


def _data(draw: st.DrawFn, operator: str, version: int, shape: tuple[int, ...]) -> Array:
    """Values of one of the types that the operator takes, special ones among them."""
    kind = draw(st.sampled_from(kinds_of(operator, version)))
    return array(draw, shape, kind, specials=True, extremes=True)


def _size(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Size")
    return call("Size", [_data(draw, "Size", version, any_shape(draw))], version=version)


def _target(draw: st.DrawFn, shape: tuple[int, ...], allowzero: int) -> list[int]:
    """Lengths of as many elements, with 0 for one that is copied and −1 for one that follows from the others."""
    if 0 in shape and not allowzero:
        return [draw(st.sampled_from([0, n])) for n in shape]
    lengths = list(draw(st.permutations(shape)))
    while len(lengths) > 1 and draw(st.booleans()):
        i = draw(st.integers(0, len(lengths) - 2))
        lengths[i : i + 2] = [lengths[i] * lengths[i + 1]]
    if not allowzero:
        lengths = [0 if n == m and draw(st.booleans()) else n for n, m in zip(lengths, shape, strict=False)] + lengths[
            len(shape) :
        ]
    if lengths and 0 not in shape and draw(st.booleans()):
        lengths[draw(st.integers(0, len(lengths) - 1))] = -1
    return lengths


def _reshape(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Reshape")
    allowzero = draw(st.sampled_from([None, 0, 1])) if version >= 14 else None
    shape = any_shape(draw)
    x, target = _data(draw, "Reshape", version, shape), _target(draw, shape, allowzero or 0)
    if version < 5:
        return call("Reshape", [x], version=version, shape=target)
    return call("Reshape", [x, np.array(target, INT64)], version=version, allowzero=allowzero)


def _transpose(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Transpose"), any_shape(draw)
    perm = draw(st.none() | st.permutations(range(len(shape)))) or None
    return call("Transpose", [_data(draw, "Transpose", version, shape)], version=version, perm=perm)


def _flatten(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Flatten"), any_shape(draw)
    axis = draw(st.integers(-len(shape) if version >= 11 else 0, len(shape)))
    return call("Flatten", [_data(draw, "Flatten", version, shape)], version=version, axis=axis)


def _axes(draw: st.DrawFn, candidates: list[int], rank: int, negative: bool) -> list[int]:
    """Some of the axes in any order, some of them counted from the end."""
    chosen = draw(st.lists(st.sampled_from(candidates), unique=True)) if candidates else []
    return [a - rank if negative and draw(st.booleans()) else a for a in chosen]


def _squeeze(operator: str, draw: st.DrawFn) -> Sample:
    """Squeeze, of a shape with some lengths 1, and Unsqueeze; axes are an attribute before version 13."""
    version, shape = version_of(draw, operator), any_shape(draw)
    if operator == "Squeeze":
        shape = tuple(1 if draw(st.booleans()) else n for n in shape)
        axes = _axes(draw, [i for i, n in enumerate(shape) if n == 1], len(shape), version >= 11)
    else:
        rank = len(shape) + draw(st.integers(0, 2))
        count = rank - len(shape)
        axes = [a - rank if version >= 11 and draw(st.booleans()) else a for a in draw(st.permutations(range(rank)))[:count]]
    x = _data(draw, operator, version, shape)
    optional = operator == "Squeeze" and draw(st.booleans())
    if version < 13:
        return call(operator, [x], version=version, axes=None if optional else axes)
    return call(operator, [x] if optional else [x, np.array(axes, INT64)], version=version)


def _concat(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Concat"), any_shape(draw, min_dims=1)
    axis = axis_of(draw, len(shape), negative=version >= 11)
    kind = draw(st.sampled_from(kinds_of("Concat", version)))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    place = axis % len(shape)
    parts = [array(draw, (*shape[:place], n, *shape[place + 1 :]), kind, specials=True, extremes=True) for n in lengths]
    return call("Concat", parts, version=version, axis=None if version == 1 and axis == 1 else axis)


def _split(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Split"), any_shape(draw, min_dims=1)
    axis = axis_of(draw, len(shape), negative=version >= 11)
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    way = draw(st.sampled_from(["lengths", "equal", "uneven"] if version >= 18 else ["lengths", "equal"]))
    parts = len(lengths)
    if way == "equal":
        lengths = [lengths[0]] * parts
    elif way == "uneven":
        chunk = lengths[0] + 1
        lengths = [chunk] * (parts - 1) + [draw(st.integers(1, chunk))]
    place = axis % len(shape)
    x = _data(draw, "Split", version, (*shape[:place], sum(lengths), *shape[place + 1 :]))
    options = {"version": version, "outputs": parts, "axis": axis}
    if version == 1 and way == "lengths" and draw(st.booleans()):
        return call("Split", [x, np.array(lengths, x.dtype)], **options)
    if way != "lengths":
        return call("Split", [x], num_outputs=parts if version >= 18 else None, **options)
    return (
        call("Split", [x, np.array(lengths, INT64)], **options)
        if version >= 13
        else call("Split", [x], split=lengths, **options)
    )


def _slice(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Slice"), any_shape(draw)
    rank = len(shape)
    axes = _axes(draw, list(range(rank)), rank, version >= 10) if draw(st.booleans()) else None
    count = rank if axes is None else len(axes)
    kind = draw(st.sampled_from([INT32, INT64]))
    bound = st.integers(-5, 5) | st.sampled_from([np.iinfo(kind).min + 1, np.iinfo(kind).max])
    starts, ends = (draw(st.lists(bound, min_size=count, max_size=count)) for _ in range(2))
    x = _data(draw, "Slice", version, shape)
    if version == 1:
        return call("Slice", [x], version=version, starts=starts, ends=ends, axes=axes)
    step = st.integers(-3, 3).filter(bool) | st.sampled_from([np.iinfo(kind).min + 1, np.iinfo(kind).max])
    steps = draw(st.none() | st.lists(step, min_size=count, max_size=count))
    inputs = [np.array(v, kind) if v is not None else None for v in (starts, ends, axes, steps)]
    return call("Slice", [x, *inputs], version=version)


def _pad(draw: st.DrawFn) -> Sample:
    """Amounts of which some cut; the modes copy from axes that have something to copy, sometimes more than there is."""
    version = version_of(draw, "Pad")
    mode = draw(st.sampled_from([None, "constant", "reflect", "edge", *(["wrap"] if version >= 19 else [])]))
    shape = any_shape(draw, min_dims=1) if mode in (None, "constant") else draw(shapes(min_dims=1, min_side=2))
    axes = (_axes(draw, list(range(len(shape))), len(shape), True) or None) if version >= 18 else None
    lengths = [shape[a] for a in (range(len(shape)) if axes is None else axes)]
    far = mode in (None, "constant") or draw(st.integers(0, 4)) == 4
    most = [6 if far else n - 1 for n in lengths]
    cut = draw(st.booleans())
    amounts = [draw(st.integers(-((n - 1) // 2) if cut else 0, m)) for n, m in zip(lengths * 2, most * 2, strict=True)]
    x = _data(draw, "Pad", version, shape)
    if version < 11:
        name = "paddings" if version == 1 else "pads"
        return call("Pad", [x], version=version, mode=mode, value=draw(st.sampled_from([None, 0.5])), **{name: amounts})
    fill = array(draw, (), dtypes.name_of(x.dtype)) if draw(st.booleans()) else None
    named = None if axes is None else np.array(axes, draw(st.sampled_from([INT32, INT64])))
    return call("Pad", [x, np.array(amounts, INT64), fill, named][: 4 if version >= 18 else 3], version=version, mode=mode)


def _center_crop_pad(draw: st.DrawFn) -> Sample:
    shape = any_shape(draw)
    axes = _axes(draw, list(range(len(shape))), len(shape), True) or None
    wanted = [draw(st.integers(0, 6)) for _ in (shape if axes is None else axes)]
    inputs = [_data(draw, "CenterCropPad", 18, shape), np.array(wanted, draw(st.sampled_from([INT32, INT64])))]
    return call("CenterCropPad", inputs, version=18, axes=axes)


def _expand(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Expand"), any_shape(draw)
    own, wanted = broadcastable(draw, shape), list(shape)
    wanted = [1 if len(own) >= len(shape) - i and draw(st.booleans()) else n for i, n in enumerate(shape)]
    wanted = wanted[draw(st.integers(0, max(len(own) - len(shape), 0))) :]
    return call("Expand", [_data(draw, "Expand", version, own), np.array(wanted, INT64)], version=version)


def _tile(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Tile")
    shape = any_shape(draw, min_dims=1 if version == 1 else 0)
    x = _data(draw, "Tile", version, shape)
    if version == 1:
        tiles, axis = draw(st.integers(0, 3)), draw(st.integers(0, len(shape) - 1))
        return call("Tile", [x, np.array(tiles, x.dtype), np.array(axis, x.dtype)], version=version)
    return call("Tile", [x, np.array([draw(st.integers(0, 3)) for _ in shape], INT64)], version=version)


def _blocks(operator: str, draw: st.DrawFn) -> Sample:
    """DepthToSpace, and back."""
    version, (n, c, h, w) = version_of(draw, operator), any_shape(draw, min_dims=4, max_dims=4)
    size = draw(st.integers(1, 3))
    shape = (n, c * size**2, h, w) if operator == "DepthToSpace" else (n, c, h * size, w * size)
    with_mode = version >= (11 if operator == "DepthToSpace" else 28)
    mode = draw(st.sampled_from([None, "DCR", "CRD"])) if with_mode else None
    return call(operator, [_data(draw, operator, version, shape)], version=version, blocksize=size, mode=mode)


def _trilu(draw: st.DrawFn) -> Sample:
    k = draw(st.none() | st.integers(-6, 6) | st.sampled_from([-(2**40), 2**40]))
    diagonal = None if k is None else np.array(k, INT64)
    x = _data(draw, "Trilu", 14, any_shape(draw, min_dims=2))
    return call("Trilu", [x, diagonal], version=14, upper=draw(st.sampled_from([None, 0, 1])))


def _shape(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Shape")
    bounds = [draw(st.none() | st.integers(-7, 7)) if version >= 15 else None for _ in range(2)]
    x = _data(draw, "Shape", version, any_shape(draw))
    return call("Shape", [x], version=version, start=bounds[0], end=bounds[1])


def _filled(draw: st.DrawFn, operator: str, version: int, shape: tuple[int, ...]) -> Array:
    """A tensor of one of the types that the operator's output may have."""
    schema = signature.schema(operator, "", version)
    assert schema is not None
    kinds = next(c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == schema.outputs[0].type_str)
    return array(draw, shape, signature.name_of(draw(st.sampled_from(sorted(kinds)))), specials=True, extremes=True)


def _constant_of_shape(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "ConstantOfShape"), any_shape(draw)
    value = helper.make_tensor("value", *_tensor(_filled(draw, "ConstantOfShape", version, (1,))))
    value = draw(st.sampled_from([value, value, None]))
    return call("ConstantOfShape", [np.array(shape, INT64)], version=version, value=value)


def _tensor(x: Array) -> tuple[int, tuple[int, ...], Array]:
    """Arguments of make_tensor."""
    return dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape, x.ravel()


def _constant(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "Constant"), any_shape(draw)
    names = ["value", *(["sparse_value"] if version >= 11 else [])]
    names += [f"value_{n}{s}" for n in ("float", "int", "string") for s in ("", "s")] if version >= 12 else []
    name = draw(st.sampled_from(names))
    if name == "value":
        given = helper.make_tensor("value", *_tensor(_filled(draw, "Constant", version, shape)))
    elif name == "sparse_value":
        given = _sparse(draw, tuple(max(n, 1) for n in shape) or (1,))
    else:
        kind = {"float": "float32", "int": "int64", "string": "str"}[name.removeprefix("value_").rstrip("s")]
        given = array(draw, (draw(st.integers(1, 4)),), kind, specials=True, extremes=True).tolist()
        given = given if name.endswith("s") else given[0]
    return call("Constant", [], version=version, **{name: given})


def _sparse(draw: st.DrawFn, shape: tuple[int, ...]) -> object:
    """A sparse tensor, its indices linear or one row of coordinates per value."""
    size = math.prod(shape)
    places = np.array(sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=min(size, 4)))), INT64)
    values = array(draw, (len(places),), draw(st.sampled_from(["float32", "int64", "float64", "int8"])))
    indices = places if draw(st.booleans()) else np.stack(np.unravel_index(places, shape), -1)
    return helper.make_sparse_tensor(
        helper.make_tensor("values", *_tensor(values)), helper.make_tensor("indices", *_tensor(indices)), shape
    )


def _range(draw: st.DrawFn) -> Sample:
    """Numbers at random, and limits that are a whole number of steps away but for rounding."""
    version = version_of(draw, "Range")
    kind = draw(st.sampled_from(kinds_of("Range", version)))
    start, limit, delta = (array(draw, (), kind, -20, 20) for _ in range(3))
    delta = np.where(np.abs(delta.astype(np.float64)) < 0.1, 1, delta).astype(delta.dtype)
    if dtypes.is_float(kind) and draw(st.booleans()):
        start, delta = (np.float64(draw(st.integers(1, 20)) / 10).astype(delta.dtype) for _ in range(2))
        limit = (start + draw(st.integers(0, 20)) * delta.astype(np.float64)).astype(delta.dtype)
    stash_type = draw(st.sampled_from([None, 1])) if version >= 27 else None
    return call("Range", [start, limit, delta], version=version, stash_type=stash_type)


def _eye_like(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "EyeLike")
    x = _data(draw, "EyeLike", version, any_shape(draw, min_dims=2, max_dims=2))
    kind = draw(st.none() | st.sampled_from(kinds_of("EyeLike", version)))
    k = draw(st.none() | st.integers(-6, 6))
    return call("EyeLike", [x], version=version, k=k, dtype=None if kind is None else dtypes.ONNX[kind])


def _reverse_sequence(draw: st.DrawFn) -> Sample:
    version, shape = version_of(draw, "ReverseSequence"), any_shape(draw, min_dims=2)
    batch = draw(st.integers(0, 1))
    lengths = [draw(st.integers(0, shape[1 - batch])) for _ in range(shape[batch])]
    x = _data(draw, "ReverseSequence", version, shape)
    return call("ReverseSequence", [x, np.array(lengths, INT64)], version=version, batch_axis=batch, time_axis=1 - batch)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(_squeeze, name) for name in ("Squeeze", "Unsqueeze")},
    **{name: functools.partial(_blocks, name) for name in ("DepthToSpace", "SpaceToDepth")},
    "CenterCropPad": _center_crop_pad,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Flatten": _flatten,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
}
