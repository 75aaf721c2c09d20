"""EXPLICIT bounds of interpolation at computed locations: GridSample, RoiAlign, DeformConv, and AffineGrid's locations.

An interpolated value is off by the location's error times the local slope, the largest difference between neighbours that
the location may lie between, by the rounding of weights (at most as much as two roundings of a location in units of one
element), and by that of the weighted sum. Where the unit may round a location to another element (mode nearest), the
difference to that element is allowed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from reference.dtypes import FLOATS, is_float
from reference.node import Array, Node
from reference.ops.windows import axes_of
from reference.verify.setting import Setting

LOCATION = 4.0
"""Roundings of a normalized coordinate on its way to a location, in units of u·(|g| + 1)·length/2: g + 1, a product with the
length, which may be rounded itself, and a difference."""

REFLECTION = 3.0
"""Further ones of a reflected location: the distance from the end, its remainder and the way back."""

STEPS = 14.0
"""Roundings of a location of AffineGrid, in units of u: twice a quotient of 2.5 ulp and its product, half a step, and a sum."""

CUBIC_SLOPE, CUBIC_GAIN, CUBIC_ROUNDINGS = 1.5, 1.375, 48.0
"""Keys' kernel with a = −3/4: half of the largest Σ|k'|, the largest Σ|k|, and the largest Σ of the errors of four weights by
Horner's scheme, in units of u."""

Place = Callable[[Array, int], tuple[Array, Array]]
"""Whole locations on an axis of some length → positions in it, and whether there is an element."""


@dataclasses.dataclass(frozen=True)
class Around:
    """Elements around points (N, points) of x (N, C, spatial).

    slopes: largest |difference| between neighbours along each axis, (N, C, points). largest: largest |element|.
    spread: largest − smallest. wild: whether one is infinite or NaN.
    """

    slopes: list[Array]
    largest: Array
    spread: Array
    wild: Array


MOST = 4
"""Elements along an axis that a location with an error below 1 may lie between."""


def around(x: Array, reach: Sequence[tuple[Array, Array]], place: Place, most: int = MOST) -> Around:
    """What lies at whole locations from `low` to `high`, a pair (N, points) for each axis; from `low` on at most `most`."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    counts = [min(int((high - low).max(initial=0)) + 1, most) for low, high in reach]
    grid = np.empty(counts, object)
    batch = np.arange(x.shape[0])[:, None]
    for tap in np.ndindex(*grid.shape):
        index, there = np.zeros((), np.int64), np.ones((), bool)
        for (low, high), k, length in zip(reach, tap, x.shape[2:], strict=True):
            position, inside = place(np.minimum(low + k, high), length)
            index, there = index * length + position, there & inside
        value = np.moveaxis(flat[batch, :, index], -1, 1)
        grid[tap] = np.where(there[:, None], value, 0.0)
    values = np.stack([grid[tap] for tap in np.ndindex(*grid.shape)]).reshape(*grid.shape, *grid.flat[0].shape)
    wild = ~np.isfinite(values).all(axis=tuple(range(len(reach))))
    values = np.where(np.isfinite(values), values, 0.0)
    axes = tuple(range(len(reach)))
    slopes = [np.abs(np.diff(values, axis=a)).max(axis=axes, initial=0.0) for a in axes]
    return Around(slopes, np.abs(values).max(axis=axes), values.max(axis=axes) - values.min(axis=axes), wild)


def _whole(location: Array) -> Array:
    """Rounded down, within what integers hold."""
    return np.asarray(np.floor(np.clip(location, -(2.0**40), 2.0**40)), np.int64)


def _padding(mode: str, corners: bool) -> Place:
    """How GridSample finds an element for a whole location."""

    def place(index: Array, length: int) -> tuple[Array, Array]:
        inside = (index >= 0) & (index < length)
        if mode == "reflection":
            period = max(2 * length - 2, 1) if corners else 2 * length
            index = index % period
            index = np.where(index < length, index, period - index - (0 if corners else 1))
        return np.clip(index, 0, length - 1), inside | (mode != "zeros")

    return place


def _zeros(index: Array, length: int) -> tuple[Array, Array]:
    return np.clip(index, 0, length - 1), (index >= 0) & (index < length)


def _steps(off: Array, slope: Array, most: Array) -> Array:
    """Change by a location's error: off·slope while it stays between the elements looked at, else as far as x goes."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(off[:, None] < 1, np.minimum(off[:, None] * slope, most), most))


def grid_sample(node: Node, setting: Setting) -> list[Array]:
    """GridSample of any rank and mode. Locations so far out that their error exceeds an element may give any element."""
    if node.results[0].size == 0 or not is_float(node.output_types[0]):
        return [np.zeros(node.results[0].shape)]
    x, grid = node.real(0), node.real(1)
    u = max(setting.u, FLOATS[node.types[1] or "float64"].unit_roundoff)  # locations may be computed in the grid's own type
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.attribute("mode", "linear"), node.attribute("mode", "linear"))
    padding, corners = node.attribute("padding_mode", "zeros"), bool(node.attribute("align_corners", 0))
    rank = x.ndim - 2
    points = np.nan_to_num(grid.reshape(grid.shape[0], -1, rank), posinf=2.0**100, neginf=-(2.0**100))
    locations, offs = [], []
    for a, length in enumerate(x.shape[2:]):
        g = points[..., rank - 1 - a]
        locations.append(((g + 1) * (length - 1) if corners else (g + 1) * length - 1) / 2)
        roundings = LOCATION + (REFLECTION if padding == "reflection" else 0.0)
        offs.append((roundings * u * (np.abs(g) + 1) + setting.u_in * np.abs(g) + setting.eta_in + setting.eta) * length / 2)
    first = {"nearest": 0.5, "linear": 0.0, "cubic": -1.0}[mode]
    last = {"nearest": 0.5, "linear": 1.0, "cubic": 2.0}[mode]
    reach = [(_whole(s - off + first), _whole(s + off + last)) for s, off in zip(locations, offs, strict=True)]
    found = around(x, reach, _padding(padding, corners), MOST + 2 if mode == "cubic" else MOST)
    everything = np.abs(np.where(np.isfinite(x), x, 0.0)).max(axis=tuple(range(2, x.ndim)), initial=0.0)[..., None]
    far = np.asarray(np.any([off >= 1 for off in offs], axis=0))[:, None]
    # a location outside by more than its error gives the padding, however large that error
    beyond = [(s + off < -1) | (s - off > n) for s, off, n in zip(locations, offs, x.shape[2:], strict=True)]
    outside = np.asarray(np.any(beyond, axis=0))[:, None] & (padding == "zeros") & (mode != "cubic")
    if mode == "nearest":
        error = np.where(far | (found.spread > 0), np.inf, setting.u_in * found.largest)
    else:
        size = node.again([np.where(np.isfinite(x), np.abs(x), 0.0), node.inputs[1]])[0].reshape(found.largest.shape)
        error = _weighted(found, offs, size, 2 * everything, mode, setting)
    infinite = ~np.isfinite(x.reshape(*x.shape[:2], -1)).all(axis=-1, keepdims=True)
    wild = found.wild | (far & infinite)
    error = np.where(outside, 0.0, np.where(wild, np.inf, error))
    return [error.reshape(node.results[0].shape)]


def _weighted(found: Around, offs: list[Array], size: Array, most: Array, mode: str, setting: Setting) -> Array:
    """Error of a weighted sum of 2^rank or 4^rank elements; size: that sum of magnitudes, where weights have one sign."""
    rank = len(offs)
    if mode == "linear":
        error = (setting.gamma(2**rank + 2 * rank) + setting.u_in) * size + 2**rank * setting.eta
        for off, slope in zip(offs, found.slopes, strict=True):
            error = error + _steps(off + 2 * setting.u, slope, most)
        return np.asarray(error)
    gain = CUBIC_GAIN ** (rank - 1)
    sums = setting.gamma(5 * rank) + setting.u_in
    error = (rank * CUBIC_ROUNDINGS * setting.u * gain + CUBIC_GAIN**rank * sums) * found.largest + 4**rank * setting.eta
    for off in offs:
        error = error + _steps(off + 2 * setting.u, CUBIC_SLOPE * gain * found.spread, 4 * most)
    return np.asarray(error)


def affine_grid(node: Node, setting: Setting) -> list[Array]:
    """AffineGrid: locations between −1 and 1, and a product of them with theta."""
    theta, u = np.abs(node.real(0)), setting.u
    rank = theta.shape[1]
    size = theta.sum(axis=-1)
    error = (
        (setting.gamma(rank + 2) + setting.u_in) * size + STEPS * u * theta[..., :rank].sum(axis=-1) + (rank + 2) * setting.eta
    )
    shape = (theta.shape[0], *[1] * rank, rank)
    return [np.broadcast_to(np.reshape(error + setting.eta_in, shape), node.results[0].shape)]


def deform_conv(node: Node, setting: Setting) -> list[Array]:
    """DeformConv: a sum of products with interpolated values, whose locations are a whole number and an offset."""
    if node.results[0].size == 0:
        return [np.zeros(node.results[0].shape)]
    x, w, u = node.real(0), node.real(1), setting.u
    sizes = [None if v is None else np.abs(np.where(np.isfinite(v), v, 0.0)) for v in node.inputs]
    sizes[2] = node.inputs[2]
    total = node.again(sizes)[0]
    rank, groups, taps = x.ndim - 2, int(node.attribute("offset_group", 1)), math.prod(w.shape[2:])
    locations, offs, decided = _deformed(node, setting)
    reach = [(_whole(s - off), _whole(s + off) + 1) for s, off in zip(locations, offs, strict=True)]
    grouped = x.reshape(x.shape[0] * groups, x.shape[1] // groups, *x.shape[2:])
    found = around(grouped, reach, _zeros)
    most = 2 * np.abs(np.where(np.isfinite(x), x, 0.0)).max(initial=0.0)
    moved = sum(_steps(off + 2 * u, slope, most) for off, slope in zip(offs, found.slopes, strict=True))
    outputs = node.results[0].shape[2:]
    if node.given(4):
        moved = moved * np.abs(node.real(4)).reshape(x.shape[0] * groups, 1, -1)
    group = int(node.attribute("group", 1))
    matrix = np.abs(w).reshape(group, w.shape[0] // group, w.shape[1] * taps)
    columns = np.asarray(moved).reshape(x.shape[0], group, w.shape[1] * taps, math.prod(outputs))
    error = np.matmul(matrix, columns).reshape(node.results[0].shape)
    terms = w.shape[1] * taps + 2**rank + 2 * rank + 3
    error = error + (setting.gamma(terms) + 3 * setting.u_in) * total + terms * setting.eta
    unsure = (found.wild.any(axis=1) | ~decided).reshape(x.shape[0], groups * taps, -1).any(axis=1)
    unsure = unsure.reshape(x.shape[0], 1, *outputs) | (total > FLOATS[setting.arithmetic.compute].largest)
    return [np.where(unsure, np.inf, error)]


def _deformed(node: Node, setting: Setting) -> tuple[list[Array], list[Array], Array]:
    """Locations (N·offset_group, taps·outputs) along each axis, their errors, and whether the unit cannot see a location on
    another side of the end of x, outside of which nothing is taken where x is not padded."""
    x, w, offset = node.real(0), node.real(1), node.real(2)
    layout = {name: node.attribute(name, None) for name in ("strides", "dilations", "pads")}
    kernel = w.shape[2:]
    axes = axes_of(x.shape[2:], kernel, **layout)
    taps, outputs = math.prod(kernel), tuple(a.outputs for a in axes)
    moved = offset.reshape(-1, taps, len(axes), math.prod(outputs))
    locations, offs = [], []
    decided = np.ones((moved.shape[0], taps * math.prod(outputs)), bool)
    for i, a in enumerate(axes):
        tap, output = np.indices(kernel)[i].reshape(-1, 1), np.indices(outputs)[i].reshape(1, -1)
        base = tap * a.dilation + output * a.stride - a.begin
        size = np.abs(base) + np.abs(moved[:, :, i])
        place = (base + moved[:, :, i]).reshape(decided.shape)
        off = 2 * setting.u * size + setting.u_in * np.abs(moved[:, :, i]) + setting.eta_in
        off = off.reshape(decided.shape)
        near = ((np.abs(place) <= off) & (a.begin == 0)) | ((np.abs(place - (a.size - 1)) <= off) & (a.end == 0))
        decided &= ~near | (place == np.rint(place))
        locations.append(place)
        offs.append(off)
    return locations, offs, decided
