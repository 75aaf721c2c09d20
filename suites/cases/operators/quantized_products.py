"""Products of quantised tensors: QLinearConv, QLinearMatMul, MatMulInteger."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row


def _typed(text: str, kind: str) -> str:
    """A tensor of a type that is not the input's, or is ("")."""
    return f"{text}:{kind}" if kind else text


def _convolution(
    image: str,
    kernel: str,
    channels: str,
    pads: str,
    strides: str,
    dilations: str,
    bias: bool,
    per_channel: bool,
    const: str,
    weights: str = "",
) -> str | None:
    """QLinearConv of image H×W; channels "in/out/groups"; pads is `pads`, an `auto_pad`, or nothing."""
    into, out, groups = map(int, channels.split("/"))
    axes = image.count("x") + 1
    if axes != kernel.count("x") + 1 or any(text and text.count("_") + 1 != axes for text in (strides, dilations)):
        return None
    automatic = pads.isupper() or pads.startswith("SAME")
    if pads and not automatic and pads.count("_") + 1 != 2 * axes:
        return None
    if automatic and dilations:
        return None
    amounts = [0] * (2 * axes) if automatic or not pads else [int(p) for p in pads.split("_")]
    spread = [int(d) for d in dilations.split("_")] if dilations else [1] * axes
    for i, (length, window) in enumerate(zip(map(int, image.split("x")), map(int, kernel.split("x")), strict=True)):
        if length + amounts[i] + amounts[axes + i] < spread[i] * (window - 1) + 1:
            return None
    each = str(out) if per_channel else "scalar"
    names = ["x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", *(["b"] if bias else [])]
    stored = {"all": names, "parameters": [n for n in names if n not in ("w", "b")], "": []}[const]
    return joined(
        f"x:1x{into}x{image}.x_scale:scalar.x_zero_point:scalar",
        _typed(f"w:{out}x{into // groups}x{kernel}", weights),
        f"w_scale:{each}",
        _typed(f"w_zero_point:{each}", weights),
        "y_scale:scalar.y_zero_point:scalar",
        f"b:{out}" if bias else "",
        f"auto_pad:{pads}" if automatic else "",
        f"pads:{pads}" if pads and not automatic else "",
        strides and f"strides:{strides}",
        dilations and f"dilations:{dilations}",
        f"group:{groups}" if groups > 1 else "",
        f"const:{'_'.join(stored)}" if stored else "",
    )


_CONVOLUTION = {
    "image": ("7x9", "5x5", "11x6"),
    "kernel": ("3x3", "1x1", "2x3", "5x5", "1x3"),
    "channels": ("3/4/1", "4/4/4", "6/4/2", "1/7/1", "16/3/1", "3/6/3", "17/1/1"),
    "pads": ("", "1_1_1_1", "1_0_2_1", "0_1_0_2", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "strides": ("", "2_2", "1_3", "2_1"),
    "dilations": ("", "2_2", "1_2"),
    "bias": (False, True),
    "per_channel": (False, True),
    "const": ("all", "parameters", ""),
}
_LINE = {
    **_CONVOLUTION,
    "image": ("11", "17"),
    "kernel": ("3", "1", "5"),
    "channels": ("3/4/1", "4/4/4", "16/3/1"),
    "pads": ("", "1_2", "SAME_UPPER"),
    "strides": ("", "2"),
    "dilations": ("", "2"),
}
_VOLUME = {
    **_CONVOLUTION,
    "image": ("3x5x4",),
    "kernel": ("2x3x2", "1x1x1"),
    "channels": ("2/3/1", "4/4/4"),
    "pads": ("", "1_1_0_0_1_1"),
    "strides": ("", "1_2_1"),
    "dilations": ("",),
}
_DEPTHS = " ".join(str(_convolution("3x3", "1x1", f"{c}/5/1", "", "", "", True, True, "all")) for c in WIDTHS)


def _product(
    shapes: tuple[str, str], rows: bool, columns: bool, const: str, weights: str = "", scale: str = "", to: str = ""
) -> str | None:
    """QLinearMatMul; a scale for each row of a or each column of b."""
    a, b = shapes
    if (rows and a.count("x") != 1) or (columns and b.count("x") != 1):
        return None
    row = a.split("x")[0] if rows else "scalar"
    column = b.split("x")[1] if columns else "scalar"
    names = ["a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"]
    stored = {"all": names, "parameters": [n for n in names if n != "b"], "": []}[const]
    return joined(
        f"a:{a}.a_scale:{row}{scale}.a_zero_point:{row}",
        _typed(f"b:{b}", weights),
        f"b_scale:{column}{scale}",
        _typed(f"b_zero_point:{column}", weights),
        f"y_scale:scalar{scale}",
        _typed("y_zero_point:scalar", to),
        f"const:{'_'.join(stored)}" if stored else "",
    )


_MATRICES = (
    ("5x7", "7x3"),
    ("1x64", "64x16"),
    ("2x5x7", "2x7x3"),
    ("2x5x7", "7x3"),
    ("3x67", "67x11"),
    ("16x16", "16x16"),
    ("4x1", "1x5"),
    ("2x1x3x8", "3x8x2"),
    ("3x257", "257x5"),
)
_PRODUCT = {
    "shapes": _MATRICES,
    "columns": (False, True),
    "const": ("all", "parameters", ""),
    "weights": ("", "i8"),
    "rows": (False,),
}
_SIGNED_PRODUCT = {**_PRODUCT, "weights": ("",)}
_PRODUCT_21 = {"scale": (":f32",)}
_LENGTHS = " ".join(str(_product((f"3x{k}", f"{k}x5"), False, True, "all")) for k in WIDTHS)


def _integer(shapes: tuple[str, str], a_zero: str, b_zero: str, const: str, weights: str) -> str | None:
    """MatMulInteger; a zero point for each column of b, one for all, or none."""
    a, b = shapes
    if (b_zero == "each" and b.count("x") != 1) or (b_zero and not a_zero):
        return None
    row = {"": "", "one": "scalar"}[a_zero]
    column = {"": "", "one": "scalar", "each": b.split("x")[-1]}[b_zero]
    kept = [
        "b" if "b" in const else "",
        "a_zero_point" if row and "z" in const else "",
        "b_zero_point" if column and "z" in const else "",
    ]
    stored = "_".join(name for name in kept if name)
    return joined(
        f"a:{a}",
        _typed(f"b:{b}", weights),
        row and f"a_zero_point:{row}",
        column and _typed(f"b_zero_point:{column}", weights),
        stored and f"const:{stored}",
    )


_INTEGER = {
    "shapes": (*_MATRICES, ("7", "7x3"), ("5x7", "7"), ("0x7", "7x3")),
    "a_zero": ("one", ""),
    "b_zero": ("one", "each", ""),
    "const": ("bz", "", "b", "z"),
}
_INTEGER_LENGTHS = " ".join(
    f"a:3x{k}.b:{k}x5.a_zero_point:scalar.b_zero_point:scalar.const:b_a_zero_point_b_zero_point" for k in (*WIDTHS, 1031, 4099)
)

CASES = (
    Sweep("QLinearConv-10", "u8", "uniform", _convolution, {**_CONVOLUTION, "weights": ("", "i8")}),
    Sweep("QLinearConv-10", "i8", "uniform", _convolution, _CONVOLUTION),
    Sweep("QLinearConv-10", "u8 i8", "uniform", _convolution, _LINE),
    Sweep("QLinearConv-10", "u8", "uniform", _convolution, {**_VOLUME, "weights": ("", "i8")}),
    Row("QLinearConv-10", "u8 i8", "uniform", _DEPTHS),
    Sweep("QLinearMatMul-10", "u8", "uniform", _product, _PRODUCT),
    Sweep("QLinearMatMul-10", "i8", "uniform", _product, _SIGNED_PRODUCT),
    Sweep("QLinearMatMul-21", "u8", "uniform", _product, {**_PRODUCT, **_PRODUCT_21}),
    Sweep("QLinearMatMul-21", "i8", "uniform", _product, {**_SIGNED_PRODUCT, **_PRODUCT_21}),
    Row("QLinearMatMul-10", "u8 i8", "uniform", _LENGTHS),
)

INTEGER = (
    Sweep("MatMulInteger-10", "u8", "uniform", _integer, {**_INTEGER, "weights": ("", "i8")}),
    Sweep("MatMulInteger-10", "i8", "uniform", _integer, {**_INTEGER, "weights": ("", "u8")}),
    Row("MatMulInteger-10", "u8 i8", "uniform extreme", _INTEGER_LENGTHS),
    Row(
        "MatMulInteger-10",
        "u8",
        "extreme",
        _INTEGER_LENGTHS.replace("x5.a_", "x5:i8.a_").replace("b_zero_point:scalar.", "b_zero_point:scalar:i8."),
    ),
)
