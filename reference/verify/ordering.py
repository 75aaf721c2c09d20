"""TopK without `sorted`: k pairs of value and index in an order that ONNX leaves to the implementation.

What a device returns is brought into the order of the sorted result and judged as that. Among equal values on the border of
the selection any may be taken, so that an index counts as the reference's where it is another's of the same value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from reference import dtypes
from reference.node import Array, Node


def in_order(node: Node, outputs: Mapping[str, Array]) -> tuple[Node, dict[str, Array]]:
    """The node as if it sorted, and its outputs in that order; both as they are for every other node, and where the outputs
    are not such pairs at all."""
    if node.operator != "TopK" or node.attribute("sorted", 1):
        return node, dict(outputs)
    found = [outputs.get(name) for name in node.output_names]
    right = zip(found, node.results, node.output_types, strict=True)
    if len(found) < 2 or any(y is None or y.shape != r.shape or dtypes.name_of(y.dtype) != t for y, r, t in right):
        return node, dict(outputs)
    asked = dataclasses.replace(node, attributes={**node.attributes, "sorted": 1})
    values, indices = found
    assert values is not None
    assert indices is not None
    axis = int(node.attribute("axis", -1))
    order = _order(dtypes.to_real(values), indices, axis, largest=bool(node.attribute("largest", 1)))
    values, indices = (np.take_along_axis(y, order, axis) for y in (values, indices))
    equal = _of_equal(node, values, indices, axis)
    alike = equal & (dtypes.to_real(values) == node.results[0])
    values = np.where(alike, node.results[0].astype(values.dtype), values)  # of two zeros either may be the larger
    indices = np.where(equal, node.results[1], indices)
    return asked, {**outputs, **dict(zip(node.output_names, (values, indices), strict=True))}


def _order(values: Array, indices: Array, axis: int, *, largest: bool) -> Array:
    """By value, then by index."""
    by_index = np.argsort(indices, axis, kind="stable")
    keys = np.take_along_axis(values, by_index, axis)
    ranks = np.searchsorted(np.unique(values), keys)
    return np.take_along_axis(by_index, np.argsort(-ranks if largest else ranks, axis, kind="stable"), axis)


def _of_equal(node: Node, values: Array, indices: Array, axis: int) -> Array:
    """Where an index is in range, the only one of its kind, and that of the value beside it."""
    x = node.inputs[0]
    assert x is not None
    inside = (indices >= 0) & (indices < x.shape[axis])
    taken, given = np.take_along_axis(x, np.where(inside, indices, 0), axis), dtypes.to_real(values)
    same = (taken == given) & (np.signbit(taken) == np.signbit(given) if given.dtype.kind == "f" else np.bool_(True))
    ascending = np.sort(indices, axis)
    twice = np.diff(ascending, axis=axis) == 0
    return np.asarray(inside & same & ~twice.any(axis, keepdims=True))
