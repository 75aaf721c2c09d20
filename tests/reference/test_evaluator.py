"""Evaluation of graphs: scopes, functions, optional inputs, intermediate values, and what is said of invalid models."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

from reference import dtypes
from reference.evaluator import EvaluationError, evaluate, evaluate_typed, steps


def model(text: str, opset: int = 21) -> onnx.ModelProto:
    """A model of ONNX's textual syntax: the graph and, after it, functions."""
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "own" : 1]> {text}')


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_outputs_are_reals_and_integers_stay_integers():
    m = model("g (float[n] x) => (float[n] y, int64[1] s) { y = Add(x, x) s = Shape(x) }")
    got = evaluate(m, {"x": f32(0.1, 2)})
    assert got["y"].dtype == np.float64
    np.testing.assert_array_equal(got["y"], 2 * f32(0.1, 2).astype(np.float64))
    assert got["s"].dtype == np.int64
    assert got["s"].tolist() == [2]


def test_intermediate_values_on_request():
    m = model("g (float[n] x) => (float[n] z) { y = Neg(x) z = Abs(y) }")
    got = evaluate(m, {"x": f32(1, -2)}, ["y", "z", "x"])
    assert list(got) == ["y", "z", "x"]
    np.testing.assert_array_equal(got["y"], [-1, 2])
    with pytest.raises(EvaluationError, match="graph 'g' has no tensor 'w'"):
        evaluate(m, {"x": f32(1)}, ["w"])


def test_types_travel_with_the_values():
    m = model("g (float16[n] x) => (y, c, i, q) { y = Add(x, x) c = Cast<to = 16>(y) i = ArgMax(c) q = SequenceConstruct(y) }")
    got = evaluate_typed(m, {"x": np.ones(3, np.float16)})
    assert {name: value.type for name, value in got.items()} == {
        "y": "float16",
        "c": "bfloat16",
        "i": "int64",
        "q": "seq(float16)",
    }


def test_optional_inputs_may_be_left_out_in_the_middle():
    m = model('g (float[n] x, float high) => (float[n] y) { y = Clip(x, "", high) }')
    np.testing.assert_array_equal(evaluate(m, {"x": f32(-5, 5), "high": np.float32(1)})["y"], [-5, 1])


def test_initialisers_are_defaults_of_inputs():
    m = model("g (float[1] x, float[1] b = {3}) => (float[1] y) { y = Add(x, b) }")
    assert evaluate(m, {"x": f32(1)})["y"].tolist() == [4]
    assert evaluate(m, {"x": f32(1), "b": f32(10)})["y"].tolist() == [11]


def test_a_sparse_initialiser_is_dense_in_use():
    m = model("g (float[2,2] x) => (float[2,2] y) { y = Add(x, s) }")
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [7.0])
    m.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [1], [2]), [2, 2])
    )
    np.testing.assert_array_equal(evaluate(m, {"x": np.zeros((2, 2), np.float32)})["y"], [[0, 0], [7, 0]])


def test_functions_of_the_model_see_their_inputs_and_attributes_only():
    m = model(
        """g (float[n] x) => (float[n] y) { t = Neg(x) y = own.leak <slope = 0.5> (x) }
        <opset_import: ["" : 21], domain: "own">
        leak <slope> (a) => (b) { b = LeakyRelu<alpha: float = @slope>(a) }"""
    )
    np.testing.assert_array_equal(evaluate(m, {"x": f32(-2, 4)})["y"], [-1, 4])
    blind = model(
        """g (float[n] x) => (float[n] y) { t = Neg(x) y = own.peek(x) }
        <opset_import: ["" : 21], domain: "own"> peek (a) => (b) { b = Add(a, t) }"""
    )
    with pytest.raises(EvaluationError, match=r"\(own:peek version 1\): node of 'b' \(ai.onnx:Add version 21\): reads 't'"):
        evaluate(blind, {"x": f32(1)})


def test_an_attribute_of_a_function_has_a_default_and_may_be_absent():
    text = """g (float[n] x) => (float[n] y) {{ y = own.f {given} (x) }}
        <opset_import: ["" : 21], domain: "own">
        f {formal} (a) => (b) {{ b = LeakyRelu<alpha: float = @slope>(a) }}"""
    with_default = model(text.format(given="", formal="<slope: float = 0.25>"))
    assert evaluate(with_default, {"x": f32(-8)})["y"].tolist() == [-2]
    absent = model(text.format(given="", formal="<slope>"))
    assert evaluate(absent, {"x": f32(-8)})["y"].tolist() == [-8 * float(np.float32(0.01))]


def test_an_input_that_a_caller_leaves_out_is_left_out_inside_the_function():
    m = model(
        """g (float[n] x, float high) => (float[n] y) { y = own.limit (x, "", high) }
        <opset_import: ["" : 21], domain: "own"> limit (a, low, high) => (b) { b = Clip(a, low, high) }"""
    )
    assert evaluate(m, {"x": f32(-5, 5), "high": np.float32(1)})["y"].tolist() == [-5, 1]


def test_functions_that_call_each_other_are_refused():
    m = model(
        """g (float[n] x) => (float[n] y) { y = own.a(x) }
        <opset_import: ["" : 21, "own" : 1], domain: "own"> a (x) => (y) { y = own.b(x) }
        <opset_import: ["" : 21, "own" : 1], domain: "own"> b (x) => (y) { y = own.a(x) }"""
    )
    with pytest.raises(EvaluationError, match=r"function own:[ab] of the model calls itself"):
        evaluate(m, {"x": f32(1)})


def test_an_operator_that_the_table_lacks_is_evaluated_by_the_body_of_its_schema(monkeypatch):
    from reference import table

    without = {name: entry for name, entry in table.ONNX.items() if name != "Softsign"}
    monkeypatch.setattr(table, "DOMAINS", {"": without})
    m = model("g (float[n] x) => (float[n] y) { y = Softsign(x) }", 22)
    np.testing.assert_array_equal(evaluate(m, {"x": f32(1, -3)})["y"], [0.5, -0.75])


def test_every_node_is_evaluated_on_what_the_device_gave_before_it():
    m = model("g (float[1] x) => (float[1] z) { y = Neg(x) z = Add(y, y) }")
    seen = list(steps(m, {"x": f32(1)}, {"y": f32(-1.5)}))
    assert seen[0].named_outputs["y"].data.tolist() == [-1]
    assert seen[1].named_outputs["z"].data.tolist() == [-3]


def test_what_is_given_must_be_there_and_fit():
    m = model("g (float[2] x) => (float[2] z) { y = Neg(x) z = Abs(y) }")
    with pytest.raises(EvaluationError, match="'w' was given, but no node of graph 'g' writes it"):
        list(steps(m, {"x": f32(1, 2)}, {"w": f32(1, 2)}))
    with pytest.raises(EvaluationError, match=r"'y' is float32 \(2,\), but uint8 \(2,\) was given"):
        list(steps(m, {"x": f32(1, 2)}, {"y": np.array([1, 2], np.uint8)}))
    with pytest.raises(EvaluationError, match=r"'y' is float32 \(2,\), but float32 \(1,\) was given"):
        list(steps(m, {"x": f32(1, 2)}, {"y": f32(1)}))


def test_a_quantised_float_is_rounded_inside_a_graph():
    # -3.3/0.5 = -6.6 lies between -6.5 and -7 in e4m3fn; 300/0.5 is beyond 448
    m = model("g (float[2] x, float s, float8e4m3fn z) => (y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s) }")
    zero = np.zeros((), dtypes.numpy_dtype("float8_e4m3fn"))
    assert evaluate(m, {"x": f32(-3.3, 300), "s": np.float32(0.5), "z": zero})["y"].tolist() == [-3.25, 224]


def test_a_computed_real_is_written_in_the_digits_of_its_type():
    m = model("g (float[1] x) => (y) { e = Exp(x) y = Cast<to = 8>(e) }")
    assert evaluate(m, {"x": f32(1)})["y"].tolist() == ["2.7182817"]  # float32 nearest to e


def test_foreign_byte_order_and_fixed_width_strings_are_only_ways_to_store():
    m = model("g (int32[1] x) => (y) { y = BitCast<to = 1>(x) }", 26)
    assert evaluate(m, {"x": np.array([0x3F800000], ">i4")})["y"].tolist() == [1]
    m = model("g (string[2] x, int64[1,1] i, string[1] u) => (y) { y = ScatterND(x, i, u) }")
    feeds = {"x": np.array(["a", "b"]), "i": np.array([[0]]), "u": np.array(["long"])}
    assert evaluate(m, feeds)["y"].tolist() == ["long", "b"]


def test_results_do_not_share_memory_with_feeds():
    m = model("g (double[2] x) => (y) { y = Identity(x) }")
    x = np.array([1.0, 2.0])
    got = evaluate(m, {"x": x})["y"]
    got[0] = 5
    assert x.tolist() == [1, 2]


def test_a_sequence_is_fed_as_a_list_of_its_type():
    m = model("g (seq(float[n]) x, int64 i) => (y) { y = SequenceAt(x, i) }")
    assert evaluate(m, {"x": [f32(1), f32(2, 3)], "i": np.int64(1)})["y"].tolist() == [2, 3]
    with pytest.raises(EvaluationError, match=r"input 'x' is seq\(float32\), but a list with int64 was fed"):
        evaluate(m, {"x": [f32(1), np.arange(3)], "i": np.int64(0)})


def test_a_loop_cannot_change_the_type_that_its_body_declares():
    m = model(
        """g (int64 n, bool c, float s) => (y) {
            y = Loop (n, c, s) <body = b (int64 i, bool k, int64 t) => (bool l, int64 u) { l = Identity(k) u = Add(t, t) }>
        }"""
    )
    with pytest.raises(EvaluationError, match="'t' of graph 'b' is int64, but float32 comes in"):
        evaluate(m, {"n": np.int64(2), "c": np.bool_(True), "s": np.float32(1.5)})


def test_names_do_not_break_the_line():
    m = model("g (float[1] x) => (y) { y = Neg(x) }")
    m.graph.node[0].name = "a\nb" + "c" * 5000
    m.graph.node[0].op_type = "Nothing"
    with pytest.raises(EvaluationError, match=r"node 'a bccc.*Nothing version 21.*not at all") as caught:
        evaluate(m, {"x": f32(1)})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1100


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.graph.input.append(m.graph.input[0]), "graph 'g' declares 'x' twice"),
        (lambda m: m.graph.initializer.extend([m.graph.initializer[0]]), "graph 'g' declares 'w' twice"),
        (
            lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 13)),
            "versions 21 and 13 of domain ai.onnx are imported",
        ),
        (lambda m: m.graph.initializer[0].dims.append(7), "initialiser 'w' cannot be read: "),
        (lambda m: m.graph.node[0].attribute.add(name="a", ref_attr_name="b", type=1), "'a' refers to 'b' outside a function"),
    ],
)
def test_a_model_that_contradicts_itself(spoil, message):
    m = model("g (float[1] x) => (y) { y = Add(x, w) }")
    m.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0]))
    assert evaluate(m, {"x": f32(1)})["y"].tolist() == [3]
    spoil(m)
    with pytest.raises(EvaluationError, match=message):
        evaluate(m, {"x": f32(1)})


def test_a_constant_is_not_read_from_a_file():
    m = model("g (float[1] x) => (y) { y = Constant<value = float[1] {1}>() }")
    tensor = m.graph.node[0].attribute[0].t
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="pyproject.toml")
    with pytest.raises(EvaluationError, match=r"Constant\): the tensor in attribute 'value' lies in a file of its own"):
        evaluate(m, {"x": f32(1)})


def test_a_sparse_tensor_has_no_elements_outside():
    m = model("g (float[2,2] x) => (y) { y = Add(x, s) }")
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [7.0])
    m.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [1], [4]), [2, 2])
    )
    with pytest.raises(
        EvaluationError, match=r"initialiser 's' cannot be read: .*outside of the sparse tensor's shape \(2, 2\)"
    ):
        evaluate(m, {"x": np.zeros((2, 2), np.float32)})


def test_a_type_that_the_operator_does_not_give_is_refused():
    m = model("g (float[1,2] x) => (y) { y = Multinomial<dtype = 8>(x) }")
    with pytest.raises(EvaluationError, match="output 0 'output' would be str, which the operator does not give"):
        evaluate(m, {"x": f32(0, 1)[None]})


@pytest.mark.parametrize("feeds", [None, [1], "x"])
def test_feeds_are_a_mapping(feeds):
    with pytest.raises(EvaluationError, match="feeds map names to values"):
        evaluate(model("g (float[1] x) => (y) { y = Neg(x) }"), feeds)


def test_a_model_is_asked_for():
    with pytest.raises(EvaluationError, match=r"an onnx\.ModelProto is expected, not str; onnx\.load reads a file"):
        evaluate("model.onnx", {})


def test_one_name_may_be_wanted():
    m = model("g (float[1] x) => (float[1] z) { hidden = Neg(x) z = Abs(hidden) }")
    assert evaluate(m, {"x": f32(1)}, "hidden")["hidden"].tolist() == [-1]


def test_an_initialiser_in_a_file_of_its_own_is_refused():
    m = model("g (float[1] x) => (float[1] y) { y = Add(x, w) }")
    m.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    with pytest.raises(EvaluationError, match=r"initialiser 'w' lies in a file of its own; onnx\.load reads it"):
        evaluate(m, {"x": f32(1)})


@pytest.mark.parametrize("opset", [0, 99])
def test_an_opset_beyond_those_that_were_compared_with_their_text_is_refused(opset):
    m = model("g (float[1] x) => (y) { y = Neg(x) }", opset)
    with pytest.raises(EvaluationError, match=f"imports opset {opset} of ai.onnx; the reference knows 1 to 28"):
        evaluate(m, {"x": f32(1)})


@pytest.mark.parametrize(
    ("text", "feeds", "message"),
    [
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {}, "no value was fed for graph input 'x'"),
        (
            "g (float[2] x) => (float[2] y) { y = Neg(x) }",
            {"x": f32(1, 2), "z": f32(1)},
            "'z' was fed, but the graph's inputs are 'x'",
        ),
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"x": f32(1)}, r"input 'x' has shape \(2\), but \(1,\) was fed"),
        ("g (float[2,?] x) => (y) { y = Neg(x) }", {"x": f32(1)}, r"input 'x' has shape \(2, \?\), but \(1,\) was fed"),
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"x": np.ones(2)}, "input 'x' is float32, but float64 was fed"),
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"x": None}, "input 'x' is float32 and cannot be empty"),
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"x": [f32(1, 2)]}, "input 'x' is float32, but a list was fed"),
        (
            "g (float[n] x, float[n] w) => (y) { y = Add(x, w) }",
            {"x": f32(1), "w": f32(1, 2)},
            "'n' is 1 in graph input 'x', but 2 in 'w'",
        ),
        (
            "g (float[n] x, float16[n] w) => (y) { y = Add(x, w) }",
            {"x": f32(1), "w": np.ones(1, np.float16)},
            r"node of 'y' \(ai.onnx:Add version 21\): input 1 'B' is float16 where 'A' is float32",
        ),
        (
            "g (int64[n] x) => (y) { y = Sigmoid(x) }",
            {"x": np.ones(1, np.int64)},
            r"\(ai.onnx:Sigmoid version 21\): input 0 'X' is int64, which the operator does not take",
        ),
        (
            "g (float[n] x) => (y) { y = Neg(x, x) }",
            {"x": f32(1)},
            r"\(ai.onnx:Neg version 21\): 2 inputs were given, the operator takes 1 to 1",
        ),
        (
            "g (float[n] x) => (y, z) { y, z = Neg(x) }",
            {"x": f32(1)},
            r"\(ai.onnx:Neg version 21\): 2 outputs are named, the operator has at most 1",
        ),
        (
            "g (float[n] x) => (y) { y = LeakyRelu<beta = 1.0>(x) }",
            {"x": f32(1)},
            r"\(ai.onnx:LeakyRelu version 21\): attribute 'beta' is unknown; the operator has alpha",
        ),
        (
            'g (float[n] x) => (y) { y = LeakyRelu<alpha = "s">(x) }',
            {"x": f32(1)},
            r"LeakyRelu version 21\): attribute 'alpha' is STRING, but the operator takes FLOAT",
        ),
        ("g (float[n] x) => (y) { y = Cast(x) }", {"x": f32(1)}, r"Cast version 21\): attribute 'to' is missing"),
        (
            "g (float[n] x) => (y) { y = Neg(z) }",
            {"x": f32(1)},
            r"Neg version 21\): reads 'z', which nothing produces before it",
        ),
        ("g (float[n] x) => (y) { z = Neg(x) }", {"x": f32(1)}, "graph output 'y' is produced by no node"),
        (
            "g (float[n] x) => (y) { y = Neg(x) y = Abs(x) }",
            {"x": f32(1)},
            r"Abs version 21\) writes 'y', which has a value already",
        ),
        ("g (float[n] x) => (float16[n] y) { y = Neg(x) }", {"x": f32(1)}, "output 'y' is declared as float16, but is float32"),
        (
            "g (float[n] x) => (y) { y = own.Magic(x) }",
            {"x": f32(1)},
            r"node of 'y' \(own:Magic version 1\): the reference has own:Magic not at all",
        ),
        (
            "g (float[n] x) => (y) { y = other.Magic(x) }",
            {"x": f32(1)},
            r"\(other:Magic\): the model imports no opset of domain other",
        ),
        (
            "g (float[2,3] x) => (y) { y = MatMul(x, x) }",
            {"x": np.ones((2, 3), np.float32)},
            r"\(ai.onnx:MatMul version 21\): .*\(2,3\)|\(ai.onnx:MatMul version 21\): .*mismatch",
        ),
    ],
)
def test_what_is_wrong_is_named(text, feeds, message):
    with pytest.raises(EvaluationError, match=message) as caught:
        evaluate(model(text), feeds)
    assert "\n" not in str(caught.value)


def test_an_operator_of_a_later_opset_is_named_with_its_version():
    m = model("g (float[n] x) => (y) { y = Gelu(x) }", 19)
    with pytest.raises(EvaluationError, match=r"the reference has ai\.onnx:Gelu from version 20 on; version 19 was asked for"):
        evaluate(m, {"x": f32(1)})
