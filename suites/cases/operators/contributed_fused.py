"""Fused operators of ONNX Runtime's domain: activations with a bias, products with what goes before and after them, and
normalisations of a sum.
"""

from __future__ import annotations

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Entry, Row

_WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
"""Around the widths of vectors."""

_SHAPES = ("1", "13", "3x1", "1x7", "2x3x5x7", "2x1x3x1x2x5", "0", "3x0x5")
_BIASED = ("7", "1x7", "5x7", "3x5x7", "2x3x5x7", "2x1x3x1x7", "3x1", "0x7", "5x0")
"""Shapes of rank 1 to 5, units and empty axes among them."""

_PLAIN = " ".join(f"x:{shape}" for shape in (*_SHAPES, *(str(n) for n in _WIDTHS)))


def _last(shape: str) -> str:
    return shape.rsplit("x", 1)[-1]


def _with_bias(x: str, bias: str, shapes: tuple[str, ...], end: str = "") -> str:
    return " ".join(f"{x}:{shape}.{bias}:{_last(shape)}{end}" for shape in shapes)


_ROWS = tuple(f"3x{n}" for n in _WIDTHS)

ACTIVATIONS = (
    Row("ms:Gelu-1 ms:QuickGelu-1", "f32", "normal", f"x:scalar {_PLAIN}"),
    Row("ms:FastGelu-1", "f32", "normal", _PLAIN),
    Row("ms:Gelu-1 ms:FastGelu-1 ms:QuickGelu-1", "f32", "wide special extreme grid tiny zero", "x:3x67"),
    Row("ms:Gelu-1 ms:FastGelu-1 ms:QuickGelu-1", "f16 bf16 f64", "normal wide special", "x:3x67 x:2x3x5"),
    # alpha from the identity's half (0) over the usual ones to gates that are nearly steps, of either sign
    Row(
        "ms:QuickGelu-1",
        "f32",
        "normal wide",
        " ".join(f"x:5x13.alpha:{alpha}" for alpha in ("0", "1", "1702e-3", "-1", "5e-1", "1e2", "1e-3")),
    ),
    Row("ms:BiasGelu-1", "f32", "normal", _with_bias("a", "b", (*_BIASED, *_ROWS))),
    Row("ms:BiasGelu-1", "f32", "wide special grid tiny zero", "a:5x67.b:67 a:5x67.b:67.const:b"),
    Row("ms:BiasGelu-1", "f16 bf16 f64", "normal wide", "a:5x67.b:67 a:2x3x5.b:5.const:b"),
    Row("ms:FastGelu-1", "f32", "normal", _with_bias("x", "bias", (*_BIASED, *_ROWS))),
    Row("ms:FastGelu-1", "f32", "wide special grid tiny zero", "x:5x67.bias:67 x:5x67.bias:67.const:bias"),
    Row("ms:FastGelu-1", "f16 bf16 f64", "normal wide", "x:5x67.bias:67 x:2x3x5.bias:5.const:bias"),
)


def _convolution(image: tuple[str, str], layout: str, activation: str, b: bool, z: bool, const: str) -> str | None:
    """One FusedConv; z: whether there is a tensor to add, for layouts that keep the size."""
    x, w = image
    channels = w.split("x")[0]
    shape = f"{x.split('x')[0]}x{channels}x{x.split('x', 2)[2]}"
    if z and layout not in (_SAME, "pads:2_2_2_2.dilations:2_2"):
        return None
    names = "_".join(name for name in const.split("_") if name == "w" or (name == "b" and b))
    group = _GROUPS.get((x, w), 1)
    return joined(
        f"x:{x}",
        f"w:{w}",
        f"b:{channels}" if b else "",
        f"z:{shape}" if z else "",
        layout,
        activation,
        f"group:{group}" if group > 1 else "",
        f"const:{names}" if names else "",
    )


_GROUPS = {("1x6x5x7", "6x1x3x3"): 6, ("2x4x5x6", "6x2x3x3"): 2}
_SUMMED_ACTIVATIONS = (
    "activation:Relu",
    "activation:Sigmoid",
    "activation:Tanh",
    "activation:LeakyRelu.activation_params:1e-1",
    "activation:LeakyRelu.activation_params:-5e-1",
    "activation:Clip.activation_params:-5e-1_6",
    "activation:Clip.activation_params:0_6",
    "activation:HardSigmoid.activation_params:2e-1_5e-1",
    "activation:HardSigmoid.activation_params:1_0",
    "",
)
_IMAGES = (
    ("1x3x5x7", "4x3x3x3"),
    ("2x1x4x5", "16x1x3x3"),
    ("1x6x5x7", "6x1x3x3"),
    ("2x4x5x6", "6x2x3x3"),
    ("1x16x3x4", "17x16x3x3"),
)
_SAME = "pads:1_1_1_1"
_LAYOUTS = (
    _SAME,
    "pads:1_0_2_1.strides:2_1",
    "",
    "auto_pad:SAME_UPPER.strides:2_2",
    "pads:2_2_2_2.dilations:2_2",
    "strides:1_3",
)

CONVOLUTIONS: tuple[Entry, ...] = (
    Sweep(
        "ms:FusedConv-1",
        "f32",
        "normal",
        _convolution,
        {
            "image": _IMAGES,
            "activation": _SUMMED_ACTIVATIONS,
            "layout": _LAYOUTS,
            "b": (True, False),
            "z": (False, True),
            "const": ("w_b", "", "w"),
        },
    ),
    # pointwise kernels go through a matrix product, lines and volumes through other loops
    Row(
        "ms:FusedConv-1",
        "f32",
        "normal lattice",
        "x:1x5x4x3.w:7x5x1x1.activation:Relu x:1x5x4x3.w:7x5x1x1.b:7.z:1x7x4x3.activation:Relu.const:w_b "
        "x:2x3x9.w:4x3x3.b:4.activation:Relu.const:w_b x:2x3x9.w:4x3x3.activation:Tanh.const:w "
        "x:1x2x3x4x5.w:3x2x2x2x2.activation:Relu.const:w "
        "x:1x2x3x4x5.w:3x2x3x3x3.b:3.pads:1_1_1_1_1_1.activation:Sigmoid.const:w_b",
    ),
    # no border, as infinite weights times its zeros are NaN, and no Relu, which leaves NaN open
    Row("ms:FusedConv-1", "f32", "special", "x:1x3x5x7.w:4x3x3x3.const:w"),
    Row(
        "ms:FusedConv-1", "f16 f64", "normal", "x:1x3x5x7.w:4x3x3x3.b:4.pads:1_1_1_1.activation:Relu.const:w_b x:2x3x9.w:4x3x3"
    ),
)


def _product(size: tuple[int, int, int], batch: str, alpha: str, trans: tuple[int, int, int, int]) -> str | None:
    """One FusedMatMul of (M, K) and (K, N), batched alike or on one side."""
    m, k, n = size
    trans_a, trans_b, batch_a, batch_b = trans
    left, right = batch.split("|") if batch else ("", "")
    if (batch_a or batch_b) and (not left or not right or left.count("x") != right.count("x")):
        return None  # ONNX Runtime moves axes of operands of one rank only

    def shape(rows: int, columns: int, front: str, turned: int, moved: int) -> str:
        axes = [columns, rows] if turned else [rows, columns]
        outer = [int(d) for d in front.split("x") if d]
        if moved:  # the axis before the last of the operand comes first, the batch after it
            return "x".join(str(d) for d in (axes[0], *outer, axes[1]))
        return "x".join(str(d) for d in (*outer, *axes))

    flags = zip(("transA", "transB", "transBatchA", "transBatchB"), trans, strict=True)
    return joined(
        f"a:{shape(m, k, left, trans_a, batch_a)}",
        f"b:{shape(k, n, right, trans_b, batch_b)}",
        f"alpha:{alpha}" if alpha else "",
        *(f"{name}:1" for name, value in flags if value),
    )


_ANY_TURN = tuple((a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1))
_PRODUCTS = {
    "trans": _ANY_TURN,
    "size": ((3, 5, 7), (1, 1, 1), (2, 17, 3), (1, 8, 16), (9, 1, 4), (5, 33, 2), (4, 4, 4)),
    "batch": ("", "2|2", "2x3|2x3", "3|", "|2", "1|3", "2x1|3", "1x3|2x1"),
    "alpha": ("", "5e-1", "-2", "125e-3", "0", "1e-3"),
}

PRODUCTS = (
    Sweep("ms:FusedMatMul-1", "f32", "normal", _product, _PRODUCTS, one_in=2),
    Sweep(
        "ms:FusedMatMul-1",
        "f64",
        "normal",
        _product,
        {**_PRODUCTS, "size": ((3, 5, 7), (2, 17, 3)), "alpha": ("5e-1", "")},
        one_in=8,
    ),
    Row("ms:FusedMatMul-1", "f16 bf16", "normal lattice", "a:3x5.b:5x7.alpha:5e-1 a:2x5x3.b:2x7x5.transA:1.transB:1"),
    Row("ms:FusedMatMul-1", "f32", "lattice grid special", "a:3x17.b:17x5.alpha:5e-1 a:17x3.b:5x17.transA:1.transB:1"),
    Row(
        "ms:FusedMatMul-1",
        "f32",
        "normal",
        "a:7.b:7x3 a:3x7.b:7 a:7.b:7.alpha:2 a:2x3x7.b:7 a:7.b:2x7x3 a:0x3.b:3x5 a:3x0.b:0x5",
    ),
    Row("ms:FusedMatMul-1", "f32", "normal", "a:3x257.b:257x5.alpha:125e-3 a:64x64.b:64x64.alpha:125e-3.transB:1"),
)


def _skipped(shape: str, beta: bool, bias: bool, outputs: str, const: bool, epsilon: str) -> str | None:
    hidden = _last(shape)
    given = {"gamma": True, "beta": beta, "bias": bias}
    names = [name for name, there in given.items() if there]
    return joined(
        f"input:{shape}",
        f"skip:{shape}",
        *(f"{name}:{hidden}" for name in names),
        epsilon and f"epsilon:{epsilon}",
        outputs,
        f"const:{'_'.join(names)}" if const else "",
    )


def _skipped_simply(shape: str, bias: bool, outputs: str, const: bool, epsilon: str) -> str | None:
    return _skipped(shape, False, bias, outputs, const, epsilon)


_HIDDEN = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 128, 257)
_SKIP = {
    "shape": ("2x3x8", "1x1x5", "2x1x33", "3x2x64", "1x3x7"),
    "bias": (False, True),
    "outputs": ("", "outputs:4"),
    "const": (True, False),
    "epsilon": ("", "1e-5", "1e-12", "1e-1", "0"),
}
_NORMALISATIONS = "ms:SkipLayerNormalization-1 ms:SkipSimplifiedLayerNormalization-1"

NORMALISATIONS = (
    Sweep("ms:SkipLayerNormalization-1", "f32", "normal tiny", _skipped, {**_SKIP, "beta": (True, False)}),
    Sweep("ms:SkipLayerNormalization-1", "f16", "normal", _skipped, {**_SKIP, "beta": (True, False)}),
    Sweep("ms:SkipSimplifiedLayerNormalization-1", "f32 f16", "normal", _skipped_simply, _SKIP),
    # hidden sizes around vectors; matrices; a skip of its own rank or of batch 1, which broadcasts
    Row(_NORMALISATIONS, "f32", "normal", " ".join(f"input:2x2x{n}.skip:2x2x{n}.gamma:{n}.const:gamma" for n in _HIDDEN)),
    Row(
        _NORMALISATIONS,
        "f32 f16",
        "normal",
        "input:5x16.skip:5x16.gamma:16 input:3x2x8.skip:1x2x8.gamma:8 input:3x2x8.skip:2x8.gamma:8",
    ),
    Row(_NORMALISATIONS, "bf16", "normal", "input:2x3x17.skip:2x3x17.gamma:17.outputs:4 input:3x64.skip:3x64.gamma:64.bias:64"),
    Row(_NORMALISATIONS, "f32", "grid uniform zero", "input:2x3x17.skip:2x3x17.gamma:17.bias:17.const:gamma_bias"),
    Row(
        _NORMALISATIONS,
        "f32",
        "normal",
        "input:0x3x8.skip:0x3x8.gamma:8 input:2x0x8.skip:2x0x8.gamma:8 input:1x2x1031.skip:1x2x1031.gamma:1031",
    ),
    Row(
        "SimplifiedLayerNormalization-1",
        "f32",
        "normal tiny",
        " ".join(f"x:3x{n}.scale:{n}.const:scale" for n in _HIDDEN)
        + " x:2x3x5.scale:3x5.axis:1 x:2x3x5.scale:5.axis:2.epsilon:1e-1 "
        "x:2x3x5.scale:2x3x5.axis:0.const:scale x:7.scale:7 x:2x3x4x5.scale:4x5.axis:-2.outputs:2 x:3x5.scale:5.epsilon:0 "
        "x:3x5.scale:5.outputs:2 x:3x5.scale:5.stash_type:f32.const:scale x:0x5.scale:5",
    ),
    Row("SimplifiedLayerNormalization-1", "f32", "zero special grid uniform", "x:3x17.scale:17"),
    Row(
        "SimplifiedLayerNormalization-1",
        "f16 bf16 f64",
        "normal",
        "x:3x17.scale:17.const:scale x:2x3x5.scale:3x5.axis:1 x:3x64.scale:64",
    ),
)

CASES: tuple[Entry, ...] = (*ACTIVATIONS, *CONVOLUTIONS, *PRODUCTS, *NORMALISATIONS)
