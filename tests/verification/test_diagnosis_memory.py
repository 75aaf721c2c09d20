"""Memory that nobody wrote is told from results: by its pattern, or by bytes that are as random as they are unrelated."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from reference.verify import verify
from tests.verification import single_nodes
from tests.verification.broken import Fault, assert_named, assert_right_passes, normal

RNG = np.random.default_rng(3)
X = normal(5, 9, 31)
BYTES = RNG.integers(0, 256, (24, 37)).astype(np.uint8)
LONGS = RNG.integers(-(2**31), 2**31, (24, 37)).astype(np.int32)
SCALE, ZERO = np.array(0.04, np.float32), np.array(119, np.uint8)


def anything(y):
    """Random bytes in the tensor's own type."""
    return np.random.default_rng(11).integers(0, 256, y.nbytes, np.uint8).view(y.dtype).reshape(y.shape)


def cast(to, word="uninitialised", broken=lambda run, x: anything(run(x)), x=X, text="as in memory"):
    return Fault(word, "Cast", (x,), broken, {"to": getattr(TensorProto, to.upper())}, outputs=(to,), text=text)


QUANTISED = Fault(
    "uninitialised",
    "QuantizeLinear",
    (normal(7, 8, 19), SCALE, ZERO),
    lambda run, *x: anything(run(*x)),
    outputs=("uint8",),
    text="every byte value",
)

FAULTS = [
    QUANTISED,
    cast("float16"),
    cast("int32", x=X * 100),
    cast("int8", x=LONGS),
    Fault("uninitialised", "Tanh", (X,), lambda run, x: anything(run(x)), text="memory that nobody wrote"),
    cast("int8", broken=lambda run, x: 0 * run(x), x=LONGS, text="0 everywhere"),
    Fault("uninitialised", "Gemm", (normal(9, 13), normal(13, 7)), lambda run, a, b: 0 * run(a, b), text="0 everywhere"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.operator}-{f.outputs[0]}")
def test_memory_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.operator}-{f.outputs[0]}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


OTHERWISE_WRONG = {
    "shuffled": lambda y: np.random.default_rng(2).permutation(y.reshape(-1)).reshape(y.shape),
    "multiplied": lambda y: y * np.uint8(3),
    "one bit flipped": lambda y: y ^ np.uint8(0x20),
    "other data": lambda y: np.clip(np.rint(normal(*y.shape, seed=8) * 25 + 119), 0, 255).astype(np.uint8),
}


@pytest.mark.parametrize("how", OTHERWISE_WRONG)
def test_numbers_are_no_memory_that_nobody_wrote(how):
    """Uniform bytes in another order, or those that depend on the right ones; numbers of other data."""
    fault = QUANTISED
    if how != "other data":
        fault = Fault("uninitialised", "Identity", (BYTES,), lambda run, x: x, outputs=("uint8",))
    verdict = fault.verdict(OTHERWISE_WRONG[how](fault.run(*fault.inputs)))
    assert verdict.status == "mismatch"
    assert "uninitialised" not in [d.cause for d in verdict.diagnosis], verdict.diagnosis


def test_few_bytes_say_nothing():
    fault = Fault("uninitialised", "Identity", (BYTES[:3, :5],), lambda run, x: anything(x), outputs=("uint8",))
    assert "uninitialised" not in [d.cause for d in fault.verdict(fault.faulty()).diagnosis]


def late(other_shape=False):
    """The verdict on a device that returns what the case before asked for, within its tolerance but not to the bit."""
    now, feeds = single_nodes.model("Softmax", [normal(4, 33, seed=1)], ("float32",), 13)
    earlier = normal(33, 4, seed=2) if other_shape else normal(4, 33, seed=2)
    before = single_nodes.model("Softmax", [earlier], ("float32",), 13)
    x = before[1]["x0"].astype(np.float64)
    right = np.exp(x - x.max(-1, keepdims=True))
    got = (right / right.sum(-1, keepdims=True)).astype(np.float32) * np.float32(1 + 2**-23)
    return verify(now, feeds, {"y0": got.reshape(4, 33)}, previous=(np.zeros((4, 33), np.float32),), before=before)[0]


def test_a_result_that_is_one_run_late_is_stale():
    found = late()
    assert found.status == "mismatch"
    assert found.diagnosis[0].cause == "stale"
    assert found.diagnosis[0].complete
    assert "one run late" in found.diagnosis[0].text


def test_a_result_of_another_shape_cannot_be_late():
    assert all(d.cause != "stale" for d in late(other_shape=True).diagnosis)


def test_a_case_before_that_the_reference_refuses_is_no_help():
    now, feeds = single_nodes.model("Relu", [normal(4, 33)], ("float32",), 14)
    before = single_nodes.model("Reshape", [normal(4, 33), np.array([5, 5])], ("float32",), 14)
    found = verify(now, feeds, {"y0": np.ones((4, 33), np.float32)}, before=before)[0]
    assert (found.status, found.tier) == ("mismatch", "exact")


@pytest.mark.parametrize(("got", "named"), [([["c", ""], ["", ""]], True), ([["c", ""], ["x", ""]], False)])
def test_empty_strings_were_never_written(got, named):
    data = helper.make_tensor_value_info("x0", TensorProto.STRING, [2, 2])
    indices = helper.make_tensor_value_info("x1", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y0", TensorProto.STRING, None)
    graph = helper.make_graph([helper.make_node("Gather", ["x0", "x1"], ["y0"])], "g", [data, indices], [y])
    feeds = {"x0": np.array([["a", "bb"], ["c", ""]], object), "x1": np.array([1, 0])}
    opset = [helper.make_opsetid("", 13)]
    found = verify(helper.make_model(graph, opset_imports=opset), feeds, {"y0": np.array(got, object)})[0]
    assert "expected 'a' exactly" in found.message
    assert [d.cause for d in found.diagnosis] == ["uninitialised"] * named
