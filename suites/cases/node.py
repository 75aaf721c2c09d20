"""What the id of a single-operator case says, as data: `identifier` reads and writes it, `model` and `inputs` build
from it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from suites.cases.schema import Formal, Schema, schema


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input of which an id gives the shape; its values come from the recipe. `dtype` is a dtype name ("float32")."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An input of which an id gives the values: a number (rank 0) or a tuple of numbers (rank 1)."""

    name: str
    values: int | float | tuple[int | float, ...]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.values),) if isinstance(self.values, tuple) else ()


@dataclasses.dataclass(frozen=True)
class Node:
    """One operator call. `inputs` and `attributes` are in the schema's order, attribute values as
    `onnx.helper.make_node` takes them; `const` are tensors that are initialisers, `feed` parameters that are
    graph inputs; `outputs` is the number of outputs asked for where it is not the usual one; `recipe` is None if
    there is nothing to generate.
    """

    domain: str
    operator: str
    version: int
    dtype: str
    inputs: tuple[Tensor | Parameter, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    outputs: int | None = None
    const: tuple[str, ...] = ()
    feed: tuple[str, ...] = ()
    recipe: str | None = None

    @property
    def schema(self) -> Schema:
        return schema(self.domain, self.operator, self.version)

    def input(self, name: str) -> Tensor | Parameter | None:
        """The input of that name, None if the id leaves it out."""
        return next((i for i in self.inputs if i.name == name), None)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of the input of that name. Raises KeyError if the id leaves it out."""
        found = self.input(name)
        if found is None:
            raise KeyError(name)
        return found.shape

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value, `default` if the id leaves it out."""
        return dict(self.attributes).get(name, default)

    def is_initializer(self, entry: Tensor | Parameter) -> bool:
        """Whether the model stores this input; parameters are stored unless fed, tensors fed unless constant."""
        return entry.name not in self.feed if isinstance(entry, Parameter) else entry.name in self.const

    @property
    def usual_outputs(self) -> int:
        """How many outputs the node has if the id does not say: every one that is not optional, the first if all are;
        as many as Split makes.
        """
        formals = self.schema.outputs
        if formals and formals[-1].option == "variadic":
            split = self.input("split")
            given = self.attribute("split", split.values if isinstance(split, Parameter) else ())
            return len(formals) - 1 + int(self.attribute("num_outputs", len(given) or 1))
        return max(1, sum(formal.option == "single" for formal in formals))

    @functools.cached_property
    def output_names(self) -> tuple[str, ...]:
        """The outputs' names: the schema's in lower case, numbered if variadic, with "_out" where an input has that
        name.
        """
        formals = self.schema.outputs
        count = self.usual_outputs if self.outputs is None else self.outputs
        names = [f.name for f in formals[:count]]
        if formals and formals[-1].option == "variadic":
            fixed = len(formals) - 1
            names = [f.name for f in formals[:fixed]] + [f"{formals[-1].stem}{i}" for i in range(count - fixed)]
        taken = {entry.name for entry in self.inputs}
        return tuple(f"{name}_out" if name in taken else name for name in names)

    def type_of(self, formal: Formal) -> str | None:
        """The dtype that the inputs and the id's dtype give an output, None where only shape inference can tell."""
        for entry in self.inputs:
            source = self.schema.formal(entry.name)
            if source is not None and formal.variable and source.variable == formal.variable:
                return entry.dtype
        return self.schema.default_type(formal, self.dtype)
