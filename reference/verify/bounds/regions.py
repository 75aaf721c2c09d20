"""EXPLICIT bound of RoiAlign: means or maxima of interpolated points of a region.

A point's coordinates are computed in the unit; their error acts through the differences of the elements that they may lie
between (`interpolation`). Weights of rows and columns are matrices, and so are differences: a mean's bound is their product.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.ops.regions import Side
from reference.verify.setting import Setting

COORDINATE = 15.0
"""Roundings of a point's coordinate, in units of u·(|begin| + |end| + 1): both ends times the scale, half an element less,
their difference, two quotients of 2.5 ulp, a multiple of them, and the sum."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One axis of a region in the unit: matrices (points, length) and (points, length − 1).

    weights: of the elements. reached: 1 for the elements that a point may lie between. moves: how far it may move between
    neighbours. unsure: (outputs,) bins whose number of points, or a point's being outside, the unit may see otherwise.
    """

    weights: Array
    reached: Array
    moves: Array
    unsure: Array


def _line(side: Side, off: float, u: float) -> Line:
    """A side's points, whose coordinates may be off by `off`."""
    points, inside, elements = side.points(), side.inside(), np.arange(side.length)
    low, high = (np.clip(points + d, 0, side.length - 1)[:, None] for d in (-off, off))
    part, weights = side.weights()
    whole = np.zeros((len(points), side.length))
    whole[:, part] = weights
    reached = (elements >= np.floor(low)) & (elements <= np.ceil(high)) & inside[:, None]
    cells = elements[:-1]
    moves = (cells >= np.floor(low)) & (cells < np.maximum(np.ceil(high), np.floor(low) + 1)) & inside[:, None]
    near = (np.abs(points + 1) <= off) | (np.abs(points - side.length) <= off)
    moved = Fraction(2 * off)
    unsure = near.reshape(side.outputs, side.count).any(axis=1) | (side.counted(-moved) != side.counted(moved))
    return Line(whole, reached.astype(np.float64), moves * (off + 2 * u), unsure)


def _side(begin: float, end: float, length: int, outputs: int, node: Node, setting: Setting) -> tuple[Side, float]:
    """An axis of a region, and the error of its coordinates."""
    scale = float(node.attribute("spatial_scale", 1.0))
    legacy = node.version < 16 or node.attribute("coordinate_transformation_mode", "half_pixel") != "half_pixel"
    ends = [Fraction(v) * Fraction(scale) for v in (begin, end)]
    size = abs(float(ends[0])) + abs(float(ends[1]))
    off = COORDINATE * setting.u * (size + 1) + (2 * setting.u_in + 2 * setting.u_attribute) * size
    off += 2 * abs(scale) * setting.eta_in
    return Side(ends[0], ends[1], length, outputs, int(node.attribute("sampling_ratio", 0)), not legacy), off


def _binned(rows: Array, values: Array, columns: Array, counts: tuple[int, int], *, largest: bool) -> Array:
    """rows @ values @ columnsᵀ for points in bins of counts: their means, or their largest."""
    if largest:
        found = rows @ values @ columns.T
        outputs = len(rows) // counts[0], len(columns) // counts[1]
        return np.asarray(found.reshape(-1, outputs[0], counts[0], outputs[1], counts[1]).max(axis=(2, 4)))
    means = [m.reshape(len(m) // n, n, m.shape[1]).mean(axis=1) for m, n in zip((rows, columns), counts, strict=True)]
    return np.asarray(means[0] @ values @ means[1].T)


def _moved(image: Array, down: Line, across: Line, counts: tuple[int, int], *, largest: bool) -> Array:
    """Change of the bins of an image (C, H, W) by its points' errors along both axes."""
    rows, columns = (line.weights + line.reached * line.moves.max(initial=0.0) for line in (down, across))
    vertical = _binned(down.moves, np.abs(np.diff(image, axis=1)), columns, counts, largest=largest)
    horizontal = _binned(rows, np.abs(np.diff(image, axis=2)), across.moves, counts, largest=largest)
    return vertical + horizontal


def roi_align(node: Node, setting: Setting) -> list[Array]:
    """RoiAlign in both modes: 4 products for each point, and the sum of the points."""
    x, rois, result = node.real(0), node.real(1), node.results[0]
    finite = np.where(np.isfinite(x), x, 0.0)
    wild = (~np.isfinite(x)).astype(np.float64)
    largest = node.attribute("mode", "avg") == "max"
    error = np.full(result.shape, np.inf)
    for k, (roi, image) in enumerate(zip(rois.tolist(), node.real(2).astype(np.int64), strict=True)):
        sides = [_side(roi[1 - a], roi[3 - a], x.shape[2 + a], result.shape[2 + a], node, setting) for a in (0, 1)]
        counts = sides[0][0].count, sides[1][0].count
        if not all(counts):
            continue  # open in ONNX
        down, across = (_line(side, off, setting.u) for side, off in sides)
        bins = {"counts": counts, "largest": largest}
        size = _binned(down.weights, np.abs(finite[image]), across.weights, **bins)
        terms = 4 * (1 if largest else counts[0] * counts[1])
        bound = (setting.gamma(terms + 8) + setting.u_in) * size + terms * setting.eta
        bound = bound + _moved(finite[image], down, across, **bins)
        touched = _binned(down.reached, wild[image], across.reached, **bins) > 0
        overflows = terms * size > FLOATS[setting.arithmetic.compute].largest
        error[k] = np.where(touched | overflows | down.unsure[:, None] | across.unsure, np.inf, bound)
    return [error]
