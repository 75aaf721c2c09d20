"""Judges small graphs whose operands make every sum exact, so that no order, fusion or accumulator may change a bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from reference import dtypes
from reference.evaluator import evaluate
from reference.node import Array
from reference.verify import verify
from reference.verify.arithmetic import DEFAULT, RUNGS
from reference.verify.compare import Expected
from reference.verify.diagnosis import Diagnosis
from reference.verify.profile import Profile
from reference.verify.verdict import TensorVerdict, judge

ROUNDINGS = {"BatchNormalization": 8}
"""Operators that round even on integers, and how often: four of sums and differences, root, reciprocal, two products."""

EXACT_BITS = 11
"""Integers up to 2^11 are exact in every format from float16 on."""


def verify_graph(
    model: onnx.ModelProto, feeds: Mapping[str, Array], outputs: Mapping[str, Array], profile: Profile
) -> list[TensorVerdict]:
    """One verdict for each graph output, by the reference's values: to the bit, but for nodes of `ROUNDINGS`, whose relative
    roundings count against the largest magnitude that each output could have (the graph of absolute values).

    Inconclusive where magnitudes exceed 2^11: then sums are not exact in every arithmetic. Of the wrong outputs, the one whose
    node had only right operands, as far as they are outputs too, is diagnosed as that node.
    """
    everything = [name for node in model.graph.node for name in node.output if name]
    right = {**feeds, **{t.name: numpy_helper.to_array(t) for t in model.graph.initializer}}
    right |= evaluate(model, feeds, everything)
    largest = evaluate(_magnitudes(model), {name: np.abs(x) for name, x in feeds.items()})
    roundings = sum(ROUNDINGS.get(node.op_type, 0) for node in model.graph.node)
    verdicts = []
    for output in model.graph.output:
        name, dtype = output.name, dtypes.NAMES[output.type.tensor_type.elem_type]
        if name not in outputs:
            verdicts.append(TensorVerdict(name, "mismatch", f"the compiled model has no output {name}", tier="shape"))
            continue
        y, magnitude = np.asarray(right[name]), np.abs(np.asarray(largest[name], np.float64))
        if magnitude.size and magnitude.max() > 2**EXACT_BITS:
            verdicts.append(TensorVerdict(name, "inconclusive", f"{name}: sums of up to {magnitude.max():g} need not be exact"))
            continue
        arithmetic = profile.arithmetic("normalization", dtype) or RUNGS[DEFAULT[dtype]]
        bound = np.expm1(roundings * np.log1p(arithmetic.rho * arithmetic.u)) * magnitude
        verdicts.append(judge(Expected(name, y, bound if roundings else 0.0, dtype), np.asarray(outputs[name])))
    wrong = {v.name for v in verdicts if v.status == "mismatch"}
    return [dataclasses.replace(v, diagnosis=_diagnosed(model, right, outputs, v.name, wrong, profile)) for v in verdicts]


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


def _magnitudes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The graph with absolute weights; means of batch normalisation, which are subtracted, negative."""
    absolute = onnx.ModelProto()
    absolute.CopyFrom(model)
    subtracted = {node.input[3] for node in model.graph.node if node.op_type == "BatchNormalization"}
    for tensor in absolute.graph.initializer:
        values = np.abs(numpy_helper.to_array(tensor))
        tensor.CopyFrom(numpy_helper.from_array(-values if tensor.name in subtracted else values, tensor.name))
    return absolute
