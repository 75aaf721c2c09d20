"""Graphs of the tables: valid models with known shapes and finite results, one meaning for each id."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from reference.evaluator import evaluate
from suites.cases import graphs
from suites.cases.errors import CaseIdError
from suites.cases.graphs import text
from suites.cases.identifier import parse

EVERY = [i for table in graphs.TABLES for i in (*table.ids(), *table.ids(everything=True))]


def test_ids_are_distinct():
    assert len(set(EVERY)) == len(EVERY)


@pytest.mark.parametrize("start", range(8))
def test_graphs_are_valid_and_finite(start):
    for case_id in EVERY[start::24]:
        case = parse(case_id)
        onnx.checker.check_model(case.model)
        results = evaluate(case.model, case.feeds)
        for output in case.model.graph.output:
            shape = tuple(d.dim_value for d in output.type.tensor_type.shape.dim)
            assert results[output.name].shape == shape, case_id
            assert np.isfinite(results[output.name].astype(np.float64)).all(), case_id


def test_inputs_are_described_where_they_are_read():
    parsed = text.parse("a = Add(T[2,3] x, T[3] w) b = Mul(a, T[] half = 0.5) y = Add(b, x) z = Neg(a)", "f16", 21)
    graph = parsed.model.graph
    assert [v.name for v in graph.input] == ["x", "w", "half"]
    assert [v.name for v in graph.output] == ["y", "z"]
    assert parsed.constants == {"half": (0.5,)}
    assert {v.type.tensor_type.elem_type for v in graph.input} == {onnx.TensorProto.FLOAT16}


def test_a_chain_runs_from_step_to_step():
    assert text.chain("Relu(T[2] x)", "s = Sigmoid(_)", "Mul(_, s)") == "a0 = Relu(T[2] x) s = Sigmoid(a0) y = Mul(a0, s)"


@pytest.mark.parametrize(
    ("case_id", "said"),
    [
        ("Graph-21.f32.conv-relux.in:lattice", "conv-relu"),
        ("Graph-21.f32.conv-relu.in:normal", "Graph-21.f32.conv-relu.in:lattice"),
        ("Graph-20.f32.conv-relu.in:lattice", "Graph-21.f32.conv-relu.in:lattice"),
        ("Graph-21.f8.conv-relu.in:lattice", "f32"),
    ],
)
def test_what_is_no_id_is_refused(case_id, said):
    with pytest.raises(CaseIdError, match=said):
        parse(case_id)


def test_a_type_that_an_operator_has_not_is_refused():
    with pytest.raises(CaseIdError, match="ONNX refuses the graph"):
        parse("Graph-21.i32.conv-relu.in:lattice").model  # noqa: B018
