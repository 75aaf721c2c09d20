"""Resampling."""

from __future__ import annotations

from collections.abc import Sequence

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Row
from suites.cases.operators.windows import swept

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


# Lengths that grow, shrink, shrink to one and grow from one; 20 to 6 and 9 to 6 have coordinates on ties and on whole numbers.
_BY_SIZES = (
    "x:1x1x20x5.sizes:1_1_6_8",
    "x:1x2x7x9.sizes:1_2_3_6",
    "x:1x1x4x10.sizes:1_1_8_5",
    "x:1x2x1x6.sizes:1_2_5_1",
    "x:2x1x3x16.sizes:2_1_7_15",
    "x:1x1x15x33.sizes:1_1_16_32",
    "x:1x1x6x64.sizes:1_1_4_17",
)
_BY_SCALES = (
    "x:1x2x4x5.scales:1_1_2_3",
    "x:1x1x6x8.scales:1_1_15e-1_5e-1",
    "x:2x1x4x16.scales:1_1_25e-1_375e-3",
    "x:1x1x1x8.scales:1_1_3_25e-2",
)
# The result is shorter than length times scale; ONNX does not say which of them align_corners means.
_BY_FRACTIONS = ("x:1x2x5x7.scales:1_1_15e-1_25e-1", "x:1x1x7x9.scales:1_1_5e-1_75e-2", "x:1x1x5x17.scales:1_1_15e-1_1375e-3")
# Scales that float32 does not hold: coordinates of nearest could be rounded to either side of a tie.
_BY_ROUNDED_SCALES = ("x:1x2x6x7.scales:1_1_118e-2_6e-1", "x:1x1x13x9.scales:1_1_3e-1_7e-1")
_COORDINATES = ("", *_MODES.split())
_ROUNDINGS = ("", "round_prefer_ceil", "floor", "ceil", "round_prefer_floor")


def _resized(
    shape: str,
    mode: str,
    coordinates: str = "",
    rounding: str = "",
    antialias: str = "",
    axes: str = "",
    coefficient: str = "",
    exclude: str = "",
    policy: str = "",
) -> str:
    """A node of version 11 to 19, of which "" leaves attributes out."""
    fields = {
        "antialias": antialias,
        "axes": axes,
        "coordinate_transformation_mode": coordinates,
        "cubic_coeff_a": coefficient,
        "exclude_outside": exclude,
        "keep_aspect_ratio_policy": policy,
        "mode": mode,
        "nearest_mode": rounding,
    }
    return joined(shape, *(f"{name}:{value}" for name, value in fields.items() if value))


def _rounded(shapes: Sequence[str], *coordinates: str) -> str:
    """Every rule of coordinates under every rounding."""
    return " ".join(
        _resized(shape, "nearest", rule, rounding) for shape in shapes for rule in coordinates for rounding in _ROUNDINGS[1:]
    )


_NEAREST_ALL = " ".join(
    [
        _rounded((*_BY_SIZES, *_BY_SCALES), *_MODES.split()),
        _rounded(_BY_FRACTIONS, "half_pixel", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"),
    ]
)
_NEAREST_TYPES = swept(
    _resized,
    {"shape": (*_BY_SIZES[:4], *_BY_SCALES[:3]), "mode": ("", "nearest"), "coordinates": _COORDINATES, "rounding": _ROUNDINGS},
)
_INTERPOLATED = {"shape": (*_BY_SIZES, *_BY_SCALES), "coordinates": _COORDINATES, "exclude": ("", "1", "0")}
_LINEARLY = swept(_resized, {**_INTERPOLATED, "mode": ("linear",), "exclude": ("",)})
_LINEARLY_BETWEEN_INTEGERS = swept(
    _resized, {"shape": (*_BY_SIZES[:2], *_BY_SIZES[4:], *_BY_SCALES[:3]), "mode": ("linear",), "coordinates": _COORDINATES}
)
_DOUBLED = swept(
    _resized,
    {
        "shape": (
            "x:1x2x4x6.scales:1_1_2_2",
            "x:1x2x6x8.sizes:1_2_3_4",
            "x:1x1x5x7.scales:1_1_4_2",
            "x:1x2x8x6.sizes:1_2_16_3",
        ),
        "mode": ("linear",),
        "coordinates": ("", "asymmetric", "half_pixel", "pytorch_half_pixel"),
    },
)
_FRACTIONALLY = swept(
    _resized,
    {
        "shape": (*_BY_FRACTIONS, *_BY_ROUNDED_SCALES),
        "mode": ("linear", "cubic"),
        "coordinates": ("", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"),
    },
)
_CUBICALLY = swept(_resized, {**_INTERPOLATED, "mode": ("cubic",), "coefficient": ("", "-5e-1", "-75e-2")})
_SMOOTHED = swept(
    _resized,
    {
        **_INTERPOLATED,
        "mode": ("linear", "cubic"),
        "antialias": ("1",),
        "coordinates": ("", "asymmetric", "align_corners", "half_pixel_symmetric"),
        "coefficient": ("",),
    },
)
_OF_RANKS = swept(
    _resized,
    {
        "shape": (
            "x:5x7.sizes:8_3",
            "x:5x6.scales:2_15e-1",
            "x:1x2x7.sizes:1_2_12",
            "x:1x1x3x4x5.sizes:1_1_5_3_8",
            "x:1x2x2x4x4.scales:1_1_2_15e-1_5e-1",
            "x:2x1x4x3x5.sizes:2_1_8_6_10",
        ),
        "mode": ("linear", "nearest"),
        "coordinates": _COORDINATES,
    },
)
_AXES = swept(
    _resized,
    {
        "shape": ("x:1x2x5x7.sizes:8_9", "x:1x2x6x4.sizes:3_5", "x:1x2x6x6.scales:2_5e-1", "x:2x1x8x8.scales:15e-1_5e-1"),
        "axes": ("2_3", "3_2", "-2_-1", "-1_2"),
        "mode": ("nearest", "linear", "cubic"),
        "coordinates": ("", "align_corners", "asymmetric"),
    },
)
_POLICIES = swept(
    _resized,
    {
        "shape": (
            "x:1x2x5x7.sizes:9_9",
            "x:1x2x9x7.sizes:5_5",
            "x:1x2x4x8.sizes:6_7",
            "x:1x1x10x3.sizes:3_10",
            "x:1x2x6x6.sizes:9_4",
        ),
        "axes": ("2_3", "3_2"),
        "policy": ("not_larger", "not_smaller", "stretch"),
        "mode": ("nearest", "linear"),
        "coordinates": ("", "align_corners", "asymmetric"),
    },
)


def _cropped(size: str, region: str, mode: str, value: str, rounding: str = "") -> str:
    """tf_crop_and_resize of regions within, at the edge and beyond it."""
    return joined(
        f"x:1x2x5x7.roi:0_0_{region.replace('/', '_1_1_')}.sizes:1_2_{size}.coordinate_transformation_mode:tf_crop_and_resize",
        value and f"extrapolation_value:{value}",
        f"mode:{mode}",
        rounding and f"nearest_mode:{rounding}",
    )


_REGIONS = ("1e-1_2e-1/9e-1_8e-1", "0_0/1_1", "-25e-2_25e-2/75e-2_125e-2", "5e-1_0/5e-1_1", "9e-1_8e-1/1e-1_3e-1")
_CROPPED = {"size": ("6_4", "3_9", "10_1", "1_5"), "region": _REGIONS, "value": ("", "1e1", "-3")}
_CROPS = " ".join(
    [
        swept(_cropped, {**_CROPPED, "mode": ("linear", "cubic")}),
        swept(_cropped, {**_CROPPED, "region": _REGIONS[1:4], "mode": ("nearest",), "rounding": _ROUNDINGS[1:]}),
    ]
)
# Version 11 takes roi and scales always, empty where they say nothing, and has a rule of its own.
_RULES_11 = ("", "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
_RESIZE_11 = swept(
    _resized,
    {
        "shape": (
            *(shape.replace(".scales", ".roi:none.scales") for shape in _BY_SCALES[:4]),
            *(shape.replace(".sizes", ".roi:none.scales:none.sizes") for shape in _BY_SIZES[:4]),
        ),
        "mode": ("nearest", "linear", "cubic"),
        "coordinates": _RULES_11,
    },
)
_RESIZE_13 = swept(
    _resized, {"shape": (*_BY_SIZES[:4], *_BY_SCALES[:4]), "mode": ("nearest", "linear", "cubic"), "coordinates": _RULES_11[:5]}
)
_GROWN = " ".join(
    joined(f"x:{x}.scales:{scales}", mode and f"mode:{mode}")
    for x, scales in (
        ("1x2x5x7", "1_1_2_3"),
        ("1x1x3x4", "1_1_2_15e-1"),
        ("1x2x4x5", "1_1_25e-1_1"),
        ("5x7", "2_2"),
        ("2x1x1x3", "1_1_4_2"),
    )
    for mode in ("", "nearest", "linear")
)
_UPSAMPLED = " ".join(
    joined(f"x:{x}", mode and f"mode:{mode}", f"scales:{scales}")
    for x, scales in (("1x2x5x7", "1_1_2_3"), ("1x1x3x4", "1_1_2_15e-1"), ("1x2x4x5", "1_1_25e-1_1"), ("5x7", "2_2"))
    for mode in ("", "nearest", "linear")
)
_SHRUNK = "x:1x2x6x8.scales:1_1_5e-1_5e-1.mode:linear x:1x1x13x9.scales:1_1_3e-1_6e-1.mode:linear"
_SAME_LENGTHS = (
    "x:1x2x5x7.sizes:1_2_5_7{mode} x:1x2x5x7.scales:1_1_1_1{mode} x:1x2x5x7.sizes:1_2_5_9{mode} x:1x2x5x7.scales:1_1_2_1{mode}"
)
_FED = "x:1x2x5x7.scales:1_1_2_15e-1.mode:linear.feed:scales x:1x2x5x7.sizes:1_2_8_3.feed:sizes"
_HUGE = (
    "x:1x1x1024x1031.sizes:1_1_64_65 x:1x3x592x593.sizes:1_3_37_41.coordinate_transformation_mode:asymmetric.mode:nearest "
    "x:1x1x64x64.scales:1_1_16_16 x:1x1x1031x1033.sizes:1_1_37_41.mode:linear"
)

_SWEEPS = (
    Row("Resize-19", "f32", "index", _NEAREST_ALL, one_in=2),
    Row("Resize-19", "f16 bf16 i8 u8 i32", "index", _NEAREST_TYPES, one_in=2),
    Row("Resize-19", "f32", "normal", f"{_LINEARLY} {_CUBICALLY} {_FRACTIONALLY} {_SMOOTHED} {_OF_RANKS} {_FED}"),
    Row("Resize-19", "bf16", "normal", _LINEARLY, one_in=4),
    Row("Resize-19", "f16", "normal", _DOUBLED),
    Row("Resize-19", "u8 i8", "uniform", _LINEARLY_BETWEEN_INTEGERS),
    Row("Resize-19", "f32", "normal", f"{_AXES} {_POLICIES} {_CROPS}"),
    Row("Resize-18", "f32", "normal", f"{_AXES} {_SMOOTHED}", one_in=4),
    Row("Resize-13", "f32", "normal", _RESIZE_13, one_in=2),
    Row("Resize-11", "f32", "normal", _RESIZE_11),
    Row("Resize-10", "f32 u8", "index", " ".join(middle for middle in _GROWN.split() if "linear" not in middle)),
    Row("Resize-10 Upsample-9", "f32", "normal", _GROWN),
    Row("Resize-10", "f32", "normal", _SHRUNK),
    Row("Upsample-9", "f32 i32 u8", "index", " ".join(middle for middle in _GROWN.split() if "linear" not in middle)),
    Row("Upsample-7", "f32", "normal", _UPSAMPLED),
    Row("Resize-19", "f32", "special", _SAME_LENGTHS.format(mode="")),
    Row(
        "Resize-19", "f32", "normal", f"{_SAME_LENGTHS.format(mode='.mode:linear')} {_SAME_LENGTHS.format(mode='.mode:cubic')}"
    ),
    Row("Resize-19", "f32 u8", "index", _HUGE),
)

CASES = (
    Row("Resize-19", "f32", "index", _NEAREST),
    Row("Resize-19", "f32", "normal", f"{_LINEAR} {_CUBIC} {_MORE}"),
    Row("Resize-19", "f32", "grid", _LINEAR),
    Row("Resize-19", "f16", "normal", "x:1x2x5x7.scales:1_1_2_2 x:1x2x5x7.sizes:1_2_8_9.mode:linear"),
    Row("Resize-19", "i8 u8 i32 i64 bool", "index", "x:1x2x5x7.scales:1_1_2_2 x:1x2x5x7.sizes:1_2_3_4"),
    Row("Resize-19", "f64", "normal", "x:1x2x5x7.sizes:1_2_8_9.mode:linear"),
    *_SWEEPS,
)
