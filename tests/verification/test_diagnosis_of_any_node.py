"""Diagnosis answers for any node and any output: it never raises, and asks for no result far larger than the node's own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from reference import dtypes
from reference.node import Node
from reference.verify import Profile, setting_of
from reference.verify.diagnosis import DESCRIPTIONS, FAMILIES, Question, diagnose
from reference.verify.diagnosis.growth import excessive
from reference.verify.diagnosis.hypothesis import changed
from reference.verify.expectation import expectations
from tests.verification.broken import Fault, normal


def node(operator, inputs, outputs=("float32",), **attributes):
    return Node.of(*Fault("", operator, inputs, lambda run, *x: x, attributes, outputs).model())


def strings():
    """Two strings and one, concatenated."""
    graph = onnx.parser.parse_graph("g (string[2] a, string[1] b) => (string[3] y) { y = Concat <axis = 0> (a, b) }")
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)])
    return Node.of(model, {"a": np.array(["p", "q"], object), "b": np.array(["r"], object)})


PARAMETERS = tuple(np.abs(normal(3, seed=i)) + np.float32(0.5) for i in range(4))

NODES = [
    node("BatchNormalization", (normal(4, 3), *PARAMETERS)),
    node("BatchNormalization", (normal(5), *(normal(1) ** 2 for _ in range(4)))),
    node("ReduceSum", (normal(3, 0), np.array([1]))),
    node("ReduceLogSumExp", (normal(3, 0, 2), np.array([1]))),
    node("MatMul", (normal(3, 0), normal(0, 4))),
    node("MatMul", (normal(4), normal(4))),
    node("Softmax", (normal(1),)),
    node("Softmax", (normal(0, 3),)),
    node("Tanh", (np.float32(0.5),)),
    node("Add", (normal(2, 3), np.float32(1))),
    node("Conv", (normal(1, 4, 7), normal(4, 1, 3)), group=4),
    node("Conv", (normal(0, 2, 5, 5), normal(3, 2, 3, 3))),
    strings(),
    node("Expand", (normal(1, 3), np.array([2, 4, 3]))),
    node("Tile", (normal(2, 3), np.array([2, 3]))),
    node("ConstantOfShape", (np.array([3, 5]),)),
    node("Range", (np.float32(0), np.float32(9), np.float32(0.5))),
    node("Pad", (normal(2, 0), np.array([0, 1, 1, 1]))),
    node("Resize", (normal(1, 1, 2, 3), None, np.array([1, 1, 2, 2.5], np.float32)), mode="linear"),
    node("Slice", (normal(5, 4), np.array([-2]), np.array([9]))),
    node("Split", (normal(6, 2),), ("float32", "float32"), num_outputs=2),
    node("TopK", (normal(1, 5), np.array([2])), ("float32", "int64")),
    node("Transpose", (normal(2, 3, 1, 2, 1, 2),)),
    node("Equal", (np.arange(6), np.arange(6)[::-1].copy()), ("bool",)),
]


def mangled(y):
    """Outputs that have little to do with the right one."""
    yield y.reshape(-1)[::-1].reshape(y.shape)
    yield y.reshape(-1)[: y.size // 2]
    yield np.zeros_like(y) if y.dtype != object else np.full(y.shape, "", object)
    yield np.stack([y, y])
    yield y.T
    if y.dtype != object:
        yield y.astype(np.float64)


def questions(found):
    setting = setting_of(found, Profile())
    for i, expected in enumerate(expectations(found, setting)):
        exact = expected.value
        y = dtypes.cast(exact, expected.dtype) if dtypes.is_float(expected.dtype) else exact
        for got in mangled(y):
            yield Question(found, i, got, expected, setting, "tier 1")


@pytest.mark.parametrize("found", NODES, ids=lambda n: f"{n.operator}-{'-'.join(str(np.shape(x)) for x in n.inputs)}")
def test_no_family_raises(found):
    for question in questions(found):
        with np.errstate(all="ignore"):
            for family in FAMILIES:
                assert all(h.expected.value.shape == question.got.shape for h in family.hypotheses(question))
            assert all(list(family.described(question)) is not None for family in DESCRIPTIONS)
        assert all(d.matched <= d.elements for d in diagnose(question))


def test_a_family_that_raises_takes_no_verdict_away(monkeypatch):
    def hypotheses(question):
        raise IndexError("a family that does not know this node")

    for family in FAMILIES:
        monkeypatch.setattr(family, "hypotheses", hypotheses)
    for question in questions(NODES[0]):
        assert isinstance(diagnose(question), list)


@pytest.mark.parametrize(
    ("operator", "inputs", "others"),
    [
        ("Tile", (normal(2, 3), np.array([2, 3])), (normal(2, 3), np.array([2**31, 3]))),
        ("Expand", (normal(1, 3), np.array([2, 3])), (normal(1, 3), np.array([2**40, 3]))),
        ("Pad", (normal(2, 3), np.array([0, 1, 1, 1])), (normal(2, 3), np.array([0, 1, 1, -(2**31)]))),
        ("Range", (np.int64(0), np.int64(9), np.int64(3)), (np.int64(0), np.int64(2**40), np.int64(3))),
        ("Range", (np.float32(0), np.float32(9), np.float32(3)), (np.float32(0), np.float32(9), np.float32(0))),
    ],
)
def test_results_that_are_far_too_large_are_not_computed(operator, inputs, others):
    dtype = dtypes.name_of(inputs[0].dtype)
    found = node(operator, inputs, (dtype,))
    assert not excessive(found, found.inputs)
    with pytest.raises(ValueError, match="too large"):
        changed(found, others)
