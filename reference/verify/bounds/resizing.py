"""EXPLICIT bound of Resize and Upsample: locations in single precision act through what lies near them.

The tables of positions and weights are the reference's own (`reference.ops.resize`). Along each axis the error of a location
acts through the largest difference between neighbours near it, or for wider kernels through the range of the elements under
the kernel; the other axes weigh that as they weigh the elements.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from reference import magnitudes, marks
from reference.dtypes import FLOATS, is_float
from reference.node import Array, Node
from reference.ops import resize as tables
from reference.verify.setting import Setting

LOCATION = 12.0
"""Roundings of a location, in units of u·(length + 1): scale and reciprocal of 2.5 ulp each, a product, a difference."""

SINGLE = 2.0**-24
"""Scales are float32 in every version, and so are locations at best."""

CUBIC_SLOPE, CUBIC_ROUNDINGS = 1.5, 48.0
"""Of Keys' kernel with a = −3/4, see `interpolation`; both grow in proportion to a beyond that."""


@dataclasses.dataclass(frozen=True)
class Line:
    """How one axis is resized: positions and weights (outputs, taps), error of a location, factor of the range of the elements
    under the kernel (0: the largest difference of neighbours counts), error of the weights by themselves, and whether a
    location may lie one element below or above (outputs)."""

    axis: int
    position: Array
    weights: Array
    off: float
    slope: float
    rounding: float
    below: Array
    above: Array


def resize(node: Node, setting: Setting) -> list[Array]:
    """Nearest moves data, and takes exact locations. Elements of other modes that single precision may see outside of the
    input are left open."""
    shape = node.results[0].shape
    if node.attribute("mode", "nearest") == "nearest" or not is_float(node.output_types[0]) or 0 in shape:
        return [np.zeros(shape)]
    undecided = marks.ties(node, 0)
    open_ = np.zeros(shape, bool) if undecided is None else np.broadcast_to(undecided, shape)
    x, sizes = node.real(0), magnitudes.of(node)
    assert sizes is not None
    finite = np.where(np.isfinite(x), x, 0.0)
    lines = [_line(node, finite, setting, *table) for table in magnitudes.tables(node, finite)]
    error = np.zeros(shape)
    for line in lines:
        part = _moved(finite, line)
        for other in lines:
            if other is not line:
                part = _weighed(part, other)
        error = error + part
    roundings = 2 * sizes.terms + (6 if _is_normalised(node) else 2)
    error = error + (setting.gamma(roundings) + setting.u_in) * sizes.B + sizes.terms * setting.eta
    if any(line.off >= 1 for line in lines):
        error = error + 4 * np.abs(finite).max(initial=0.0)
    wild = ~np.isfinite(node.results[0]) | (FLOATS[setting.arithmetic.compute].largest < sizes.B)
    return [np.where(open_ | (wild & np.isfinite(node.results[0])), np.inf, np.where(wild, 0.0, error))]


def _is_normalised(node: Node) -> bool:
    """Whether weights are divided by their sum."""
    return bool(node.attribute("antialias", 0) or node.attribute("exclude_outside", 0))


def _line(node: Node, x: Array, setting: Setting, axis: int, position: Array, weights: Array) -> Line:
    cubic, a = node.attribute("mode", "nearest") == "cubic", abs(float(node.attribute("cubic_coeff_a", -0.75)))
    steep = max(a / 0.75, 1.0) if cubic else 1.0
    u, reach = max(setting.u, SINGLE), float(x.shape[axis] + 1)
    if node.attribute("coordinate_transformation_mode", "") == "tf_crop_and_resize" and node.given(1):
        reach *= 1 + 2 * float(np.abs(node.real(1)).max(initial=0.0))
    off = LOCATION * u * reach + 2 * setting.u
    slope, rounding = (CUBIC_SLOPE * steep, CUBIC_ROUNDINGS * steep * setting.u) if cubic else (0.0, 0.0)
    if _is_normalised(node):
        gain = 1 + float(np.abs(weights).sum(axis=1).max())
        slope, rounding = (gain * 2 * value for value in (slope or 1.0, rounding or 2 * setting.u))
        off += 2 * u * weights.shape[1]  # a kernel's width has a rounding too
        if node.attribute("exclude_outside", 0):
            whole = next(t[2] for t in magnitudes.tables(node, x, exclude_outside=0) if t[0] == axis)
            largest = np.abs(weights).argmax(axis=1)[:, None]
            left = np.take_along_axis(whole, largest, 1) / np.take_along_axis(weights, largest, 1)
            slope, rounding = (value / min(float(np.abs(left).min()), 1.0) for value in (slope, rounding))
    below = above = np.ones(len(weights), bool)
    if not slope:
        below, above = weights[:, 1] <= off, weights[:, 0] <= off
    return Line(axis, position, weights, off, slope, rounding, below, above)


def _near(x: Array, line: Line) -> tuple[Array, Array, Array]:
    """(largest, smallest, largest difference of neighbours) of the elements around each output."""
    low = np.maximum(line.position.min(axis=1) - line.below, 0)
    high = np.minimum(line.position.max(axis=1) + line.above, x.shape[line.axis] - 1)
    before = np.take(x, low, axis=line.axis)
    most, least, step = before, before, np.zeros(before.shape)
    for k in range(1, int((high - low).max(initial=0)) + 1):
        element = np.take(x, np.minimum(low + k, high), axis=line.axis)
        most, least = np.maximum(most, element), np.minimum(least, element)
        step, before = np.maximum(step, np.abs(element - before)), element
    return most, least, step


def _moved(x: Array, line: Line) -> Array:
    """Error of resizing x along one axis by itself."""
    most, least, step = _near(x, line)
    slope = line.slope * (most - least) if line.slope else step
    return np.asarray(line.off * slope + line.rounding * np.maximum(np.abs(most), np.abs(least)))


def _weighed(size: Array, line: Line) -> Array:
    """Errors of that size as another axis weighs them, wherever its location is."""
    spread = tables.apply_table(size, line.axis, line.position, np.abs(line.weights))
    return np.asarray(spread + 2 * line.off * max(line.slope, 1.0) * _near(size, line)[0])
