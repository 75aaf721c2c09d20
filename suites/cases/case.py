"""A case: one single-node ONNX model and its deterministic inputs, both made from the id alone."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper, shape_inference

from reference import dtypes, evaluator
from suites.cases import inputs
from suites.cases.errors import CaseIdError
from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import RECIPES

OLDEST_IR = 8
"""IR version of models whose opset would allow an older one; IR 4 made initialisers that are no graph inputs
possible.
"""

LARGEST = 2**31
"""Bytes of an output."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One operator case; two cases with the same id are equal, bit for bit. Made by `identifier.parse`.

    Models and inputs are built when first asked for and kept as long as the case lives.
    """

    id: str
    node: Node = dataclasses.field(repr=False, compare=False)

    @property
    def operator(self) -> str:
        return self.node.operator

    @property
    def domain(self) -> str:
        return self.node.domain

    @property
    def opset(self) -> int:
        """Version of the domain that the model imports."""
        return self.node.schema.opset

    @property
    def dtype(self) -> str:
        """Name of the main type, such as "float32"."""
        return self.node.dtype

    @property
    def recipe(self) -> str | None:
        """How the tensors get their values, None if there is no tensor."""
        return self.node.recipe

    @property
    def is_random(self) -> bool:
        """Whether the statistics of rounding errors over the outputs may be judged."""
        return self.recipe is not None and RECIPES[self.recipe].random

    @property
    def family(self) -> str:
        """Module of suites/cases/operators whose tables hold the operator, "other" if none does."""
        from suites.cases import operators  # whose tables are only read here

        return operators.family(self.domain, self.operator)

    @functools.cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Every input of the node by name."""
        return {
            entry.name: inputs.as_array(entry) if isinstance(entry, Parameter) else inputs.generate(self.id, self.node, entry)
            for entry in self.node.inputs
        }

    @functools.cached_property
    def feeds(self) -> dict[str, NDArray[Any]]:
        """Graph inputs by name, in the graph's order."""
        return {e.name: self._arrays[e.name] for e in self.node.inputs if not self.node.is_initializer(e)}

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        """The model, checked by strict shape inference. Raises CaseIdError if ONNX finds the node impossible."""
        model = self._build(self.node)
        inferred = self._infer(model)
        if self.node.feed:
            # Parameters that are fed can hide even the rank from inference; stored, they show it.
            stored = self._infer(self._build(dataclasses.replace(self.node, feed=())))
            for output, known in zip(inferred.graph.output, stored.graph.output, strict=True):
                _take_rank(output.type.tensor_type, known.type.tensor_type)
        self._describe_outputs(model, inferred)
        return model

    def _build(self, node: Node) -> onnx.ModelProto:
        """The model of a node with this case's values; its outputs are not yet described."""
        graph = helper.make_graph(
            [helper.make_node(node.operator, _positions(node), node.output_names, node.operator, domain=node.domain)],
            node.operator,
            [_value_info(e) for e in node.inputs if not node.is_initializer(e)],
            [onnx.ValueInfoProto(name=name) for name in node.output_names],
            [numpy_helper.from_array(self._arrays[e.name], e.name) for e in node.inputs if node.is_initializer(e)],
        )
        # One by one and in the schema's order: make_node sorts keywords and drops empty lists.
        graph.node[0].attribute.extend(_attribute(node, name, value) for name, value in node.attributes)
        imports = [helper.make_opsetid(node.domain, self.opset)]
        if node.domain:
            imports.insert(0, helper.make_opsetid("", 21))
        version = max(OLDEST_IR, helper.find_min_ir_version_for(imports, ignore_unknown=True))
        return helper.make_model(graph, producer_name="npu-cts", opset_imports=imports, ir_version=version)

    def _infer(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """The model with what ONNX infers of its outputs. Raises CaseIdError if it refuses the node."""
        if self.operator == "GatherND" and int(self.node.attribute("batch_dims", 0)) < 0:  # shape inference crashes on it
            raise CaseIdError(f"case id {self.id[:120]}: batch_dims is negative")
        try:
            return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        except (shape_inference.InferenceError, RuntimeError) as error:
            text = " ".join(str(error).split())
            raise CaseIdError(f"case id {self.id[:120]}: ONNX refuses the node: {text}") from None

    def _describe_outputs(self, model: onnx.ModelProto, inferred: onnx.ModelProto) -> None:
        """Types and shapes of the outputs as inferred; what inference cannot tell follows from the schema and the reference."""
        node = self.node
        formals = node.schema.outputs
        results = self._results(model) if any(_is_open(output) for output in inferred.graph.output) else []
        for i, (output, found) in enumerate(zip(model.graph.output, inferred.graph.output, strict=True)):
            output.CopyFrom(found)
            tensor = output.type.tensor_type
            typed = tensor.elem_type != 0
            if not typed:
                tensor.elem_type = dtypes.ONNX[node.type_of(formals[min(i, len(formals) - 1)]) or node.dtype]
            if _is_open(found):
                if not typed and dtypes.is_float(dtypes.NAMES[tensor.elem_type]) != (results[i].dtype.kind == "f"):
                    real = results[i].dtype.kind == "f"
                    tensor.elem_type = dtypes.ONNX["float32" if real else dtypes.name_of(results[i].dtype)]
                known = [{} if node.feed else {"dim_value": size} for size in results[i].shape]
                tensor.shape.dim.extend(onnx.TensorShapeProto.Dimension(**size) for size in known)
            count = math.prod(d.dim_value for d in tensor.shape.dim if d.dim_value)
            if count * dtypes.numpy_dtype(dtypes.NAMES[tensor.elem_type]).itemsize > LARGEST:
                raise CaseIdError(f"case id {self.id[:120]}: output {output.name} is larger than {LARGEST} bytes")

    def _results(self, model: onnx.ModelProto) -> list[NDArray[Any]]:
        """What the reference makes of the case. Raises CaseIdError if it refuses the node."""
        try:
            return list(evaluator.evaluate(model, self.feeds).values())
        except (evaluator.EvaluationError, ValueError) as error:
            raise CaseIdError(f"case id {self.id[:120]}: the reference refuses the node: {error}") from None

    @functools.cached_property
    def model_bytes(self) -> bytes:
        """The model in protobuf's deterministic serialisation."""
        return bytes(self.model.SerializeToString(deterministic=True))

    @functools.cached_property
    def output_dtypes(self) -> tuple[str, ...]:
        """Dtype names of the outputs, in the graph's order."""
        return tuple(dtypes.NAMES[output.type.tensor_type.elem_type] for output in self.model.graph.output)


def _is_open(output: onnx.ValueInfoProto) -> bool:
    """Whether shape inference does not even tell an output's rank."""
    return not output.type.tensor_type.HasField("shape")


def _take_rank(tensor: onnx.TypeProto.Tensor, known: onnx.TypeProto.Tensor) -> None:
    """The known rank for a tensor without one; its dimensions stay unknown."""
    if known.HasField("shape") and not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        tensor.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in known.shape.dim)


def _positions(node: Node) -> list[str]:
    """Names of the node's inputs by position, "" where an optional one is left out before others."""
    names: list[str] = []
    for formal in node.schema.inputs:
        given = [entry.name for entry in node.inputs if node.schema.formal(entry.name) is formal]
        names += given or [""]
    while names and not names[-1]:
        names.pop()
    return names


def _value_info(entry: Tensor | Parameter) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(entry.name, dtypes.ONNX[entry.dtype], entry.shape)


def _attribute(node: Node, name: str, value: Any) -> onnx.AttributeProto:
    kind = node.schema.attributes[name]
    if kind == "TENSOR":
        array = inputs.as_array(Parameter(name, (value,), node.dtype))
        return helper.make_attribute(name, numpy_helper.from_array(array, name))
    code = onnx.AttributeProto.AttributeType.Value(kind)
    if kind.startswith("FLOAT"):  # as stored, so that protobuf has nothing left to round
        value = np.float32(value).tolist()
    return helper.make_attribute(name, value, attr_type=code)
