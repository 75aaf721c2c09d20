"""A sum of products with every bias, normalisation and activation behind it that runtimes fuse it with.

Convolution and Gemm go with every epilogue, the other leaders take turns. What is exact on small integers is right to the bit;
the rest is held to the bounds of its nodes, one after the other (`reference.verify.chains`).
"""

from __future__ import annotations

from suites.cases.graphs.text import Table, chain

# "{c}" is the shape of a number for each channel, "{s}" that of the leader's result.
LEADERS: dict[str, tuple[str, str, str]] = {
    "conv": ("Conv<pads = [1,0,0,1]>(T[1,3,5,4] x, T[5,3,2,2] w)", "5,1,1", "1,5,5,4"),
    "convbias": ("Conv<strides = [2,1], pads = [1,0,0,1]>(T[1,3,6,4] x, T[7,3,2,2] w, T[7] wc)", "7,1,1", "1,7,3,4"),
    "depthwise": ("Conv<group = 6, pads = [1,1,1,1]>(T[1,6,4,5] x, T[6,1,3,3] w)", "6,1,1", "1,6,4,5"),
    "conv1d": ("Conv<dilations = [2]>(T[2,3,9] x, T[5,3,3] w)", "5,1", "2,5,5"),
    "convtranspose": ("ConvTranspose<strides = [2,2]>(T[1,3,3,2] x, T[3,5,2,2] w)", "5,1,1", "1,5,6,4"),
    "matmul": ("MatMul(T[2,3,7] x, T[7,5] w)", "5", "2,3,5"),
    "gemm": ("Gemm<transB = 1>(T[4,7] x, T[9,7] w, T[9] wc)", "9", "4,9"),
}
"""Name → node, shape of a bias, shape of the result."""

EXACT: dict[str, tuple[str, ...]] = {
    "bias-add": ("Add(_, T[{c}] wb)",),
    "bias-before": ("Add(T[{c}] wb, _)",),
    "biased-relu": ("Add(_, T[{c}] wb)", "Relu(_)"),
    "bias-clip": ("Add(_, T[{c}] wb)", "Clip(_, T[] low = -2, T[] high = 3)"),
    "relu6": ("Relu(_)", "Clip(_, T[] low = 0, T[] high = 6)"),
    "clip-lower": ("Clip(_, T[] low = -1)",),
    "max-min": ("Max(_, T[] low = -2)", "Min(_, T[] high = 2)"),
    "scale": ("Mul(_, T[{c}] ws)",),
    "scale-shift": ("Mul(_, T[{c}] ws)", "Add(_, T[{c}] wb)"),
    "shift-scale": ("Add(_, T[{c}] wb)", "Mul(_, T[{c}] ws)"),
    "scale-number": ("Mul(_, T[] k = 0.5)",),
    "divide-number": ("Div(_, T[] k = 4)",),
    "sub-bias": ("Sub(_, T[{c}] wb)",),
    "bias-sub": ("Sub(T[{c}] wb, _)",),
    "residual": ("Add(_, T[{s}] z)",),
    "joined-relu": ("Add(_, T[{s}] z)", "Relu(_)"),
    "relu-residual": ("Relu(_)", "Add(_, T[{s}] z)"),
    "residual-scale": ("Mul(T[{s}] z, _)",),
    "leaky-relu": ("LeakyRelu<alpha = 0.25>(_)",),
    "prelu": ("PRelu(_, T[{c}] ws)",),
    "neg-relu": ("Neg(_)", "Relu(_)"),
    "abs": ("Abs(_)",),
    "thresholded": ("ThresholdedRelu<alpha = 1.0>(_)",),
    "two-biases": ("Add(_, T[{c}] wb)", "Add(_, T[{c}] wb2)"),
    "two-scales": ("Mul(_, T[{c}] ws)", "Mul(_, T[] k = 2)"),
    "relu-scale-shift": ("Relu(_)", "Mul(_, T[{c}] ws)", "Add(_, T[{c}] wb)"),
    "hard-sigmoid": ("HardSigmoid<alpha = 0.25, beta = 0.5>(_)",),
    "square": ("Mul(_, _)",),
    "doubled": ("Add(_, _)",),
}
"""What rounds nothing on small integers."""

ROUNDED: dict[str, tuple[str, ...]] = {
    "sigmoid": ("Sigmoid(_)",),
    "tanh": ("Tanh(_)",),
    "bias-gelu": ("Add(_, T[{c}] wb)", "Gelu(_)"),
    "bias-gelu-tanh": ("Add(_, T[{c}] wb)", 'Gelu<approximate = "tanh">(_)'),
    "elu": ("Elu<alpha = 0.5>(_)",),
    "selu": ("Selu(_)",),
    "softplus": ("Softplus(_)",),
    "softsign": ("Softsign(_)",),
    "hard-swish": ("HardSwish(_)",),
    "mish": ("Mish(_)",),
    "silu": ("s = Sigmoid(_)", "Mul(_, s)"),
    "bias-silu": ("Add(_, T[{c}] wb)", "s = Sigmoid(_)", "Mul(s, _)"),
    "quick-gelu": ("q = Mul(_, T[] k = 1.702)", "s = Sigmoid(q)", "Mul(_, s)"),
    "hard-swish-parts": (
        "t = Add(_, T[] three = 3)",
        "u = Clip(t, T[] low = 0, T[] high = 6)",
        "Mul(_, u)",
        "Div(_, T[] six = 6)",
    ),
    "hard-sigmoid-parts": ("Add(_, T[] three = 3)", "Clip(_, T[] low = 0, T[] high = 6)", "Div(_, T[] six = 6)"),
    "divide-third": ("Div(_, T[] k = 3)",),
    "leaky-relu-default": ("Add(_, T[{c}] wb)", "LeakyRelu(_)"),
    "softmax": ("Softmax<axis = 1>(_)",),
    "exp": ("Neg(_)", "Exp(_)"),
    "sqrt-abs": ("Abs(_)", "Sqrt(_)"),
    "sigmoid-scale": ("Sigmoid(_)", "Mul(_, T[{c}] ws)"),
    "tanh-residual": ("Tanh(_)", "Add(_, T[{s}] z)"),
}
"""What rounds, on normal data."""

CONVOLUTIONS = ("conv", "convbias", "depthwise", "conv1d", "convtranspose")
NORMALISED: dict[str, tuple[str, ...]] = {
    "bn": ("BatchNormalization{e}(_, T[{n}] wg, T[{n}] wb, T[{n}] wm, T[{n}] v)",),
    "bn-relu": ("BatchNormalization{e}(_, T[{n}] wg, T[{n}] wb, T[{n}] wm, T[{n}] v)", "Relu(_)"),
    "bn-add": ("BatchNormalization{e}(_, T[{n}] wg, T[{n}] wb, T[{n}] wm, T[{n}] v)", "Add(_, T[{s}] z)"),
    "add-bn": ("Add(_, T[{c}] wa)", "BatchNormalization{e}(_, T[{n}] wg, T[{n}] wb, T[{n}] wm, T[{n}] v)"),
    "bn-clip": (
        "BatchNormalization{e}(_, T[{n}] wg, T[{n}] wb, T[{n}] wm, T[{n}] v)",
        "Clip(_, T[] low = -1, T[] high = 2)",
    ),
}
"""Batch normalisation behind a convolution; "{n}" is the number of channels, "{e}" the epsilon."""


def _chains(leaders: tuple[str, ...], epilogues: dict[str, tuple[str, ...]], epsilon: str = "") -> dict[str, str]:
    """Every leader with every epilogue."""
    found = {}
    for leader in leaders:
        node, c, s = LEADERS[leader]
        holes = {"{c}": c, "{s}": s, "{n}": c.split(",")[0], "{e}": epsilon}
        for name, steps in epilogues.items():
            text = chain(node, *steps)
            for hole, filling in holes.items():
                text = text.replace(hole, filling)
            found[f"{leader}-{name}"] = text
    return found


def _shares(leaders: tuple[str, ...], epilogues: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Every epilogue with one of the leaders in turn, and with the one after it."""
    found: dict[str, str] = {}
    for i, (name, steps) in enumerate(epilogues.items()):
        for leader in (leaders[i % len(leaders)], leaders[(i + 1) % len(leaders)]):
            found |= _chains((leader,), {name: steps})
    return found


REST = tuple(name for name in LEADERS if name not in ("conv", "gemm"))
TABLES = (
    Table(_chains(("conv", "gemm"), EXACT)),
    Table(_shares(REST, EXACT), everything=()),
    Table(_chains(("conv", "gemm"), ROUNDED), recipe="normal"),
    Table(_shares(REST, ROUNDED), recipe="normal", everything=()),
    Table(
        {f"{name}-eps": text for name, text in _chains(CONVOLUTIONS, NORMALISED, "<epsilon = 0.25>").items()},
        recipe="normal",
        everything=(),
    ),
    Table(_chains(("conv",), EXACT), types=("bf16",), opset=22, everything=()),
)
