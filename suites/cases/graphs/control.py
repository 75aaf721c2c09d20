"""If, Loop and Scan with captured values and carried state, sequences and optional values, between tensors."""

from __future__ import annotations

from suites.cases.graphs.text import Table

BRANCHES: dict[str, str] = {
    "if-constant": "(T[3,5] x, bool[] k = 1) => (y) { y = If<then_branch = t () => (T[3,5] a) { a = Relu(x) }, "
    "else_branch = e () => (T[3,5] b) { b = Neg(x) }>(k) }",
    "if-constant-false": "(T[3,5] x, bool[] k = 0) => (y) { y = If<then_branch = t () => (T[3,5] a) { a = Relu(x) }, "
    "else_branch = e () => (T[3,5] b) { b = Neg(x) }>(k) }",
    "if-fed": "(T[3,5] x, bool[] c) => (y) { y = If<then_branch = t () => (T[3,5] a) { a = Relu(x) }, "
    "else_branch = e () => (T[3,5] b) { b = Neg(x) }>(c) }",
    "if-computed": "(T[3,5] x, T[] k = 2) => (y) { m = ReduceSum<keepdims = 0>(x) c = Greater(m, k) "
    "y = If<then_branch = t () => (T[3,5] a) { a = Sub(x, m) }, else_branch = e () => (T[3,5] b) { b = Add(x, m) }>(c) }",
    "if-weights": "(T[3,7] x, bool[] c, T[7,5] w, T[7,5] w2) => (y) { y = If<then_branch = t () => (T[3,5] a) { a = "
    "MatMul(x, w) }, else_branch = e () => (T[3,5] b) { b = MatMul(x, w2) }>(c) }",
    "if-two-results": "(T[3,5] x, bool[] c) => (y, z) { y, z = If<then_branch = t () => (T[3,5] a, T[3,5] b) { a = Relu(x) "
    "b = Neg(x) }, else_branch = e () => (T[3,5] d, T[3,5] f) { d = Abs(x) f = Identity(x) }>(c) }",
    "if-outer-value": "(T[3,5] x, bool[] c) => (y) { o = Add(x, x) y = If<then_branch = t () => (T[3,5] a) { a = "
    "Identity(o) }, else_branch = e () => (T[3,5] b) { b = Mul(o, x) }>(c) }",
    "if-within-if": "(T[3,5] x, bool[] c, bool[] d) => (y) { y = If<then_branch = t () => (T[3,5] a) { "
    "a = If<then_branch = tt () => (T[3,5] p) { p = Neg(x) }, else_branch = te () => (T[3,5] q) { q = Add(x, x) }>(d) }, "
    "else_branch = e () => (T[3,5] b) { b = Relu(x) }>(c) }",
    "if-then-relu": "(T[3,5] x, bool[] c, T[5] wb) => (y) { i = If<then_branch = t () => (T[3,5] a) { a = Add(x, wb) }, "
    "else_branch = e () => (T[3,5] b) { b = Sub(x, wb) }>(c) y = Relu(i) }",
    "if-same-names": "(T[3,5] x, bool[] c) => (y) { y = If<then_branch = t () => (T[3,5] r) { i = Neg(x) r = Relu(i) }, "
    "else_branch = e () => (T[3,5] r2) { i2 = Abs(x) r2 = Neg(i2) }>(c) }",
    "if-other-shapes": "(T[3,5] x, bool[] k = 0) => (y) { y = If<then_branch = t () => (T[3,5] a) { a = Relu(x) }, "
    "else_branch = e () => (T[5,3] b) { b = Transpose<perm = [1,0]>(x) }>(k) }",
}
"""Either of two graphs."""

LOOPS: dict[str, str] = {
    "loop-add": "(T[3,5] x, T[3,5] z, int64[] n = 3, bool[] k = 1) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { d = Identity(c) t = Add(s, z) }>(n, k, x) }",
    "loop-never": "(T[3,5] x, T[3,5] z, int64[] n = 0, bool[] k = 1) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { d = Identity(c) t = Add(s, z) }>(n, k, x) }",
    "loop-refused": "(T[3,5] x, T[3,5] z, int64[] n = 4, bool[] k = 0) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { d = Identity(c) t = Add(s, z) }>(n, k, x) }",
    "loop-fed-count": "(T[3,5] x, T[3,5] z, int64[] n, bool[] k = 1) => (T[3,5] y) { m = Abs(n) y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { d = Identity(c) t = Add(s, z) }>(m, k, x) }",
    "loop-index": "(T[3,5] x, int64[] n = 3, bool[] k = 1) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { d = Identity(c) f = CastLike(i, s) t = Add(s, f) }>(n, k, x) }",
    "loop-while": "(T[3,5] x, T[] one = 1, int64[] n = 9, bool[] k = 1, T[] far = 4) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { t = Add(s, one) m = ReduceMax<keepdims = 0>(t) d = Less(m, "
    "far) }>(n, k, x) }",
    "loop-while-without-count": "(T[3,5] x, T[] one = 1, bool[] k = 1, T[] far = 4) => (T[3,5] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3,5] s) => (bool d, T[3,5] t) { t = Add(s, one) m = ReduceMax<keepdims = 0>(t) d = Less(m, "
    "far) }>(, k, x) }",
    "loop-stacked": "(T[3] x, T[3] z, int64[] n = 4, bool[] k = 1) => (T[3] y, T[4,3] h) { y, h = Loop<body = b "
    "(int64 i, bool c, T[3] s) => (bool d, T[3] t, T[3] r) { d = Identity(c) t = Add(s, z) r = Identity(s) }>(n, k, x) }",
    "loop-only-stacked": "(T[4,3] x, int64[] n = 4, bool[] k = 1) => (T[4,3] y) { y = Loop<body = b "
    "(int64 i, bool c) => (bool d, T[3] r) { d = Identity(c) g = Gather<axis = 0>(x, i) r = Neg(g) }>(n, k) }",
    "loop-two-states": "(T[3] x, T[3] z, int64[] n = 3, bool[] k = 1) => (T[3] y, T[3] u) { y, u = Loop<body = b (int64 i, "
    "bool c, T[3] s, T[3] t) => (bool d, T[3] p, T[3] q) { d = Identity(c) p = Add(s, t) q = Identity(s) }>(n, k, x, z) "
    "}",
    "loop-swapped-states": "(T[3] x, T[3] z, int64[] n = 3, bool[] k = 1) => (T[3] y, T[3] u) { y, u = Loop<body = b (int64 "
    "i, bool c, T[3] s, T[3] t) => (bool d, T[3] p, T[3] q) { d = Identity(c) p = Identity(t) q = Identity(s) }>(n, k, "
    "x, z) }",
    "loop-outer-weights": "(T[3,4] x, T[4,4] w, int64[] n = 2, bool[] k = 1) => (T[3,4] y) { a = Relu(x) y = Loop<body = b "
    "(int64 i, bool c, T[3,4] s) => (bool d, T[3,4] t) { d = Identity(c) m = MatMul(s, w) t = Add(m, a) }>(n, k, a) }",
    "loop-within-loop": "(T[3] x, int64[] n = 2, int64[] m = 3, bool[] k = 1) => (T[3] y) { y = Loop<body = b "
    "(int64 i, bool c, T[3] s) => (bool d, T[3] t) { d = Identity(c) t = Loop<body = e "
    "(int64 j, bool f, T[3] p) => (bool g, T[3] q) { g = Identity(f) q = Add(p, x) }>(m, k, s) }>(n, k, x) }",
    "loop-with-if": "(T[3] x, int64[] n = 4, bool[] k = 1, int64[] two = 2) => (T[3] y) { y = Loop<body = b (int64 i, bool "
    "c, T[3] s) => (bool d, T[3] t) { d = Identity(c) l = Less(i, two) t = If<then_branch = p () => (T[3] u) { u = "
    "Add(s, x) }, else_branch = q () => (T[3] v) { v = Neg(s) }>(l) }>(n, k, x) }",
    "loop-unused-state": "(T[3] x, T[3] z, int64[] n = 3, bool[] k = 1) => (T[3] y) { y, u = Loop<body = b (int64 i, bool "
    "c, T[3] s, T[3] t) => (bool d, T[3] p, T[3] q) { d = Identity(c) p = Add(s, z) q = Neg(t) }>(n, k, x, z) }",
    "loop-then-relu": "(T[3] x, T[3] z, int64[] n = 3, bool[] k = 1) => (T[3] y) { l = Loop<body = b "
    "(int64 i, bool c, T[3] s) => (bool d, T[3] t) { d = Identity(c) t = Sub(s, z) }>(n, k, x) y = Relu(l) }",
    "scan-sum": "(T[3] x, T[4,3] z) => (T[3] y, T[4,3] h) { y, h = Scan<num_scan_inputs = 1, body = b "
    "(T[3] s, T[3] e) => (T[3] t, T[3] r) { t = Add(s, e) r = Identity(t) }>(x, z) }",
    "scan-reversed": "(T[3] x, T[4,3] z) => (T[3] y, T[4,3] h) { y, h = Scan<num_scan_inputs = 1, scan_input_directions = "
    "[1], body = b (T[3] s, T[3] e) => (T[3] t, T[3] r) { t = Sub(e, s) r = Identity(t) }>(x, z) }",
    "scan-output-reversed": "(T[3] x, T[4,3] z) => (T[3] y, T[4,3] h) { y, h = Scan<num_scan_inputs = 1, "
    "scan_output_directions = [1], body = b (T[3] s, T[3] e) => (T[3] t, T[3] r) { t = Sub(e, s) r = Identity(t) }>(x, "
    "z) }",
    "scan-axis": "(T[3] x, T[3,4] z) => (T[3] y, T[3,4] h) { y, h = Scan<num_scan_inputs = 1, scan_input_axes = [1], "
    "scan_output_axes = [1], body = b (T[3] s, T[3] e) => (T[3] t, T[3] r) { t = Add(s, e) r = Neg(t) }>(x, z) }",
    "scan-two-inputs": "(T[3] x, T[4,3] z, T[4,3] u) => (T[3] y, T[4,3] h) { y, h = Scan<num_scan_inputs = 2, "
    "scan_input_directions = [0,1], body = b (T[3] s, T[3] e, T[3] f) => (T[3] t, T[3] r) { m = Mul(e, f) t = Add(s, m) "
    "r = Sub(e, f) }>(x, z, u) }",
    "scan-without-state": "(T[4,3] z, T[3] wb) => (T[4,3] y) { y = Scan<num_scan_inputs = 1, body = b "
    "(T[3] e) => (T[3] r) { r = Add(e, wb) }>(z) }",
    "scan-captured-weights": "(T[1,3] x, T[4,1,3] z, T[3,3] w) => (T[1,3] y) { y, h = Scan<num_scan_inputs = 1, body = b "
    "(T[1,3] s, T[1,3] e) => (T[1,3] t, T[1,3] r) { m = MatMul(e, w) t = Add(s, m) r = Identity(m) }>(x, z) }",
}
"""A graph again and again."""

SEQUENCES: dict[str, str] = {
    "construct-at": "s = SequenceConstruct(T[3] x, T[3] z) y = SequenceAt(s, int64[] i = 1)",
    "construct-at-negative": "s = SequenceConstruct(T[3] x, T[4] z, T[2] u) y = SequenceAt(s, int64[] i = -3)",
    "construct-concat": "s = SequenceConstruct(T[3,2] x, T[3,4] z) y = ConcatFromSequence<axis = 1>(s)",
    "construct-stack": "s = SequenceConstruct(T[3,2] x, T[3,2] z) y = ConcatFromSequence<axis = 0, new_axis = 1>(s)",
    "construct-stack-last": "s = SequenceConstruct(T[3,2] x, T[3,2] z) y = ConcatFromSequence<axis = -1, new_axis = 1>(s)",
    "insert-end": "s = SequenceConstruct(T[3] x) t = SequenceInsert(s, T[3] z) y = ConcatFromSequence<axis = 0>(t)",
    "insert-front": "s = SequenceConstruct(T[3] x) t = SequenceInsert(s, T[3] z, int64[] i = 0) y = ConcatFromSequence<axis "
    "= 0>(t)",
    "insert-negative": "s = SequenceConstruct(T[3] x, T[2] u) t = SequenceInsert(s, T[3] z, int64[] i = -1) y = "
    "ConcatFromSequence<axis = 0>(t)",
    "insert-into-empty": "s = SequenceEmpty<dtype = {to}>() t = SequenceInsert(s, T[3] x) u = SequenceInsert(t, T[3] z) "
    "y = ConcatFromSequence<axis = 0>(u)",
    "erase-last": "s = SequenceConstruct(T[3] x, T[3] z, T[3] u) t = SequenceErase(s) y = ConcatFromSequence<axis = 0>(t)",
    "erase-first": "s = SequenceConstruct(T[3] x, T[3] z, T[3] u) t = SequenceErase(s, int64[] i = 0) y = "
    "ConcatFromSequence<axis = 0>(t)",
    "length": "s = SequenceConstruct(T[3] x, T[3] z, T[3] u) n = SequenceLength(s) y = CastLike(n, x)",
    "length-of-empty": "s = SequenceEmpty<dtype = {to}>() n = SequenceLength(s) c = CastLike(n, T[3] x) y = Add(x, c)",
    "split-at": "s = SplitToSequence<axis = 1>(T[3,6] x, int64[3] n = 1,2,3) y = SequenceAt(s, int64[] i = 2)",
    "split-equal": "s = SplitToSequence<axis = 1>(T[3,6] x, int64[] n = 2) y = SequenceAt(s, int64[] i = -1)",
    "split-uneven": "s = SplitToSequence<axis = 1>(T[3,5] x, int64[] n = 2) y = SequenceAt(s, int64[] i = 2)",
    "split-ones": "s = SplitToSequence<axis = 0, keepdims = 0>(T[3,5] x) y = SequenceAt(s, int64[] i = 1)",
    "split-concat": "s = SplitToSequence<axis = 1>(T[3,6] x, int64[3] n = 1,2,3) y = ConcatFromSequence<axis = 1>(s)",
    "split-concat-reversed": "s = SplitToSequence<axis = 0>(T[3,5] x) a = SequenceAt(s, int64[] i = 2) b = SequenceAt(s, "
    "int64[] j = 0) y = Concat<axis = 0>(a, b)",
    "unchanged-by-insert": "s = SequenceConstruct(T[3] x, T[3] z) t = SequenceInsert(s, T[3] u, int64[] i = 0) a = "
    "SequenceAt(s, i) b = SequenceAt(t, i) y = Sub(a, b)",
    "identity": "s = SequenceConstruct(T[3] x, T[3] z) t = Identity(s) y = SequenceAt(t, int64[] i = 1)",
}
"""Sequences of tensors."""

MAPPED: dict[str, str] = {
    "map-relu": "(T[3] x, T[3] z) => (T[6] y) { s = SequenceConstruct(x, z) m = SequenceMap<body = b (T[3] e) => (T[3] f) { "
    "f = Relu(e) }>(s) y = ConcatFromSequence<axis = 0>(m) }",
    "map-with-tensor": "(T[3] x, T[3] z, T[3] u) => (T[6] y) { s = SequenceConstruct(x, z) "
    "m = SequenceMap<body = b (T[3] e, T[3] g) => (T[3] f) { f = Add(e, g) }>(s, u) y = ConcatFromSequence<axis = 0>(m) }",
    "map-two": "(T[3] x, T[3] z, T[3] u, T[3] q) => (T[6] y) { s = SequenceConstruct(x, z) t = SequenceConstruct(u, q) "
    "m = SequenceMap<body = b (T[3] e, T[3] g) => (T[3] f) { f = Sub(e, g) }>(s, t) y = ConcatFromSequence<axis = 0>(m) }",
    "loop-sequence": "(T[3] x, int64[] n = 3, bool[] k = 1) => (T[12] y) { s = SequenceConstruct(x) l = Loop<body = b "
    "(int64 i, bool c, seq(T[3]) p) => (bool d, seq(T[3]) q) { d = Identity(c) f = CastLike(i, x) a = Add(x, f) q = "
    "SequenceInsert(p, a) }>(n, k, s) y = ConcatFromSequence<axis = 0>(l) }",
    "if-sequence": "(T[3] x, T[3] z, bool[] c) => (T[6] y) { l = If<then_branch = t () => (seq(T[3]) a) { a = "
    "SequenceConstruct(x, z) }, else_branch = e () => (seq(T[3]) b) { b = SequenceConstruct(z, x) }>(c) y = "
    "ConcatFromSequence<axis = 0>(l) }",
    "optional-element": "(T[3] x) => (T[3] y) { o = Optional(x) e = OptionalGetElement(o) y = Neg(e) }",
    "optional-has": "(T[3] x) => (T[3] y) { o = Optional(x) h = OptionalHasElement(o) c = CastLike(h, x) y = Add(x, c) }",
    "optional-of-sequence": "(T[3] x, T[3] z) => (T[6] y) { s = SequenceConstruct(x, z) o = Optional(s) e = "
    "OptionalGetElement(o) y = ConcatFromSequence<axis = 0>(e) }",
    "optional-of-tensor": "(T[3] x) => (T[3] y) { e = OptionalGetElement(x) y = Relu(e) }",
    "optional-if": "(T[3] x, T[3] z) => (T[3] y) { o = Optional(x) h = OptionalHasElement(o) "
    "y = If<then_branch = t () => (T[3] a) { a = Add(x, z) }, else_branch = e () => (T[3] b) { b = Neg(z) }>(h) }",
}
"""Bodies on sequences, and optional values."""

TABLES = (
    Table({**BRANCHES, **LOOPS}, types=("f32", "f16", "i32")),
    Table({f"sequence-{name}": text for name, text in {**SEQUENCES, **MAPPED}.items()}, everything=()),
)
