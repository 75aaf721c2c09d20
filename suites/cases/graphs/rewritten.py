"""Nodes that become one, layouts that change at borders, outputs bound in odd ways, memory reused: graphs of small integers,
right to the bit however the nodes are fused or ordered."""

from __future__ import annotations

FUSED: dict[str, str] = {
    "conv-relu": "(T[2,3,7,5] x, T[5,3,3,3] w) => (T[2,5,5,3] y) { a = Conv(x, w) y = Relu(a) }",
    "conv-bias-relu": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5] wb) => (T[1,5,7,5] y) "
    "{ a = Conv<pads = [1,1,1,1]>(x, w, wb) y = Relu(a) }",
    "conv-add-channel": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5,1,1] wb) => (T[1,5,5,3] y) { a = Conv(x, w) y = Add(a, wb) }",
    "conv-mul-channel": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5,1,1] ws) => (T[1,5,5,3] y) { a = Conv(x, w) y = Mul(a, ws) }",
    "conv-bn": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5] wg, T[5] wb, T[5] wm, T[5] v) => (T[1,5,5,3] y) "
    "{ a = Conv(x, w) y = BatchNormalization<epsilon = 0.0>(a, wg, wb, wm, v) }",
    "conv-bn-relu": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5] wc, T[5] wg, T[5] wb, T[5] wm, T[5] v) => (T[1,5,5,3] y) "
    "{ a = Conv(x, w, wc) b = BatchNormalization<epsilon = 0.0>(a, wg, wb, wm, v) y = Relu(b) }",
    "depthwise-bn-clip": "(T[1,5,7,5] x, T[5,1,3,3] w, T[5] wg, T[5] wb, T[5] wm, T[5] v, T[] whigh) => (T[1,5,4,3] y) "
    "{ a = Conv<group = 5, strides = [2,2], pads = [1,1,1,1]>(x, w) "
    "b = BatchNormalization<epsilon = 0.0>(a, wg, wb, wm, v) y = Clip(b, , whigh) }",
    "bn-relu-conv": "(T[1,3,7,5] x, T[5,3,3,3] w, T[3] wg, T[3] wb, T[3] wm, T[3] v) => (T[1,5,7,5] y) "
    "{ a = BatchNormalization<epsilon = 0.0>(x, wg, wb, wm, v) b = Relu(a) y = Conv<pads = [1,1,1,1]>(b, w) }",
    "conv-residual-relu": "(T[1,5,7,5] x, T[5,5,3,3] w) => (T[1,5,7,5] y) "
    "{ a = Conv<pads = [1,1,1,1]>(x, w) b = Add(a, x) y = Relu(b) }",
    "relu-used-twice": "(T[1,3,7,5] x, T[5,3,1,1] w) => (T[1,5,7,5] y, T[1,5,7,5] z) "
    "{ a = Conv(x, w) y = Relu(a) z = Add(a, y) }",
    "gemm-relu": "(T[3,7] x, T[5,7] w, T[5] wb) => (T[3,5] y) { a = Gemm<transB = 1>(x, w, wb) y = Relu(a) }",
    "matmul-add-relu": "(T[2,3,7] x, T[7,5] w, T[5] wb) => (T[2,3,5] y) { a = MatMul(x, w) b = Add(a, wb) y = Relu(b) }",
    "matmul-transposed": "(T[2,3,7] x, T[5,7] w) => (T[2,3,5] y) { t = Transpose<perm = [1,0]>(w) y = MatMul(x, t) }",
    "transposed-matmul": "(T[2,7,3] x, T[2,7,5] z) => (T[2,3,5] y) { t = Transpose<perm = [0,2,1]>(x) y = MatMul(t, z) }",
    "pad-conv": "(T[1,3,7,5] x, T[5,3,3,3] w) => (T[1,5,7,6] y) "
    "{ p = Constant<value = int64[8] {0,0,1,0,0,0,1,3}>() a = Pad(x, p) y = Conv(a, w) }",
    "pad-maxpool": "(T[1,3,7,5] x) => (T[1,3,3,3] y) { p = Constant<value = int64[8] {0,0,0,1,0,0,0,1}>() "
    "a = Pad(x, p) y = MaxPool<kernel_shape = [3,3], strides = [2,2]>(a) }",
    "relu-clip": "(T[3,7,5] x, T[] whigh) => (T[3,7,5] y) { a = Relu(x) y = Clip(a, , whigh) }",
    "mul-add": "(T[3,7,5] x, T[3,7,5] z, T[5] w) => (T[3,7,5] y) { a = Mul(x, z) y = Add(a, w) }",
    "reduce-add": "(T[3,7,5] x, T[3,1,5] w) => (T[3,1,5] y) "
    "{ i = Constant<value = int64[1] {1}>() a = ReduceSum(x, i) y = Add(a, w) }",
}
"""Nodes that compilers make one of."""

BORDERS: dict[str, str] = {
    "conv-conv": "(T[1,3,7,5] x, T[5,3,3,3] w, T[2,5,3,3] w2) => (T[1,2,3,1] y) { a = Conv(x, w) y = Conv(a, w2) }",
    "conv-maxpool-conv": "(T[1,3,9,7] x, T[17,3,3,3] w, T[2,17,2,2] w2) => (T[1,2,2,1] y) "
    "{ a = Conv(x, w) b = MaxPool<kernel_shape = [2,2], strides = [2,2]>(a) y = Conv(b, w2) }",
    "conv-transpose-conv": "(T[1,3,7,5] x, T[5,3,3,3] w, T[2,5,3,3] w2) => (T[1,2,1,3] y) "
    "{ a = Conv(x, w) t = Transpose<perm = [0,1,3,2]>(a) y = Conv(t, w2) }",
    "conv-to-nhwc": "(T[2,3,7,5] x, T[5,3,3,3] w) => (T[2,5,3,5] y) { a = Conv(x, w) y = Transpose<perm = [0,2,3,1]>(a) }",
    "nhwc-to-conv": "(T[2,7,5,3] x, T[5,3,3,3] w) => (T[2,5,5,3] y) { t = Transpose<perm = [0,3,1,2]>(x) y = Conv(t, w) }",
    "conv-reshape-matmul": "(T[2,3,7,5] x, T[5,3,3,3] w, T[15,7] wm) => (T[2,5,7] y) "
    "{ s = Constant<value = int64[3] {2,5,15}>() a = Conv(x, w) b = Reshape(a, s) y = MatMul(b, wm) }",
    "conv-flatten-gemm": "(T[2,3,5,4] x, T[5,3,3,3] w, T[30,7] wg, T[7] wb) => (T[2,7] y) "
    "{ a = Conv(x, w) b = Flatten(a) y = Gemm(b, wg, wb) }",
    "concat-channels-conv": "(T[1,3,7,5] x, T[1,5,7,5] z, T[2,8,3,3] w) => (T[1,2,5,3] y) "
    "{ a = Concat<axis = 1>(x, z) y = Conv(a, w) }",
    "conv-concat-conv": "(T[1,3,7,5] x, T[5,3,3,3] w, T[17,3,3,3] w1, T[2,22,3,3] w2) => (T[1,2,3,1] y) "
    "{ a = Conv(x, w) b = Conv(x, w1) c = Concat<axis = 1>(a, b) y = Conv(c, w2) }",
    "conv-split-conv": "(T[1,3,7,5] x, T[11,3,3,3] w, T[2,3,1,1] w1, T[2,8,1,1] w2) => (T[1,2,5,3] y, T[1,2,5,3] z) "
    "{ s = Constant<value = int64[2] {3,8}>() a = Conv(x, w) b, c = Split<axis = 1>(a, s) y = Conv(b, w1) z = Conv(c, w2) }",
    "conv-slice-channels": "(T[1,3,7,5] x, T[37,3,1,1] w) => (T[1,9,7,5] y) "
    "{ from = Constant<value = int64[1] {1}>() to = Constant<value = int64[1] {34}>() axis = Constant<value = int64[1] {1}>() "
    "step = Constant<value = int64[1] {4}>() a = Conv(x, w) y = Slice(a, from, to, axis, step) }",
    "conv-sum-channels": "(T[2,3,7,5] x, T[17,3,1,1] w) => (T[2,1,7,5] y) "
    "{ i = Constant<value = int64[1] {1}>() a = Conv(x, w) y = ReduceSum(a, i) }",
    "conv-globalmax": "(T[2,3,7,5] x, T[17,3,1,1] w) => (T[2,17,1,1] y) { a = Conv(x, w) y = GlobalMaxPool(a) }",
    "conv-gather-rows": "(T[1,3,7,5] x, T[5,3,3,3] w) => (T[1,5,3,3] y) "
    "{ i = Constant<value = int64[3] {4,0,2}>() a = Conv(x, w) y = Gather<axis = 2>(a, i) }",
    "conv-depthtospace": "(T[1,3,7,5] x, T[12,3,3,3] w) => (T[1,3,10,6] y) "
    "{ a = Conv(x, w) y = DepthToSpace<blocksize = 2>(a) }",
    "conv-add-row": "(T[1,3,7,5] x, T[5,3,3,3] w, T[3] wr) => (T[1,5,5,3] y) { a = Conv(x, w) y = Add(a, wr) }",
    "conv-branches": "(T[1,3,7,5] x, T[5,3,3,3] w) => (T[1,5,5,3] y) { c = Constant<value = bool {1}>() a = Conv(x, w) "
    "y = If<then_branch = right () => (T[1,5,5,3] t) { t = Relu(a) }, "
    "else_branch = left () => (T[1,5,5,3] e) { e = Neg(a) }>(c) }",
    "conv-add-matrix": "(T[1,3,7,5] x, T[5,3,3,3] w, T[5,3] z) => (T[1,5,5,3] y) { a = Conv(x, w) y = Add(a, z) }",
}
"""Layouts and channels that change between nodes."""

BINDINGS: dict[str, str] = {
    "three-outputs": "(T[3,5] x, T[3,5] z) => (T[3,5] y, T[5,3] t, T[3,5] r) "
    "{ y = Add(x, z) t = Transpose<perm = [1,0]>(y) r = Relu(x) }",
    "outputs-reversed": "(T[3,5] x) => (T[3,5] r, T[3,5] y) { y = Add(x, x) r = Relu(y) }",
    "input-is-output": "(T[3,5] x, T[3,5] z) => (T[3,5] y, T[3,5] s) { y = Identity(x) s = Add(x, z) }",
    "two-names-of-one": "(T[3,5] x) => (T[3,5] y, T[3,5] z) { a = Add(x, x) y = Identity(a) z = Identity(a) }",
    "constant-output": "(T[3,5] x, T[3,5] w) => (T[3,5] y, T[3,5] z) { y = Add(x, w) z = Identity(w) }",
    "inputs-reversed": "(T[3,5] z, T[5,7] x) => (T[3,7] y) { a = Relu(x) b = Relu(z) y = MatMul(b, a) }",
}
"""Outputs and inputs in odd order, number and kind."""

REUSED: dict[str, str] = {
    "long-lived": "(T[3,5] x, T[3,5] z) => (T[3,5] y) { a = Add(x, z) b = Relu(a) c = Add(b, x) d = Mul(c, z) e = Relu(d) "
    "f = Add(e, b) g = Relu(f) h = Add(g, a) i = Add(h, c) j = Add(i, f) y = Add(j, d) }",
    "diamond": "(T[4,6] x, T[6,4] w, T[6,4] w2) => (T[4,4] y) "
    "{ r = Relu(x) a = MatMul(r, w) b = MatMul(r, w2) c = Mul(a, b) d = Add(a, c) y = Add(d, b) }",
    "in-place-chain": "(T[7,11] x) => (T[7,11] y, T[7,11] z) "
    "{ a = Relu(x) b = Add(a, a) c = Relu(b) y = Add(c, x) z = Add(a, c) }",
    "folded": "(T[2,3,5] x, T[15] w) => (T[2,15] y) "
    "{ s = Shape(x) i = Constant<value = int64[1] {0}>() n = Gather(s, i) m = Constant<value = int64[1] {-1}>() "
    "t = Concat<axis = 0>(n, m) a = Reshape(x, t) y = Add(a, w) }",
    "same-twice": "(T[3,7] x, T[7,5] w) => (T[3,5] y) { a = MatMul(x, w) b = MatMul(x, w) y = Add(a, b) }",
    "transpose-twice": "(T[3,5,7] x) => (T[3,5,7] y) "
    "{ a = Transpose<perm = [2,0,1]>(x) b = Relu(a) y = Transpose<perm = [1,2,0]>(b) }",
    "reshape-transpose": "(T[2,6,5] x) => (T[2,5,3,2] y) "
    "{ s = Constant<value = int64[4] {2,3,2,5}>() a = Reshape(x, s) y = Transpose<perm = [0,3,1,2]>(a) }",
}
"""Tensors that live long, are used twice, or need not exist."""
