"""Judges small graphs by the bounds that their nodes have one after the other (`chains`). Where operands make every sum exact,
no order, fusion or accumulator may change a bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from reference import dtypes
from reference.node import Array
from reference.verify import chains, rewrites, verify
from reference.verify.diagnosis import Diagnosis
from reference.verify.profile import Profile
from reference.verify.verdict import TensorVerdict, judge


class GraphJudge:
    """A graph with its feeds and the arithmetic that it is held to: judges any number of inferences."""

    def __init__(self, model: onnx.ModelProto, feeds: Mapping[str, Array], profile: Profile) -> None:
        self.model, self.feeds, self.profile = model, feeds, profile
        self.expected = chains.expected(model, feeds, profile)

    def verify(self, outputs: Mapping[str, Array]) -> list[TensorVerdict]:
        """One verdict for each graph output. Of the wrong outputs, the one whose node had only right operands, as far as they
        are outputs too, is diagnosed as that node; where there is none, the message of the first says which part of the graph
        it lacks, if that is all that is wrong."""
        verdicts = [self._judged(output.name, outputs) for output in self.model.graph.output]
        wrong = {v.name for v in verdicts if v.status == "mismatch"}
        if not wrong:
            return verdicts
        right = {**self.feeds, **{t.name: numpy_helper.to_array(t) for t in self.model.graph.initializer}}
        right |= {name: expected.value for name, (expected, _) in self.expected.items()}
        verdicts = [
            dataclasses.replace(v, diagnosis=_diagnosed(self.model, right, outputs, v.name, wrong, self.profile))
            for v in verdicts
        ]
        if not any(v.diagnosis for v in verdicts):
            i = next(i for i, v in enumerate(verdicts) if v.status == "mismatch")
            verdicts[i] = self._rewritten(verdicts[i], outputs)
        return verdicts

    def _rewritten(self, verdict: TensorVerdict, outputs: Mapping[str, Array]) -> TensorVerdict:
        """The verdict with what the output is equal to."""
        if verdict.tier == "shape":
            return verdict
        lost = rewrites.fitting(self.model, self.feeds, self.profile, verdict.name, np.asarray(outputs[verdict.name]))
        return dataclasses.replace(verdict, message=f"{verdict.message}; equal to the graph {lost}") if lost else verdict

    def _judged(self, name: str, outputs: Mapping[str, Array]) -> TensorVerdict:
        if name not in outputs:
            return TensorVerdict(name, "mismatch", f"the compiled model has no output {name}", tier="shape")
        expected, reduced = self.expected[name]
        verdict = judge(expected, np.asarray(outputs[name]))
        return dataclasses.replace(verdict, status="pass_reduced") if reduced and verdict.status == "pass" else verdict


def verify_graph(
    model: onnx.ModelProto, feeds: Mapping[str, Array], outputs: Mapping[str, Array], profile: Profile
) -> list[TensorVerdict]:
    """One verdict for each graph output of one inference."""
    return GraphJudge(model, feeds, profile).verify(outputs)


def _diagnosed(
    model: onnx.ModelProto, right: Mapping[str, Any], outputs: Mapping[str, Array], name: str, wrong: Set[str], profile: Profile
) -> tuple[Diagnosis, ...]:
    """What the node that made a wrong output did, if its operands are known to be right."""
    made = {output: node for node in model.graph.node for output in node.output}
    node = made.get(name)
    if name not in wrong or node is None:
        return ()
    types = {v.name: v.type for v in (*model.graph.input, *model.graph.output)}
    types |= {t.name: helper.make_tensor_type_proto(t.data_type, t.dims) for t in model.graph.initializer}
    operands = [operand for operand in dict.fromkeys(node.input) if operand]
    if any(operand in wrong or operand not in types or operand not in right for operand in operands):
        return ()
    arrays = {n: dtypes.cast(right[n], dtypes.NAMES[types[n].tensor_type.elem_type]) for n in operands}
    single = helper.make_model(
        helper.make_graph(
            [node],
            node.op_type,
            [onnx.ValueInfoProto(name=operand, type=types[operand]) for operand in operands],
            [onnx.ValueInfoProto(name=output, type=types[output]) for output in node.output if output in types],
        ),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )
    judged = verify(single, arrays, {output: outputs[output] for output in node.output if output in outputs}, profile)
    return next((v.diagnosis for v in judged if v.name == name), ())
