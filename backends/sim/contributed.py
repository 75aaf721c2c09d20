"""Schemas of operators that the engine adds to ONNX's: the onnx package does not know them, the engine does."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx


@dataclasses.dataclass(frozen=True)
class EngineSchema:
    """What `onnx.defs.OpSchema` says of an operator, as far as translation asks; none has a function body of ONNX's."""

    domain: str
    name: str
    since_version: int
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    type_constraints: Sequence[Any]
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    function_opset_versions: Sequence[int] = ()
    context_dependent_function_opset_versions: Sequence[int] = ()


@dataclasses.dataclass(frozen=True)
class EngineParameter:
    """A formal input or output, as `onnx.defs.OpSchema.FormalParameter` names its parts."""

    type_str: str
    option: onnx.defs.OpSchema.FormalParameterOption
    is_homogeneous: bool


Schema = onnx.defs.OpSchema | EngineSchema
Parameter = onnx.defs.OpSchema.FormalParameter | EngineParameter


@functools.cache
def schemas() -> Mapping[tuple[str, str], EngineSchema]:
    """(domain, operator) → schema, for operators that onnx has none of."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    found = {}
    for schema in runtime.get_all_operator_schema():
        if not onnx.defs.has(schema.name, schema.domain):
            inputs, outputs = (tuple(map(_parameter, formals)) for formals in (schema.inputs, schema.outputs))
            known = (schema.domain, schema.name, schema.since_version, inputs, outputs, schema.type_constraints)
            found[schema.domain, schema.name] = EngineSchema(*known)
    return found


def _parameter(formal: Any) -> EngineParameter:
    options = onnx.defs.OpSchema.FormalParameterOption
    kind = {"Optional": options.Optional, "Variadic": options.Variadic}
    return EngineParameter(
        formal.typeStr, kind.get(str(formal.option).rsplit(".", 1)[-1], options.Single), formal.isHomogeneous
    )
