"""Activation functions: each length, rank and type; attributes in pairs; older versions."""

from __future__ import annotations

from suites.cases.operators.shapes import FLOATS, LENGTHS, LONG, RANKS, SIGNED, TAILS, each
from suites.cases.operators.spread import Spread
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_SMOOTH = "Elu-22 Gelu-20 HardSigmoid-22 Mish-22 Selu-22 Sigmoid-13 Softplus-22 Swish-24"
_PIECES = "LeakyRelu-16 Relu-14 ThresholdedRelu-22"
_INPUTS = "Softsign-22 Tanh-13"
_X = each("x", LENGTHS)
_X_RANKS = each("x", RANKS)
_MORE = "7x9 33 2x3x5x7"

_SLOPES = (
    "x:2x3x5x7.slope:7 x:2x3x5x7.slope:3x1x1 x:2x3x5x7.slope:3x1x7 x:2x3x5x7.slope:2x1x1x1 x:2x3x5x7.slope:1x3x5x1 "
    "x:2x3x5x7.slope:scalar x:3x17.slope:17 x:3x17.slope:3x1 x:17.slope:1 x:65.slope:65 x:scalar.slope:scalar "
    "x:2x3x2x5x3.slope:3x1x1x1 x:2x1x3x1x2x1x2x3.slope:2x1x2x1 x:0x3.slope:3 x:1x1x1x9.slope:9"
)
"""The slope is stretched to the tensor, never the other way round."""

_SLOPES_STORED = " ".join(f"{middle}.const:slope" for middle in _SLOPES.split())
_SLOPES_LENGTHS = " ".join(f"x:{n}.slope:{n}" for n in TAILS.split())

_SHAPES = ("2x3x5x7", "17")


def _attributes(tensor: str, **attributes: str) -> str:
    return joined(f"x:{tensor}", *(value and f"{name}:{value}" for name, value in attributes.items()))


def _shrink(tensor: str, bias: str, lambd: str) -> str:
    return joined(f"input:{tensor}", bias and f"bias:{bias}", lambd and f"lambd:{lambd}")


CASES = (
    # Tails of vectors in each type; NaN, infinities and subnormals wherever they fall in a vector; ranks.
    Spread(_SMOOTH, FLOATS, "normal uniform grid", _X, times=2),
    Spread(_SMOOTH, "f32 f16", "special extreme wide", each("x", TAILS), times=2),
    Row(_SMOOTH, "f32", "uniform", _X_RANKS),
    Spread(_SMOOTH, FLOATS, "wide tiny", each("x", TAILS)),
    Row(_SMOOTH, "f32", "tiny", "x:65"),
    Row(_SMOOTH, "f32", "normal", each("x", LONG)),
    Spread(_PIECES, FLOATS, "normal half uniform", _X),
    Spread(_PIECES, "f32 f16", "special extreme", each("x", TAILS)),
    Row(_PIECES, "f32", "uniform", _X_RANKS),
    Spread("Relu-14", SIGNED, "extreme normal", f"{each('x', TAILS)} {_X_RANKS}"),
    Spread(_INPUTS, FLOATS, "normal uniform wide", each("input", LENGTHS)),
    Spread(_INPUTS, "f32 f16", "special extreme", each("input", TAILS)),
    Row(_INPUTS, "f32", "uniform", each("input", RANKS)),
    Spread("HardSwish-22", "f32 f16 bf16", "normal uniform grid wide", f"{each('x', TAILS)} {_X_RANKS}"),
    Row("Celu-12", "f32", "normal", f"{_X} {_X_RANKS}"),
    # Attributes.
    Sweep("Elu-22", "f32 f16 bf16", "uniform", _attributes, {"tensor": _SHAPES, "alpha": ("", "5e-1", "2", "0", "-1", "1e-1")}),
    Sweep(
        "Celu-12", "f32", "uniform special", _attributes, {"tensor": _SHAPES, "alpha": ("", "5e-1", "2", "-1", "1e-1", "1e1")}
    ),
    Sweep(
        "LeakyRelu-16",
        "f32 f16 bf16",
        "uniform",
        _attributes,
        {"tensor": _SHAPES, "alpha": ("", "2", "0", "1", "-5e-1", "1e-1")},
    ),
    Sweep(
        "ThresholdedRelu-22",
        "f32 f16 bf16",
        "half",
        _attributes,
        {"tensor": _SHAPES, "alpha": ("", "5e-1", "0", "-15e-1", "25e-1")},
    ),
    Sweep("Swish-24", "f32 f16 bf16", "uniform", _attributes, {"tensor": _SHAPES, "alpha": ("", "5e-1", "1702e-3", "0", "-1")}),
    Sweep("Gelu-20", "f32 f16 bf16 f64", "uniform", _attributes, {"tensor": _SHAPES, "approximate": ("", "none", "tanh")}),
    Spread("Gelu-20", FLOATS, "normal wide special", " ".join(f"x:{n}.approximate:tanh" for n in TAILS.split())),
    Sweep(
        "HardSigmoid-22",
        "f32 f16 bf16",
        "uniform",
        _attributes,
        {"tensor": _SHAPES, "alpha": ("", "25e-2", "1", "0", "-5e-1"), "beta": ("", "0", "1", "-5e-1", "25e-2")},
    ),
    Sweep(
        "Selu-22",
        "f32 f16 bf16",
        "uniform",
        _attributes,
        {"tensor": _SHAPES, "alpha": ("", "1", "2", "5e-1"), "gamma": ("", "1", "2", "-1")},
    ),
    Sweep(
        "Shrink-9",
        "f32 f16 f64",
        "half",
        _shrink,
        {"tensor": _SHAPES, "bias": ("", "15e-1", "-1", "0"), "lambd": ("", "5e-1", "15e-1", "0", "2")},
    ),
    Sweep(
        "Shrink-9", "i8 i64 u8", "normal", _shrink, {"tensor": _SHAPES, "bias": ("", "1", "2"), "lambd": ("", "1", "3", "0")}
    ),
    Spread("Shrink-9", "f32 f16 f64", "uniform special", " ".join(f"input:{n}.bias:1.lambd:1" for n in TAILS.split())),
    # PRelu: patterns of the slope, fed and stored.
    Row("PRelu-16", "f32 f16", "normal", f"{_SLOPES} {_SLOPES_STORED}"),
    Spread("PRelu-16", "bf16 i32 u64", "normal", _SLOPES),
    Spread("PRelu-16", f"{FLOATS} i32 i64", "normal lattice", _SLOPES_LENGTHS),
    Row("PRelu-9", "f32 f16", "normal", "x:2x3x5x7.slope:3x1x1 x:33.slope:33"),
    Row("PRelu-7", "f32 f16", "normal", "x:2x3x5x7.slope:3x1x1 x:33.slope:33"),
    # Older versions.
    Row("LeakyRelu-6", "f32 f16", "uniform", f"{each('x', _MORE)} x:33.alpha:2"),
    Row("Sigmoid-6 Relu-6", "f32 f16 f64", "uniform", each("x", _MORE)),
    Row("Relu-13", FLOATS, "uniform", each("x", _MORE)),
    Row("Tanh-6 Softsign-1", "f32 f16 f64", "uniform", each("input", _MORE)),
    Row("Elu-6 HardSigmoid-6 Selu-6 Softplus-1 ThresholdedRelu-10 Mish-18", "f16 f64", "uniform", each("x", _MORE)),
)
