"""Control flow against values worked out by hand: how loops end, no iterations, axes, directions, sequences."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import parser

from reference.evaluator import EvaluationError, evaluate
from reference.ops import control_flow


@dataclasses.dataclass
class Body:
    """A graph attribute made of a Python function."""

    function: Callable[..., tuple[Any, ...]]
    n_inputs: int
    n_outputs: int
    output_types: list[str | None] = dataclasses.field(default_factory=list)
    output_shapes: list[tuple[int | None, ...] | None] = dataclasses.field(default_factory=list)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        assert len(values) == self.n_inputs
        return self.function(*values)


def run(text: str, opset: int, **feeds: Any) -> list[Any]:
    """The outputs of a model in ONNX's textual syntax."""
    return list(evaluate(parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}'), feeds).values())


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def truth(value: bool) -> np.ndarray:
    return np.array(value)


@pytest.mark.parametrize(("condition", "wanted"), [(truth(True), 1), (np.array([False]), 2), (np.array([[True]]), 1)])
def test_if(condition, wanted):
    branches = {"then_branch": Body(lambda: (np.array(1), []), 0, 2), "else_branch": Body(lambda: (np.array(2), []), 0, 2)}
    first, second = control_flow.if_(condition, **branches)
    assert first == wanted
    assert second == []


def test_if_refuses_several_conditions():
    with pytest.raises(ValueError, match=r"the condition of If has shape \(2,\), expected one element"):
        control_flow.if_(np.array([True, False]), then_branch=Body(tuple, 0, 0), else_branch=Body(tuple, 0, 0))


def count_to(limit: int) -> Body:
    """Carries v, which grows by 1 while it is below `limit`; scans the v that it was given, and the iteration."""
    return Body(
        lambda i, condition, v: (np.array(v + 1 < limit), v + 1, v, i),
        3,
        4,
        ["bool", "float32", "float32", "int64"],
        [(), (), (), ()],
    )


@pytest.mark.parametrize(
    ("trips", "condition", "final"),
    [
        (10, True, 3),  # the body's condition ends it
        (2, True, 2),  # the trip count does
        (10, False, 0),
        (10, None, 10),  # no condition was given: the body's does not matter
        (None, True, 3),
        (None, False, 0),
        (0, None, 0),
        (-1, True, 0),
    ],
)
def test_loop_ends(trips, condition, final):
    trip_count = None if trips is None else np.array(trips)
    going = None if condition is None else truth(condition)
    v, scanned, iterations = control_flow.loop(trip_count, going, np.array(0.0), body=count_to(3))
    assert v == final
    assert scanned.tolist() == list(range(final))
    assert iterations.tolist() == list(range(final))
    assert iterations.dtype == np.int64


def test_loop_takes_one_element_for_a_scalar():
    v, *_ = control_flow.loop(np.array([2]), np.array([True]), np.array(0.0), body=count_to(9))
    assert v == 2


def test_loop_passes_the_condition_on():
    seen = []
    body = Body(lambda i, condition: (seen.append(bool(condition)) or truth(False),), 2, 1)
    assert control_flow.loop(np.array(2), None, body=body) == ()
    assert seen == [True, False]


def test_loop_without_iterations_has_scan_outputs_of_the_declared_type_and_lengths():
    kinds = ["bool", "float16", "str", "int4", "float32"]
    body = Body(lambda *values: values, 2, 5, kinds, [(), (2, 3), (), (None, 4), None])
    reals, strings, narrow, unknown = control_flow.loop(np.array(0), None, body=body)
    assert reals.shape == (0, 2, 3)
    assert reals.dtype == np.float64
    assert strings.shape == (0,)
    assert strings.dtype == object
    assert narrow.shape == (0, 0, 4)
    assert narrow.dtype.name == "int4"
    assert unknown.shape == (0,)


def test_loop_carries_sequences_and_optionals():
    body = Body(lambda i, c, xs, maybe: (c, [*(xs or []), i], maybe if maybe is None else maybe + 1), 4, 3)
    assert control_flow.loop(np.array(3), None, [], None, body=body) == ([0, 1, 2], None)
    assert control_flow.loop(np.array(2), None, None, np.array(5), body=body) == ([0, 1], 7)


def test_loop_refuses():
    with pytest.raises(ValueError, match="without trip count and condition never ends"):
        control_flow.loop(None, None, np.array(0.0), body=count_to(3))
    with pytest.raises(ValueError, match="the body carries 1 values, but 2 initial values were given"):
        control_flow.loop(np.array(1), None, np.array(0.0), np.array(0.0), body=count_to(3))
    grows = Body(lambda i, c: (c, np.zeros(int(i))), 2, 2)
    with pytest.raises(ValueError, match="output 1 of the body must not change from one iteration to another"):
        control_flow.loop(np.array(2), None, body=grows)
    untyped = Body(lambda i, c: (c, i), 2, 2, ["bool", None], [(), ()])
    with pytest.raises(ValueError, match="output 1 of the body declares no type"):
        control_flow.loop(np.array(0), None, body=untyped)


def test_loop_of_a_model_reads_the_outer_scope():
    # v: 1, 1 + 1·10, 11 + 2·10 with b = 10 from outside and the iteration plus 1 as factor
    got = run(
        """g (float b, float v, int64 m) => (float y, float[n] z) {
             one = Constant<value_int = 1>()
             y, z = Loop(m, "", v) <body = body (int64 i, bool c, float v_in) => (bool c_out, float v_out, float seen) {
               k = Add(i, one) r = Cast<to = 1>(k) p = Mul(r, b)
               v_out = Add(v_in, p) c_out = Identity(c) seen = Identity(v_in)
             }>
           }""",
        21,
        b=np.float32(10),
        v=np.float32(1),
        m=np.int64(2),
    )
    assert got[0] == 31
    assert got[1].tolist() == [1, 11]


# Scan of sums: the state grows by x, and the output is the state after that.
SUMS = Body(lambda state, x: (state + x, state + x), 2, 2, ["float32", "float32"], [(2,), (2,)])
X = np.array([[1.0, 2], [3, 4], [5, 6]])
ZERO = np.zeros(2)


@pytest.mark.parametrize(
    ("backwards", "prepended", "wanted"),
    [
        (0, 0, [[1, 2], [4, 6], [9, 12]]),
        (0, 1, [[9, 12], [4, 6], [1, 2]]),
        (1, 0, [[5, 6], [8, 10], [9, 12]]),
        (1, 1, [[9, 12], [8, 10], [5, 6]]),
    ],
)
def test_scan_directions(backwards, prepended, wanted):
    attributes = {"scan_input_directions": [backwards], "scan_output_directions": [prepended]}
    state, y = control_flow.scan(ZERO, X, body=SUMS, num_scan_inputs=1, **attributes)
    assert state.tolist() == [9, 12]
    assert y.tolist() == wanted


@pytest.mark.parametrize(("input_axis", "output_axis"), [(0, 1), (1, 0), (-1, -1), (-2, 1), (1, -2)])
def test_scan_axes(input_axis, output_axis):
    x = X if input_axis in (0, -2) else X.T
    attributes = {"scan_input_axes": [input_axis], "scan_output_axes": [output_axis]}
    _, y = control_flow.scan(ZERO, x, body=SUMS, num_scan_inputs=1, **attributes)
    sums = np.array([[1, 2], [4, 6], [9, 12]])
    np.testing.assert_array_equal(y, sums if output_axis in (0, -2) else sums.T)


def test_scan_walks_inputs_in_step():
    # pairs of a forward and a backward walk over the same strings
    body = Body(lambda a, b: (np.asarray(a + b, object),), 2, 1)
    x = np.array(["a", "b", "c"], object)
    (y,) = control_flow.scan(x, x, body=body, num_scan_inputs=2, scan_input_directions=[0, 1])
    assert y.tolist() == ["ac", "bb", "ca"]


def test_scan_of_nothing():
    state, y = control_flow.scan(ZERO, np.zeros((0, 2)), body=SUMS, num_scan_inputs=1, scan_output_axes=[-1])
    assert state.tolist() == [0, 0]
    assert y.shape == (2, 0)
    assert y.dtype == np.float64


def test_scan_refuses():
    with pytest.raises(ValueError, match=r"the lengths of the scanned axes must be equal, but are \[2, 3\]"):
        control_flow.scan(X, X.T, body=Body(lambda a, b: (a, b), 2, 2), num_scan_inputs=2)
    with pytest.raises(ValueError, match="scan_input_directions must have 1 entries, not 2"):
        control_flow.scan(ZERO, X, body=SUMS, num_scan_inputs=1, scan_input_directions=[0, 0])
    with pytest.raises(ValueError, match=r"num_scan_inputs must be in \[1, 2\], not 0"):
        control_flow.scan(ZERO, X, body=SUMS, num_scan_inputs=0)
    with pytest.raises(ValueError, match=r"state 0 of Scan must keep its shape \(1,\), but the body returned \(2,\)"):
        control_flow.scan(np.zeros(1), X, body=SUMS, num_scan_inputs=1)


def test_scan_8_takes_each_entry_of_the_batch_for_its_own_length():
    x = np.stack([X, 10 * X])
    states, y = control_flow.scan_8(None, np.zeros((2, 2)), x, body=SUMS, num_scan_inputs=1)
    assert states.tolist() == [[9, 12], [90, 120]]
    assert y.tolist() == [[[1, 2], [4, 6], [9, 12]], [[10, 20], [40, 60], [90, 120]]]
    states, y = control_flow.scan_8(np.array([2, 0]), np.ones((2, 2)), x, body=SUMS, num_scan_inputs=1)
    assert states.tolist() == [[5, 7], [1, 1]]
    assert y.tolist() == [[[2, 3], [5, 7], [0, 0]], [[0, 0]] * 3]


def test_scan_8_backwards_starts_at_the_last_step_of_the_entry():
    lengths = np.array([2])
    _, y = control_flow.scan_8(lengths, np.zeros((1, 2)), X[None], body=SUMS, num_scan_inputs=1, directions=[1])
    assert y.tolist() == [[[3, 4], [4, 6], [0, 0]]]


def test_scan_8_of_nothing():
    states, y = control_flow.scan_8(None, np.zeros((0, 2)), np.zeros((0, 3, 2)), body=SUMS, num_scan_inputs=1)
    assert states.shape == (0, 2)
    assert y.shape == (0, 3, 2)
    states, y = control_flow.scan_8(np.array([0]), np.ones((1, 2)), np.zeros((1, 3, 2)), body=SUMS, num_scan_inputs=1)
    assert states.tolist() == [[1, 1]]
    assert y.shape == (1, 3, 2)


def test_scan_8_pads_strings_with_empty_ones():
    x = np.array([["a", "b"]], object)
    (y,) = control_flow.scan_8(np.array([1]), x, body=Body(lambda s: (s,), 1, 1), num_scan_inputs=1)
    assert y.tolist() == [["a", ""]]


def test_scan_8_refuses():
    states, x = np.zeros((2, 2)), np.stack([X, X])
    with pytest.raises(ValueError, match=r"sequence_lens must be 2 lengths in \[0, 3\], not \[1, 4\]"):
        control_flow.scan_8(np.array([1, 4]), states, x, body=SUMS, num_scan_inputs=1)
    with pytest.raises(ValueError, match=r"the batch sizes of Scan must be equal, but are \[1, 2\]"):
        control_flow.scan_8(None, states[:1], x, body=SUMS, num_scan_inputs=1)


def test_scans_of_models():
    body = "body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) { t = Add(s, e) o = Identity(t) }"
    new = f"""g (float[2] s, float[n,2] x) => (float[2] t, float[2,n] y) {{
        t, y = Scan<num_scan_inputs = 1, scan_output_axes = [1], {body}>(s, x)
    }}"""
    t, y = run(new, 21, s=f32(0, 0), x=X.astype(np.float32))
    assert t.tolist() == [9, 12]
    assert y.tolist() == [[1, 4, 9], [2, 6, 12]]
    old = f"""g (float[1,2] s, float[1,n,2] x) => (float[1,2] t, float[1,n,2] y) {{
        t, y = Scan<num_scan_inputs = 1, {body}>("", s, x)
    }}"""
    t, y = run(old, 8, s=np.zeros((1, 2), np.float32), x=X[None].astype(np.float32))
    assert t.tolist() == [[9, 12]]
    assert y.tolist() == [[[1, 2], [4, 6], [9, 12]]]


def test_sequence_map():
    body = Body(lambda a, b, c: (a + b, a * c), 3, 2)
    sums, products = control_flow.sequence_map([np.array(1), np.array(2)], [np.array(10), np.array(20)], np.array(7), body=body)
    assert sums == [11, 22]
    assert products == [7, 14]
    assert control_flow.sequence_map([], [], np.array(7), body=body) == ([], [])
    with pytest.raises(ValueError, match=r"the lengths of the sequences must be equal, but are \[1, 2\]"):
        control_flow.sequence_map([1, 2], [1], np.array(7), body=body)


def test_sequence_map_of_a_model():
    text = """g (seq(float[n]) s, float[1] x) => (seq(float[n]) y) {
        y = SequenceMap(s, x) <body = b (float[n] a, float[1] k) => (float[n] c) { c = Mul(a, k) }>
    }"""
    (y,) = run(text, 17, s=[f32(1, 2), f32(3)], x=f32(2))
    assert [item.tolist() for item in y] == [[2, 4], [6]]


def test_errors_name_the_node():
    text = """g (bool[2] c) => (float y) {
        y = If(c) <then_branch = t () => (float a) { a = Constant<value_float = 1.0>() },
                   else_branch = e () => (float b) { b = Constant<value_float = 2.0>() }>
    }"""
    with pytest.raises(EvaluationError, match=r"\(ai.onnx:If version 21\): the condition of If has shape"):
        run(text, 21, c=np.array([True, False]))
