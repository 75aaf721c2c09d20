"""Graphs of several nodes: what right devices give passes, what faulty compilers make of them does not."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from reference import dtypes
from reference.evaluator import EvaluationError, evaluate
from reference.verify import chains, rewrites
from reference.verify.graphs import GraphJudge, verify_graph
from reference.verify.profile import Profile
from suites.cases import graphs
from suites.cases.identifier import parse

from .graph_mutants import mutants

SINGLE = Profile.of({"float32": "fp32"})
LEVELS = (0, 1, 2, 99)
"""Of onnxruntime.GraphOptimizationLevel: disable, basic, extended, all."""

WRONG_THERE = ("qdq-requantised", "qdq-identity-reals", "qdq-matmul-u16-w-i8", "constant-weight-padded")
"""Graphs that ONNX Runtime 1.32 optimises to something else (docs/findings.md)."""

VISIBLE = 1e-3
"""Change of a result, in units of its root mean square, from which on a mutant must be caught."""

ENDLESS = ("loop-while", "loop-while-without-count")
"""Graphs whose mutants may never end."""


def ids(every: int) -> list[str]:
    """Some graphs of float32 tensors."""
    found = [i for table in graphs.TABLES for i in table.ids() if ".f32." in i]
    return [i for i in found[::every] if i.split(".")[2] not in (*WRONG_THERE, *ENDLESS)]


def stored(model: onnx.ModelProto, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Results in the types of the model's outputs."""
    types = {o.name: dtypes.NAMES[o.type.tensor_type.elem_type] for o in model.graph.output}
    return {name: dtypes.cast(y, types[name]) if dtypes.is_float(types[name]) else y for name, y in results.items()}


def changed(right: dict[str, np.ndarray], wrong: dict[str, np.ndarray]) -> float:
    """The largest relative difference of two sets of results in the root mean square; infinite where shapes differ."""
    found = 0.0
    for name, y in right.items():
        a, b = y.astype(np.float64), wrong[name].astype(np.float64)
        if a.shape != b.shape or not np.isfinite(b).all():
            return np.inf
        found = max(found, float(np.sqrt(np.mean((a - b) ** 2)) / (np.sqrt(np.mean(a * a)) or 1.0)))
    return found


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}')


@pytest.mark.parametrize("case_id", ids(every=23))
def test_a_right_device_passes_at_every_level(case_id):
    case = parse(case_id)
    judge = GraphJudge(case.model, case.feeds, SINGLE)
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(level)
        session = onnxruntime.InferenceSession(case.model_bytes, options)
        names = [o.name for o in session.get_outputs()]
        verdicts = judge.verify(dict(zip(names, session.run(names, case.feeds), strict=True)))
        assert [v.status for v in verdicts] == ["pass"] * len(names), (level, [v.message for v in verdicts])


@pytest.mark.parametrize("case_id", ids(every=31))
def test_a_visible_fault_is_caught(case_id):
    case = parse(case_id)
    judge, right = GraphJudge(case.model, case.feeds, SINGLE), evaluate(case.model, case.feeds)
    for what, mutant in mutants(case.model):
        try:
            wrong = stored(case.model, evaluate(mutant, case.feeds))
        except EvaluationError:
            continue
        caught = any(v.status == "mismatch" for v in judge.verify(wrong))
        assert caught or changed(right, wrong) < VISIBLE, what


NAMED = {
    "Graph-21.f32.conv-bias-gelu.in:normal": ("Gelu_2 by tanh", "wb is 0"),
    "Graph-21.f32.parts-layernorm-pow.in:normal": ("eps is 0", "wg is 0", "wb is 0"),
    "Graph-21.f32.conv-bn-eps.in:normal": ("BatchNormalization_1 with twice the epsilon",),
    "Graph-21.f32.parts-attention.in:normal": ("scale is half as large again", "Mul_2 gives its input 0"),
    "Graph-21.f32.parts-gelu-erf.in:normal": ("half is half as large again", "one is 0"),
    "Graph-21.f32.qdq-conv-u8-w-i8-channel.in:lattice": ("sw is its first element", "zx is 0"),
}


@pytest.mark.parametrize("case_id", NAMED)
def test_faults_of_fusions_are_caught(case_id):
    case = parse(case_id)
    judge, found = GraphJudge(case.model, case.feeds, SINGLE), dict(mutants(case.model))
    for what in NAMED[case_id]:
        verdicts = judge.verify(stored(case.model, evaluate(found[what], case.feeds)))
        assert [v.status for v in verdicts] == ["mismatch"], what


def test_lattices_are_exact_in_any_order():
    model = parsed("(float[2,3] x, float[3,2] w) => (float[2,2] y) { a = MatMul(x, w) y = Relu(a) }")
    feeds = {"x": np.ones((2, 3), np.float32), "w": np.full((3, 2), 2, np.float32)}
    (expected, reduced) = chains.expected(model, feeds, SINGLE)["y"]
    assert not np.any(expected.bound)
    assert not reduced
    feeds["x"] = feeds["x"] * np.float32(0.1)
    assert np.all(chains.expected(model, feeds, SINGLE)["y"][0].bound > 0)


def test_a_factor_may_be_folded_where_terms_cancel():
    model = parsed("(float[1] x, float[1] z, float[1] s) => (float[1] y) { a = Sub(x, z) y = Mul(a, s) }")
    x, z, s = (np.array([v], np.float32) for v in (1.1, 1.0999999, 0.3))
    folded = {"y": x * s - z * s}
    assert verify_graph(model, {"x": x, "z": z, "s": s}, folded, SINGLE)[0].status != "mismatch"
    assert verify_graph(model, {"x": x, "z": z, "s": s}, {"y": x * s}, SINGLE)[0].status == "mismatch"


def test_near_a_half_way_both_steps_are_right():
    text = "(float[3] x) => (uint8[3] y) <float s = {0.1}, uint8 z = {0}> { a = Sigmoid(x) y = QuantizeLinear(a, s, z) }"
    real = np.log(0.55 / 0.45)  # sigmoid gives 5.5 steps
    feeds = {"x": np.array([real, 0.0, 2.0], np.float32)}
    right = evaluate(parsed(text), feeds)["y"]
    for other, status in (([1, 0, 0], "pass"), ([-1, 0, 0], "pass"), ([0, 0, 1], "mismatch")):
        got = np.clip(right.astype(int) + other, 5, 10).astype(np.uint8) if other[0] else (right + np.array(other, np.uint8))
        assert verify_graph(parsed(text), feeds, {"y": got}, SINGLE)[0].status == status


def test_what_a_reduced_arithmetic_may_do_is_said():
    model = parsed("(float[1,2] x, float[2,1] w) => (float[1,1] y) { a = MatMul(x, w) y = Tanh(a) }")
    feeds = {"x": np.array([[0.1, 0.2]], np.float32), "w": np.array([[0.3], [0.4]], np.float32)}
    right = stored(model, evaluate(model, feeds))
    assert verify_graph(model, feeds, right, SINGLE)[0].status == "pass"
    assert verify_graph(model, feeds, right, Profile.of({"float32": "fp16"}))[0].status == "pass_reduced"
    halved = {"y": right["y"].astype(np.float16).astype(np.float32)}
    assert verify_graph(model, feeds, halved, SINGLE)[0].status == "mismatch"


def test_errors_are_not_followed_into_bodies():
    body = "else_branch = e () => (float[2] b) { b = Neg(a) }, then_branch = t () => (float[2] c) { c = Exp(a) }"
    model = parsed(f"(float[2] x, bool k) => (float[2] y) {{ a = Exp(x) y = If<{body}>(k) }}")
    feeds = {"x": np.array([0.5, 1.5], np.float32), "k": np.array(False)}
    assert verify_graph(model, feeds, stored(model, evaluate(model, feeds)), SINGLE)[0].status == "inconclusive"


LOST = {
    "without the bias of Conv_0": ("Graph-21.f16.convbias-bn-relu-eps.in:normal", "Conv_0", 2, None),
    "with mean 0 in BatchNormalization_1": ("Graph-21.f32.conv-bn.in:lattice", "BatchNormalization_1", 3, np.zeros_like),
    "with scale 1 in BatchNormalization_1": ("Graph-21.f32.conv-bn-add-eps.in:normal", "BatchNormalization_1", 1, np.ones_like),
    "without Mul_1": ("Graph-21.f16.conv-scale.in:lattice", "Mul_1", 1, np.ones_like),
}
"""What is said → (case, node, its input that is lost, what takes its place)."""


@pytest.mark.parametrize("words", LOST)
def test_the_part_of_a_graph_that_is_lost_is_named(words):
    case_id, node, k, value = LOST[words]
    case, broken = parse(case_id), onnx.ModelProto()
    broken.CopyFrom(case.model)
    found = next(n for n in broken.graph.node if n.name == node)
    if value is None:
        found.input[k] = ""
    else:
        tensor = next(t for t in broken.graph.initializer if t.name == found.input[k])
        tensor.CopyFrom(numpy_helper.from_array(value(numpy_helper.to_array(tensor)), tensor.name))
    got = stored(case.model, evaluate(broken, case.feeds))
    (verdict,) = GraphJudge(case.model, case.feeds, SINGLE).verify(got)
    assert verdict.status == "mismatch"
    assert verdict.message.endswith(f"; equal to the graph {words}"), verdict.message


ACTIVE = "(float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { a = MatMul(x, w) s = Add(a, b) y = Relu(s) }"


def test_an_activation_that_is_lost_or_comes_too_early_is_named():
    model, draw = parsed(ACTIVE), np.random.default_rng(3)
    for i, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{i}"
    feeds = {n: draw.integers(-4, 5, s).astype(np.float32) for n, s in (("x", (2, 3)), ("w", (3, 4)), ("b", (4,)))}
    product = feeds["x"] @ feeds["w"]
    for got, words in (
        (product + feeds["b"], "without Relu_2"),
        (np.maximum(product, 0) + feeds["b"], "with Relu_2 on input 0 of Add_1"),
        (np.maximum(product, 0), "without Add_1"),
    ):
        (verdict,) = verify_graph(model, feeds, {"y": got}, SINGLE)
        assert verdict.message.endswith(f"; equal to the graph {words}"), verdict.message


def test_of_noise_and_of_a_right_graph_no_part_is_lost():
    case = parse("Graph-21.f32.conv-bn-add-eps.in:normal")
    judge, right = GraphJudge(case.model, case.feeds, SINGLE), stored(case.model, evaluate(case.model, case.feeds))
    noise = np.random.default_rng(5).standard_normal(right["y"].shape).astype(np.float32)
    assert "equal to" not in judge.verify({"y": noise})[0].message
    assert "equal to" not in judge.verify({"y": right["y"] * np.float32(1.001)})[0].message
    assert not judge.verify(right)[0].message


def test_graphs_with_bodies_are_not_rewritten():
    case = parse(next(i for table in graphs.TABLES for i in table.ids() if i.split(".")[2] in ENDLESS))
    right = stored(case.model, evaluate(case.model, case.feeds))
    name, value = next(iter(right.items()))
    assert rewrites.fitting(case.model, case.feeds, SINGLE, name, value + 1) == ""
