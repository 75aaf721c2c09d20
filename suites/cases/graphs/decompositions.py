"""Operators written out as the nodes that exporters make of them, which runtimes put together again; with the terms that tell
the variants apart: other epsilons, axes, scales, halves left out."""

from __future__ import annotations

from suites.cases.graphs.text import Table

NORMALISATIONS: dict[str, str] = {
    "layernorm-pow": "m = ReduceMean<keepdims = 1>(T[3,8] x, int64[1] i = -1) d = Sub(x, m) p = Pow(d, T[] two = 2) "
    "s = ReduceMean(p, i) e = Add(s, T[] eps = 0.01) r = Sqrt(e) n = Div(d, r) g = Mul(n, T[8] wg) y = Add(g, T[8] wb)",
    "layernorm-mul": "m = ReduceMean(T[2,3,8] x, int64[1] i = -1) d = Sub(x, m) p = Mul(d, d) s = ReduceMean(p, i) "
    "e = Add(s, T[] eps = 0.5) r = Sqrt(e) n = Div(d, r) y = Mul(n, T[8] wg)",
    "layernorm-reciprocal": "m = ReduceMean(T[3,8] x, int64[1] i = -1) d = Sub(x, m) p = Mul(d, d) s = ReduceMean(p, i) "
    "e = Add(s, T[] eps = 0.01) q = Sqrt(e) r = Reciprocal(q) n = Mul(d, r) g = Mul(n, T[8] wg) y = Add(g, T[8] wb)",
    "layernorm-first-axis": "m = ReduceMean(T[8,3] x, int64[1] i = 0) d = Sub(x, m) p = Mul(d, d) s = ReduceMean(p, i) "
    "e = Add(s, T[] eps = 0.01) r = Sqrt(e) y = Div(d, r)",
    "layernorm-two-axes": "m = ReduceMean(T[3,2,5] x, int64[2] i = 1,2) d = Sub(x, m) p = Mul(d, d) s = ReduceMean(p, i) "
    "e = Add(s, T[] eps = 0.01) r = Sqrt(e) n = Div(d, r) y = Mul(n, T[2,5] wg)",
    "skip-layernorm": "a = Add(T[2,3,8] x, T[2,3,8] z) y = LayerNormalization<epsilon = 0.01>(a, T[8] wg, T[8] wb)",
    "skip-bias-layernorm": "b = Add(T[2,3,8] x, T[8] wc) a = Add(b, T[2,3,8] z) "
    "y = LayerNormalization<epsilon = 0.01>(a, T[8] wg, T[8] wb)",
    "layernorm-matmul": "a = LayerNormalization(T[2,3,8] x, T[8] wg, T[8] wb) y = MatMul(a, T[8,5] w)",
    "layernorm-scale-shift": "a = LayerNormalization(T[2,3,8] x, T[8] wg) b = Mul(a, T[8] ws) y = Add(b, T[8] wb)",
    "rmsnorm": "p = Mul(T[2,3,8] x, x) s = ReduceMean(p, int64[1] i = -1) e = Add(s, T[] eps = 0.01) r = Sqrt(e) "
    "n = Div(x, r) y = Mul(n, T[8] wg)",
    "rmsnorm-pow": "p = Pow(T[3,8] x, T[] two = 2) s = ReduceMean(p, int64[1] i = -1) e = Add(s, T[] eps = 0.5) r = Sqrt(e) "
    "q = Reciprocal(r) n = Mul(x, q) y = Mul(T[8] wg, n)",
    "rmsnorm-rsqrt-pow": "p = Mul(T[3,8] x, x) s = ReduceMean(p, int64[1] i = -1) e = Add(s, T[] eps = 0.01) "
    "q = Pow(e, T[] k = -0.5) n = Mul(x, q) y = Mul(n, T[8] wg)",
    "skip-rmsnorm": "a = Add(T[3,8] x, T[3,8] z) p = Mul(a, a) s = ReduceMean(p, int64[1] i = -1) e = Add(s, T[] eps = 0.01) "
    "r = Sqrt(e) n = Div(a, r) y = Mul(n, T[8] wg)",
    "instancenorm": "m = ReduceMean(T[2,3,4,5] x, int64[2] i = 2,3) d = Sub(x, m) p = Mul(d, d) s = ReduceMean(p, i) "
    "e = Add(s, T[] eps = 0.01) r = Sqrt(e) n = Div(d, r) g = Mul(n, T[3,1,1] wg) y = Add(g, T[3,1,1] wb)",
    "instancenorm-relu": "a = InstanceNormalization<epsilon = 0.01>(T[2,3,4,5] x, T[3] wg, T[3] wb) y = Relu(a)",
    "conv-instancenorm": "a = Conv(T[1,3,5,4] x, T[4,3,1,1] w) y = InstanceNormalization<epsilon = 0.25>(a, T[4] wg, T[4] wb)",
    "groupnorm": "a = Reshape(T[2,6,3,2] x, int64[3] shape = 0,3,-1) "
    "b = InstanceNormalization<epsilon = 0.01>(a, T[3] one = 1, T[3] zero = 0) s = Shape(x) c = Reshape(b, s) "
    "g = Mul(c, T[6,1,1] wg) y = Add(g, T[6,1,1] wb)",
    "groupnorm-silu": "a = GroupNormalization<num_groups = 2, epsilon = 0.01>(T[2,4,3,2] x, T[4] wg, T[4] wb) "
    "s = Sigmoid(a) y = Mul(a, s)",
    "l2-normalise": "p = Mul(T[3,8] x, x) s = ReduceSum(p, int64[1] i = 1) r = Sqrt(s) c = Clip(r, T[] low = 0.001) y = "
    "Div(x, c)",
    "l2-reduce": "r = ReduceL2(T[3,8] x, int64[1] i = 1) y = Div(x, r)",
    "lpnorm-scale": "a = LpNormalization<axis = 1>(T[3,8] x) y = Mul(a, T[] k = 3)",
    "bn-parts": "d = Sub(T[2,3,4,2] x, T[3,1,1] wm) e = Add(T[3,1,1] v, T[] eps = 0.25) r = Sqrt(e) n = Div(d, r) "
    "g = Mul(n, T[3,1,1] wg) y = Add(g, T[3,1,1] wb)",
    "bn-conv": "a = BatchNormalization<epsilon = 0.25>(T[1,3,5,4] x, T[3] wg, T[3] wb, T[3] wm, T[3] v) "
    "y = Conv<pads = [1,0,0,1]>(a, T[4,3,2,2] w)",
    "bn-gemm": "a = BatchNormalization<epsilon = 0.25>(T[4,7] x, T[7] wg, T[7] wb, T[7] wm, T[7] v) y = Gemm(a, T[7,5] w)",
    "gemm-bn": "a = Gemm(T[4,7] x, T[7,5] w, T[5] wc) "
    "y = BatchNormalization<epsilon = 0.25>(a, T[5] wg, T[5] wb, T[5] wm, T[5] v)",
    "reshape-bn": "a = MatMul(T[4,7] x, T[7,6] w) b = Reshape(a, int64[3] shape = 4,3,2) "
    "y = BatchNormalization<epsilon = 0.25>(b, T[3] wg, T[3] wb, T[3] wm, T[3] v)",
}
"""Layer, root-mean-square, instance, group and batch normalisation."""

ACTIVATIONS: dict[str, str] = {
    "gelu-erf": "a = Div(T[3,8] x, T[] root = 1.4142135) b = Erf(a) c = Add(b, T[] one = 1) d = Mul(x, c) y = Mul(d, T[] "
    "half = 0.5)",
    "gelu-erf-mul": "a = Mul(T[3,8] x, T[] root = 0.70710677) b = Erf(a) c = Add(T[] one = 1, b) h = Mul(x, T[] half = 0.5) "
    "y = Mul(h, c)",
    "gelu-erf-bias": "z = Add(T[3,8] x, T[8] wb) a = Div(z, T[] root = 1.4142135) b = Erf(a) c = Add(b, T[] one = 1) "
    "d = Mul(z, c) y = Mul(d, T[] half = 0.5)",
    "gelu-erf-without-half": "a = Div(T[3,8] x, T[] root = 1.4142135) b = Erf(a) c = Add(b, T[] one = 1) y = Mul(x, c)",
    "gelu-erf-other-root": "a = Div(T[3,8] x, T[] root = 1.5) b = Erf(a) c = Add(b, T[] one = 1) d = Mul(x, c) "
    "y = Mul(d, T[] half = 0.5)",
    "gelu-tanh": "p = Pow(T[3,8] x, T[] three = 3) q = Mul(p, T[] k = 0.044715) r = Add(x, q) s = Mul(r, T[] root = "
    "0.7978846) t = Tanh(s) u = Add(t, T[] one = 1) h = Mul(x, T[] half = 0.5) y = Mul(h, u)",
    "gelu-tanh-mul": "p = Mul(T[3,8] x, x) q = Mul(p, x) k = Mul(q, T[] f = 0.044715) r = Add(x, k) "
    "s = Mul(r, T[] root = 0.7978846) t = Tanh(s) u = Add(T[] one = 1, t) h = Mul(u, x) y = Mul(h, T[] half = 0.5)",
    "fast-gelu": "p = Mul(T[3,8] x, x) q = Mul(p, T[] k = 0.035677408) r = Add(q, T[] root = 0.7978846) s = Mul(r, x) t = "
    "Tanh(s) u = Add(t, T[] one = 1) h = Mul(u, T[] half = 0.5) y = Mul(x, h)",
    "silu": "s = Sigmoid(T[3,8] x) y = Mul(x, s)",
    "silu-exp": "n = Neg(T[3,8] x) e = Exp(n) f = Add(e, T[] one = 1) y = Div(x, f)",
    "swish-beta": "b = Mul(T[3,8] x, T[] beta = 0.5) s = Sigmoid(b) y = Mul(x, s)",
    "swish-other": "s = Sigmoid(T[3,8] x) y = Mul(s, T[3,8] z)",
    "swiglu": "g = MatMul(T[3,8] x, T[8,5] wg) u = MatMul(x, T[8,5] w) s = Sigmoid(g) h = Mul(g, s) y = Mul(h, u)",
    "geglu": "g = Gelu(T[3,8] x) y = Mul(g, T[3,8] z)",
    "glu-split": "a, b = Split<axis = 1, num_outputs = 2>(T[3,8] x) s = Sigmoid(b) y = Mul(a, s)",
    "quick-gelu": "b = Mul(T[3,8] x, T[] k = 1.702) s = Sigmoid(b) y = Mul(x, s)",
    "mish": "s = Softplus(T[3,8] x) t = Tanh(s) y = Mul(x, t)",
    "mish-exp": "e = Exp(T[3,8] x) f = Add(e, T[] one = 1) l = Log(f) t = Tanh(l) y = Mul(x, t)",
    "sigmoid-exp": "n = Neg(T[3,8] x) e = Exp(n) f = Add(e, T[] one = 1) y = Reciprocal(f)",
    "softplus-exp": "e = Exp(T[3,8] x) f = Add(e, T[] one = 1) y = Log(f)",
    "hard-swish": "a = Add(T[3,8] x, T[] three = 3) c = Clip(a, T[] low = 0, T[] high = 6) d = Div(c, T[] six = 6) y = "
    "Mul(x, d)",
    "hard-swish-multiplied": "a = Add(T[3,8] x, T[] three = 3) c = Clip(a, T[] low = 0, T[] high = 6) m = Mul(x, c) "
    "y = Mul(m, T[] sixth = 0.16666667)",
    "hard-swish-sigmoid": "h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(T[3,8] x) y = Mul(x, h)",
    "hard-swish-other": "h = HardSigmoid(T[3,8] x) y = Mul(x, h)",
    "elu-parts": "e = Exp(T[3,8] x) m = Sub(e, T[] one = 1) c = Greater(x, T[] zero = 0) y = Where(c, x, m)",
    "leaky-parts": "m = Mul(T[3,8] x, T[] k = 0.1) y = Max(x, m)",
    "prelu-parts": "r = Relu(T[3,8] x) n = Neg(x) s = Relu(n) m = Mul(s, T[8] ws) y = Sub(r, m)",
    "relu-squared": "r = Relu(T[3,8] x) y = Mul(r, r)",
    "rsqrt": "a = Mul(T[3,8] x, x) b = Add(a, T[] one = 1) r = Sqrt(b) y = Reciprocal(r)",
    "one-over-sqrt": "a = Mul(T[3,8] x, x) b = Add(a, T[] one = 1) r = Sqrt(b) y = Div(T[3,8] z, r)",
    "log-softmax": "s = Softmax<axis = -1>(T[3,8] x) y = Log(s)",
    "softmax-parts": "m = ReduceMax(T[3,8] x, int64[1] i = -1) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, i) y = Div(e, s)",
    "softmax-without-max": "e = Exp(T[3,8] x) s = ReduceSum(e, int64[1] i = -1) y = Div(e, s)",
    "softmax-first-axis": "m = ReduceMax(T[8,3] x, int64[1] i = 0) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, i) y = Div(e, s)",
    "logsumexp": "e = Exp(T[3,8] x) s = ReduceSum(e, int64[1] i = 1) y = Log(s)",
    "scaled-softmax": "a = Div(T[2,3,8] x, T[] k = 2.828427) y = Softmax<axis = -1>(a)",
    "masked-softmax": "a = Add(T[2,3,8] x, T[1,1,8] z) y = Softmax<axis = -1>(a)",
    "softmax-transposed": "t = Transpose<perm = [0,2,1]>(T[2,8,3] x) s = Softmax<axis = 2>(t) y = Transpose<perm = [0,2,1]>(s)",
    "softmax-flattened": "a = Reshape(T[2,3,4] x, int64[2] shape = 6,4) s = Softmax<axis = 1>(a) y = Reshape(s, int64[3] "
    "back = 2,3,4)",
    "variance": "m = ReduceMean(T[3,8] x, int64[1] i = 1) d = Sub(x, m) p = Mul(d, d) y = ReduceMean(p, i)",
    "euclidean": "d = Sub(T[3,8] x, T[3,8] z) p = Mul(d, d) s = ReduceSum<keepdims = 0>(p, int64[1] i = 1) y = Sqrt(s)",
}
"""GELU, SiLU, Mish, softmax and their like."""

ATTENTION: dict[str, str] = {
    "attention": "t = Transpose<perm = [0,2,1]>(T[2,3,4] k0) s = MatMul(T[2,5,4] x, t) d = Mul(s, T[] scale = 0.5) "
    "p = Softmax<axis = -1>(d) y = MatMul(p, T[2,3,6] z)",
    "attention-divided": "t = Transpose<perm = [0,2,1]>(T[2,3,5] k0) s = MatMul(T[2,4,5] x, t) d = Div(s, T[] scale = "
    "2.236068) p = Softmax<axis = -1>(d) y = MatMul(p, T[2,3,4] z)",
    "attention-unscaled": "t = Transpose<perm = [0,2,1]>(T[2,3,4] k0) s = MatMul(T[2,5,4] x, t) p = Softmax<axis = -1>(s) "
    "y = MatMul(p, T[2,3,6] z)",
    "attention-masked": "t = Transpose<perm = [0,2,1]>(T[2,3,4] k0) s = MatMul(T[2,5,4] x, t) d = Mul(s, T[] scale = 0.5) "
    "m = Add(d, T[1,5,3] mask) p = Softmax<axis = -1>(m) y = MatMul(p, T[2,3,6] z)",
    "attention-where": "t = Transpose<perm = [0,2,1]>(T[2,3,4] k0) s = MatMul(T[2,5,4] x, t) "
    "m = Where(bool[5,3] keep = 1,0,0,1,1,0,1,1,1,1,0,1,0,1,1, s, T[] low = -1000) p = Softmax<axis = -1>(m) "
    "y = MatMul(p, T[2,3,6] z)",
    "attention-scaled-query": "q = Mul(T[2,5,4] x, T[] scale = 0.5) t = Transpose<perm = [0,2,1]>(T[2,3,4] k0) s = "
    "MatMul(q, t) p = Softmax<axis = -1>(s) y = MatMul(p, T[2,3,6] z)",
    "attention-heads": "q0 = Reshape(T[1,3,8] x, int64[4] heads = 0,0,2,4) q = Transpose<perm = [0,2,1,3]>(q0) "
    "s = MatMul(q, T[1,2,4,5] k0) d = Mul(s, T[] scale = 0.5) p = Softmax<axis = -1>(d) c = MatMul(p, T[1,2,5,4] z) "
    "t = Transpose<perm = [0,2,1,3]>(c) y = Reshape(t, int64[3] flat = 0,0,8)",
    "attention-other-axis": "s = MatMul(T[2,5,4] x, T[2,4,3] k0) p = Softmax<axis = 1>(s) y = MatMul(p, T[2,3,6] z)",
    "rotary": "a, b = Split<axis = -1, num_outputs = 2>(T[1,3,8] x) n = Neg(b) r = Concat<axis = -1>(n, a) c = Mul(x, "
    "T[3,8] cos) s = Mul(r, T[3,8] sin) y = Add(c, s)",
    "rotary-sliced": "a = Slice(T[3,8] x, int64[1] from = 0, int64[1] half = 4, int64[1] axis = -1) "
    "b = Slice(x, half, int64[1] end = 100, axis) n = Neg(b) r = Concat<axis = -1>(n, a) c = Mul(x, T[3,8] cos) "
    "s = Mul(r, T[3,8] sin) y = Add(c, s)",
}
"""Attention and rotary embedding."""

LONG: dict[str, str] = {
    "attention-projected": "q = MatMul(T[1,3,6] x, T[6,4] wq) k = MatMul(x, T[6,4] wk) v = MatMul(x, T[6,5] wv) t = "
    "Transpose<perm = [0,2,1]>(k) s = MatMul(q, t) d = Mul(s, T[] scale = 0.125) p = Softmax<axis = -1>(d) y = "
    "MatMul(p, v)",
}
"""Chains whose worst case in halves says nothing."""

NEWER: dict[str, str] = {
    "attention-operator": "a = Attention(T[1,2,3,4] x, T[1,2,5,4] k0, T[1,2,5,4] z) y = Transpose<perm = [0,2,1,3]>(a)",
    "attention-residual": "a = Attention<is_causal = 1>(T[1,2,3,4] x, T[1,2,3,4] k0, T[1,2,3,4] z) y = Add(a, x)",
    "rmsnorm-matmul": "a = RMSNormalization<epsilon = 0.01>(T[2,3,8] x, T[8] wg) y = MatMul(a, T[8,5] w)",
    "skip-rmsnorm-operator": "a = Add(T[3,8] x, T[3,8] z) y = RMSNormalization<epsilon = 0.01>(a, T[8] wg)",
    "rotary-operator": "a = RotaryEmbedding(T[1,2,3,4] x, T[1,3,2] cos, T[1,3,2] sin) y = Mul(a, T[] scale = 0.5)",
}
"""Operators of newer opsets with a node beside them."""

TABLES = (
    Table({f"parts-{name}": text for name, text in NORMALISATIONS.items()}, recipe="normal"),
    Table({f"parts-{name}": text for name, text in ACTIVATIONS.items()}, recipe="normal"),
    Table({f"parts-{name}": text for name, text in ATTENTION.items()}, recipe="normal"),
    Table({f"parts-{name}": text for name, text in LONG.items()}, types=("f32",), recipe="normal"),
    Table(NEWER, recipe="normal", opset=23),
)
