"""Resize and Upsample: lengths by scales and by sizes, every mode, rule of coordinates and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, call, kinds_of, length, shapes, version_of

SCALES = (0.5, 1.0, 2.0, 3.0, 0.25, 0.3, 0.6, 0.7, 0.9, 1.18, 1.5, 2.3, 3.7)

COORDINATES = {
    11: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"),
    13: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
    19: ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
}
"""Version → coordinate_transformation_mode, until the next version."""

NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


FORMS = ("any", "any", "image", "image", "channels last", "volume")


def _form(draw: st.DrawFn, form: str) -> tuple[tuple[int, ...], list[int]]:
    """A shape and the axes to resize: any of them, or those of an image or a volume, which more kernels can do."""
    if form == "any":
        shape = any_shape(draw, 1, 4, 6)
        return shape, sorted(draw(st.sets(st.sampled_from([i for i, n in enumerate(shape) if n] or [0]), max_size=2)))
    sides = draw(shapes(3, 3, 1, 5) if form == "volume" else shapes(2, 2, 1, 10))
    batch, channels = length(draw, 2), length(draw, 2)
    last = form == "channels last"
    shape = (batch, *sides, channels) if last else (batch, channels, *sides)
    return shape, list(range(1 if last else 2, len(shape) - last))


def _data(
    draw: st.DrawFn, operator: str, version: int, mode: str | None, forms: tuple[str, ...] = FORMS
) -> tuple[Array, list[int]]:
    """A tensor of a type that the mode can do, and the axes to resize."""
    kinds = kinds_of(operator, version)
    numbers = [kind for kind in kinds if kind not in ("bool", "str") and not kind.startswith("complex")]
    kind = draw(st.sampled_from(["float32", *(numbers if mode in ("linear", "cubic") else kinds)]))
    shape, axes = _form(draw, draw(st.sampled_from(forms)))
    axes = [axis for axis in axes if shape[axis]]
    return array(draw, shape, kind, -9, 9, specials=mode is None, extremes=mode is None), axes


def _scales(draw: st.DrawFn, shape: tuple[int, ...], axes: list[int], least: float = 0.0) -> list[float]:
    """Scales by which at least one element is left of every axis."""
    allowed = [[s for s in SCALES if s >= least and s * n >= 1] for n in shape]
    return [draw(st.sampled_from(choices)) if i in axes else 1.0 for i, choices in enumerate(allowed)]


def _region(draw: st.DrawFn, axes: list[int], rank: int) -> list[float]:
    """Starts and ends around the ends of the axes that are resized."""
    start, end = st.sampled_from([0.0, 0.25, 0.4, -0.3]), st.sampled_from([1.0, 0.75, 0.8, 1.5])
    return [*(draw(start) if i in axes else 0.0 for i in range(rank)), *(draw(end) if i in axes else 1.0 for i in range(rank))]


def _how(draw: st.DrawFn, version: int, mode: str | None) -> dict[str, Any]:
    """Attributes of versions from 11 on."""
    modes = COORDINATES[max(v for v in COORDINATES if v <= version)]
    how: dict[str, Any] = {"coordinate_transformation_mode": draw(st.sampled_from([None, *modes]))}
    if mode in (None, "nearest"):
        how["nearest_mode"] = draw(st.sampled_from([None, *NEAREST]))
    if mode == "cubic":
        how["cubic_coeff_a"] = draw(st.sampled_from([None, -0.5, -0.25]))
    if mode in ("linear", "cubic"):
        how["exclude_outside"] = draw(st.sampled_from([None, 0, 1]))
        how["antialias"] = draw(st.sampled_from([None, 0, 1])) if version >= 18 else None
    if how["coordinate_transformation_mode"] == "tf_crop_and_resize":
        how["extrapolation_value"] = draw(st.sampled_from([None, 7.0]))
    return how


def _resize(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Resize")
    mode = draw(st.sampled_from([None, "nearest", "linear", "cubic"][: 3 if version == 10 else 4]))
    x, axes = _data(draw, "Resize", version, mode)
    scales = _scales(draw, x.shape, axes)
    if version == 10:
        return call("Resize", [x, np.array(scales, np.float32)], version=version, mode=mode)
    how = _how(draw, version, mode)
    cropped = how["coordinate_transformation_mode"] == "tf_crop_and_resize"
    roi = _region(draw, axes, x.ndim) if cropped else []
    sizes = [draw(st.integers(1, 12)) if i in axes else n for i, n in enumerate(x.shape)] if draw(st.booleans()) else None
    if sizes is not None:
        how["keep_aspect_ratio_policy"] = None
        if version >= 18 and axes and 0 not in x.shape:
            how["keep_aspect_ratio_policy"] = draw(st.sampled_from([None, "stretch", "not_larger", "not_smaller"]))
    if version >= 18 and axes and draw(st.booleans()):  # the other axes are left out
        named = draw(st.permutations(axes))
        how["axes"] = [axis - x.ndim if draw(st.booleans()) else axis for axis in named]
        scales = [scales[axis] for axis in named]
        sizes = None if sizes is None else [sizes[axis] for axis in named]
        roi = [roi[axis + side] for side in (0, x.ndim) for axis in named] if cropped else roi
    required = version == 11
    return call(
        "Resize",
        [
            x,
            np.array(roi, draw(st.sampled_from(["float32", "float64"]))) if cropped or required else None,
            np.array(scales if sizes is None else [], np.float32) if sizes is None or required else None,
            None if sizes is None else np.array(sizes, np.int64),
        ],
        version=version,
        mode=mode,
        **how,
    )


def _upsample(draw: st.DrawFn) -> Sample:
    """Never smaller than before; scales as two attributes, one attribute or an input. Deprecated from version 10 on."""
    version = version_of(draw, "Upsample", until=9)
    mode = draw(st.sampled_from([None, "nearest", "bilinear" if version == 1 else "linear"]))
    forms = ("image",) if version == 1 else FORMS
    x, axes = _data(draw, "Upsample", version, "linear" if mode == "bilinear" else mode, forms)
    if version == 1:
        height, width = (draw(st.sampled_from([s for s in SCALES if s >= 1])) for _ in range(2))
        return call("Upsample", [x], version=1, mode=mode, height_scale=height, width_scale=width)
    scales = _scales(draw, x.shape, axes, least=1)
    if version == 7:
        return call("Upsample", [x], version=7, mode=mode, scales=scales)
    return call("Upsample", [x, np.array(scales, np.float32)], version=version, mode=mode)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"Resize": _resize, "Upsample": _upsample}
