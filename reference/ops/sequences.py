"""Sequences, which are Python lists of arrays, and optionals, which are the value itself, or None when empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from reference.ops.arguments import axis_in, single

Array = NDArray[Any]
Value = Array | list[Array]


def sequence_empty(*, dtype: int = onnx.TensorProto.FLOAT) -> list[Array]:
    """SequenceEmpty-11: a sequence of no tensors; `dtype` is the type they would have."""
    return []


def sequence_construct(*inputs: Array) -> list[Array]:
    """SequenceConstruct-11: the inputs, in order."""
    return list(inputs)


def _index(position: Array | None, length: int, last: int) -> int:
    """The position, which negative counts from `length`, in [0, last]; absent: last. Raises ValueError out of range."""
    index = last if position is None else int(single(position, "the position in a sequence"))
    if not -length <= index <= last:
        raise ValueError(f"position {index} is outside [{-length}, {last}] of a sequence of {length} tensors")
    return index + length if index < 0 else index


def sequence_insert(input_sequence: list[Array], tensor: Array, position: Array | None = None) -> list[Array]:
    """SequenceInsert-11: `tensor` put before the one at `position` in [-n, n], by default at the end.

    Raises ValueError for a position out of range.
    """
    index = _index(position, len(input_sequence), len(input_sequence))
    return [*input_sequence[:index], tensor, *input_sequence[index:]]


def sequence_erase(input_sequence: list[Array], position: Array | None = None) -> list[Array]:
    """SequenceErase-11: the sequence without the tensor at `position` in [-n, n-1], by default the last one.

    Raises ValueError for a position out of range, so always for an empty sequence.
    """
    index = _index(position, len(input_sequence), len(input_sequence) - 1)
    return [*input_sequence[:index], *input_sequence[index + 1 :]]


def sequence_at(input_sequence: list[Array], position: Array) -> Array:
    """SequenceAt-11: the tensor at `position` in [-n, n-1]. Raises ValueError for a position out of range."""
    return input_sequence[_index(position, len(input_sequence), len(input_sequence) - 1)]


def sequence_length(input_sequence: list[Array]) -> Array:
    """SequenceLength-11: the number of tensors, a scalar int64."""
    return np.array(len(input_sequence), np.int64)


def split_to_sequence(x: Array, split: Array | None = None, *, axis: int = 0, keepdims: int = 1) -> list[Array]:
    """SplitToSequence-24 (11 alike): parts of x along `axis`.

    A scalar `split` is the length of each part, the last one may be shorter; a 1-D one lists the lengths. Without it the
    parts have length 1, an axis that keepdims = 0 drops (with `split`, keepdims is ignored). Raises ValueError where listed
    lengths are negative or do not add up, or a scalar is not positive.
    """
    axis = axis_in(axis, x.ndim)
    length = x.shape[axis]
    if split is None or split.ndim == 0:
        chunk = 1 if split is None else int(split)
        if chunk < 1:
            raise ValueError(f"the length of the parts must be positive, not {chunk}")
        ends = [min(start + chunk, length) for start in range(0, length, chunk)]
    else:
        if split.sum() != length or (split < 0).any():
            raise ValueError(f"parts {split.tolist()} do not make up an axis of length {length}")
        ends = np.cumsum(split, dtype=np.int64).tolist()
    parts = np.split(x, ends, axis=axis)[:-1]
    return [part.squeeze(axis) for part in parts] if split is None and not keepdims else parts


def concat_from_sequence(input_sequence: list[Array], *, axis: int, new_axis: int = 0) -> Array:
    """ConcatFromSequence-11: the tensors joined along `axis`, with new_axis = 1 stacked on a new one.

    Raises ValueError for an empty sequence, and for shapes that differ elsewhere than in the axis.
    """
    if not input_sequence:
        raise ValueError("an empty sequence cannot be concatenated")
    return np.stack(input_sequence, axis) if new_axis else np.concatenate(input_sequence, axis)


def optional(value: Value | None = None, *, type: onnx.TypeProto | None = None) -> Value | None:
    """Optional-28 (15 alike): an optional that holds the input, or an empty one of `type`.

    Raises ValueError where neither is given.
    """
    if value is None and type is None:
        raise ValueError("an Optional needs an input or the attribute type")
    return value


def optional_has_element(value: Value | None = None) -> Array:
    """OptionalHasElement-28 (all versions): a scalar bool; tensors and sequences count as elements (18 on).

    An absent input (18 on) and an empty optional have none.
    """
    return np.array(value is not None)


def optional_get_element(value: Value | None) -> Value:
    """OptionalGetElement-28 (all versions): the element; tensors and sequences are their own (18 on).

    Raises ValueError for an empty optional.
    """
    if value is None:
        raise ValueError("the optional is empty")
    return value
