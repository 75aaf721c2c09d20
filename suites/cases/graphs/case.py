"""A graph of the tables as a case: its model, weights and feeds from the id alone."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, shape_inference

from reference import dtypes
from reference.evaluator import evaluate
from suites.cases.case import Case
from suites.cases.errors import CaseIdError
from suites.cases.graphs.text import Parsed, parse
from suites.cases.inputs import store
from suites.cases.recipes import Draw, integer_range

DENSITY = 0.4
"""Share of weights that are not zero."""

FIXED = {"v": 1.0, "whigh": 2.0}
"""Weights of a lattice that are no random numbers: variances and limits."""

REACH = {4: 3, 8: 100, 16: 1000, 32: 50, 64: 5}
"""Bits of an integer type → how far data lies from the middle of its range (of 0 for 32 and 64 bits)."""

QUANTISED = ("int8", "uint8", "int16", "uint16")
"""Types of intermediate tensors that are outputs with `outputs:all` beside the main type; shapes and conditions are not."""

_SHORT = {name: short for short, name in dtypes.SHORT.items()}


@dataclasses.dataclass(frozen=True)
class GraphCase(Case):
    """A graph; `node` only names it."""

    text: str = dataclasses.field(default="", repr=False, compare=False)
    everything: bool = False

    @property
    def opset(self) -> int:
        return self.node.version

    @property
    def is_random(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return "graph"

    @functools.cached_property
    def feeds(self) -> dict[str, NDArray[Any]]:
        return {v.name: self._values(v) for v in self._parsed.model.graph.input if not self._is_weight(v.name)}

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        model = onnx.ModelProto()
        model.CopyFrom(self._parsed.model)
        graph = model.graph
        weights = [v for v in graph.input if self._is_weight(v.name)]
        graph.initializer.extend(numpy_helper.from_array(self._values(v), v.name) for v in weights)
        kept = [v for v in graph.input if not self._is_weight(v.name)]
        del graph.input[:]
        graph.input.extend(kept)
        for index, node in enumerate(graph.node):
            node.name = f"{node.op_type}_{index}"
        try:
            inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        except (shape_inference.InferenceError, RuntimeError) as error:
            raise CaseIdError(f"case id {self.id}: ONNX refuses the graph: {' '.join(str(error).split())}") from None
        for output, found in zip(graph.output, inferred.graph.output, strict=True):
            if not output.HasField("type"):
                output.CopyFrom(found)
        if self.everything:
            named = {v.name for v in graph.output}
            inner = [v for v in inferred.graph.value_info if v.name not in named]
            types = {dtypes.ONNX[name] for name in (self.dtype, *QUANTISED)}
            graph.output.extend(v for v in inner if v.type.tensor_type.elem_type in types)
        self._describe_shapes(model)
        return model

    def _describe_shapes(self, model: onnx.ModelProto) -> None:
        """Shapes of outputs that depend on values, as those of sequences' elements do."""
        unknown = [v for v in model.graph.output if not _is_known(v.type.tensor_type)]
        values = evaluate(model, self.feeds, [v.name for v in unknown]) if unknown else {}
        for output in unknown:
            shape = output.type.tensor_type.shape
            shape.Clear()
            output.type.tensor_type.shape.SetInParent()
            shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=n) for n in values[output.name].shape)

    @functools.cached_property
    def with_everything(self) -> GraphCase:
        """The same graph with every intermediate tensor as an output."""
        return dataclasses.replace(self, id=self.id.replace(".in:", ".outputs:all.in:"), everything=True)

    @functools.cached_property
    def _parsed(self) -> Parsed:
        return parse(self.text, _SHORT[self.dtype], self.opset)

    def _is_weight(self, name: str) -> bool:
        return name.startswith(("w", "v")) or name in self._parsed.constants

    def _values(self, value: onnx.ValueInfoProto) -> NDArray[Any]:
        """The values of an input, from its name and type: as written out; integers of a quantised type around the middle of
        their range, weights among them up to 3; reals by the recipe."""
        tensor = value.type.tensor_type
        dtype = dtypes.NAMES[tensor.elem_type]
        shape = tuple(d.dim_value for d in tensor.shape.dim)
        count = math.prod(shape)
        draw = Draw(self.id.replace(".outputs:all", ""), value.name)
        if value.name in self._parsed.constants:
            written = np.asarray(self._parsed.constants[value.name])
            values = np.full(count, written[0]) if written.size == 1 else written
        elif dtype == "bool":
            values = draw.below(count, 2)
        elif not dtypes.is_float(dtype) and dtype != self.dtype:
            values = self._quantised(draw, count, dtype, self._is_weight(value.name))
        elif value.name.startswith("p"):
            # Multiples of 1/8 up to 65 that are not half-way between multiples of 1/2.
            values = (4 * (draw.below(count, 261) - 130) + draw.below(count, 3) - 1) / 8
        elif self.recipe == "normal":
            values = self._normal(draw, count, value.name)
        else:
            values = self._lattice(draw, count, value.name, shape)
        return store(np.asarray(values).reshape(shape), dtype)

    @staticmethod
    def _quantised(draw: Draw, count: int, dtype: str, weight: bool) -> NDArray[Any]:
        low, high = integer_range(dtype)
        bits = (high - low).bit_length()
        reach = 3 if weight and bits < 32 else REACH[bits]
        middle = (high + 1) // 2 if low == 0 else 0
        return draw.below(count, 2 * reach + 1) - reach + middle

    @staticmethod
    def _normal(draw: Draw, count: int, name: str) -> NDArray[Any]:
        """Nearly normal, variances between 1/2 and 3/2."""
        return draw.fraction(count) + 0.5 if name.startswith("v") else draw.normal(count)

    def _lattice(self, draw: Draw, count: int, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        """Integers from −1 to 1, whose sums stay far below 2^8, factors and biases without 0."""
        values = (draw.below(count, 3) - 1).astype(np.float64)
        if name in FIXED:
            return np.full(count, FIXED[name])
        if not self._is_weight(name):
            return values
        sums = len(shape) > 1 and shape[1:] != (1, 1)
        return np.where(draw.fraction(count) < DENSITY, values, 0) if sums else np.where(values, values, 2)


def _is_known(tensor: onnx.TypeProto.Tensor) -> bool:
    return tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)
