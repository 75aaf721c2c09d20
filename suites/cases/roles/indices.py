"""Roles of indices: within the axis that they count along."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import Draw, carrier
from suites.cases.roles.role import Array, Role


def _axis(node: Node, data: str, default: int = 0) -> int:
    rank = len(node.shape(data))
    axis = int(node.attribute("axis", default))
    return axis + rank if axis < 0 else axis


def index_along(data: str) -> Role:
    """Within [-n, n), n the length of `data` along the node's axis."""

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        length = node.shape(data)[_axis(node, data)]
        return (draw.below(values.size, 2 * length) - length).reshape(tensor.shape)

    return role


def scattered_along(data: str) -> Role:
    """As `index_along`, but without repetition along the axis, since ONNX leaves the result of those open;
    repetition is wanted where a reduction combines them.
    """

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        if node.attribute("reduction", "none") != "none":
            return index_along(data)(values, draw, node, tensor)
        axis = _axis(node, data)
        length = node.shape(data)[axis]
        shape = list(tensor.shape)
        shape[axis] = length
        order = np.argsort(draw.words(math.prod(shape)).reshape(shape), axis=axis, kind="stable")
        indices = np.take(order, range(tensor.shape[axis]), axis=axis)
        return indices - length * draw.below(values.size, 2).reshape(tensor.shape)

    return role


def index_tuples(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """GatherND: the last dimension holds one index for each of the leading dimensions of data after the batch."""
    batch = int(node.attribute("batch_dims", 0))
    lengths = np.array(node.shape("data")[batch : batch + tensor.shape[-1]], np.int64)
    words = (draw.words(values.size) >> np.uint64(1)).astype(np.int64).reshape(tensor.shape)
    return words % np.maximum(2 * lengths, 1) - lengths


def scattered_tuples(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """ScatterND: index tuples without repetition, with repetition where a reduction combines them."""
    lengths = node.shape("data")[: tensor.shape[-1]]
    rows, cells = math.prod(tensor.shape[:-1]), math.prod(lengths)
    combined = node.attribute("reduction", "none") != "none"
    flat = draw.below(rows, cells) if combined else draw.permutation(cells)[:rows]
    return np.stack(np.unravel_index(flat, lengths), axis=-1).reshape(tensor.shape).astype(np.int64)


def class_numbers(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """OneHot: within [-depth, depth), and a few outside, which give the off value; version 9 does not count from the end."""
    depth = node.input("depth")
    assert isinstance(depth, Parameter)
    assert not isinstance(depth.values, tuple)
    count = int(depth.values)
    if tensor.dtype.startswith("uint") or node.version < 11:
        return draw.below(values.size, count + 2).reshape(tensor.shape).astype(carrier(tensor.dtype))
    return (draw.below(values.size, 2 * count + 4) - count - 2).reshape(tensor.shape).astype(carrier(tensor.dtype))


def sequence_lengths(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """ReverseSequence: from 0 to the length of the time axis."""
    return draw.below(values.size, node.shape("input")[int(node.attribute("time_axis", 0))] + 1).reshape(tensor.shape)


def write_starts(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """TensorScatter: where all of the update fits behind; anywhere if it goes on at the beginning."""
    axis = _axis(node, "past_cache", -2)
    length = node.shape("past_cache")[axis]
    room = length if node.attribute("mode", "linear") == "circular" else length - node.shape("update")[axis] + 1
    return draw.below(values.size, room).reshape(tensor.shape)


ROLES: Mapping[str, Mapping[str, Role]] = {
    "Gather": {"indices": index_along("data")},
    "GatherElements": {"indices": index_along("data")},
    "GatherND": {"indices": index_tuples},
    "OneHot": {"indices": class_numbers},
    "ReverseSequence": {"sequence_lens": sequence_lengths},
    "Scatter": {"indices": scattered_along("data")},
    "ScatterElements": {"indices": scattered_along("data")},
    "ScatterND": {"indices": scattered_tuples},
    "TensorScatter": {"write_indices": write_starts},
}
"""Operator → tensor → role."""
