"""Quantised operators of ONNX Runtime's domain: on 8-bit tensors with scales, on weights of few bits, and to and from them."""

from __future__ import annotations

from collections.abc import Sequence

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

# Elementwise, with broadcasting.

_BROADCASTS = (
    ("17", "17"),
    ("3x5x7", "3x5x7"),
    ("2x3x5x7", "3x1x1"),
    ("2x3x5x7", "7"),
    ("5x1", "1x7"),
    ("1x3x1x5", "2x1x4x1"),
    ("7", "3x7"),
    ("5", "1"),
    ("scalar", "3x5"),
    ("3x5", "scalar"),
    ("scalar", "scalar"),
    ("0x3", "3"),
)
_LENGTHS = (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 257)
"""Around the widths of vectors of bytes."""


def _pair(shapes: tuple[str, str], const: str, zeros: str = "abc") -> str:
    """Two tensors and a result; zeros: which of the three have a zero point."""
    names = ["a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "c_scale", "c_zero_point"]
    given = [name for name in names if not name.endswith("_zero_point") or name[0] in zeros]
    shape = dict(zip("ab", shapes, strict=True))
    constants = [n for n in given if (n not in "ab" and const != "none") or (n == "b" and const == "b")]
    return joined(*(f"{n}:{shape.get(n, 'scalar')}" for n in given), f"const:{'_'.join(constants)}" if constants else "")


_PAIRS = {"shapes": _BROADCASTS, "const": ("parameters", "none", "b")}
_BINARY = "ms:QLinearAdd-1 ms:QLinearMul-1"

ELEMENTWISE = (
    Sweep(_BINARY, "u8 i8", "uniform", _pair, _PAIRS),
    Row(_BINARY, "u8 i8", "uniform", " ".join(_pair((str(n), str(n)), "parameters") for n in _LENGTHS)),
    # a zero point that is left out is 0
    Row(_BINARY, "u8", "uniform", " ".join(_pair(("3x5", "3x5"), "parameters", zeros) for zeros in ("", "ac"))),
    Row(_BINARY, "u8 i8", "extreme normal zero index", _pair(("3x67", "3x67"), "parameters")),
)


def _single(x: str, zeros: str, const: bool, *attributes: str) -> str:
    """One tensor and a result; zeros: which of the two have a zero point."""
    names = ["x_scale", "x_zero_point", "y_scale", "y_zero_point"]
    given = [name for name in names if not name.endswith("_zero_point") or name[0] in zeros]
    return joined(f"x:{x}", *(f"{n}:scalar" for n in given), *attributes, f"const:{'_'.join(given)}" if const else "")


_ANY_SHAPE = ("17", "3x5x7", "2x3x5x7", "scalar", "1", "0x3", "2x1x3x1x5", "257")


def _leaky(x: str, zeros: str, const: bool, alpha: str) -> str:
    return _single(x, zeros, const, alpha and f"alpha:{alpha}")


_SINGLES = {"x": _ANY_SHAPE, "zeros": ("xy",), "const": (True, False)}
_SLOPES = ("", "1e-1", "0", "1", "-5e-1", "2", "1e-3")
_SLICED = ("3x17", "2x3x5", "2x3x4x5", "7", "1x1", "5x1", "3x64", "2x257")


def _softmax(x: str, axis: int | None, opset: int, zero: bool, const: bool) -> str | None:
    rank = x.count("x") + 1
    if axis is not None and not -rank <= axis < rank:
        return None
    return _single(x, "xy" if zero else "y", const, "" if axis is None else f"axis:{axis}", f"opset:{opset}")


ACTIVATIONS = (
    Sweep("ms:QLinearSigmoid-1", "u8 i8", "uniform extreme", _single, _SINGLES),
    Sweep("ms:QLinearLeakyRelu-1", "u8 i8", "uniform", _leaky, {**_SINGLES, "alpha": _SLOPES}, one_in=2),
    Row(
        "ms:QLinearLeakyRelu-1 ms:QLinearSigmoid-1", "u8", "uniform", f"{_single('3x5', '', True)} {_single('3x5', 'y', True)}"
    ),
    Row("ms:QLinearLeakyRelu-1 ms:QLinearSigmoid-1", "u8 i8", "index", _single("256", "xy", True)),
    Sweep(
        "ms:QLinearSoftmax-1",
        "i8 u8",
        "uniform",
        _softmax,
        {"x": _SLICED, "axis": (None, -1, 0, 1, -2), "opset": (13, 12, 21), "zero": (True,), "const": (True, False)},
    ),
    Row("ms:QLinearSoftmax-1", "u8", "uniform", _single("3x17", "y", True, "opset:13")),
    Row("ms:QLinearSoftmax-1", "u8 i8", "zero extreme", _single("3x17", "xy", True, "opset:13")),
)


def _concatenated(shapes: Sequence[str], axis: int, const: str, ending: str = "") -> str:
    """Tensors with scales of their own."""
    fields, names = ["y_scale:scalar", "y_zero_point:scalar"], ["y_scale", "y_zero_point"]
    for i, shape in enumerate(shapes):
        fields += [f"inputs{3 * i}:{shape}", f"inputs{3 * i + 1}:scalar:f32", f"inputs{3 * i + 2}:scalar"]
        names += [f"inputs{3 * i + 1}", f"inputs{3 * i + 2}"]
    if const == "last":
        names.insert(-2, f"inputs{3 * len(shapes) - 3}")
    return joined(*fields, f"axis:{axis}", f"const:{'_'.join(names)}" if const != "none" else "")


_PARTS = (
    (("2x3", "2x5"), 1),
    (("2x3", "2x5"), -1),
    (("3x5x7", "2x5x7", "1x5x7"), 0),
    (("2x1x5", "2x4x5", "2x2x5", "2x3x5"), 1),
    (("2x3x1x5", "2x3x2x5"), -2),
    (("17", "1", "32"), 0),
    (("3x7",), 1),
    (("2x3", "2x0", "2x1"), 1),
    (("1x16x3", "1x17x3"), 1),
)

MOVEMENT = (
    Row(
        "ms:QLinearConcat-1",
        "u8 i8",
        "uniform extreme",
        " ".join(_concatenated(shapes, axis, const) for shapes, axis in _PARTS for const in ("parameters", "none", "last")),
    ),
)

# Pools: (size of a plane, attributes that fit it).

_PLANES = ("1x3x7x9", "2x1x8x5", "1x17x4x4", "2x3x1x1", "1x5x6x7")
_WINDOWS = (
    "kernel_shape:2_2",
    "kernel_shape:3_3.pads:1_1_1_1",
    "kernel_shape:3_2.strides:2_1",
    "kernel_shape:2_3.pads:0_1_1_0.strides:2_3",
    "kernel_shape:1_1",
    "kernel_shape:3_3.auto_pad:SAME_UPPER.strides:2_2",
    "kernel_shape:2_2.auto_pad:SAME_LOWER",
    "kernel_shape:4_4.auto_pad:VALID",
)


def _pooled(x: str, window: str, zeros: str, ceil: bool, last: bool, included: bool) -> str | None:
    """QLinearAveragePool of a plane; windows have to fit, and rounding up goes with given padding only."""
    size = x.split("x")[2:]
    kernel = window.split(".")[0].removeprefix("kernel_shape:").split("_")
    if any(int(k) > int(n) for k, n in zip(kernel, size, strict=True)) and "pads" not in window:
        return None
    if ("3x1x1" in x and window not in _WINDOWS[1:5:3]) or (ceil and "auto_pad" in window):
        return None
    n, c, h, w = x.split("x")
    fields = (
        window,
        "ceil_mode:1" if ceil else "",
        "channels_last:1" if last else "",
        "count_include_pad:1" if included else "",
    )
    ordered = sorted((f for part in fields if part for f in part.split(".")), key=lambda f: _ORDER.index(f.split(":")[0]))
    return _single(f"{n}x{h}x{w}x{c}" if last else x, zeros, True, *ordered)


_ORDER = ("kernel_shape", "auto_pad", "pads", "strides", "ceil_mode", "channels_last", "count_include_pad")

POOLS = (
    Sweep(
        "ms:QLinearAveragePool-1",
        "u8 i8",
        "uniform",
        _pooled,
        {
            "window": _WINDOWS,
            "x": _PLANES,
            "included": (False, True),
            "ceil": (False, True),
            "last": (False, True),
            "zeros": ("xy",),
        },
    ),
    Row(
        "ms:QLinearAveragePool-1",
        "u8 i8",
        "uniform extreme",
        f"{_single('1x3x7x9', '', True, 'kernel_shape:3_3')} "
        f"{_single('2x3x9', 'xy', True, 'kernel_shape:3', 'pads:1_1', 'strides:2')} "
        f"{_single('1x2x4x3x5', 'xy', True, 'kernel_shape:2_2_3')} {_single('1x3x7x9', 'xy', False, 'kernel_shape:3_3')}",
    ),
    Row(
        "ms:QLinearGlobalAveragePool-1",
        "u8 i8",
        "uniform extreme zero",
        " ".join(
            _single(x, "xy", const, last)
            for x in ("1x3x5x7", "2x1x4x4", "1x17x3x3", "2x3x9", "1x2x3x4x5", "3x5x1x1", "1x4x17x16")
            for last in ("", "channels_last:1")
            for const in (True, False)
        ),
    ),
)


# Products of matrices. {t}: suffix of the type of b where it is not a's.


def _gemm(size: tuple[int, int, int], trans: tuple[int, int], kind: str, column: bool, c: str, alpha: str) -> str:
    """QGemm; kind: "q" quantised, "r" real; with ":i8" the type of b."""
    m, k, n = size
    result, _, suffix = kind.partition(":")
    t = f":{suffix}" if suffix else ""
    scale = str(n) if column else "scalar"
    names = ["a_scale", "a_zero_point", "b", "b_scale", "b_zero_point"]
    bias = {"": "", "row": str(n), "full": f"{m}x{n}", "column": f"{m}x1"}[c]
    names += (["c"] if bias else []) + (["y_scale", "y_zero_point"] if result == "q" else [])
    return joined(
        f"a:{k}x{m}" if trans[0] else f"a:{m}x{k}",
        "a_scale:scalar.a_zero_point:scalar",
        f"b:{n}x{k}{t}" if trans[1] else f"b:{k}x{n}{t}",
        f"b_scale:{scale}.b_zero_point:{scale}{t}",
        bias and f"c:{bias}",
        "y_scale:scalar.y_zero_point:scalar" if result == "q" else "",
        alpha and f"alpha:{alpha}",
        "transA:1" if trans[0] else "",
        "transB:1" if trans[1] else "",
        f"const:{'_'.join(names)}",
    )


_SIZES = ((3, 5, 7), (1, 16, 8), (5, 33, 2), (1, 1, 1), (9, 3, 17), (4, 64, 4), (2, 257, 3))
_GEMMS = {
    "size": _SIZES,
    "trans": ((0, 0), (0, 1), (1, 0), (1, 1)),
    "kind": ("q", "r"),
    "column": (False, True),
    "c": ("", "row", "full", "column"),
    "alpha": ("", "5e-1", "2", "-1"),
}


def _integer_product(
    shapes: tuple[str, str], b: str, column: bool, zeros: str, bias: bool, const: str, first: str = ""
) -> str | None:
    """MatMulIntegerToFloat and, without parameters of a (`first`), DynamicQuantizeMatMul; b: suffix of b's type."""
    left, right = shapes
    if column and right.count("x") > 1:
        return None  # one value a column is said of matrices only
    n = right.rsplit("x", 1)[-1]
    given = {
        "a": left,
        "b": f"{right}{b}",
        "a_scale": f"scalar{first}" if first else "",
        "b_scale": f"{n if column else 'scalar'}{first}",
        "a_zero_point": "scalar" if first and "a" in zeros else "",
        "b_zero_point": f"{n if column else 'scalar'}{b}" if "b" in zeros else "",
        "bias": f"{n}{first}" if bias else "",
    }
    names = [name for name, text in given.items() if text and name != "a"]
    return joined(*(f"{name}:{text}" for name, text in given.items() if text), f"const:{'_'.join(names)}" if const else "")


def _to_float(shapes: tuple[str, str], b: str, column: bool, zeros: str, bias: bool, const: str) -> str | None:
    return _integer_product(shapes, b, column, zeros, bias, const, ":f32")


_MATRICES = (
    ("3x5", "5x7"),
    ("1x16", "16x8"),
    ("2x3x5", "5x7"),
    ("2x3x5", "2x5x4"),
    ("2x33", "33x5"),
    ("1x1", "1x1"),
    ("5x64", "64x17"),
)
_INTEGERS = {
    "shapes": _MATRICES,
    "b": ("",),
    "column": (False, True),
    "zeros": ("ab", "", "a", "b"),
    "bias": (False, True),
    "const": ("const", ""),
}

PRODUCTS = (
    Sweep("ms:QGemm-1", "u8 i8", "uniform", _gemm, _GEMMS),
    Sweep("ms:QGemm-1", "u8", "uniform", _gemm, {**_GEMMS, "kind": ("q:i8", "r:i8")}),
    Row("ms:QGemm-1", "u8 i8", "extreme zero lattice", _gemm((3, 17, 5), (0, 0), "q", True, "row", "")),
    Sweep("ms:MatMulIntegerToFloat-1", "u8 i8", "uniform", _to_float, _INTEGERS),
    Sweep("ms:MatMulIntegerToFloat-1", "u8", "uniform", _to_float, {**_INTEGERS, "b": (":i8",)}),
    Row("ms:MatMulIntegerToFloat-1", "u8 i8", "extreme zero", _to_float(("3x17", "17x5"), "", True, "ab", True, "const") or ""),
    Sweep("ms:DynamicQuantizeMatMul-1", "u8 i8", "uniform normal", _integer_product, {**_INTEGERS, "zeros": ("b", "")}),
    Row("ms:DynamicQuantizeMatMul-1", "u8", "zero positive extreme", "a:3x17.b:17x5.b_scale:scalar.b_zero_point:scalar"),
)


def _few_bits(
    rows: str, size: tuple[int, int], bits: int, block: int, zero: str, bias: bool, level: int | None, const: bool
) -> str:
    """MatMulNBits of (K, N); zero: "" none, "u8" packed, "own" of the type of a."""
    k, n = size
    blocks = -(-k // block)
    names = ["b", "scales"] + (["zero_points"] if zero else []) + (["bias"] if bias else [])
    return joined(
        f"a:{rows}x{k}",
        f"b:{n}x{blocks}x{block * bits // 8}",
        f"scales:{n}x{blocks}",
        {"u8": f"zero_points:{n}x{-(-blocks * bits // 8)}:u8", "own": f"zero_points:{n}x{blocks}", "": ""}[zero],
        f"bias:{n}" if bias else "",
        f"K:{k}.N:{n}",
        "" if level is None else f"accuracy_level:{level}",
        f"bits:{bits}",
        f"block_size:{block}",
        f"const:{'_'.join(names)}" if const else "",
    )


_PACKED = {
    "rows": ("3", "1", "2x3", "9"),
    "size": ((64, 5), (32, 8), (17, 3), (129, 16), (256, 4), (1, 1), (40, 33)),
    "bits": (4, 8),
    "block": (32, 16, 64, 128),
    "zero": ("", "u8"),
    "bias": (False, True),
    "level": (None, 0, 1),
    "const": (True, False),
}

BLOCKS = (
    Sweep("ms:MatMulNBits-1", "f32", "normal", _few_bits, _PACKED),
    Sweep(
        "ms:MatMulNBits-1", "f32", "normal", _few_bits, {**_PACKED, "bits": (4,), "const": (True,), "zero": ("u8", "own", "")}
    ),
    Row(
        "ms:MatMulNBits-1",
        "f16",
        "normal",
        " ".join(_few_bits("3", (64, 5), bits, 32, "u8", False, None, True) for bits in (4, 8)),
    ),
    # level 4 brings a into 8 bits, 2 and 3 into halves
    Sweep(
        "ms:MatMulNBits-1",
        "f32",
        "normal",
        _few_bits,
        {**_PACKED, "level": (4, 2, 3), "size": ((64, 5), (129, 16)), "const": (True,)},
    ),
    Row("ms:MatMulNBits-1", "f32", "grid zero lattice", _few_bits("3", (64, 5), 4, 32, "u8", False, None, True)),
    Row("ms:MatMulNBits-1", "bf16", "normal", _few_bits("3", (64, 5), 4, 32, "", False, None, True)),
    Row("ms:MatMulNBits-1", "f32", "normal", _few_bits("3", (64, 5), 2, 16, "", False, None, True)),
    Row(
        "ms:MatMulNBits-1",
        "f32",
        "normal",
        "a:3x64.b:5x2x16.scales:5x2.g_idx:64.K:64.N:5.bits:4.block_size:32.const:b_scales_g_idx",
    ),
)


# To and from integers; without an axis one scale holds for the tensor.


def _linear(name: str, x: str, axis: int | None, scale: str, zero: str, const: bool) -> str:
    """QuantizeLinear (name "y") or DequantizeLinear ("x"); zero: suffix of the zero point's type, "none" without one."""
    shape = "scalar" if axis is None else x.split("x")[axis]
    names = [f"{name}_scale"] + ([] if zero == "none" else [f"{name}_zero_point"])
    return joined(
        f"x:{x}",
        f"{name}_scale:{shape}{scale}",
        "" if zero == "none" else f"{name}_zero_point:{shape}{zero}",
        "" if axis is None else f"axis:{axis}",
        f"const:{'_'.join(names)}" if const else "",
    )


_AXES = (
    ("2x3x5x7", 1),
    ("2x3x5x7", None),
    ("3x17", -1),
    ("5x4", 0),
    ("2x3x5", -2),
    ("33", None),
    ("17", 0),
    ("1", None),
    ("0x3", 1),
)
_TARGETS = (":u8", ":i8", ":u16", ":i16", ":u4", ":i4")

CONVERSIONS = (
    Row(
        "ms:QuantizeLinear-1",
        "f32",
        "normal uniform half",
        " ".join(_linear("y", x, axis, "", zero, True) for x, axis in _AXES for zero in _TARGETS),
    ),
    Row("ms:QuantizeLinear-1", "f32", "normal extreme", _linear("y", "2x3x5", 1, "", ":u8", False)),
    Row(
        "ms:QuantizeLinear-1",
        "f32",
        "normal",
        f"{_linear('y', '3x5', None, '', 'none', True)} {_linear('y', '3x5', 1, '', 'none', True)}",
    ),
    Row("ms:QuantizeLinear-1", "f16", "normal half", " ".join(_linear("y", "3x17", 1, "", zero, True) for zero in _TARGETS)),
    Row(
        "ms:DequantizeLinear-1",
        "u8 i8 u16 i16 u4 i4",
        "uniform",
        " ".join(_linear("x", x, axis, ":f32", zero, True) for x, axis in _AXES for zero in ("", "none")),
    ),
    Row("ms:DequantizeLinear-1", "u8 i8 u16 i16 i32", "extreme", _linear("x", "3x17", 1, ":f32", "none", False)),
    Row("ms:DequantizeLinear-1", "u8 i8", "uniform", _linear("x", "3x17", 1, ":f16", "", True)),
)

CASES = (*ELEMENTWISE, *ACTIVATIONS, *MOVEMENT, *POOLS, *PRODUCTS, *BLOCKS, *CONVERSIONS)
