"""Resize and Upsample: separable interpolation from per-axis tables of source positions and weights.

Source coordinates are exact: x = numerator/denominator in whole numbers, so ties decide as the text says and not as
rounding happens to fall (width 20 → 6, half_pixel, output 4: exactly 14.5). Scales count with the exact value of their
float32.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.arguments import axis_in

Array = NDArray[Any]

MOVE = 2**20
"""Ties are what a relative move of the coordinates by 1/MOVE would decide otherwise."""

BLOCK = 16
"""Outputs along an axis that one matrix makes of the few elements that they reach: small, because most of it is zeros."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """How one axis is resized: lengths in elements, scale = output/input, region of interest in input lengths - 1."""

    length: int
    resized: int
    scale: Fraction
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)


def _affine(axis: Axis, mode: str) -> tuple[Fraction, Fraction]:
    """(slope, offset) of x_original = slope·x_resized + offset. Source: Resize-19; tf_half_pixel_for_nn: Resize-11.

    `length_resized` is the length of the result, a whole number, also where scale·length is not.
    """
    half, last = Fraction(1, 2), axis.length - 1
    if mode == "asymmetric":
        return 1 / axis.scale, Fraction(0)
    if mode == "tf_half_pixel_for_nn":
        return 1 / axis.scale, half / axis.scale
    if mode == "align_corners":
        return (Fraction(last, axis.resized - 1) if axis.resized > 1 else Fraction(0)), Fraction(0)
    if mode == "tf_crop_and_resize":
        if axis.resized > 1:
            return (axis.end - axis.start) * last / (axis.resized - 1), axis.start * last
        return Fraction(0), (axis.start + axis.end) * half * last
    if mode == "pytorch_half_pixel" and axis.resized <= 1:
        return Fraction(0), Fraction(0)
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return 1 / axis.scale, half / axis.scale - half
    if mode == "half_pixel_symmetric":
        # the middle of the result lies on the middle of the input, also where scale·length is not whole
        shift = Fraction(axis.length, 2) * (1 - Fraction(axis.resized) / (axis.scale * axis.length))
        return 1 / axis.scale, half / axis.scale - half + shift
    raise ValueError(f"unknown coordinate_transformation_mode {mode!r}")


def _coordinates(axis: Axis, mode: str) -> tuple[Array, int]:
    """Numerators (one per output position) and the common denominator of the source coordinates."""
    slope, offset = _affine(axis, mode)
    denominator = math.lcm(slope.denominator, offset.denominator)
    step, first = int(slope * denominator), int(offset * denominator)
    # 8·: what the roundings and kernels below multiply by; beyond int64, Python's integers
    large = 8 * (abs(step) * axis.resized + abs(first) + (axis.length + 4) * denominator) >= 2**63
    positions: Array = np.arange(axis.resized).astype(object if large else np.int64)
    return np.asarray(positions * step + first), denominator


def _nearest(numerator: Array, denominator: int, mode: str) -> Array:
    if mode == "floor":
        return np.asarray(numerator // denominator)
    if mode == "ceil":
        return np.asarray(-(-numerator // denominator))
    if mode == "round_prefer_floor":
        return np.asarray(-((denominator - 2 * numerator) // (2 * denominator)))
    if mode == "round_prefer_ceil":
        return np.asarray((2 * numerator + denominator) // (2 * denominator))
    raise ValueError(f"unknown nearest_mode {mode!r}")


def _linear_kernel(t: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(t), 0.0))


def _cubic_kernel(t: Array, a: float) -> Array:
    """Keys, Cubic convolution interpolation (IEEE ASSP 29, 1981), equation 4 with a free coefficient a."""
    t = np.abs(t)
    inner = ((a + 2) * t - (a + 3)) * t * t + 1
    outer = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, inner, np.where(t < 2, outer, 0.0))


def axis_table(
    axis: Axis,
    *,
    mode: str,
    coordinates: str,
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    antialias: int = 0,
) -> tuple[Array, Array]:
    """Source positions (outputs, taps), int64 within the axis, and their weights, float64 of the same shape.

    Taps beyond the ends repeat the end elements, or with `exclude_outside` weigh nothing and the rest is brought back
    to sum 1. `antialias` widens the kernel by max(1, 1/scale). Raises ValueError for an unknown mode.
    """
    if mode not in ("nearest", "linear", "cubic"):
        raise ValueError(f"unknown mode {mode!r}")
    numerator, denominator = _coordinates(axis, coordinates)
    if mode == "nearest":
        position = np.clip(_nearest(numerator, denominator, nearest_mode), 0, axis.length - 1).astype(np.int64)
        return position[:, None], np.ones((axis.resized, 1))
    shrink = min(axis.scale, Fraction(1)) if antialias else Fraction(1)
    radius = math.ceil((1 if mode == "linear" else 2) / shrink)
    floor = np.asarray(numerator // denominator)
    fraction = ((numerator - floor * denominator) / denominator).astype(np.float64)
    offsets = np.arange(1 - radius, radius + 1)
    distance = (offsets - fraction[:, None]) * float(shrink)
    weights = _linear_kernel(distance) if mode == "linear" else _cubic_kernel(distance, cubic_coeff_a)
    # a region of interest may lie beyond int64; from one kernel outside on, every tap repeats the end
    position = np.clip(floor, -1 - radius, axis.length + radius).astype(np.int64)[:, None] + offsets
    if exclude_outside:
        weights = np.where((position >= 0) & (position < axis.length), weights, 0.0)
    if exclude_outside or antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(position, 0, axis.length - 1), weights


def apply_table(x: Array, axis: int, position: Array, weights: Array) -> Array:
    """Σ over taps of weights·x at position along `axis`; a tap of weight 0 adds nothing, whatever x is there."""
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    shape = (*x.shape[:axis], len(position), *x.shape[axis + 1 :])
    planes = x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
    if not np.isfinite(x).all():
        return _gathered(planes, position, weights).reshape(shape)
    y = np.empty((len(planes), len(position), planes.shape[2]), x.dtype)
    for first in range(0, len(position), BLOCK):
        part = slice(first, first + BLOCK)
        low, high = position[part].min(), position[part].max() + 1
        matrix = np.zeros((len(position[part]), high - low))
        np.add.at(matrix, (np.arange(len(matrix))[:, None], position[part] - low), weights[part])
        if planes.shape[2] == 1:
            np.matmul(planes[:, low:high, 0], matrix.T, out=y[:, part, 0])
        else:
            np.matmul(matrix, planes[:, low:high], out=y[:, part])
    return y.reshape(shape)


def _gathered(planes: Array, position: Array, weights: Array) -> Array:
    """`apply_table` of planes (n, length, m), tap by tap: (n, outputs, m)."""
    y = np.zeros((len(planes), len(position), planes.shape[2]), planes.dtype)
    for place, weight in zip(position.T, weights.T[..., None], strict=True):
        y += np.where(weight == 0, 0.0, np.take(planes, place, axis=1)) * weight
    return y


def _outside(axis: Axis) -> Array:
    numerator, denominator = _coordinates(axis, "tf_crop_and_resize")
    return np.asarray((numerator < 0) | (numerator > (axis.length - 1) * denominator)).astype(bool)


def _in_type(y: Array, dtype: np.dtype[Any]) -> Array:
    """Integer tensors: to nearest and saturated, as ONNX's reference does (the operator's text is silent)."""
    if y.dtype == dtype or dtype.kind in "cb":
        return y.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(y), limits.min, limits.max).astype(dtype)


def _given(values: Array | None, n: int, what: str) -> Array | None:
    """None for an absent or empty input. Raises ValueError unless there are n values, finite and not negative."""
    if values is None or values.size == 0:
        return None
    if values.shape != (n,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"{what} {values.tolist()} for {n} axes: one finite number that is not negative was expected for each")
    return values


def _region(roi: Array | None, n: int) -> list[Fraction]:
    """Starts and ends of tf_crop_and_resize, in input lengths - 1; the whole axes where none are given. Raises ValueError."""
    if roi is None or roi.size == 0:
        return [Fraction(0)] * n + [Fraction(1)] * n
    if roi.shape != (2 * n,) or not np.isfinite(roi).all():
        raise ValueError(f"roi {roi.tolist()} for {n} axes: a finite start and end was expected for each")
    return [Fraction(float(v)) for v in roi]


def _common_scale(exact: list[Fraction], policy: str) -> Fraction:
    if policy not in ("not_larger", "not_smaller"):
        raise ValueError(f"unknown keep_aspect_ratio_policy {policy!r}")
    return min(exact) if policy == "not_larger" else max(exact)


def _plan(
    x: Array,
    axes: Sequence[int] | None,
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    coordinates: str,
    policy: str,
) -> tuple[dict[int, Axis], list[Fraction]]:
    """The resized axes by number, and the number that each of their lengths is the rounded value of. Raises ValueError
    unless exactly one of scales and sizes has values, or where an empty axis is to have elements."""
    named = list(range(x.ndim)) if axes is None else [axis_in(axis, x.ndim) for axis in axes]
    scales, sizes = _given(scales, len(named), "scales"), _given(sizes, len(named), "sizes")
    if (scales is None) == (sizes is None):
        raise ValueError("exactly one of scales and sizes must be given")
    region = _region(roi if coordinates == "tf_crop_and_resize" else None, len(named))
    lengths = [x.shape[axis] for axis in named]
    if sizes is not None:
        exact = [Fraction(int(n), max(length, 1)) for n, length in zip(sizes, lengths, strict=True)]
        wide, half = [Fraction(int(n)) for n in sizes], Fraction(0)
        if policy != "stretch":
            exact = [_common_scale(exact, policy)] * len(exact)
            wide, half = [exact[0] * length for length in lengths], Fraction(1, 2)
    else:
        assert scales is not None
        exact = [Fraction(float(s)) for s in scales]
        spans = [region[len(named) + i] - region[i] for i in range(len(named))]
        wide, half = [n * span * s for n, span, s in zip(lengths, spans, exact, strict=True)], Fraction(0)
    resized = [max(math.floor(w + half), 0) for w in wide]
    if any(n and not length for n, length in zip(resized, lengths, strict=True)):
        raise ValueError(f"an empty axis of {x.shape} cannot be resized to {resized}")
    plan = {axis: Axis(lengths[i], resized[i], exact[i], region[i], region[len(named) + i]) for i, axis in enumerate(named)}
    return plan, [w + half for w in wide]


def _tables(plan: dict[int, Axis], *, coordinates: str, **kernel: Any) -> list[tuple[int, Array, Array]]:
    """(axis, positions, weights) as `axis_table` gives them of every axis that changes, in the order of resizing."""
    cropped = coordinates == "tf_crop_and_resize"
    tables = []
    # what shrinks goes first, then from the last axis on: fewer elements on the way
    for number, axis in sorted(plan.items(), key=lambda entry: (entry[1].resized / entry[1].length, -entry[0])):
        whole = not cropped or (axis.start == 0 and axis.end == 1)
        if not (whole and axis.scale == 1 and axis.length == axis.resized):
            tables.append((number, *axis_table(axis, coordinates=coordinates, **kernel)))
    return tables


def interpolation(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    **kernel: Any,
) -> list[tuple[int, Array, Array]]:
    """The tables by which `resize` weighs the elements of x along its axes, for a result that is not empty."""
    plan, _ = _plan(x, axes, roi, scales, sizes, coordinate_transformation_mode, keep_aspect_ratio_policy)
    return _tables(plan, coordinates=coordinate_transformation_mode, **kernel)


def resize(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Array:
    """Resize-19 (11, 13, 18 with their attributes): x of any rank, its `axes` resized by `scales` or to `sizes`.

    Output length floor(length·(roi end - roi start)·scale), in exact arithmetic. Integer tensors stay in their type. An
    axis of scale 1 stays as it is, also with tf_half_pixel_for_nn, whose formula would shift it by half an element.
    Raises ValueError.
    """
    plan, _ = _plan(x, axes, roi, scales, sizes, coordinate_transformation_mode, keep_aspect_ratio_policy)
    shape = [plan[i].resized if i in plan else n for i, n in enumerate(x.shape)]
    if 0 in shape:
        return np.zeros(shape, x.dtype)
    tables = _tables(
        plan,
        mode=mode,
        coordinates=coordinate_transformation_mode,
        nearest_mode=nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside,
        antialias=antialias,
    )
    y = x
    for number, position, weights in tables:
        y = np.take(y, position[:, 0], axis=number) if mode == "nearest" else apply_table(y, number, position, weights)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        for number, axis in plan.items():
            outside = _outside(axis).reshape(-1, *[1] * (x.ndim - number - 1))
            y = np.where(outside, np.asarray(extrapolation_value).astype(y.dtype), y)
    return _in_type(y, x.dtype)


def _is_float32(value: Fraction) -> bool:
    return Fraction(float(np.float32(float(value)))) == value


def _moves(axis: Axis, coordinates: str) -> bool:
    """Whether float32 may round on the way to the source coordinates: not where output/input is a power of two, whether
    that is multiplied or divided by, and starts and ends have few bits."""
    slope, offset = _affine(axis, coordinates)
    power = all(n & (n - 1) == 0 for n in (abs(slope.numerator), slope.denominator))
    return not (power and _is_float32(offset) and _is_float32(offset + slope * axis.resized))


def _axis_ties(axis: Axis, mode: str, coordinates: str, nearest_mode: str) -> Array:
    """Mask of the output positions whose source element, or whose being outside, a move of the coordinate changes."""
    ties = np.zeros(axis.resized, bool)
    if not _moves(axis, coordinates):
        return ties
    numerator, denominator = _coordinates(axis, coordinates)
    exact = numerator.astype(object)
    move, denominator = np.abs(exact) + abs(int(exact[0])), denominator * MOVE
    moved = exact * MOVE - move, exact * MOVE + move
    if mode == "nearest":
        low, high = (np.clip(_nearest(m, denominator, nearest_mode), 0, axis.length - 1) for m in moved)
        ties |= (low != high).astype(bool)
    if coordinates == "tf_crop_and_resize":
        low, high = ((m < 0) | (m > (axis.length - 1) * denominator) for m in moved)
        ties |= (low != high).astype(bool)
    return ties


def _length_moves(wide: Fraction, scale: Fraction) -> bool:
    """Whether the length, `wide` rounded down, may be another in float32."""
    step = Fraction(1, MOVE)
    rounds = not (_is_float32(wide) and _is_float32(scale))
    return rounds and math.floor(wide * (1 - step)) != math.floor(wide * (1 + step))


def resize_ties(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    **others: Any,
) -> Array:
    """Mask of `resize`'s ties, broadcastable to its result: half-way (or, rounding down or up, whole) coordinates of
    nearest, ends of the input in tf_crop_and_resize, whole values of integer tensors, which may come out just below.

    What float32 computes without rounding does not move: an axis doubled or halved has no ties. All elements are marked
    where a length moves: floor(10·0.7f) is 6, and 7 in float32.
    """
    plan, wide = _plan(x, axes, roi, scales, sizes, coordinate_transformation_mode, keep_aspect_ratio_policy)
    fixed = sizes is not None and sizes.size > 0 and keep_aspect_ratio_policy == "stretch"
    if not fixed and any(_length_moves(w, axis.scale) for w, axis in zip(wide, plan.values(), strict=True)):
        return np.ones((1,) * x.ndim, bool)
    ties = np.zeros((1,) * x.ndim, bool)
    for number, axis in plan.items():
        if axis.resized and not (axis.scale == 1 and axis.length == axis.resized and axis.start == 0 and axis.end == 1):
            marked = _axis_ties(axis, mode, coordinate_transformation_mode, nearest_mode)
            ties = ties | marked.reshape(-1, *[1] * (x.ndim - number - 1))
    rounding = others.get("antialias") or others.get("exclude_outside")  # weights are divided by their sum
    rounding = rounding or any(axis.resized and _moves(axis, coordinate_transformation_mode) for axis in plan.values())
    if mode != "nearest" and x.dtype.kind in "iu" and rounding:
        given = {"axes": axes, "keep_aspect_ratio_policy": keep_aspect_ratio_policy, "mode": mode, **others}
        given["coordinate_transformation_mode"] = coordinate_transformation_mode
        data = x.astype(np.float64)
        real = resize(data, roi, scales, sizes, **given)
        ties = ties | (np.abs(real - np.rint(real)) <= np.abs(data).max(initial=0.0) * sum(x.shape) / MOVE)
    return ties


EARLY: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
"""What Resize-10 and Upsample say about coordinates: nothing. ONNX's example of Upsample, doubled, is this."""


def resize_10(x: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Resize-10 (Upsample-9): x_original = x_resized/scale, rounded down for nearest (the text leaves it open)."""
    return resize(x, None, scales, mode=mode, **EARLY)


def resize_10_open(x: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Mask of the elements that version 10 leaves open, broadcastable to the result: those of nearest that lie between two
    elements along an axis that shrinks. Where an axis grows, ONNX's example repeats each element."""
    plan, _ = _plan(x, None, None, scales, None, EARLY["coordinate_transformation_mode"], "stretch")
    marked = np.zeros((1,) * x.ndim, bool)
    for number, axis in plan.items() if mode == "nearest" else []:
        if 0 < axis.scale < 1:
            numerator, denominator = _coordinates(axis, EARLY["coordinate_transformation_mode"])
            marked = marked | (numerator % denominator != 0).astype(bool).reshape(-1, *[1] * (x.ndim - number - 1))
    return marked


def resize_10_ties(x: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Mask of `resize_10`'s ties, as `resize_ties`."""
    return resize_ties(x, None, scales, mode=mode, **EARLY)


def upsample_7(x: Array, *, scales: Sequence[float], mode: str = "nearest") -> Array:
    """Upsample-7: as Upsample-9, with the scales as an attribute."""
    return resize_10(x, np.asarray(scales, np.float64), mode=mode)


def upsample_7_ties(x: Array, *, scales: Sequence[float], mode: str = "nearest") -> Array:
    """Mask of `upsample_7`'s ties, as `resize_ties`."""
    return resize_10_ties(x, np.asarray(scales, np.float64), mode=mode)


def scales_1(height_scale: float, width_scale: float, mode: str = "nearest") -> dict[str, Any]:
    """Upsample-1's attributes as Upsample-7 has them."""
    return {"scales": [1, 1, height_scale, width_scale], "mode": "linear" if mode == "bilinear" else mode}


def upsample_1(x: Array, *, height_scale: float, width_scale: float, mode: str = "nearest") -> Array:
    """Upsample-1: x (N, C, H, W), H and W scaled; mode nearest or bilinear."""
    return upsample_7(x, **scales_1(height_scale, width_scale, mode))


def upsample_1_ties(x: Array, *, height_scale: float, width_scale: float, mode: str = "nearest") -> Array:
    """Mask of `upsample_1`'s ties, as `resize_ties`."""
    return upsample_7_ties(x, **scales_1(height_scale, width_scale, mode))
