"""Faulty devices for single nodes: what they return, and what diagnosis makes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper

from reference import dtypes
from reference.evaluator import evaluate
from reference.node import Array
from reference.verify import TensorVerdict, verify

Device = Callable[..., Array]
"""Computes the node on inputs and with changed attributes, rounded once to the type of its output."""


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    """Standard normal data in a tensor type."""
    return dtypes.cast(np.random.default_rng([seed, *shape]).standard_normal(shape), dtype)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A node and what a faulty device makes of it.

    word: the cause. inputs: None for one that is left out. broken: from the right device and the inputs to the output number
    `index`; outputs: types of all. text: part of the sentence of the diagnosis. random, previous: as `verify` takes them.
    """

    word: str
    operator: str
    inputs: tuple[Array | None, ...]
    broken: Callable[..., Array]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    outputs: tuple[str, ...] = ("float32",)
    version: int = 22
    text: str = ""
    index: int = 0
    domain: str = ""
    random: bool = False
    previous: tuple[Array, ...] = ()

    def model(self, inputs: tuple[Array | None, ...] | None = None, **changed: Any) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The node as a model of its own with its feeds; attributes that are None are not given."""
        inputs = self.inputs if inputs is None else inputs
        attributes = {k: v for k, v in {**self.attributes, **changed}.items() if v is not None}
        names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
        feeds = {n: np.asarray(x) for n, x in zip(names, inputs, strict=True) if x is not None}
        results = [f"y{i}" for i in range(len(self.outputs))]
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, results, domain=self.domain, **attributes)],
            "faulty",
            [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
            [helper.make_tensor_value_info(n, dtypes.ONNX[t], None) for n, t in zip(results, self.outputs, strict=True)],
        )
        opsets = [helper.make_opsetid("", self.version), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds

    def run(self, *inputs: Array | None, output: int | None = None, **changed: Any) -> Array:
        """What a right device returns for such inputs and attributes."""
        model, feeds = self.model(tuple(inputs), **changed)
        at = self.index if output is None else output
        return self.stored(evaluate(model, feeds)[f"y{at}"], at)

    def stored(self, y: Array, output: int | None = None) -> Array:
        """Rounded once to the type of that output, as it is where that is no floating-point type."""
        dtype = self.outputs[self.index if output is None else output]
        return dtypes.cast(np.asarray(y), dtype) if dtypes.is_float(dtype) else np.asarray(y).astype(dtypes.numpy_dtype(dtype))

    def verdict(self, got: Array) -> TensorVerdict:
        """The verdict on that output; all others are right."""
        model, feeds = self.model()
        outputs = {f"y{i}": self.run(*self.inputs, output=i) for i in range(len(self.outputs))}
        given = {**outputs, f"y{self.index}": got}
        return verify(model, feeds, given, random=self.random, previous=self.previous)[self.index]

    def faulty(self) -> Array:
        """What the faulty device returns."""
        return self.stored(self.broken(self.run, *self.inputs))


def assert_named(fault: Fault) -> None:
    """The faulty output is a mismatch whose best diagnosis is the cause, and says so in the words expected."""
    verdict = fault.verdict(fault.faulty())
    assert verdict.status == "mismatch", verdict
    found = [(d.cause, d.text, d.matched, d.elements) for d in verdict.diagnosis]
    assert found, "no diagnosis"
    assert found[0][0] == fault.word, found
    assert fault.text in verdict.diagnosis[0].text, found


def assert_right_passes(fault: Fault) -> None:
    """The right output passes, without a diagnosis."""
    verdict = fault.verdict(fault.run(*fault.inputs))
    assert verdict.status == "pass", verdict
    assert not verdict.diagnosis


def assert_noise_is_unexplained(fault: Fault, causes: frozenset[str]) -> None:
    """No cause among `causes` is named for an output that has nothing to do with the right one."""
    y = fault.faulty()
    noise = np.random.default_rng(5).standard_normal(y.shape) * (np.std(y.astype(np.float64)) or 1.0)
    verdict = fault.verdict(fault.stored(noise))
    assert verdict.status == "mismatch"
    assert not [d for d in verdict.diagnosis if d.cause in causes], verdict.diagnosis
