"""One call for value, magnitudes, ingredients and marks, by hand."""

import numpy as np
import pytest
from onnx import parser

from reference import oracle, table
from reference.node import Node
from reference.signature import schema


def node(text: str, feeds: dict[str, np.ndarray], opset: int = 21) -> Node:
    return Node.of(parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}'), feeds)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_a_linear_operator_comes_with_its_magnitudes():
    n = node("g (float[1,2] a, float[2,1] b) => (y) { y = MatMul(a, b) }", {"a": f32(3, -4)[None], "b": f32(1, 2)[:, None]})
    (result,) = oracle.results(n)
    assert result.value.tolist() == [[-5]]
    assert result.magnitudes is not None
    assert result.magnitudes.B.tolist() == [[11]]
    assert result.magnitudes.Q.tolist() == [[9 + 64]]
    assert np.broadcast_to(result.magnitudes.terms, (1, 1)).tolist() == [[2]]
    assert oracle.results(n, with_magnitudes=False)[0].magnitudes is None


def test_border_pixels_have_fewer_terms():
    n = node(
        "g (float[1,1,3] x, float[1,1,3] w) => (y) { y = Conv<pads = [1, 1]>(x, w) }",
        {"x": np.ones((1, 1, 3), np.float32), "w": np.ones((1, 1, 3), np.float32)},
    )
    magnitudes = oracle.results(n)[0].magnitudes
    assert magnitudes is not None
    assert np.broadcast_to(magnitudes.terms, (1, 1, 3)).tolist() == [[[2, 3, 2]]]


def test_a_composed_operator_comes_with_its_ingredients():
    n = node("g (float[2] x) => (y) { y = Softmax(x) }", {"x": f32(0, np.log(3))})
    (result,) = oracle.results(n)
    np.testing.assert_allclose(result.ingredients["probability"], [0.25, 0.75], rtol=1e-7)
    np.testing.assert_allclose(result.ingredients["sum"], [4 / 3], rtol=1e-7)
    n = node(
        "g (float[1,4] x, float[4] s) => (y) { y = LayerNormalization(x, s) }",
        {"x": f32(1, 1, 3, 3)[None], "s": f32(1, 1, 1, 1)},
    )
    inside = oracle.results(n)[0].ingredients
    assert (inside["mean"].item(), inside["variance"].item(), inside["mean_magnitude"].item()) == (2, 1, 2)


def test_ties_are_marked():
    n = node("g (float[4] x, float s) => (y) { y = QuantizeLinear(x, s) }", {"x": f32(1, 1.25, 0.75, 2), "s": np.float32(0.5)})
    (result,) = oracle.results(n)
    assert result.value.tolist() == [2, 2, 2, 4]  # 2.5 and 1.5 are half-ways
    assert result.ties is not None
    assert result.ties.tolist() == [False, True, True, False]


def test_what_onnx_leaves_open_is_marked():
    n = node(
        "g (int32[2] a, int32[2] b) => (y) { y = Div(a, b) }",
        {"a": np.array([1, 4], np.int32), "b": np.array([0, 2], np.int32)},
    )
    (result,) = oracle.results(n)
    assert result.open is not None
    assert result.open.tolist() == [True, False]


@pytest.mark.parametrize(
    ("kind", "stored"), [("float16", np.float16(1.0)), ("float", np.float32(1 + 2.0**-12)), ("bfloat16", 1.0)]
)
def test_the_value_is_real_and_the_stored_one_is_rounded(kind, stored):
    # 1 + 2^-12 is a float32, a tie's neighbour in float16, far below bfloat16's step
    n = node(
        f"g (float[1] x, {kind}[1] t) => (y) {{ y = CastLike(x, t) }}",
        {"x": f32(1 + 2.0**-12), "t": np.ones(1, numpy_type(kind))},
    )
    (result,) = oracle.results(n)
    assert result.stored().astype(np.float64).item() == float(stored)
    n = node("g (float[1] x) => (y) { y = Sqrt(x) }", {"x": f32(2)})
    (result,) = oracle.results(n)
    assert result.value.item() == np.sqrt(2.0)
    assert result.stored().dtype == np.float32


def test_marks_keep_their_place_where_an_output_is_left_out():
    x, one = np.arange(12, dtype=np.float32).reshape(2, 3, 2), np.ones(3, np.float32)
    n = node(
        "g (float[2,3,2] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y, rv) {"
        'y, "", rv = BatchNormalization(x, s, b, m, v) }',
        {"x": x, "s": one, "b": one, "m": one, "v": one},
        8,
    )
    first, running_variance = oracle.results(n)
    assert (first.name, running_variance.name) == ("y", "rv")
    assert first.open is None
    assert running_variance.open is not None


def test_ties_of_narrow_floats_lie_on_their_own_grid():
    # e4m3fn from 16 to 32 has steps of 2: 17 is half-way; 0.5 is exact
    zero = np.zeros((), numpy_type("float8_e4m3fn"))
    feeds = {"x": f32(8.5, 0.25), "s": np.float32(0.5), "z": zero}
    n = node("g (float[2] x, float s, float8e4m3fn z) => (y) { y = QuantizeLinear(x, s, z) }", feeds)
    (result,) = oracle.results(n)
    assert result.ties is not None
    assert result.ties.tolist() == [True, False]


def test_a_function_of_the_model_is_not_taken_for_the_operator_of_its_name():
    m = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "own" : 1]> g (float[1] x) => (y) { y = own.Clip(x) }
        <opset_import: ["" : 21], domain: "own"> Clip (a) => (b) { b = Neg(a) }"""
    )
    (result,) = oracle.results(Node.of(m, {"x": f32(np.inf)}))
    assert result.value.tolist() == [-np.inf]
    assert result.open is None


def numpy_type(kind: str) -> np.dtype:
    from reference import dtypes

    return dtypes.numpy_dtype({"float": "float32"}.get(kind, kind))


def test_every_operator_of_onnx_is_there():
    """Training-only operators live in a domain of their own; ai.onnx has no other gap."""
    import onnx

    missing = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated} - table.ONNX.keys()
    assert not missing


def test_entries_are_versions_of_onnx():
    wrong = [
        f"{operator}-{version}"
        for operator, entries in table.ONNX.items()
        for version in entries
        if (found := schema(operator, "", version)) is not None and found.since_version != version
    ]
    assert not wrong
