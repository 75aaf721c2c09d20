"""Sequences and optionals: positions from both ends, empty sequences, empty optionals, optionals that hold sequences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference import dtypes, signature

from ..samples import Array, Sample, any_shape, array, axis_of, call, kinds_of, version_of

INT64, INT32 = np.int64, np.int32


@functools.cache
def _wrapped_kinds(operator: str, version: int) -> list[str]:
    """All types of the operator's first input, float32 ones first."""
    schema = signature.schema(operator, "", version)
    assert schema is not None
    parameter = schema.inputs[0].type_str
    allowed = next(c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter)
    return sorted(map(signature.name_of, allowed), key=lambda t: ("float32" not in t, t))


def _sequence(draw: st.DrawFn, kind: str, least: int = 0) -> list[Array]:
    """Some tensors of that type, of any shapes."""
    count = draw(st.integers(least, 4))
    return [array(draw, any_shape(draw, max_dims=3), kind, specials=True, extremes=True) for _ in range(count)]


def _value(draw: st.DrawFn, kind: str) -> Any:
    """A value of the type, sometimes nothing if it is an optional one."""
    if kind.startswith("optional("):
        return _value(draw, kind.removeprefix("optional(")[:-1]) if draw(st.booleans()) else None
    if kind.startswith("seq("):
        return _sequence(draw, signature.element(kind))
    return array(draw, any_shape(draw, max_dims=3), kind, specials=True, extremes=True)


def _element_kind(draw: st.DrawFn, operator: str, version: int = 11) -> str:
    return signature.element(draw(st.sampled_from(_wrapped_kinds(operator, version))))


def _position(draw: st.DrawFn, low: int, high: int) -> Array:
    return np.array(draw(st.integers(low, high)), draw(st.sampled_from([INT64, INT32])))


def _identity(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Identity")
    kind = draw(st.sampled_from(_wrapped_kinds("Identity", version)))
    return call("Identity", [_value(draw, kind)], version=version, types={0: kind})


def _empty(draw: st.DrawFn) -> Sample:
    kind = draw(st.none() | st.sampled_from(kinds_of("SequenceConstruct", 11)))
    return call("SequenceEmpty", [], version=11, dtype=None if kind is None else dtypes.ONNX[kind])


def _construct(draw: st.DrawFn) -> Sample:
    return call("SequenceConstruct", _sequence(draw, _element_kind(draw, "SequenceConstruct"), 1), version=11)


def _insert(draw: st.DrawFn) -> Sample:
    kind = _element_kind(draw, "SequenceInsert")
    sequence, tensor = _sequence(draw, kind), array(draw, any_shape(draw, max_dims=3), kind, specials=True)
    position = _position(draw, -len(sequence), len(sequence)) if draw(st.booleans()) else None
    return call("SequenceInsert", [sequence, tensor, position], version=11, types={0: f"seq({kind})"})


def _at(operator: str, draw: st.DrawFn) -> Sample:
    """SequenceAt and SequenceErase, which needs no position."""
    sequence = _sequence(draw, _element_kind(draw, operator), 1)
    position = _position(draw, -len(sequence), len(sequence) - 1)
    return call(operator, [sequence, None if operator == "SequenceErase" and draw(st.booleans()) else position], version=11)


def _length(draw: st.DrawFn) -> Sample:
    kind = _element_kind(draw, "SequenceLength")
    return call("SequenceLength", [_sequence(draw, kind)], version=11, types={0: f"seq({kind})"})


def _split(draw: st.DrawFn) -> Sample:
    """Parts of one length, which need not divide the axis, parts of given lengths, and single ones."""
    version, shape = version_of(draw, "SplitToSequence"), any_shape(draw, min_dims=1, max_dims=3)
    axis = axis_of(draw, len(shape))
    x = array(draw, shape, draw(st.sampled_from(kinds_of("SplitToSequence", version))), specials=True)
    lengths: Any = draw(st.none() | st.integers(1, 6) | st.just([]))
    if lengths == []:
        left = shape[axis]
        while left:
            lengths.append(draw(st.integers(1, left)))
            left -= lengths[-1]
    split = None if lengths is None else np.array(lengths, draw(st.sampled_from([INT64, INT32])))
    keepdims = draw(st.sampled_from([None, 0, 1]))
    return call("SplitToSequence", [x, split], version=version, axis=axis, keepdims=keepdims)


def _concat(draw: st.DrawFn) -> Sample:
    new, shape = draw(st.sampled_from([None, 0, 1])), any_shape(draw, max_dims=3)
    shape = shape if new or shape else (2,)
    axis = axis_of(draw, len(shape) + (new or 0))
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    kind = _element_kind(draw, "ConcatFromSequence")
    place = axis % len(shape) if not new else None
    parts = [shape if place is None else (*shape[:place], n, *shape[place + 1 :]) for n in lengths]
    return call(
        "ConcatFromSequence", [[array(draw, p, kind, specials=True) for p in parts]], version=11, axis=axis, new_axis=new
    )


def _optional(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Optional")
    kind = draw(st.sampled_from(_wrapped_kinds("Optional", version)))
    if draw(st.booleans()):
        return call("Optional", [], version=version, type=signature.to_proto(kind))
    return call("Optional", [_value(draw, kind)], version=version, types={0: kind})


def _has_element(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "OptionalHasElement")
    if version >= 18 and draw(st.integers(0, 9)) == 9:
        return call("OptionalHasElement", [], version=version)
    kind = draw(st.sampled_from(_wrapped_kinds("OptionalHasElement", version)))
    return call("OptionalHasElement", [_value(draw, kind)], version=version, types={0: kind})


def _get_element(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "OptionalGetElement")
    kind = draw(st.sampled_from(_wrapped_kinds("OptionalGetElement", version)))
    value = _value(draw, kind.removeprefix("optional(").removesuffix(")") if kind.startswith("optional(") else kind)
    return call("OptionalGetElement", [value], version=version, types={0: kind})


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(_at, name) for name in ("SequenceAt", "SequenceErase")},
    "ConcatFromSequence": _concat,
    "Identity": _identity,
    "Optional": _optional,
    "OptionalGetElement": _get_element,
    "OptionalHasElement": _has_element,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
