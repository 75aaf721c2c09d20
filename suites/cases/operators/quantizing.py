"""Reals to narrow types and back: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row


def _parameter(shape: str, form: str) -> tuple[str, str] | None:
    """Shape of a scale or zero point and the attributes that say so: "scalar", an axis, or "axis/block"."""
    if form == "scalar":
        return "scalar", ""
    lengths = [int(n) for n in shape.split("x")]
    axis, _, block = form.partition("/")
    place = int(axis)
    if not -len(lengths) <= place < len(lengths):
        return None
    if not block:
        return str(lengths[place]), f"axis:{axis}"
    lengths[place] = -(-lengths[place] // int(block))
    return "x".join(map(str, lengths)), f"axis:{axis}.block_size:{block}"


def _stored(names: list[str], const: str) -> str:
    """Field `const`: all of the names, the first, or none."""
    kept = {"all": names, "first": names[:1], "": []}[const]
    return f"const:{'_'.join(kept)}" if kept else ""


def _quantize(shape: str, form: str, to: str, const: str = "all", saturate: str = "", scale: str = "") -> str | None:
    """QuantizeLinear to the zero point's type; "u8" without a zero point is the default."""
    parameter = _parameter(shape, form)
    if parameter is None:
        return None
    lengths, attributes = parameter
    zero = f"y_zero_point:{lengths}:{to}" if to else ""
    names = ["y_scale", *(["y_zero_point"] if zero else [])]
    return joined(
        f"x:{shape}.y_scale:{lengths}{scale}", zero, attributes, saturate and f"saturate:{saturate}", _stored(names, const)
    )


def _dequantize(shape: str, form: str, zero: bool = True, const: str = "all", scale: str = ":f32", to: str = "") -> str | None:
    """DequantizeLinear with or without a zero point."""
    parameter = _parameter(shape, form)
    if parameter is None:
        return None
    lengths, attributes = parameter
    names = ["x_scale", *(["x_zero_point"] if zero else [])]
    return joined(
        f"x:{shape}.x_scale:{lengths}{scale}",
        f"x_zero_point:{lengths}" if zero else "",
        attributes,
        to and f"output_dtype:{to}",
        _stored(names, const),
    )


_FORMS = ("scalar", "1", "-1", "0", "-2", "2", "3", "-3")
_BLOCKS = ("1/2", "0/2", "-1/3", "1/16", "0/3", "-2/4")
_SHAPES = ("2x3x5x7", "3x5", "6x32", "2x3x5", "1x16x3x3", "4x9")
_CONST = ("all", "", "first")

_TO_BYTES = {"to": ("u8", "i8", ""), "form": _FORMS, "shape": _SHAPES, "const": _CONST}
_TO_WORDS = {"to": ("u16", "i16", "u4", "i4"), "form": _FORMS[:5], "shape": _SHAPES, "const": _CONST}
_IN_BLOCKS = {"to": ("u8", "i8", "i4", "u4", "i16", "u16"), "form": _BLOCKS, "shape": _SHAPES[1:], "const": ("all", "")}
_TO_FLOAT8 = {
    "to": ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"),
    "form": ("scalar", "1", "-1"),
    "shape": _SHAPES[:3],
    "saturate": ("", "0", "1"),
}
_TO_OLD = {"to": ("u8", "i8", ""), "form": _FORMS, "shape": _SHAPES[:4], "const": _CONST}
_FROM = {"zero": (True, False), "form": _FORMS, "shape": _SHAPES, "const": _CONST}
_FROM_BLOCKS = {"zero": (True, False), "form": _BLOCKS, "shape": _SHAPES[1:], "const": ("all", "")}
_FROM_HALVES = {"zero": (True, False), "form": _FORMS[:4], "shape": _SHAPES[:3], "scale": (":f16", ":bf16")}
_FROM_23 = {**_FROM_HALVES, "to": ("", "f32", "f16", "bf16"), "scale": (":f32", ":f16", ":bf16")}
_FROM_OLD = {**_FROM, "shape": _SHAPES[:4], "scale": ("",)}

_LENGTHS = " ".join(
    f"x:{w}.y_scale:scalar.y_zero_point:scalar:{to}.const:y_scale_y_zero_point" for to in ("u8", "i8") for w in WIDTHS
)
_LENGTHS_BACK = " ".join(f"x:{w}.x_scale:scalar:f32.x_zero_point:scalar.const:x_scale_x_zero_point" for w in WIDTHS)
_OUTPUT = " ".join(
    f"x:3x5.y_scale:{s}.output_dtype:{t}.const:y_scale"
    for s in ("scalar", "5")
    for t in ("i8", "u16", "i16", "i4", "u4", "f8e4m3fn")
).replace("y_scale:5.", "y_scale:5.axis:1.")
_EDGES = (
    "x:0x3.y_scale:scalar.y_zero_point:scalar:u8 x:scalar.y_scale:scalar.y_zero_point:scalar:u8 x:1.y_scale:1.axis:0 "
    "x:2x0x3.y_scale:3.y_zero_point:3:i8.axis:2 x:3x1.y_scale:1.y_zero_point:1:u8.axis:1"
)
_EDGES_BACK = (
    "x:0x3.x_scale:scalar:f32.x_zero_point:scalar x:scalar.x_scale:scalar:f32.x_zero_point:scalar x:1.x_scale:1:f32.axis:0 "
    "x:2x0x3.x_scale:3:f32.x_zero_point:3.axis:2 x:3x1.x_scale:1:f32.x_zero_point:1.axis:1"
)
# The type of the division: the scale's, or the one that the attribute names.
_PRECISIONS = (
    "x:3x5.y_scale:scalar:f16.y_zero_point:scalar:i8 x:3x5.y_scale:5:f16.y_zero_point:5:u8.axis:1 "
    "x:3x5.y_scale:scalar:f16.y_zero_point:scalar:i8.precision:f32 x:3x5.y_scale:scalar.y_zero_point:scalar:i8.precision:f32"
)
_LARGE = "x:1x16x256x256.y_scale:scalar.y_zero_point:scalar:{q}.const:y_scale_y_zero_point"
_LARGE_CHANNELS = "x:1x16x256x256.y_scale:16.y_zero_point:16:{q}.axis:1.const:y_scale_y_zero_point"
_LARGE_BACK = (
    "x:1x16x256x256.x_scale:scalar:f32.x_zero_point:scalar.const:x_scale_x_zero_point "
    "x:1024x1024.x_scale:1024:f32.axis:0.const:x_x_scale"
)

CASES = (
    Sweep("QuantizeLinear-21", "f32", "normal", _quantize, _TO_BYTES),
    Sweep("QuantizeLinear-21", "f16 bf16", "normal", _quantize, {**_TO_BYTES, "const": ("all",), "shape": _SHAPES[:3]}),
    Sweep("QuantizeLinear-21", "f32", "half", _quantize, {**_TO_WORDS, "const": ("all",)}),
    Sweep("QuantizeLinear-21", "f32", "uniform", _quantize, _TO_WORDS),
    Sweep("QuantizeLinear-21", "f32 f16", "normal", _quantize, _IN_BLOCKS),
    Sweep("QuantizeLinear-21 QuantizeLinear-19", "f32", "normal", _quantize, _TO_FLOAT8),
    Sweep(
        "QuantizeLinear-21", "f32 f16 bf16", "extreme", _quantize, {**_TO_FLOAT8, "shape": _SHAPES[:2], "form": ("scalar", "1")}
    ),
    Sweep("QuantizeLinear-13", "f32", "normal", _quantize, _TO_OLD),
    Sweep("QuantizeLinear-19 QuantizeLinear-25", "f32", "normal", _quantize, {**_TO_OLD, "shape": _SHAPES[:2]}),
    Sweep("QuantizeLinear-10", "f32", "normal half", _quantize, {**_TO_OLD, "form": ("scalar",)}),
    Sweep(
        "QuantizeLinear-10 QuantizeLinear-13",
        "i32",
        "normal",
        _quantize,
        {**_TO_OLD, "form": ("scalar",), "shape": _SHAPES[:2]},
    ),
    Row("QuantizeLinear-21", "f32", "normal half", _LENGTHS),
    Row("QuantizeLinear-21", "f16", "normal", " ".join(_LENGTHS.split()[::4])),
    Row("QuantizeLinear-21 QuantizeLinear-25", "f32 f16", "normal", f"{_OUTPUT} {_EDGES}"),
    Row("QuantizeLinear-23 QuantizeLinear-25", "f32", "normal", _PRECISIONS),
    Row(
        "QuantizeLinear-25",
        "f32",
        "normal half",
        "x:3x5.y_scale:scalar.y_zero_point:scalar:i2 x:3x5.y_scale:5.y_zero_point:5:u2.axis:1",
    ),
    Row("QuantizeLinear-21", "f32", "uniform", _LARGE.format(q="u8")),
    Row("QuantizeLinear-21", "f32", "uniform", _LARGE_CHANNELS.format(q="i8")),
    Sweep("DequantizeLinear-21", "u8 i8", "uniform", _dequantize, _FROM),
    Sweep("DequantizeLinear-21", "u16 i4", "uniform", _dequantize, {**_FROM, "form": _FORMS[:5]}),
    Sweep("DequantizeLinear-21", "i32", "uniform", _dequantize, {**_FROM, "zero": (False,)}),
    Sweep("DequantizeLinear-21", "i8 u4", "uniform", _dequantize, _FROM_BLOCKS),
    Sweep("DequantizeLinear-21 DequantizeLinear-19", "i8 u8", "uniform", _dequantize, _FROM_HALVES),
    Sweep(
        "DequantizeLinear-21",
        "f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz",
        "uniform",
        _dequantize,
        {**_FROM, "const": ("all",), "form": _FORMS[:2], "shape": _SHAPES[:3]},
    ),
    Sweep("DequantizeLinear-23 DequantizeLinear-25", "i8", "uniform", _dequantize, _FROM_23),
    Sweep("DequantizeLinear-13", "u8 i8", "uniform", _dequantize, _FROM_OLD),
    Sweep("DequantizeLinear-10", "u8 i8", "uniform", _dequantize, {**_FROM_OLD, "form": ("scalar",)}),
    Sweep(
        "DequantizeLinear-10 DequantizeLinear-13",
        "i32",
        "uniform",
        _dequantize,
        {**_FROM_OLD, "form": ("scalar",), "zero": (False,)},
    ),
    Row(
        "DequantizeLinear-21",
        "i4 u16 i32",
        "uniform",
        _LENGTHS_BACK.replace(".x_zero_point:scalar.const:x_scale_x_zero_point", ".const:x_scale"),
    ),
    Row("DequantizeLinear-21", "u8 i8", "uniform", _LENGTHS_BACK),
    Row("DequantizeLinear-21 DequantizeLinear-25", "u8 i8", "uniform", _EDGES_BACK),
    Row("DequantizeLinear-23 DequantizeLinear-24", "f4e2m1", "uniform", "x:3x5.x_scale:scalar:f32 x:3x5.x_scale:5:f32.axis:1"),
    Row("DequantizeLinear-25", "i2 u2", "uniform", "x:3x5.x_scale:scalar:f32.x_zero_point:scalar x:3x5.x_scale:5:f32.axis:1"),
    Row("DequantizeLinear-21", "i8", "uniform", _LARGE_BACK),
    Row("DynamicQuantizeLinear-11", "f32", "normal positive", " ".join(f"x:{w}" for w in WIDTHS)),
    Row("DynamicQuantizeLinear-11", "f32", "half tiny lattice index", "x:2x3x5x7 x:17 x:3x1"),
    Row("DynamicQuantizeLinear-11", "f32", "uniform", "x:1024x1031"),
)
