"""Roles of places: locations between elements, regions of images, boxes and their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import Draw
from suites.cases.roles.role import Array, Role


def grid_locations(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """GridSample: within [-1.25, 1.25), so that a fifth in each axis lies outside of the image."""
    return (draw.fraction(values.size) * 2.5 - 1.25).reshape(values.shape)


def offsets(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """DeformConv: within (-2, 2), and no whole number apart from those under `index`."""
    n = values.size
    moved = draw.below(n, 5) - 2 if node.recipe == "index" else draw.fraction(n) * 4 - 2
    return np.asarray(moved, np.float64).reshape(values.shape)


def share(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Within [0, 1)."""
    return draw.fraction(values.size).reshape(values.shape)


def batch_numbers(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Numbers of images."""
    return draw.below(values.size, node.shape("x")[0]).reshape(values.shape)


def _regions(draw: Draw, node: Node, count: int) -> Array:
    """Corners x1 y1 x2 y2 (count, 4) of regions at least one element long, some of which reach out of the image."""
    sides = np.array(node.shape("x")[3:1:-1], np.float64)
    begin = (draw.fraction(2 * count).reshape(count, 2) - 0.25) * sides
    end = begin + 1.125 + draw.fraction(2 * count).reshape(count, 2) * sides / 2
    return np.concatenate([begin, end], axis=1) / float(node.attribute("spatial_scale", 1.0))


def corners(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """RoiAlign: regions of the image."""
    return _regions(draw, node, tensor.shape[0])


def numbered_corners(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """MaxRoiPool: the number of an image, then a region of it."""
    images = draw.below(tensor.shape[0], node.shape("x")[0]).reshape(-1, 1)
    return np.concatenate([images.astype(np.float64), _regions(draw, node, tensor.shape[0])], axis=1)


def boxes(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """NonMaxSuppression: boxes around a few centres, so that they overlap; corners in any order, or centre and sides."""
    count = values.size // 4
    centre = draw.below(2 * count, 3).reshape(count, 2) + draw.fraction(2 * count).reshape(count, 2) / 2
    side = 0.25 + draw.fraction(2 * count).reshape(count, 2)
    if node.attribute("center_point_box", 0):
        return np.concatenate([centre, side], axis=1).reshape(values.shape)
    sign = np.where(draw.below(2 * count, 4).reshape(count, 2) == 0, -1, 1)
    return np.concatenate([centre - sign * side / 2, centre + sign * side / 2], axis=1).reshape(values.shape)


def distinct_scores(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """NonMaxSuppression: no two alike within a class, as ONNX does not say which comes first; odd multiples of 1/(2n)."""
    n = tensor.shape[-1]
    rows = [draw.permutation(n) for _ in range(math.prod(tensor.shape[:-1]))]
    return ((np.array(rows).reshape(tensor.shape) + 0.5) / max(n, 1)).astype(np.float64)


def unpooled_places(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """MaxUnpool: flat indices of the output, each once, within the plane of their channel."""
    given = node.input("output_shape")
    sizes = tensor.shape[2:]
    rank = len(sizes)
    if isinstance(given, Parameter):
        assert isinstance(given.values, tuple)
        full = [int(n) for n in given.values[2:]]
    else:
        kernel, strides = node.attribute("kernel_shape"), node.attribute("strides", [1] * rank)
        pads = node.attribute("pads", [0] * 2 * rank)
        full = [(n - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i] for i, n in enumerate(sizes)]
    plane, taken = math.prod(full), math.prod(sizes)
    planes = [number * plane + np.sort(draw.permutation(plane)[:taken]) for number in range(math.prod(tensor.shape[:2]))]
    return np.array(planes).reshape(tensor.shape)


ROLES: Mapping[str, Mapping[str, Role]] = {
    "DeformConv": {"offset": offsets, "mask": share},
    "GridSample": {"grid": grid_locations},
    "MaxRoiPool": {"rois": numbered_corners},
    "MaxUnpool": {"i": unpooled_places},
    "NonMaxSuppression": {"boxes": boxes, "scores": distinct_scores},
    "RoiAlign": {"rois": corners, "batch_indices": batch_numbers},
}
"""Operator → tensor → role."""
