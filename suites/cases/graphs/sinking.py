"""Transpose, Reshape, Pad, Slice and Concat that compilers move past other nodes or fold into them."""

from __future__ import annotations

from suites.cases.graphs.text import Table

TRANSPOSED: dict[str, str] = {
    "relu": "t = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] x) r = Relu(t) y = Transpose<perm = [0,3,1,2]>(r)",
    "add": "a = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] x) b = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] z) c = Add(a, b) "
    "y = Transpose<perm = [0,3,1,2]>(c)",
    "add-vector": "t = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] x) a = Add(t, T[3] wb) y = Transpose<perm = [0,3,1,2]>(a)",
    "add-other-vector": "t = Transpose<perm = [0,2,1]>(T[2,3,4] x) a = Add(t, T[3] wb) y = Transpose<perm = [1,0,2]>(a)",
    "concat": "a = Transpose<perm = [0,2,1]>(T[2,3,4] x) b = Transpose<perm = [0,2,1]>(T[2,5,4] z) c = Concat<axis = 2>(a, b) "
    "y = Transpose<perm = [0,2,1]>(c)",
    "concat-negative": "a = Transpose<perm = [2,0,1]>(T[2,3,4] x) b = Transpose<perm = [2,0,1]>(T[2,3,4] z) c = Concat<axis "
    "= -1>(a, b) y = Transpose<perm = [1,2,0]>(c)",
    "split": "t = Transpose<perm = [0,2,1]>(T[2,6,4] x) a, b = Split<axis = 2, num_outputs = 2>(t) "
    "y = Transpose<perm = [0,2,1]>(a) z = Transpose<perm = [0,2,1]>(b)",
    "slice": "t = Transpose<perm = [2,0,1]>(T[2,3,7] x) s = Slice(t, int64[1] from = 1, int64[1] to = 6, int64[1] axis = 0, "
    "int64[1] step = 2) y = Transpose<perm = [1,2,0]>(s)",
    "slice-without-axes": "t = Transpose<perm = [2,0,1]>(T[2,3,7] x) s = Slice(t, int64[2] from = 1,0, int64[2] to = 6,1) y "
    "= Neg(s)",
    "pad": "t = Transpose<perm = [0,2,3,1]>(T[1,2,3,4] x) p = Pad(t, int64[8] pads = 0,1,2,0,0,0,1,3) y = Transpose<perm = "
    "[0,3,1,2]>(p)",
    "reduce": "t = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] x) y = ReduceSum(t, int64[1] i = 1)",
    "reduce-dropped": "t = Transpose<perm = [0,2,3,1]>(T[2,3,4,5] x) y = ReduceSum<keepdims = 0>(t, int64[2] i = -1,1)",
    "reduce-max": "t = Transpose<perm = [2,0,1]>(T[2,3,4] x) r = ReduceMax<keepdims = 0>(t, int64[1] i = 0) y = "
    "Transpose<perm = [1,0]>(r)",
    "argmax": "t = Transpose<perm = [2,0,1]>(T[2,3,7] x) a = ArgMax<axis = 0, keepdims = 0>(t) c = CastLike(a, x) y = Neg(c)",
    "gather": "t = Transpose<perm = [2,0,1]>(T[2,3,4] x) g = Gather<axis = 0>(t, int64[2] i = 3,1) y = Transpose<perm = "
    "[1,2,0]>(g)",
    "gather-scalar": "t = Transpose<perm = [2,0,1]>(T[2,3,4] x) g = Gather<axis = 1>(t, int64[] i = 1) y = Transpose<perm = "
    "[1,0]>(g)",
    "squeeze": "t = Transpose<perm = [2,0,1,3]>(T[2,1,3,4] x) s = Squeeze(t, int64[1] i = 2) y = Neg(s)",
    "unsqueeze": "t = Transpose<perm = [1,0]>(T[3,4] x) u = Unsqueeze(t, int64[2] i = 0,2) y = Transpose<perm = [0,3,2,1]>(u)",
    "reshape": "t = Transpose<perm = [0,2,1]>(T[2,3,4] x) y = Reshape(t, int64[2] s = 2,12)",
    "reshape-unit": "t = Transpose<perm = [0,2,1]>(T[2,1,4] x) y = Reshape(t, int64[2] s = 2,4)",
    "reshape-back": "t = Transpose<perm = [0,2,1]>(T[2,3,4] x) r = Reshape(t, int64[4] s = 2,2,2,3) y = Transpose<perm = "
    "[0,3,1,2]>(r)",
    "twice": "a = Transpose<perm = [1,2,0]>(T[2,3,4] x) y = Transpose<perm = [1,2,0]>(a)",
    "thrice": "a = Transpose<perm = [1,2,0]>(T[2,3,4] x) b = Transpose<perm = [1,2,0]>(a) c = Transpose<perm = [1,2,0]>(b) "
    "y = Neg(c)",
    "cancelled": "a = Transpose<perm = [1,2,0]>(T[2,3,4] x) b = Transpose<perm = [2,0,1]>(a) y = Neg(b)",
    "matmul-left": "t = Transpose<perm = [1,0]>(T[7,3] x) y = MatMul(t, T[7,5] w)",
    "matmul-right": "t = Transpose<perm = [0,2,1]>(T[2,5,7] z) y = MatMul(T[2,3,7] x, t)",
    "matmul-both": "a = Transpose<perm = [1,0]>(T[7,3] x) b = Transpose<perm = [1,0]>(T[5,7] z) y = MatMul(a, b)",
    "matmul-result": "m = MatMul(T[2,3,7] x, T[7,5] w) y = Transpose<perm = [0,2,1]>(m)",
    "matmul-batch": "t = Transpose<perm = [1,0,2]>(T[3,2,7] x) m = MatMul(t, T[2,7,5] z) y = Transpose<perm = [1,0,2]>(m)",
    "gemm": "t = Transpose<perm = [1,0]>(T[7,3] x) y = Gemm<transB = 1>(t, T[5,7] w, T[5] wb)",
    "gemm-twice": "t = Transpose<perm = [1,0]>(T[7,3] x) y = Gemm<transA = 1>(t, T[3,5] w)",
    "conv-relu": "t = Transpose<perm = [0,3,1,2]>(T[1,5,4,3] x) c = Conv(t, T[5,3,3,3] w) r = Relu(c) y = Transpose<perm = "
    "[0,2,3,1]>(r)",
    "conv-pool": "t = Transpose<perm = [0,3,1,2]>(T[1,6,6,3] x) c = Conv(t, T[5,3,3,3] w) p = MaxPool<kernel_shape = "
    "[2,2]>(c) y = Transpose<perm = [0,2,3,1]>(p)",
    "conv-add": "t = Transpose<perm = [0,3,1,2]>(T[1,5,4,3] x) c = Conv<pads = [1,1,1,1]>(t, T[3,3,3,3] w) u = "
    "Transpose<perm = [0,2,3,1]>(c) y = Add(u, x)",
    "softmax": "t = Transpose<perm = [0,2,1]>(T[2,3,4] x) h = Hardmax<axis = 1>(t) y = Transpose<perm = [0,2,1]>(h)",
    "where": "t = Transpose<perm = [1,0]>(T[3,4] x) g = Greater(t, T[] zero = 0) y = Where(g, t, T[4,1] z)",
    "tile": "t = Transpose<perm = [1,0]>(T[3,4] x) u = Tile(t, int64[2] n = 2,1) y = Transpose<perm = [1,0]>(u)",
    "expand": "t = Transpose<perm = [1,0]>(T[3,1] x) e = Expand(t, int64[3] s = 2,4,3) y = Transpose<perm = [2,1,0]>(e)",
    "cast": "t = Transpose<perm = [1,0]>(T[3,4] x) i = Cast<to = 6>(t) u = Transpose<perm = [1,0]>(i) y = CastLike(u, x)",
    "prelu": "t = Transpose<perm = [0,2,3,1]>(T[2,3,4,2] x) p = PRelu(t, T[3] ws) y = Transpose<perm = [0,3,1,2]>(p)",
    "depthtospace": "t = Transpose<perm = [0,3,1,2]>(T[1,2,3,8] x) d = DepthToSpace<blocksize = 2>(t) y = Transpose<perm = "
    "[0,2,3,1]>(d)",
    "resize": 't = Transpose<perm = [0,3,1,2]>(T[1,2,3,4] x) r = Resize<mode = "nearest", coordinate_transformation_mode = '
    '"asymmetric", nearest_mode = "floor">(t, , float[4] s = 1,1,2,2) y = Transpose<perm = [0,2,3,1]>(r)',
    "shape": "t = Transpose<perm = [2,0,1]>(T[2,3,4] x) s = Shape(t) c = CastLike(s, x) y = Add(c, T[2,3,3] z)",
}
"""A transposition around or before another node."""

MOVED: dict[str, str] = {
    "pad-conv": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,2,0,0,0,1) y = Conv(p, T[5,3,3,3] w)",
    "pad-conv-padded": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = Conv<pads = [1,0,0,1]>(p, T[5,3,3,3] w)",
    "pad-conv-value": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1, T[] one = 1) y = Conv(p, T[5,3,3,3] w)",
    "pad-conv-reflect": 'p = Pad<mode = "reflect">(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = Conv(p, T[5,3,3,3] w)',
    "pad-conv-edge": 'p = Pad<mode = "edge">(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = Conv(p, T[5,3,3,3] w)',
    "pad-conv-channels": "p = Pad(T[1,2,4,5] x, int64[8] pads = 0,1,1,1,0,0,1,1) y = Conv(p, T[5,3,3,3] w)",
    "pad-conv-negative": "p = Pad(T[1,3,6,7] x, int64[8] pads = 0,0,-1,1,0,0,0,-2) y = Conv(p, T[5,3,3,3] w)",
    "pad-conv-same": 'p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = Conv<auto_pad = "SAME_UPPER", strides = '
    "[2,2]>(p, T[5,3,3,3] w)",
    "pad-axes-conv": "p = Pad(T[1,3,4,5] x, int64[4] pads = 1,0,0,2, , int64[2] axes = 3,2) y = Conv(p, T[5,3,3,3] w)",
    "pad-maxpool": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = MaxPool<kernel_shape = [3,3]>(p)",
    "pad-maxpool-low": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1, T[] low = -5) y = MaxPool<kernel_shape = "
    "[3,3]>(p)",
    "pad-averagepool": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,1,1) y = AveragePool<kernel_shape = [2,2]>(p)",
    "pad-averagepool-padded": "p = Pad(T[1,3,4,5] x, int64[8] pads = 0,0,1,1,0,0,0,0) "
    "y = AveragePool<kernel_shape = [2,2], pads = [0,0,1,1], count_include_pad = 1>(p)",
    "pad-pad": "p = Pad(T[3,4] x, int64[4] pads = 1,0,0,2) y = Pad(p, int64[4] pads2 = 0,1,2,0)",
    "pad-pad-values": "p = Pad(T[3,4] x, int64[4] pads = 1,0,0,2, T[] one = 1) y = Pad(p, int64[4] pads2 = 0,1,2,0, T[] two "
    "= 2)",
    "pad-slice": "p = Pad(T[3,4] x, int64[4] pads = 1,0,0,2) y = Slice(p, int64[2] from = 1,0, int64[2] to = 4,4)",
    "maxpool-maxpool": "p = MaxPool<kernel_shape = [2,2]>(T[1,2,6,7] x) y = MaxPool<kernel_shape = [3,2]>(p)",
    "maxpool-relu": "p = MaxPool<kernel_shape = [2,2], pads = [1,1,0,0]>(T[1,2,5,6] x) y = Relu(p)",
    "averagepool-scale": "p = AveragePool<kernel_shape = [2,2], strides = [2,2]>(T[1,2,4,6] x) y = Mul(p, T[] k = 4)",
    "slice-concat": "c = Concat<axis = 1>(T[3,2] x, T[3,4] z) y = Slice(c, int64[1] from = 2, int64[1] to = 6, int64[1] "
    "axis = 1)",
    "slice-concat-across": "c = Concat<axis = 1>(T[3,2] x, T[3,4] z) y = Slice(c, int64[1] from = 1, int64[1] to = 4, "
    "int64[1] axis = 1)",
    "concat-slices": "a = Slice(T[3,6] x, int64[1] from = 0, int64[1] to = 3, int64[1] axis = 1) "
    "b = Slice(x, to, int64[1] end = 6, axis) y = Concat<axis = 1>(a, b)",
    "concat-slices-swapped": "a = Slice(T[3,6] x, int64[1] from = 0, int64[1] to = 3, int64[1] axis = 1) "
    "b = Slice(x, to, int64[1] end = 6, axis) y = Concat<axis = 1>(b, a)",
    "concat-concat": "a = Concat<axis = 1>(T[3,2] x, T[3,1] z) y = Concat<axis = 1>(a, T[3,4] w, x)",
    "concat-concat-axes": "a = Concat<axis = 1>(T[3,2] x, T[3,4] z) y = Concat<axis = 0>(a, T[2,6] w)",
    "split-concat": "a, b, c = Split<axis = 1, num_outputs = 3>(T[3,6] x) y = Concat<axis = 1>(a, b, c)",
    "split-concat-shuffled": "a, b, c = Split<axis = 1, num_outputs = 3>(T[3,6] x) y = Concat<axis = 1>(c, a, b)",
    "split-uneven": "a, b = Split<axis = 1, num_outputs = 2>(T[3,5] x) r = Relu(a) y = Concat<axis = 1>(r, b)",
    "split-sizes-add": "a, b = Split<axis = 1>(T[3,6] x, int64[2] s = 2,4) c = Neg(b) y = Concat<axis = 1>(c, a)",
    "slice-slice": "a = Slice(T[9] x, int64[1] from = 1, int64[1] to = 9, int64[1] axis = 0, int64[1] step = 2) "
    "y = Slice(a, int64[1] from2 = 1, int64[1] to2 = 100)",
    "slice-step-conv": "s = Slice(T[1,3,8,8] x, int64[2] from = 0,1, int64[2] to = 8,8, int64[2] axes = 2,3, int64[2] step "
    "= 2,2) y = Conv(s, T[4,3,2,2] w)",
    "focus-conv": "a = Slice(T[1,2,4,4] x, int64[1] zero = 0, int64[1] end = 9, int64[1] axis = 2, int64[1] two = 2) "
    "b = Slice(x, int64[1] one = 1, end, axis, two) c = Concat<axis = 1>(a, b) y = Conv(c, T[3,4,1,1] w)",
    "conv-crop": "c = Conv<pads = [1,1,1,1]>(T[1,3,5,6] x, T[4,3,3,3] w) "
    "y = Slice(c, int64[2] from = 1,1, int64[2] to = -1,-1, int64[2] axes = 2,3)",
    "conv-upsample": 'c = Conv(T[1,3,4,4] x, T[2,3,3,3] w) y = Resize<mode = "nearest", coordinate_transformation_mode = '
    '"asymmetric", nearest_mode = "floor">(c, , float[4] s = 1,1,2,2)',
    "upsample-concat-conv": 'u = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = '
    '"floor">(T[1,2,3,2] x, , float[4] s = 1,1,2,2) c = Concat<axis = 1>(u, T[1,1,6,4] z) y = Conv(c, T[2,3,3,3] w)',
    "shuffle-channels": "r = Reshape(T[1,6,2,3] x, int64[5] s = 1,2,3,2,3) t = Transpose<perm = [0,2,1,3,4]>(r) y = "
    "Reshape(t, int64[4] b = 1,6,2,3)",
    "depthtospace-parts": "r = Reshape(T[1,8,2,3] x, int64[6] s = 1,2,2,2,2,3) t = Transpose<perm = [0,3,4,1,5,2]>(r) "
    "y = Reshape(t, int64[4] b = 1,2,4,6)",
    "depthtospace-crd-parts": "r = Reshape(T[1,8,2,3] x, int64[6] s = 1,2,2,2,2,3) t = Transpose<perm = [0,1,4,2,5,3]>(r) "
    "y = Reshape(t, int64[4] b = 1,2,4,6)",
    "reshape-reshape": "a = Reshape(T[2,3,4] x, int64[2] s = 6,4) b = Reshape(a, int64[3] t = 4,3,2) y = Neg(b)",
    "reshape-relu-reshape": "a = Reshape(T[2,3,4] x, int64[1] s = -1) b = Relu(a) y = Reshape(b, int64[3] t = 2,3,4)",
    "reshape-add-reshape": "a = Reshape(T[2,3,4] x, int64[2] s = 6,4) b = Add(a, T[4] wb) y = Reshape(b, int64[3] t = 2,3,4)",
    "reshape-matmul-reshape": "a = Reshape(T[2,3,4] x, int64[2] s = -1,4) m = MatMul(a, T[4,5] w) b = Add(m, T[5] wb) "
    "y = Reshape(b, int64[3] t = 2,3,5)",
    "unsqueeze-squeeze-other": "u = Unsqueeze(T[1,5] x, int64[1] i = 0) y = Squeeze(u, int64[1] j = 1)",
    "flatten-reshape": "f = Flatten<axis = 2>(T[2,3,4] x) y = Reshape(f, int64[2] s = 4,6)",
    "gather-as-slice": "g = Gather<axis = 1>(T[3,6] x, int64[3] i = 1,2,3) y = Neg(g)",
    "gather-as-squeeze": "g = Gather<axis = 1>(T[3,1,5] x, int64[] i = 0) y = Neg(g)",
    "space-depth-space": "s = SpaceToDepth<blocksize = 2>(T[1,2,4,6] x) y = DepthToSpace<blocksize = 2>(s)",
    "space-depth-space-crd": 's = SpaceToDepth<blocksize = 2>(T[1,2,4,6] x) y = DepthToSpace<blocksize = 2, mode = "CRD">(s)',
    "space-to-batch-conv": "p = Pad(T[1,2,3,3] x, int64[8] pads = 0,0,0,0,0,0,1,1) r = Reshape(p, int64[6] s = 1,2,2,2,2,2) "
    "t = Transpose<perm = [3,5,0,1,2,4]>(r) q = Reshape(t, int64[4] b = 4,2,2,2) y = Conv(q, T[3,2,2,2] w)",
}
"""Padding, slicing, joining and reshaping beside another node."""

INTEGERS = ("relu", "add", "concat", "split", "slice", "pad", "reduce", "gather", "reshape-back", "matmul-left", "where")

TABLES = (
    Table({f"transposed-{name}": text for name, text in TRANSPOSED.items()}),
    Table({f"moved-{name}": text for name, text in MOVED.items()}, everything=()),
    Table({f"transposed-{name}": TRANSPOSED[name] for name in INTEGERS}, types=("i32",), everything=()),
)
