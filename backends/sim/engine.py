"""What the simulated device computes with: ONNX Runtime's CPU kernels, one thread, no optimisation of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from backends import ortvalue
from backends.elements import Element
from backends.interface import CompileError, OutOfMemory, RunError, TensorSpec


class Engine:
    """A model ready to run. Without optimisation no cast that rounds is dropped and no two nodes are fused."""

    def __init__(self, model: bytes) -> None:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        settings.intra_op_num_threads = 1
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session: Any = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise CompileError(str(error), code=type(error).__name__, accepted=True) from error
        self._elements: dict[str, Element | None] = {}
        nodes = (*self._session.get_inputs(), *self._session.get_outputs())
        unranked = _without_rank(model) if any(not node.shape for node in nodes) else frozenset()
        self.inputs: Sequence[TensorSpec] = [self._spec(node, unranked) for node in self._session.get_inputs()]
        self.outputs: Sequence[TensorSpec] = [self._spec(node, unranked) for node in self._session.get_outputs()]

    def _spec(self, node: Any, unranked: frozenset[str]) -> TensorSpec:
        """`nbytes` are those of the packed elements, None where only a run can tell."""
        element = ortvalue.element_of(node.type)
        self._elements[node.name] = element
        shape = tuple(d if isinstance(d, int) and d >= 0 else None for d in node.shape or ())
        if element is None:
            return TensorSpec(node.name, shape, node.type)
        fixed = [d for d in shape if d is not None]
        sized = len(fixed) == len(shape) and element.name != "str" and node.name not in unranked
        return TensorSpec(node.name, shape, element.name, nbytes=element.nbytes(fixed) if sized else None)

    def element(self, name: str) -> Element | None:
        """The element type of one input or output, None for sequences and the like."""
        return self._elements[name]

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """One inference: arrays by input name → arrays by output name. Raises RunError, OutOfMemory."""
        try:
            return ortvalue.run(self._session, self._elements, feeds)
        except Exception as error:
            failure = OutOfMemory if "Failed to allocate memory" in str(error) else RunError
            raise failure(str(error), phase="run", code=type(error).__name__) from error

    def release(self) -> None:
        self._session = None


def _without_rank(model: bytes) -> frozenset[str]:
    """Inputs and outputs of unknown rank, whose shape the engine gives as that of a scalar."""
    graph = onnx.load_from_string(model).graph
    return frozenset(v.name for v in (*graph.input, *graph.output) if not v.type.tensor_type.HasField("shape"))
