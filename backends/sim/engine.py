"""What the simulated device computes with: ONNX Runtime's CPU kernels, one thread, no optimisation of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import ortvalue
from backends.elements import Element
from backends.interface import CompileError, OutOfMemory, RunError, TensorSpec, Unsupported


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
        self.inputs: Sequence[TensorSpec] = [self._spec(node) for node in self._session.get_inputs()]
        self.outputs: Sequence[TensorSpec] = [self._spec(node) for node in self._session.get_outputs()]

    def _spec(self, node: Any) -> TensorSpec:
        """Sizes are those of NumPy's arrays: this device keeps types smaller than a byte one element a byte."""
        element = ortvalue.element_of(node.type)
        self._elements[node.name] = element
        shape = tuple(d if isinstance(d, int) and d >= 0 else None for d in node.shape or ())
        if element is None:
            return TensorSpec(node.name, shape, node.type)
        fixed = [d for d in shape if d is not None]
        sized = len(fixed) == len(shape) and element.name != "str"
        nbytes = int(np.prod(fixed, dtype=np.int64)) * element.numpy.itemsize if sized else None
        return TensorSpec(node.name, shape, element.name, nbytes=nbytes)

    def numpy(self, name: str) -> np.dtype:
        """The array type of one input or output. Raises Unsupported for sequences and the like."""
        element = self._elements[name]
        if element is None:
            raise Unsupported(f"{name} is no tensor: it has no buffer", phase="allocate")
        return element.numpy

    def run(self, feeds: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """One inference; the arrays in `outputs` are written in place. Raises RunError, OutOfMemory."""
        try:
            results = ortvalue.run(self._session, self._elements, feeds)
        except Exception as error:
            failure = OutOfMemory if "Failed to allocate memory" in str(error) else RunError
            raise failure(str(error), phase="run", code=type(error).__name__) from error
        for name, target in (outputs or {}).items():
            if target.shape != results[name].shape or target.dtype != results[name].dtype:
                raise RunError(
                    f"output {name} is {results[name].dtype}{list(results[name].shape)}, "
                    f"bound to {target.dtype}{list(target.shape)}",
                    code="output_mismatch",
                )
            target[...] = results[name]
        return results

    def release(self) -> None:
        self._session = None
