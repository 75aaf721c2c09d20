"""One operator call: its inputs as reals, its exact result, and the same call on other inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from reference import evaluator

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Node:
    """An operator call. `inputs` are float64 for floating-point tensors; `types` and `output_types` are the declared types.

    `results`, `output_types` and `output_names` go by position up to the last output that the node names; the name of one
    that it leaves out is empty.
    """

    operator: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    types: tuple[str | None, ...]
    attributes: Mapping[str, Any]
    output_types: tuple[str, ...]
    results: tuple[Array, ...]
    output_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Node:
        """The only node of a model, evaluated. Raises EvaluationError, and ValueError for a model of several nodes."""
        if len(model.graph.node) != 1:
            raise ValueError(f"a single-node model is expected, this one has {len(model.graph.node)} nodes")
        return next(cls.each(model, feeds))

    @classmethod
    def each(
        cls, model: onnx.ModelProto, feeds: Mapping[str, Array], given: Mapping[str, Array] | None = None
    ) -> Iterator[Node]:
        """The nodes of a model's main graph in order, each evaluated.

        given: intermediate tensors as a device computed them, in their declared types; a node that reads one is evaluated
        on it, so that every node answers for its own error only. Raises EvaluationError.
        """
        for step in evaluator.steps(model, feeds, given):
            yield cls.evaluated(step)

    @classmethod
    def evaluated(cls, step: evaluator.Step) -> Node:
        """A node that the evaluator has come past."""
        return cls(
            step.call.operator,
            step.call.domain,
            step.call.version,
            tuple(None if v is None else v.data for v in step.inputs),
            tuple(None if v is None else v.type for v in step.inputs),
            step.attributes,
            tuple(v.type or "" for v in step.outputs),
            tuple(v.data for v in step.outputs),
            tuple(step.call.outputs),
        )

    def again(self, inputs: Sequence[Array | None], **changed: Any) -> tuple[Array, ...]:
        """The same operator on other inputs, with some attributes changed."""
        n = len(self.output_types)
        changed = {**self.attributes, **changed}
        return evaluator.apply(self.operator, self.version, inputs, changed, domain=self.domain, types=self.types, n_outputs=n)[
            :n
        ]

    def real(self, index: int) -> NDArray[np.float64]:
        """Input number `index` as float64."""
        x = self.inputs[index]
        assert x is not None
        return x.astype(np.float64)

    def given(self, index: int) -> bool:
        """Whether input number `index` is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute, or ONNX's default for it."""
        return self.attributes.get(name, default)
