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

Array = NDArray[Any]


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
    to sum 1. `antialias` widens the kernel by max(1, 1/scale).
    """
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
    position = floor.astype(np.int64)[:, None] + offsets
    if exclude_outside:
        weights = np.where((position >= 0) & (position < axis.length), weights, 0.0)
    if exclude_outside or antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(position, 0, axis.length - 1), weights


def _apply(x: Array, axis: int, position: Array, weights: Array) -> Array:
    """Σ over taps of weights·x at position along `axis`; a tap of weight 0 adds nothing, whatever x is there."""
    column = (slice(None),) + (None,) * (x.ndim - axis - 1)
    total = np.zeros((), np.float64)
    for tap in range(position.shape[1]):
        weight = weights[:, tap][column]
        total = total + weight * np.where(weight == 0, 0.0, np.take(x, position[:, tap], axis=axis))
    return np.asarray(total)


def _outside(axis: Axis) -> Array:
    numerator, denominator = _coordinates(axis, "tf_crop_and_resize")
    return np.asarray((numerator < 0) | (numerator > (axis.length - 1) * denominator)).astype(bool)


def _in_type(y: Array, dtype: np.dtype[Any]) -> Array:
    """Integer tensors: to nearest and saturated, as ONNX's reference does (the operator's text is silent)."""
    if y.dtype == dtype:
        return y
    limits = np.iinfo(dtype)
    return np.clip(np.rint(y), limits.min, limits.max).astype(dtype)


def _plan(
    x: Array,
    named: Sequence[int],
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    coordinates: str,
    policy: str,
) -> dict[int, Axis]:
    """The resized axes by number. Raises ValueError unless exactly one of scales and sizes has values."""
    scales = None if scales is None or scales.size == 0 else scales
    sizes = None if sizes is None or sizes.size == 0 else sizes
    if (scales is None) == (sizes is None):
        raise ValueError("exactly one of scales and sizes must be given")
    region = [Fraction(0)] * len(named) + [Fraction(1)] * len(named)
    if coordinates == "tf_crop_and_resize" and roi is not None and roi.size:
        region = [Fraction(float(v)) for v in roi]
    lengths = [x.shape[axis] for axis in named]
    if sizes is not None:
        resized = [int(n) for n in sizes]
        exact = [Fraction(n, max(length, 1)) for n, length in zip(resized, lengths, strict=True)]
        if policy != "stretch":
            common = min(exact) if policy == "not_larger" else max(exact)
            exact = [common] * len(exact)
            resized = [math.floor(common * length + Fraction(1, 2)) for length in lengths]
    else:
        exact = [Fraction(float(s)) for s in np.asarray(scales)]
        spans = [region[len(named) + i] - region[i] for i in range(len(named))]
        resized = [math.floor(n * span * s) for n, span, s in zip(lengths, spans, exact, strict=True)]
    return {axis: Axis(lengths[i], resized[i], exact[i], region[i], region[len(named) + i]) for i, axis in enumerate(named)}


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

    Output length floor(length·(roi end - roi start)·scale), in exact arithmetic. Integer tensors stay in their type.
    """
    named = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
    plan = _plan(x, named, roi, scales, sizes, coordinate_transformation_mode, keep_aspect_ratio_policy)
    cropped = coordinate_transformation_mode == "tf_crop_and_resize"
    y = x
    for number, axis in plan.items():
        whole = not cropped or (axis.start == 0 and axis.end == 1)
        if whole and axis.scale == 1 and axis.length == axis.resized:
            continue
        position, weights = axis_table(
            axis,
            mode=mode,
            coordinates=coordinate_transformation_mode,
            nearest_mode=nearest_mode,
            cubic_coeff_a=cubic_coeff_a,
            exclude_outside=exclude_outside,
            antialias=antialias,
        )
        y = np.take(y, position[:, 0], axis=number) if mode == "nearest" else _apply(y, number, position, weights)
    if cropped:
        for number, axis in plan.items():
            outside = _outside(axis).reshape(-1, *[1] * (x.ndim - number - 1))
            y = np.where(outside, np.asarray(extrapolation_value).astype(y.dtype), y)
    return _in_type(y, x.dtype)


def resize_10(x: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Resize-10 (Upsample-9): x_original = x_resized/scale, rounded down for nearest (the text leaves it open)."""
    return resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def upsample_7(x: Array, *, scales: Sequence[float], mode: str = "nearest") -> Array:
    """Upsample-7: as Upsample-9, with the scales as an attribute."""
    return resize_10(x, np.asarray(scales, np.float64), mode=mode)


def upsample_1(x: Array, *, height_scale: float, width_scale: float, mode: str = "nearest") -> Array:
    """Upsample-1: x (N, C, H, W), H and W scaled; mode nearest or bilinear."""
    scales = np.array([1, 1, height_scale, width_scale], np.float64)
    return resize_10(x, scales, mode="linear" if mode == "bilinear" else mode)
