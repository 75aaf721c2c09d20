"""Resampling."""

from __future__ import annotations

from suites.cases.operators.table import Row

_MODES = "half_pixel asymmetric align_corners pytorch_half_pixel half_pixel_symmetric"
_NEAREST = " ".join(
    f"x:1x2x5x7.{size}.coordinate_transformation_mode:{mode}.mode:nearest.nearest_mode:{rounding}"
    for size in ("scales:1_1_2_15e-1", "sizes:1_2_3_4")
    for mode in _MODES.split()
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
)
_LINEAR = " ".join(
    f"x:1x2x5x7.{size}.coordinate_transformation_mode:{mode}.mode:linear"
    for size in ("scales:1_1_2_25e-1", "sizes:1_2_3_4", "sizes:1_2_10_21")
    for mode in _MODES.split()
)
_CUBIC = " ".join(
    f"x:1x2x5x7.{size}.coordinate_transformation_mode:{mode}.mode:cubic"
    for size in ("scales:1_1_2_25e-1", "sizes:1_2_3_4")
    for mode in ("half_pixel", "asymmetric", "align_corners")
)
_CROP = "x:1x2x5x7.roi:0_0_1e-1_2e-1_1_1_9e-1_8e-1.sizes:1_2_6_4.coordinate_transformation_mode:tf_crop_and_resize"
_MORE = (
    "x:1x2x5x7.scales:1_1_2_2 x:1x2x5x7.scales:1_1_1_1 x:2x3x7.scales:1_1_2.mode:linear x:5x7.sizes:8_3.mode:linear "
    "x:1x2x4x4.sizes:1_2_2_2.mode:cubic x:1x2x5x7.sizes:1_2_8_9.cubic_coeff_a:-5e-1.mode:cubic "
    "x:1x2x5x7.sizes:1_2_8_9.exclude_outside:1.mode:cubic "
    "x:1x2x5x7.sizes:1_2_3_3.antialias:1.mode:linear x:1x2x8x6.sizes:1_2_3_2.antialias:1.mode:cubic "
    "x:1x2x5x7.scales:2_15e-1.axes:2_3.mode:linear x:1x2x5x7.sizes:8_9.axes:3_2 "
    "x:1x2x5x7.sizes:9_9.axes:2_3.keep_aspect_ratio_policy:not_larger "
    "x:1x2x5x7.sizes:9_9.axes:2_3.keep_aspect_ratio_policy:not_smaller "
    f"{_CROP}.extrapolation_value:1e1.mode:linear "
    "x:1x2x3x2x4.scales:1_1_2_2_15e-1.mode:linear x:1x2x5x7.sizes:1_2_8_9.mode:linear.feed:sizes"
)

CASES = (
    Row("Resize-19", "f32", "index", _NEAREST),
    Row("Resize-19", "f32", "normal", f"{_LINEAR} {_CUBIC} {_MORE}"),
    Row("Resize-19", "f32", "grid", _LINEAR),
    Row("Resize-19", "f16", "normal", "x:1x2x5x7.scales:1_1_2_2 x:1x2x5x7.sizes:1_2_8_9.mode:linear"),
    Row("Resize-19", "i8 u8 i32 i64 bool", "index", "x:1x2x5x7.scales:1_1_2_2 x:1x2x5x7.sizes:1_2_3_4"),
    Row("Resize-19", "f64", "normal", "x:1x2x5x7.sizes:1_2_8_9.mode:linear"),
)
