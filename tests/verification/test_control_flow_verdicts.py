"""Which control-flow nodes have exact results: those whose bodies only move data, or count in whole numbers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from reference.node import Node
from reference.verify import control, modes

LOOP = """g (float[2] x, int64 n) => (float[2] y, float[k, 2] s) {
    y, s = Loop (n, , x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] z) {
        d = Identity (c)
        %s
        z = Identity (w)
    }>
}"""
COUNT = """g (int64 n, int64 x) => (int64 y) {
    y = Loop (n, , x) <body = b (int64 i, bool c, int64 v) => (bool d, int64 w) {
        d = Identity (c)
        %s
    }>
}"""
IF = """g (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] a) { %s }, else_branch = e () => (float[2] b) { b = Neg (x) }>
}"""
SCAN = """g (float[2] x, float[3, 2] z) => (float[2] y, float[3, 2] s) {
    y, s = Scan (x, z) <num_scan_inputs = 1, body = b (float[2] v, float[2] e) => (float[2] w, float[2] o) {
        w = Max (v, e)
        %s
    }>
}"""


def node(text, inside, **feeds):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text % inside}')
    return Node.of(model, {name: np.asarray(x) for name, x in feeds.items()})


def is_exact(text, inside, **feeds):
    return control.is_exact(node(text, inside, **feeds), modes.EXACT.__contains__)


X = np.array([1.5, -2.0], np.float32)


@pytest.mark.parametrize(
    ("inside", "exact"),
    [
        ("w = Abs (v)", True),
        ("t = Neg (v) w = Relu (t)", True),
        ("w = Add (v, v)", False),
        ("w = Exp (v)", False),
        ("t = Cast <to = 10> (v) w = Cast <to = 1> (t)", False),
    ],
)
def test_a_loop_is_exact_where_its_body_is(inside, exact):
    assert is_exact(LOOP, inside, x=X, n=np.int64(3)) is exact


@pytest.mark.parametrize(
    ("inside", "exact"),
    [
        ("w = Add (v, i)", True),
        ("t = Mul (v, v) w = Sub (t, i)", True),
        ("t = Cast <to = 1> (v) w = Cast <to = 7> (t)", False),
        ("t = Constant <value_float = 2.5> () w = Add (v, i)", False),
    ],
)
def test_whole_numbers_are_counted_exactly_where_no_real_is_in_sight(inside, exact):
    assert is_exact(COUNT, inside, n=np.int64(4), x=np.int64(2)) is exact


def test_both_branches_count_and_so_do_bodies_inside_them():
    assert is_exact(IF, "a = Identity (x)", c=True, x=X)
    assert not is_exact(IF, "a = Sqrt (x)", c=False, x=X)
    inner = "k = Greater (x, x) l = ReduceMax (x) m = Greater (l, l) a = If (m) <then_branch = p () => (float[2] q) { %s }, "
    inner += "else_branch = r () => (float[2] o) { o = Identity (x) }>"
    assert not is_exact(IF, inner % "q = Exp (x)", c=True, x=X)


def test_a_scan_is_exact_where_its_body_is():
    z = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert is_exact(SCAN, "o = Identity (e)", x=X, z=z)
    assert not is_exact(SCAN, "o = Mul (e, v)", x=X, z=z)


def test_other_operators_are_no_control_flow():
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Abs (x) }')
    assert not control.is_exact(Node.of(model, {"x": X}), modes.EXACT.__contains__)
