"""What compilers compute before the first run, move past other nodes, merge, or throw away. All of it is exact."""

from __future__ import annotations

from suites.cases.graphs.text import Table

CONSTANTS: dict[str, str] = {
    "weight-transposed-gemm": "t = Transpose<perm = [1,0]>(T[5,7] w) y = Gemm(T[3,7] x, t)",
    "weight-reshaped-conv": "r = Reshape(T[5,27] w, int64[4] s = 5,3,3,3) y = Conv(T[1,3,5,4] x, r)",
    "weight-transposed-conv": "t = Transpose<perm = [3,2,0,1]>(T[3,3,3,5] w) y = Conv(T[1,3,5,4] x, t)",
    "weight-added": "v0 = Add(T[7,5] w, T[7,5] w2) y = MatMul(T[3,7] x, v0)",
    "weight-multiplied": "v0 = Mul(T[7,5] w, T[5] ws) y = MatMul(T[3,7] x, v0)",
    "weight-scaled-conv": "v0 = Mul(T[5,3,1,1] w, T[5,1,1,1] ws) y = Conv(T[1,3,5,4] x, v0)",
    "weight-dequantised": "d = DequantizeLinear(int8[7,5] wq, T[] scale = 0.5, int8[] zero = 1) y = MatMul(T[3,7] x, d)",
    "weight-dequantised-axis": "d = DequantizeLinear<axis = 0>(int8[5,3,3,3] wq, T[5] scale = 0.5,0.25,1,2,0.125) "
    "y = Conv(T[1,3,5,4] x, d)",
    "weight-dequantised-last-axis": "d = DequantizeLinear<axis = -1>(uint8[7,3] wq, T[3] scale = 0.5,0.25,1, uint8[3] zero "
    "= 127,128,130) y = MatMul(T[3,7] x, d)",
    "weight-dequantised-blocks": "d = DequantizeLinear<axis = 0, block_size = 4>(int4[8,3] wq, "
    "T[2,3] scale = 0.5,0.25,1,2,1,0.5) y = MatMul(T[3,8] x, d)",
    "weight-dequantised-transposed": "d = DequantizeLinear<axis = 0>(int8[3,7] wq, T[3] scale = 0.5,0.25,1) "
    "t = Transpose<perm = [1,0]>(d) y = MatMul(T[3,7] x, t)",
    "weight-int4": "d = DequantizeLinear(int4[7,5] wq, T[] scale = 0.5) y = MatMul(T[3,7] x, d)",
    "weight-uint4": "d = DequantizeLinear(uint4[7,5] wq, T[] scale = 0.25, uint4[] zero = 8) y = MatMul(T[3,7] x, d)",
    "weight-padded": "p = Pad(T[5,3,1,1] w, int64[8] pads = 0,0,1,1,0,0,1,1) y = Conv<pads = [1,1,1,1]>(T[1,3,5,4] x, p)",
    "weight-sliced": "s = Slice(T[9,5] w, int64[1] from = 7, int64[1] to = 0, int64[1] axis = 0, int64[1] step = -1) y = "
    "MatMul(T[3,7] x, s)",
    "weight-concatenated": "c = Concat<axis = 0>(T[3,5] w, T[4,5] w2) y = MatMul(T[3,7] x, c)",
    "weight-gathered": "g = Gather<axis = 0>(T[9,5] w, int64[7] i = 8,0,3,3,-1,2,5) y = MatMul(T[3,7] x, g)",
    "weight-expanded": "e = Expand(T[1,5] w, int64[2] s = 7,5) y = MatMul(T[3,7] x, e)",
    "weight-tiled": "t = Tile(T[7,2] w, int64[2] n = 1,3) y = MatMul(T[3,7] x, t)",
    "weight-negated": "n = Neg(T[7,5] w) y = MatMul(T[3,7] x, n)",
    "weight-clipped": "c = Clip(T[7,5] w, T[] low = 0) y = MatMul(T[3,7] x, c)",
    "weight-where": "c = Greater(T[7,5] w, T[] zero = 0) v0 = Where(c, w, T[] two = 2) y = MatMul(T[3,7] x, v0)",
    "weight-used-transposed-too": "t = Transpose<perm = [1,0]>(T[5,5] w) a = MatMul(T[3,5] x, t) b = MatMul(x, w) y = "
    "Sub(a, b)",
    "weight-of-integers": "c = Cast<to = 1>(int8[7,5] wq) d = CastLike(c, T[3,7] x) y = MatMul(x, d)",
    "bias-from-range": "r = Range(int64[] from = -2, int64[] to = 3, int64[] step = 1) c = CastLike(r, T[3,7] x) m = "
    "MatMul(x, T[7,5] w) y = Add(m, c)",
    "bias-filled": "f = ConstantOfShape<value = int32[1] {3}>(int64[1] s = 5) c = CastLike(f, T[3,7] x) m = MatMul(x, "
    "T[7,5] w) y = Add(m, c)",
    "one-hot-rows": "i = OneHot<axis = -1>(int64[3] at = 4,0,2, int64[] depth = 7, T[2] off = 0,2) y = MatMul(i, T[7,5] x)",
    "identity-matrix": "e = EyeLike<k = 1>(T[5,5] w) y = MatMul(T[3,5] x, e)",
    "triangle-mask": "t = Trilu<upper = 0>(T[5,5] w) y = Mul(T[5,5] x, t)",
    "index-arithmetic": "a = Add(int64[2] i = 0,1, int64[] one = 1) b = Mul(a, int64[] two = 2) y = Gather<axis = 1>(T[3,7] "
    "x, b)",
}
"""Weights that other nodes make of constants."""

SHAPES: dict[str, str] = {
    "shape-gather-concat": "s = Shape(T[2,3,4] x) n = Gather<axis = 0>(s, int64[1] i = 0) c = Concat<axis = 0>(n, int64[1] "
    "rest = -1) y = Reshape(x, c)",
    "shape-slice-concat": "s = Shape(T[2,3,4] x) n = Slice(s, int64[1] from = 0, int64[1] to = 2) c = Concat<axis = 0>(n, "
    "int64[2] rest = 2,2) y = Reshape(x, c)",
    "shape-arithmetic": "s = Shape(T[2,3,4] x) a, b, c = Split<axis = 0, num_outputs = 3>(s) m = Mul(a, b) t = Concat<axis "
    "= 0>(m, c) y = Reshape(x, t)",
    "shape-unsqueezed": "s = Shape(T[2,3,4] x) n = Gather<axis = 0>(s, int64[] i = 1) u = Unsqueeze(n, int64[1] axis = 0) "
    "t = Concat<axis = 0>(int64[1] rest = -1, u) y = Reshape(x, t)",
    "shape-of-last": "s = Shape<start = -2>(T[2,3,4] x) t = Concat<axis = 0>(int64[1] one = 1, s) e = Expand(T[1] z, t) y = "
    "Add(x, e)",
    "size-divided": "n = Size(T[2,3,4] x) q = Div(n, int64[] four = 4) u = Unsqueeze(q, int64[1] axis = 0) t = Concat<axis "
    "= 0>(u, int64[1] rest = 4) y = Reshape(x, t)",
    "shape-filled": "s = Shape(T[3,4] x) f = ConstantOfShape<value = int32[1] {2}>(s) c = CastLike(f, x) y = Mul(x, c)",
    "shape-range": "n = Shape<start = 1>(T[3,4] x) q = Squeeze(n, int64[1] axis = 0) r = Range(int64[] from = 0, q, int64[] "
    "step = 1) c = CastLike(r, x) y = Add(x, c)",
    "shape-expand-back": "s = Shape(T[3,4] x) m = ReduceMax(x, int64[1] i = 1) e = Expand(m, s) y = Sub(x, e)",
    "shape-cast-floor": "s = Shape<start = 2>(T[1,2,6,4] x) f = Cast<to = 1>(s) d = Div(f, float[] two = 2) g = Floor(d) i "
    "= Cast<to = 7>(g) t = Concat<axis = 0>(int64[2] head = 1,-1, i) y = Reshape(x, t)",
    "shape-equal-where": "s = Shape(T[2,3,4] x) e = Equal(s, int64[3] want = 2,9,4) t = Where(e, s, int64[3] other = "
    "1,-1,1) y = Reshape(x, t)",
    "reshape-zero-copy": "a = Reshape(T[2,3,4] x, int64[3] s = 0,-1,2) y = Reshape(a, int64[2] t = 0,-1)",
}
"""Shapes computed from shapes."""

NOTHING: dict[str, str] = {
    "identity-chain": "a = Identity(T[3,5] x) b = Identity(a) c = Add(b, a) y = Identity(c)",
    "dropout": "a = Relu(T[3,5] x) b = Dropout(a) y = Add(b, T[5] wb)",
    "dropout-ratio": "a, m = Dropout(T[3,5] x, float[] ratio = 0.5) k = Cast<to = 6>(m) c = CastLike(k, x) y = Mul(a, c)",
    "cast-to-itself": "c = CastLike(T[3,5] x, x) y = Neg(c)",
    "cast-up-and-down": "d = Cast<to = 11>(T[3,5] x) y = CastLike(d, x)",
    "cast-integer-and-back": "i = Cast<to = 6>(T[3,5] x) y = CastLike(i, x)",
    "cast-chain": "i = Cast<to = 6>(T[3,5] x) j = Cast<to = 3>(i) k = Cast<to = 7>(j) y = CastLike(k, x)",
    "cast-bool-chain": "b = Cast<to = 9>(T[3,5] x) i = Cast<to = 6>(b) y = CastLike(i, x)",
    "cast-half-halves": "h = Mul(T[3,5] x, T[] half = 0.5) i = Cast<to = 6>(h) y = CastLike(i, x)",
    "cast-unsigned-wrap": "i = Cast<to = 6>(T[3,5] x) u = Cast<to = 2>(i) y = CastLike(u, x)",
    "add-zero": "a = Add(T[3,5] x, T[] zero = 0) y = Relu(a)",
    "multiply-one": "a = Mul(T[3,5] x, T[] one = 1) y = Neg(a)",
    "divide-one": "a = Div(T[3,5] x, T[] one = 1) y = Neg(a)",
    "subtract-zero": "a = Sub(T[3,5] x, T[] zero = 0) y = Neg(a)",
    "zero-minus": "a = Sub(T[] zero = 0, T[3,5] x) y = Sub(T[] one = 1, a)",
    "add-zero-wider": "a = Add(T[1,5] x, T[3,1] zero = 0) y = Neg(a)",
    "multiply-one-wider": "a = Mul(T[5] x, T[2,3,1] one = 1) y = Neg(a)",
    "power-one": "a = Pow(T[3,5] x, T[] one = 1) y = Neg(a)",
    "negated-twice": "a = Neg(T[3,5] x) b = Neg(a) y = Add(b, T[5] wb)",
    "negated-used": "a = Neg(T[3,5] x) b = Neg(a) y = Add(b, a)",
    "not-where": "g = Greater(T[3,5] x, T[] zero = 0) n = Not(g) y = Where(n, x, T[3,5] z)",
    "not-not": "g = Greater(T[3,5] x, T[] zero = 0) n = Not(g) m = Not(n) y = Where(m, x, T[] two = 2)",
    "where-constant-true": "y0 = Where(bool[1] yes = 1, T[3,5] x, T[3,5] z) y = Neg(y0)",
    "where-same": "g = Greater(T[3,5] x, T[] zero = 0) y = Where(g, x, x)",
    "reverse-twice": "a = Slice(T[3,5] x, int64[1] from = -1, int64[1] to = -100, int64[1] axis = 1, int64[1] step = -1) "
    "y = Slice(a, from, to, axis, step)",
    "transpose-identity": "t = Transpose<perm = [0,1,2]>(T[2,3,4] x) y = Neg(t)",
    "reshape-same": "r = Reshape(T[3,5] x, int64[2] s = 3,5) y = Neg(r)",
    "squeeze-unsqueeze": "u = Unsqueeze(T[3,5] x, int64[2] axes = 0,2) y = Squeeze(u, axes)",
    "flatten-of-matrix": "f = Flatten(T[3,5] x) y = Neg(f)",
    "pad-nothing": "p = Pad(T[3,5] x, int64[4] pads = 0) y = Neg(p)",
    "slice-everything": "s = Slice(T[3,5] x, int64[2] from = 0, int64[2] to = 1000) y = Neg(s)",
    "concat-of-one": "c = Concat<axis = 1>(T[3,5] x) y = Neg(c)",
    "sum-of-one": "s = Sum(T[3,5] x) y = Neg(s)",
    "max-of-one": "s = Max(T[3,5] x) y = Neg(s)",
    "reduce-one-long": "r = ReduceSum(T[3,1,5] x, int64[1] i = 1) y = Neg(r)",
    "reduce-nothing": "r = ReduceSum<noop_with_empty_axes = 1>(T[3,5] x, int64[0] wi) y = Neg(r)",
    "expand-nothing": "e = Expand(T[3,5] x, int64[2] s = 1,5) y = Neg(e)",
    "tile-once": "t = Tile(T[3,5] x, int64[2] n = 1) y = Neg(t)",
    "split-whole": "s = Split<axis = 0, num_outputs = 1>(T[3,5] x) y = Neg(s)",
    "maxpool-one": "p = MaxPool<kernel_shape = [1,1]>(T[1,2,3,4] x) y = Neg(p)",
    "averagepool-one": "p = AveragePool<kernel_shape = [1,1]>(T[1,2,3,4] x) y = Neg(p)",
    "relu-relu": "a = Relu(T[3,5] x) y = Relu(a)",
    "relu-max-zero": "a = Relu(T[3,5] x) y = Max(a, T[] zero = 0)",
    "clip-clip": "a = Clip(T[3,5] x, T[] low = -1, T[] high = 1) y = Clip(a, T[] low2 = 0, T[] high2 = 3)",
    "clip-apart": "a = Clip(T[3,5] x, T[] low = -1, T[] high = 0) y = Clip(a, T[] low2 = 1, T[] high2 = 3)",
    "clip-empty": "y = Clip(T[3,5] x, T[] low = 1, T[] high = -1)",
    "min-then-max": "a = Min(T[3,5] x, T[] high = 0) y = Max(a, T[] low = 1)",
    "abs-of-neg": "n = Neg(T[3,5] x) y = Abs(n)",
    "relu-of-abs": "a = Abs(T[3,5] x) y = Relu(a)",
    "sign-times-abs": "a = Abs(T[3,5] x) s = Sign(x) y = Mul(a, s)",
    "upsample-once": "r = Resize(T[1,2,3,4] x, , float[4] scales = 1) y = Neg(r)",
    "mod-of-floor": "f = Floor(T[3,5] x) y = Neg(f)",
}
"""Nodes that do nothing, alone or together, and some that only look so."""

MERGED: dict[str, str] = {
    "common-product": "a = MatMul(T[3,7] x, T[7,5] w) b = MatMul(x, w) c = Relu(a) d = Neg(b) y = Add(c, d)",
    "common-not-quite": "a = Clip(T[3,5] x, T[] low = -1, T[] high = 0) b = Clip(x, low, T[] high2 = 1) y = Add(a, b)",
    "common-axes": "a = ReduceSum(T[3,4] x, int64[1] i = 1) b = ReduceSum<keepdims = 0>(x, i) u = Unsqueeze(b, i) y = "
    "Sub(a, u)",
    "common-other-axis": "a = Hardmax<axis = 0>(T[4,4] x) b = Hardmax<axis = 1>(x) y = Sub(a, b)",
    "common-commuted": "a = Add(T[3,5] x, T[3,5] z) b = Add(z, x) y = Mul(a, b)",
    "common-not-commuted": "a = Sub(T[3,5] x, T[3,5] z) b = Sub(z, x) y = Mul(a, b)",
    "dead-branch": "a = Relu(T[3,5] x) b = MatMul(a, T[5,4] w) c = Neg(a) d = Shape(b) e = Gather<axis = 0>(d, int64[1] i = "
    "1) f = Concat<axis = 0>(int64[1] g = 3, int64[1] h = 5) y = Reshape(c, f) z = Identity(e)",
    "dead-split": "a, b, c = Split<axis = 1, num_outputs = 3>(T[3,6] x) d = Add(a, c) y = Neg(d) u = Relu(b)",
    "adds-of-constants": "a = Add(T[3,5] x, T[] k = 2) b = Add(a, T[] l = 3) y = Add(b, T[5] wb)",
    "muls-of-constants": "a = Mul(T[3,5] x, T[] k = 2) b = Mul(a, T[5] ws) y = Mul(b, T[] l = 0.5)",
    "mul-then-div": "a = Mul(T[3,5] x, T[] k = 4) y = Div(a, T[] l = 2)",
    "sub-then-add": "a = Sub(T[3,5] x, T[] k = 2) y = Add(a, T[] l = 2)",
    "factor-out": "a = Mul(T[3,5] x, T[] k = 2) b = Mul(T[3,5] z, k) y = Add(a, b)",
    "matmul-scale": "a = MatMul(T[3,7] x, T[7,5] w) y = Mul(a, T[] k = 0.5)",
    "scale-matmul": "a = Mul(T[3,7] x, T[] k = 0.5) y = MatMul(a, T[7,5] w)",
    "scale-both-matmul": "a = Mul(T[3,7] x, T[] k = 0.5) b = Mul(T[7,5] z, T[] l = 4) y = MatMul(a, b)",
    "matmul-divided": "a = MatMul(T[2,3,4] x, T[2,4,5] z) y = Div(a, T[] k = 8)",
    "scale-column": "a = Mul(T[3,7] x, T[7] ws) y = MatMul(a, T[7,5] w)",
    "scale-row": "a = Mul(T[3,7] x, T[3,1] ws) y = MatMul(a, T[7,5] w)",
    "matmul-scale-row": "a = MatMul(T[5,7] x, T[7,5] w) y = Mul(a, T[5,1] ws)",
    "matmul-add-row": "a = MatMul(T[5,7] x, T[7,5] w) y = Add(a, T[5,1] wb)",
    "matmul-add-wider": "a = MatMul(T[3,7] x, T[7,5] w) y = Add(a, T[2,1,5] wb)",
    "gemm-alpha-add": "a = Gemm<alpha = 2.0>(T[3,7] x, T[7,5] w) y = Add(a, T[5] wb)",
    "gemm-beta-add": "a = Gemm<beta = 0.5>(T[3,7] x, T[7,5] w, T[5] wc) y = Add(a, T[3,1] wb)",
    "gemm-sum": "a = Gemm(T[3,7] x, T[7,5] w, T[5] wc) y = Sum(a, T[3,5] z, T[1,5] u)",
    "gemm-gemm": "a = Gemm(T[3,7] x, T[7,5] w, T[5] wc) y = Gemm<transB = 1>(a, T[4,5] w2, T[4] wd)",
    "matmul-matmul": "a = MatMul(T[3,7] x, T[7,5] w) y = MatMul(a, T[5,4] w2)",
    "matmul-shared-input": "a = MatMul(T[3,7] x, T[7,5] w) b = MatMul(x, T[7,4] w2) y = Concat<axis = 1>(a, b)",
    "matmul-split": "a = MatMul(T[3,7] x, T[7,9] w) b, c, d = Split<axis = 1, num_outputs = 3>(a) e = Mul(b, c) y = Add(e, d)",
    "conv-shared-input": "a = Conv(T[1,3,5,4] x, T[5,3,3,3] w) b = Conv(x, T[2,3,3,3] w2) y = Concat<axis = 1>(a, b)",
    "conv-pointwise": "a = Conv<group = 3, pads = [1,1,1,1]>(T[1,3,5,4] x, T[3,1,3,3] w) y = Conv(a, T[4,3,1,1] w2)",
    "conv-as-matmul": "t = Transpose<perm = [0,2,3,1]>(T[1,3,4,5] x) m = MatMul(t, T[3,7] w) y = Transpose<perm = "
    "[0,3,1,2]>(m)",
    "matmul-as-conv": "r = Reshape(T[1,3,20] x, int64[4] s = 1,3,4,5) y = Conv(r, T[7,3,1,1] w)",
    "reduce-add": "r = ReduceSum(T[3,4,5] x, int64[1] i = 1) y = Add(r, T[3,1,5] z)",
    "reduce-square": "m = Mul(T[3,5] x, x) y = ReduceSum(m, int64[1] i = 1)",
    "reduce-abs": "m = Abs(T[3,5] x) y = ReduceSum(m, int64[1] i = 1)",
    "reduce-reduce": "a = ReduceSum<keepdims = 0>(T[3,4,5] x, int64[1] i = 2) y = ReduceSum<keepdims = 0>(a, int64[1] j = 0)",
    "reduce-max-max": "a = ReduceMax(T[3,4,5] x, int64[1] i = 2) y = ReduceMax(a, int64[1] j = 1)",
    "reduce-mean-scale": "a = ReduceMean(T[3,4] x, int64[1] i = 1) y = Mul(a, T[] k = 4)",
    "average-as-mean": "a = ReduceMean<keepdims = 1>(T[2,3,4,2] x, int64[2] i = 2,3) y = Reshape(a, int64[2] s = 0,-1)",
    "globalaverage-flatten": "a = GlobalAveragePool(T[2,3,4,2] x) b = Flatten(a) y = Gemm(b, T[3,5] w, T[5] wb)",
    "globalmax-squeeze": "a = GlobalMaxPool(T[2,3,4,5] x) y = Squeeze(a, int64[2] i = 2,3)",
    "expand-mul": "e = Expand(T[1,5] z, int64[2] s = 3,5) y = Mul(T[3,5] x, e)",
    "expand-add-smaller": "e = Expand(T[3,1] z, int64[2] s = 3,5) y = Add(e, T[1,5] x)",
    "tile-add": "t = Tile(T[1,5] z, int64[2] n = 3,1) y = Add(T[3,5] x, t)",
    "gather-gather": "a = Gather<axis = 0>(T[7,5] x, int64[4] i = 6,1,0,-2) y = Gather<axis = 0>(a, int64[2] j = 3,1)",
    "embedding-add": "a = Gather<axis = 0>(T[7,5] w, int64[4] i = 6,1,0,-2) b = Add(a, T[4,5] w2) y = Add(b, T[4,5] x)",
    "max-of-three": "a = Max(T[3,5] x, T[3,5] z) y = Max(a, T[] k = 0)",
    "where-relu": "g = Less(T[3,5] x, T[] zero = 0) y = Where(g, zero, x)",
    "select-by-mask": "c = CastLike(bool[3,5] m, T[3,5] x) n = Sub(T[] one = 1, c) a = Mul(x, c) b = Mul(T[3,5] z, n) y = "
    "Add(a, b)",
    "compare-cast-mul": "g = GreaterOrEqual(T[3,5] x, T[3,5] z) i = Cast<to = 6>(g) c = CastLike(i, x) y = Mul(x, c)",
    "and-or-where": "a = Greater(T[3,5] x, T[] zero = 0) b = Less(T[3,5] z, zero) c = And(a, b) d = Or(a, c) e = Xor(d, b) "
    "y = Where(e, x, z)",
    "topk-gather": "v0, i = TopK<axis = 1>(T[3,7] x, int64[1] k = 3) g = GatherElements<axis = 1>(x, i) y = Sub(v0, g)",
    "argmax-onehot": "a = ArgMax<axis = 1, keepdims = 0>(T[3,7] x) o = OneHot(a, int64[] depth = 7, T[2] off = 0,1) y = "
    "Mul(x, o)",
    "cumsum-last": "c = CumSum(T[3,5] x, int64[] i = 1) y = Gather<axis = 1>(c, int64[] last = -1)",
    "scatter-gather": "s = ScatterElements<axis = 1>(T[3,5] x, int64[3,2] i = 0,4,1,2,3,0, T[3,2] z) y = "
    "GatherElements<axis = 1>(s, i)",
    "einsum-transposed": 't = Transpose<perm = [1,0]>(T[7,3] x) y = Einsum<equation = "ij,jk->ik">(t, T[7,5] w)',
}
"""Nodes that are merged with others, computed once for several readers, or not at all."""

TABLES = (
    Table({f"constant-{name}": text for name, text in CONSTANTS.items()}),
    Table({f"shapes-{name}": text for name, text in SHAPES.items()}, everything=()),
    Table({f"nothing-{name}": text for name, text in NOTHING.items()}, everything=()),
    Table({f"merged-{name}": text for name, text in MERGED.items()}),
)
