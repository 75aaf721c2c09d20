"""Operators between DequantizeLinear and QuantizeLinear, which runtimes compute in integers.

Scales are powers of two inside and three times one outside, or three to the third: then a real value never lies half-way
between two steps, and any requantiser of float32's precision gives the same integer. Sigmoid, Softmax and normalisations may
come near a half-way by chance; there both neighbours are right.
"""

from __future__ import annotations

from suites.cases.graphs.text import Table

KINDS = {"u8": ("uint8", 120, 117), "i8": ("int8", -7, 5), "u16": ("uint16", 32700, 32800), "i16": ("int16", -3, 9)}
"""Short type → ONNX's word, zero point of what comes in, and of what goes out."""

MOVES: dict[str, tuple[str, str]] = {
    "relu": ("3,5", "Relu(d)"),
    "clip": ("3,5", "Clip(d, T[] low = -8, T[] high = 20)"),
    "max": ("3,5", "Max(d, T[] low = -4)"),
    "transpose": ("2,3,4", "Transpose<perm = [2,0,1]>(d)"),
    "reshape": ("2,3,4", "Reshape(d, int64[2] s = 6,4)"),
    "flatten": ("2,3,4", "Flatten(d)"),
    "pad": ("3,4", "Pad(d, int64[4] pads = 1,0,0,2)"),
    "pad-value": ("3,4", "Pad(d, int64[4] pads = 1,0,0,2, T[] fill = 1.5)"),
    "slice": ("3,7", "Slice(d, int64[1] from = 6, int64[1] to = 0, int64[1] axis = 1, int64[1] step = -2)"),
    "squeeze": ("3,1,5", "Squeeze(d, int64[1] i = 1)"),
    "unsqueeze": ("3,5", "Unsqueeze(d, int64[1] i = 1)"),
    "gather": ("7,5", "Gather<axis = 0>(d, int64[3] i = 6,0,-2)"),
    "expand": ("1,5", "Expand(d, int64[2] s = 3,5)"),
    "tile": ("2,3", "Tile(d, int64[2] n = 2,1)"),
    "maxpool": ("1,3,5,6", "MaxPool<kernel_shape = [3,2], pads = [1,0,1,1]>(d)"),
    "globalmaxpool": ("2,3,3,3", "GlobalMaxPool(d)"),
    "reducemax": ("3,5", "ReduceMax(d, int64[1] i = 1)"),
    "depthtospace": ("1,8,2,3", "DepthToSpace<blocksize = 2>(d)"),
    "spacetodepth": ("1,2,4,6", "SpaceToDepth<blocksize = 2>(d)"),
    "resize-nearest": (
        "1,2,3,4",
        'Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
        "(d, , float[4] s = 1,1,2,2)",
    ),
    "neg": ("3,5", "Neg(d)"),
    "abs": ("3,5", "Abs(d)"),
    "identity": ("3,5", "Identity(d)"),
}
"""Operator → shape of what comes in, node. What comes out has the scale of what comes in, or another."""

COMPUTED: dict[str, tuple[str, str, str]] = {
    "add-number": ("3,5", "Add(d, T[] k = 3.5)", "1.5"),
    "mul-number": ("3,5", "Mul(d, T[] k = 0.75)", "1.125"),
    "averagepool": ("1,3,4,6", "AveragePool<kernel_shape = [2,2], strides = [2,1]>(d)", "0.375"),
    "averagepool-padded": ("1,3,5,6", "AveragePool<kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1>(d)", "0.5"),
    "globalaveragepool": ("2,3,3,3", "GlobalAveragePool(d)", "0.5"),
    "reducemean": ("3,9", "ReduceMean(d, int64[1] i = 1)", "0.5"),
    "reducesum": ("3,7", "ReduceSum(d, int64[1] i = 1)", "1.5"),
    "leakyrelu": ("3,5", "LeakyRelu<alpha = 0.25>(d)", "0.375"),
    "prelu": ("3,5", "PRelu(d, T[5] ws = 0.25,0.5,0.125,-0.25,2)", "1.6875"),
    "resize-linear": ("1,2,3,3", 'Resize<mode = "linear">(d, , float[4] s = 1,1,2,2)', "0.84375"),
    "square": ("3,5", "Mul(d, d)", "20.25"),
    "sigmoid": ("3,5", "Sigmoid(d)", "0.00390625"),
    "tanh": ("3,5", "Tanh(d)", "0.0078125"),
    "softmax": ("3,8", "Softmax<axis = -1>(d)", "0.00390625"),
    "hardsigmoid": ("3,5", "HardSigmoid(d)", "0.01171875"),
    "hardswish": ("3,5", "HardSwish(d)", "0.46875"),
    "gelu": ("3,5", "Gelu(d)", "0.46875"),
    "elu": ("3,5", "Elu(d)", "0.46875"),
    "exp": ("3,5", "Exp(d)", "0.46875"),
    "sqrt": ("3,5", "Sqrt(a)", "0.046875"),
    "layernorm": ("3,8", "LayerNormalization(d, T[8] wg = 1,2,0.5,1,-1,3,0.25,2, T[8] wb = 0,1,0,-1,0.5,0,0,2)", "0.046875"),
    "rmsnorm": ("3,8", "Div(d, r)", "0.046875"),
    "instancenorm": ("2,3,4,2", "InstanceNormalization(d, T[3] wg = 1,2,0.5, T[3] wb = 0,1,-1)", "0.046875"),
    "silu": ("3,5", "Mul(d, s)", "0.46875"),
}
"""Operator → shape of what comes in, node, scale of what comes out."""

BESIDE = {
    "sqrt": "a = Abs(d)",
    "rmsnorm": "p = Mul(d, d) m = ReduceMean(p, int64[1] i = -1) e = Add(m, T[] eps = 0.25) r = Sqrt(e)",
    "silu": "s = Sigmoid(d)",
}
"""Operator → nodes that come first."""

SECOND = "c = DequantizeLinear({q}[{shape}] z, T[] sz = 0.25, {q}[] zz = {zero})"
TWO: dict[str, tuple[str, str, str, str]] = {
    "add": ("2,3,5", "2,3,5", "Add(d, c)", "0.75"),
    "add-wider": ("2,3,5", "3,1", "Add(d, c)", "0.75"),
    "sub": ("3,5", "3,5", "Sub(d, c)", "0.75"),
    "mul": ("3,5", "3,5", "Mul(d, c)", "10.125"),
    "mul-row": ("3,5", "5", "Mul(c, d)", "10.125"),
    "max-of-two": ("3,5", "3,5", "Max(d, c)", "0.75"),
    "concat": ("3,2", "3,4", "Concat<axis = 1>(d, c)", "0.75"),
    "matmul-fed": ("2,3,7", "2,7,5", "MatMul(d, c)", "30.375"),
    "add-relu": ("3,5", "3,5", "Add(d, c)", "0.75"),
}
"""Operator on two quantised tensors → their shapes, node, scale of what comes out."""

WEIGHTS: dict[str, str] = {
    "i8": "f = DequantizeLinear(int8[{w}] wq, T[] sw = 0.25)",
    "u8": "f = DequantizeLinear(uint8[{w}] wq, T[] sw = 0.25, uint8[] zw = 129)",
    "i8-channel": "f = DequantizeLinear<axis = {axis}>(int8[{w}] wq, T[{n}] sw = {scales})",
    "u8-channel": "f = DequantizeLinear<axis = {axis}>(uint8[{w}] wq, T[{n}] sw = {scales}, uint8[{n}] zw = 128)",
    "i4": "f = DequantizeLinear(int4[{w}] wq, T[] sw = 0.25)",
    "u4": "f = DequantizeLinear(uint4[{w}] wq, T[] sw = 0.25, uint4[] zw = 7)",
    "i4-channel": "f = DequantizeLinear<axis = {axis}>(int4[{w}] wq, T[{n}] sw = {scales})",
    "i16": "f = DequantizeLinear(int16[{w}] wq, T[] sw = 0.25)",
}
"""How weights are stored."""

WEIGHTED: dict[str, tuple[str, str, int, int, str]] = {
    "conv": ("1,3,5,4", "5,3,3,3", 0, 5, "Conv<pads = [1,1,1,1]>(d, f, b)"),
    "conv-strided": ("1,4,6,5", "6,2,2,3", 0, 6, "Conv<group = 2, strides = [2,1], pads = [0,1,1,0]>(d, f, b)"),
    "depthwise": ("1,5,5,4", "5,1,3,3", 0, 5, "Conv<group = 5, pads = [1,0,1,2]>(d, f, b)"),
    "convtranspose": ("1,3,3,4", "3,5,2,2", 1, 5, "ConvTranspose<strides = [2,2]>(d, f, b)"),
    "matmul": ("2,3,7", "7,5", 1, 5, "MatMul(d, f)"),
    "gemm": ("3,7", "5,7", 0, 5, "Gemm<transB = 1>(d, f, b)"),
}
"""Operator → shape of what comes in, of the weights, axis of their channels, how many these are, node."""


def _between(kind: str, shape: str, nodes: str, scale: str, *, same: bool = False) -> str:
    """Dequantised x, the nodes that make o, quantised o."""
    word, zero_in, zero_out = KINDS[kind]
    zero_out = zero_in if same else zero_out
    head = f"d = DequantizeLinear({word}[{shape}] x, T[] sx = 0.5, {word}[] zx = {zero_in})"
    return f"{head} {nodes} y = QuantizeLinear(o, T[] sy = {scale}, {word}[] zy = {zero_out})"


def _reals(kind: str, shape: str, nodes: str, scale: str) -> str:
    """The same between reals."""
    word, zero_in, zero_out = KINDS[kind]
    head = f"q = QuantizeLinear(T[{shape}] p, T[] sx = 0.5, {word}[] zx = {zero_in}) d = DequantizeLinear(q, sx, zx)"
    tail = f"h = QuantizeLinear(o, T[] sy = {scale}, {word}[] zy = {zero_out}) y = DequantizeLinear(h, sy, zy)"
    return f"{head} {nodes} {tail}"


def _moved(kind: str) -> dict[str, str]:
    found = {}
    for name, (shape, node) in MOVES.items():
        found[f"{name}-{kind}"] = _between(kind, shape, f"o = {node}", "0.5", same=True)
    return found


def _computed(kind: str) -> dict[str, str]:
    found = {}
    for name, (shape, node, scale) in COMPUTED.items():
        found[f"{name}-{kind}"] = _between(kind, shape, f"{BESIDE.get(name, '')} o = {node}", scale)
    for name, (shape, other, node, scale) in TWO.items():
        second = SECOND.format(q=KINDS[kind][0], shape=other, zero=KINDS[kind][1] + 3)
        last = f"o0 = {node} o = Relu(o0)" if name.endswith("relu") else f"o = {node}"
        found[f"{name}-{kind}"] = _between(kind, shape, f"{second} {last}", scale)
    return found


def _weighted(
    kind: str, weights: tuple[str, ...], form: str = "", tail: str = "", only: tuple[str, ...] = ()
) -> dict[str, str]:
    """form: "" between integers, "reals" between reals. tail: a node between the sum and its quantisation."""
    found = {}
    for name in only or WEIGHTED:
        shape, w, axis, n, node = WEIGHTED[name]
        scales = ",".join(["0.25", "0.5", "1", "0.25", "0.5", "1"][:n])
        for stored in weights:
            per_channel = stored.endswith("channel")
            held = WEIGHTS[stored].format(w=w, axis=axis, n=n, scales=scales)
            products = ",".join(str(0.5 * float(s)) for s in scales.split(","))
            axis_of_bias = f"<axis = 0>(int32[{n}] wb, T[{n}] sb = {products})"
            bias = f"b = DequantizeLinear{axis_of_bias if per_channel else f'(int32[{n}] wb, T[] sb = 0.125)'}"
            result = "o0" if tail else "o"
            nodes = f"{held} {bias if ', b)' in node else ''} {result} = {node} {tail}"
            make = _reals if form else _between
            label = "-".join(part for part in (name, kind, "w", stored, form) if part)
            found[label] = make(kind, shape, nodes, "3.375")
    return found


LAYERS: dict[str, str] = {
    "two-convolutions": _reals(
        "u8",
        "1,3,5,5",
        "f = DequantizeLinear(int8[4,3,3,3] wq, T[] sw = 0.25) a = Conv(d, f) r = Relu(a) "
        "i = QuantizeLinear(r, T[] si = 3.375, uint8[] zi = 0) j = DequantizeLinear(i, si, zi) "
        "g = DequantizeLinear(int8[2,4,1,1] wq2, T[] sv = 0.5) o = Conv(j, g)",
        "15.1875",
    ),
    "residual": _reals(
        "i8",
        "1,3,4,4",
        "f = DequantizeLinear(int8[3,3,1,1] wq, T[] sw = 0.25) a = Conv(d, f) "
        "i = QuantizeLinear(a, T[] si = 0.5, int8[] zi = 3) j = DequantizeLinear(i, si, zi) b = Add(j, d) o = Relu(b)",
        "1.5",
    ),
    "conv-pool-gemm": _reals(
        "u8",
        "1,3,4,4",
        "f = DequantizeLinear(int8[4,3,3,3] wq, T[] sw = 0.25) a = Conv(d, f) "
        "i = QuantizeLinear(a, T[] si = 3.375, uint8[] zi = 99) j = DequantizeLinear(i, si, zi) m = GlobalMaxPool(j) "
        "n = Flatten(m) g = DequantizeLinear(int8[4,5] wq2, T[] sv = 0.5) o = Gemm(n, g)",
        "5.0625",
    ),
    "requantised": _reals(
        "i8", "3,5", "i = QuantizeLinear(d, T[] si = 0.75, int8[] zi = 2) o = DequantizeLinear(i, si, zi)", "1.125"
    ),
    "to-another-type": "d = DequantizeLinear(uint8[3,5] x, T[] sx = 0.5, uint8[] zx = 120) "
    "y = QuantizeLinear(d, sx, int8[] zy = -8)",
    "to-wider": "d = DequantizeLinear(int8[3,5] x, T[] sx = 0.5, int8[] zx = -7) y = QuantizeLinear(d, T[] sy = 0.046875, "
    "int16[] zy = 9)",
    "to-narrower": "d = DequantizeLinear(uint16[3,5] x, T[] sx = 0.5, uint16[] zx = 32700) y = QuantizeLinear(d, T[] sy = "
    "4.5, uint8[] zy = 99)",
    "there-and-back": "q = QuantizeLinear(T[3,5] p, T[] s = 0.5, uint8[] zero = 120) y = DequantizeLinear(q, s, zero)",
    "there-and-back-twice": "q = QuantizeLinear(T[3,5] p, T[] s = 0.5, uint8[] zero = 120) d = DequantizeLinear(q, s, zero) "
    "h = QuantizeLinear(d, s, zero) y = DequantizeLinear(h, s, zero)",
    "there-and-back-another-zero": "q = QuantizeLinear(T[3,5] p, T[] s = 0.5, uint8[] zero = 120) y = DequantizeLinear(q, "
    "s, uint8[] other = 100)",
    "channels-there-and-back": "q = QuantizeLinear<axis = 1>(T[3,4] p, T[4] s = 0.5,1.5,0.5,0.1875, int8[4] zero = 0,3,-5,9) "
    "y = DequantizeLinear<axis = 1>(q, s, zero)",
    "dequantised-twice": "d = DequantizeLinear(int8[3,5] x, T[] sx = 0.5) e = DequantizeLinear(x, T[] sz = 0.25) y = Add(d, e)",
    "shared-by-two": "d = DequantizeLinear(uint8[3,5] x, T[] sx = 0.5, uint8[] zx = 120) r = Relu(d) n = Neg(d) "
    "y = QuantizeLinear(r, T[] sy = 1.5, uint8[] zy = 0) z = QuantizeLinear(n, T[] sz = 0.75, uint8[] zz = 130)",
    "relu-into-zero-point": "d = DequantizeLinear(int8[3,5] x, T[] sx = 0.5, int8[] zx = -7) r = Relu(d) "
    "y = QuantizeLinear(r, T[] sy = 0.75, int8[] zy = -128)",
    "relu-not-into-zero-point": "d = DequantizeLinear(int8[3,5] x, T[] sx = 0.5, int8[] zx = -7) r = Relu(d) "
    "y = QuantizeLinear(r, T[] sy = 0.75, int8[] zy = -100)",
    "split": "d = DequantizeLinear(uint8[3,6] x, T[] sx = 0.5, uint8[] zx = 120) a, b = Split<axis = 1, num_outputs = 2>(d) "
    "y = QuantizeLinear(a, sx, zx) z = QuantizeLinear(b, T[] sz = 0.75, uint8[] zz = 117)",
    "where": "d = DequantizeLinear(uint8[3,5] x, T[] sx = 0.5, uint8[] zx = 120) g = Greater(d, T[] k = 3.25) "
    "o = Where(g, d, T[] low = -1) y = QuantizeLinear(o, sx, zx)",
    "argmax": "d = DequantizeLinear(uint8[3,9] x, T[] sx = 0.5, uint8[] zx = 120) a = ArgMax<axis = 1>(d) y = Cast<to = 6>(a)",
    "dynamic": "q, s, zero = DynamicQuantizeLinear(float[3,8] p) a = MatMulInteger(q, int8[8,5] wq, zero) c = Cast<to = 1>(a) "
    "m = Mul(s, float[] sw = 0.25) y = Mul(c, m)",
    "integer-product": "a = MatMulInteger(uint8[3,7] x, int8[7,5] wq, uint8[] zx = 120) c = Cast<to = 1>(a) y = Mul(c, "
    "float[] sw = 0.125)",
    "integer-conv": "a = ConvInteger<pads = [1,1,1,1]>(uint8[1,3,4,4] x, uint8[5,3,3,3] wq, uint8[] zx = 120, uint8[] zw = "
    "128) c = Cast<to = 1>(a) y = Mul(c, float[] sw = 0.125)",
}
"""Several layers, and quantisers that could be left out or could not."""

WIDE = ("add-number", "averagepool", "leakyrelu", "sigmoid", "softmax", "layernorm", "add", "mul", "concat", "matmul-fed")
"""Operators that are asked of 16-bit types."""


def _only(graphs: dict[str, str], *names: str) -> dict[str, str]:
    """Those whose name without the type is among `names`."""
    return {name: text for name, text in graphs.items() if name.rpartition("-")[0] in names}


BYTES = {**_moved("u8"), **_computed("u8")}
OTHERS = {**_moved("i8"), **_computed("i8"), **_only(_computed("u16"), *WIDE), **_only(_computed("i16"), *WIDE)}
STORED = {
    **_weighted("u8", tuple(WEIGHTS), only=("conv", "gemm", "matmul")),
    **_weighted("u8", ("i8", "u8-channel"), only=("conv-strided", "depthwise", "convtranspose")),
    **_weighted("i8", ("i8", "i8-channel", "i4")),
    **_weighted("u16", ("i8",)),
    **_weighted("u8", ("i8-channel",), "reals"),
    **{f"{name}-relu": text for name, text in _weighted("u8", ("i8",), tail="o = Relu(o0)").items()},
    **{
        f"{name}-clip": text
        for name, text in _weighted("i8", ("i8-channel",), tail="o = Clip(o0, T[] low = 0, T[] high = 81)").items()
    },
}
IN_REALS = {f"{name}-reals": _reals("u8", shape, f"o = {node}", "0.5") for name, (shape, node) in MOVES.items()}
HALVES = _only(
    BYTES, "relu", "clip", "transpose", "maxpool", "pad", "averagepool", "sigmoid", "add", "mul", "concat", "matmul-fed"
)


def _table(graphs: dict[str, str], dtype: str = "f32", *, everything: bool = False) -> Table:
    return Table({f"qdq-{name}": text for name, text in graphs.items()}, (dtype,), everything=(dtype,) if everything else ())


TABLES = (
    _table(BYTES, everything=True),
    _table(OTHERS),
    _table(STORED),
    _table(IN_REALS),
    _table(LAYERS, everything=True),
    _table(HALVES, "f16"),
)
