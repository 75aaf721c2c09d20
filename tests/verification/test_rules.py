"""The published rules that verification is compared with: what they accept, and the constants that their authors publish."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import tosa_rule, webnn_rule
from benchmarks.rules import RULES
from reference import dtypes
from reference.node import Node
from tests.verification.faults import right
from tests.verification.samples import sample

RULE = {rule.name: rule for rule in RULES}


def node_of(operator, variant="plain", recipe="normal", size=None, dtype="float32"):
    return Node.of(*sample(operator, variant, recipe, size, dtype))


def off_by(node, relative):
    """The right result with every element off by this relative error."""
    return [dtypes.cast(node.results[0] * (1 + relative), node.output_types[0])]


@pytest.mark.parametrize("name", RULE)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("operator", ["Add", "AveragePool", "Conv", "MatMul", "ReduceSum", "Tanh", "Transpose"])
def test_an_exact_result_is_accepted_and_a_gross_one_rejected(name, dtype, operator):
    node = node_of(operator, "middle" if operator == "ReduceSum" else "plain", dtype=dtype)
    assert RULE[name].judge(node, right(node)) is True
    assert RULE[name].judge(node, off_by(node, 1.0)) is False


@pytest.mark.parametrize("name", RULE)
def test_another_shape_or_type_is_rejected(name):
    node = node_of("MatMul")
    (y,) = right(node)
    assert RULE[name].judge(node, [y.T]) is False
    assert RULE[name].judge(node, [y.astype(np.float64)]) is False


@pytest.mark.parametrize(
    ("name", "dtype", "accepted", "rejected"),
    [
        ("ONNX backend tests", "float32", 9e-4, 1.1e-3),
        ("ONNX backend tests", "bfloat16", 2.0**-7, 2.0**-5),
        ("ONNX Runtime", "float32", 9e-5, 1.3e-3),
        ("OpenVINO", "float32", 9e-5, 1.1e-4),
        ("ggml", "float32", 2e-2, 2.4e-2),
        ("LiteRT ATS", "float32", 9e-5, 1.1e-4),
    ],
)
def test_relative_errors_are_accepted_up_to_the_published_constant(name, dtype, accepted, rejected):
    node = node_of("MatMul", recipe="positive", dtype=dtype)
    assert RULE[name].judge(node, off_by(node, accepted)) is True
    assert RULE[name].judge(node, off_by(node, rejected)) is False


@pytest.mark.parametrize(
    ("operator", "variant", "dtype", "expected"),
    [
        ("MatMul", "plain", "float32", 128),
        ("Gemm", "plain", "float32", 129),
        ("Gemm", "bare", "float32", 128),
        ("Gemm", "scaled", "float32", 131),
        ("Conv", "plain", "float32", 90),
        ("Conv", "groups", "float16", 90),
        ("ConvTranspose", "plain", "float32", 90),
        ("AveragePool", "plain", "float32", 8),
        ("ReduceSum", "middle", "float32", 64),
        ("ReduceMean", "middle", "float32", 66),
        ("ReduceSumSquare", "middle", "float32", 128),
        ("Softmax", "last", "float32", 126),
        ("Add", "plain", "float32", 1),
        ("Exp", "plain", "float32", 32),
        ("Exp", "plain", "float16", 1),
        ("Sigmoid", "plain", "float16", 10),
        ("Tanh", "plain", "float32", 16),
        ("Transpose", "plain", "float32", 0),
        ("Resize", "linear", "float32", 84),
        ("Resize", "cubic", "float32", None),
        ("CumSum", "plain", "float32", None),
    ],
)
def test_webnn_allows_a_distance_by_operator_and_terms(operator, variant, dtype, expected):
    assert webnn_rule.distance(node_of(operator, variant, dtype=dtype), dtype) == expected


def test_webnn_counts_representable_numbers():
    node = node_of("Add")
    (y,) = right(node)
    up = np.nextafter(y, np.float32(np.inf))
    assert RULE["WebNN"].judge(node, [up]) is True
    assert RULE["WebNN"].judge(node, [np.nextafter(up, np.float32(np.inf))]) is False


@pytest.mark.parametrize(
    ("operator", "variant", "dtype", "accumulator", "expected"),
    [
        ("MatMul", "plain", "float32", "float32", 64),
        ("MatMul", "plain", "float16", "float16", 64),
        ("MatMul", "plain", "float16", "float32", 1),
        ("MatMul", "plain", "bfloat16", "float32", 1),
        ("Conv", "bias", "float32", "float32", 46),
        ("AveragePool", "plain", "float32", "float32", 6),
        ("ReduceSum", "middle", "float32", "float32", 64),
    ],
)
def test_tosa_bounds_a_dot_product_by_its_terms(operator, variant, dtype, accumulator, expected):
    assert tosa_rule.size_bound(node_of(operator, variant, dtype=dtype), dtype, accumulator) == expected


def test_tosa_accepts_correct_rounding_only_where_it_asks_for_half_an_ulp():
    node = node_of("Mul")
    (y,) = right(node)
    assert RULE["TOSA"].judge(node, [y]) is True
    assert RULE["TOSA"].judge(node, [np.nextafter(y, np.float32(np.inf))]) is False


def test_tosa_finds_errors_in_one_direction():
    node = node_of("MatMul")
    (y,) = right(node)
    one_way = node.results[0] + 8 * 2.0**-24 * (np.abs(node.real(0)) @ np.abs(node.real(1)))
    sign = np.where(np.arange(y.size).reshape(y.shape) % 2, 1.0, -1.0)
    both_ways = node.results[0] + sign * (one_way - node.results[0])
    assert RULE["TOSA"].judge(node, [both_ways.astype(np.float32)]) is True
    assert RULE["TOSA"].judge(node, [one_way.astype(np.float32)]) is False


@pytest.mark.parametrize(("name", "operator"), [("WebNN", "CumSum"), ("TOSA", "Softmax"), ("TOSA", "QuantizeLinear")])
def test_a_suite_without_the_operator_says_nothing(name, operator):
    node = node_of(operator, "last" if operator == "Softmax" else "plain")
    assert RULE[name].judge(node, right(node)) is None


def test_litert_falls_back_to_a_mean_square_error_of_100():
    node = node_of("LayerNormalization")
    assert not RULE["LiteRT ATS"].own(node, "float32")
    assert RULE["LiteRT ATS"].judge(node, [right(node)[0] + np.float32(9.9)]) is True
    assert RULE["LiteRT ATS"].judge(node, [right(node)[0] + np.float32(10.1)]) is False


def test_integers_are_exact_but_for_the_step_that_two_suites_allow():
    node = node_of("QuantizeLinear")
    (y,) = right(node)
    assert {name for name, rule in RULE.items() if rule.judge(node, [y ^ np.uint8(1)])} == {"WebNN"}
    node = node_of("QLinearMatMul")
    (y,) = right(node)
    assert {name for name, rule in RULE.items() if rule.judge(node, [y ^ np.uint8(1)])} == {"LiteRT ATS"}
