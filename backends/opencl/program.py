"""What a model is compiled to: launches of kernels on named tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from backends.interface import Unsupported
from backends.opencl.elements import SCALARS
from backends.opencl.layout import Access

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a device computes: types of arithmetic, and whether its quotients and roots are correctly rounded."""

    computed: frozenset[str]
    divides: bool


@dataclasses.dataclass(frozen=True)
class Step:
    """One launch of a kernel. operands: output, then inputs. inner: loops inside a work item."""

    source: str
    operands: tuple[Access, ...]
    inner: tuple[Access, ...] = ()

    def renamed(self, old: str, new: str) -> Step:
        """The same launch on another tensor."""

        def on(accesses: Sequence[Access]) -> tuple[Access, ...]:
            return tuple(dataclasses.replace(a, tensor=new) if a.tensor == old else a for a in accesses)

        return Step(self.source, on(self.operands), on(self.inner))

    @property
    def in_place(self) -> bool:
        """Whether each work item reads nothing but the elements that lie where it will write."""
        return not self.inner

    @property
    def count(self) -> int:
        """Work items."""
        return self.operands[0].count


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Shape and type of a value of the graph."""

    shape: Shape
    dtype: str


@dataclasses.dataclass
class Program:
    """A compiled model. `nodes` are (label, operator) as the model has them."""

    target: Target
    tensors: dict[str, Tensor]
    inputs: list[str]
    outputs: list[str]
    constants: dict[str, np.ndarray]
    steps: list[Step] = dataclasses.field(default_factory=list)
    nodes: list[tuple[str, str]] = dataclasses.field(default_factory=list)


class Node:
    """A node being lowered: names, attributes and the tensors of the program."""

    def __init__(self, program: Program, proto: Any) -> None:
        from onnx import helper

        self.program = program
        self.operator: str = proto.op_type
        self.label: str = proto.name or next((name for name in proto.output if name), "")
        self.inputs: list[str] = list(proto.input)
        self.outputs: list[str] = [name for name in proto.output if name]
        self.attributes: dict[str, Any] = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self.temporaries = 0

    def tensor(self, name: str) -> Tensor:
        if name not in self.program.tensors:
            raise Unsupported(f"{self.operator} {self.label}: {name} has no static shape", code="opencl.shape")
        return self.program.tensors[name]

    @property
    def x(self) -> Tensor:
        return self.tensor(self.inputs[0])

    @property
    def y(self) -> Tensor:
        return self.tensor(self.outputs[0])

    def constant(self, index: int) -> np.ndarray | None:
        """The value of an operand that must not be fed; None where it is absent."""
        if index >= len(self.inputs) or not self.inputs[index]:
            return None
        if self.inputs[index] not in self.program.constants:
            raise Unsupported(f"{self.operator} {self.label}: {self.inputs[index]} is not constant", code="opencl.constant")
        return self.program.constants[self.inputs[index]]

    def temporary(self, like: Tensor) -> str:
        """A fresh value of the shape and type of another one."""
        self.temporaries += 1
        name = f"{self.label}/opencl/{len(self.program.steps)}/{self.temporaries}"
        self.program.tensors[name] = like
        return name

    def emit(self, source: str, *operands: Access, inner: Sequence[Access] = ()) -> None:
        self.program.steps.append(Step(source, operands, tuple(inner)))


def nbytes(tensor: Tensor) -> int:
    """Bytes of a contiguous tensor."""
    return math.prod(tensor.shape) * SCALARS[tensor.dtype].element.bits // 8
