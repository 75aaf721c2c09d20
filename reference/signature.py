"""What an operator takes and gives: numbers of inputs, their element types, attributes, and the types of its outputs.

Types are written as names of `reference.dtypes`, "seq(float32)", "optional(float32)" or "optional(seq(float32))". Source: the
schemas of the installed onnx; operators of other domains have none, and only the type of their outputs is concluded.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import defs

from reference import dtypes

_SCHEMA_NAMES = {
    "float": "float32",
    "double": "float64",
    "string": "str",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float6e2m3": "float6_e2m3fn",
    "float6e3m2": "float6_e3m2fn",
    "float4e2m1": "float4_e2m1fn",
}
"""The schemas' words for element types where they are not our names."""

_LEGACY = frozenset(["consumed_inputs"])
"""Attributes of opset 1 that told a framework which buffers it might overwrite; they say nothing about the result."""

_WRAPPED = {
    "SequenceConstruct": ("", "seq("),
    "SplitToSequence": ("", "seq("),
    "Optional": ("", "optional("),
    "SequenceAt": ("seq(", ""),
    "ConcatFromSequence": ("seq(", ""),
    "OptionalGetElement": ("optional(", ""),
}
"""Operator → what is taken off its first input's type and put around it to give the output's."""

_ALIKE = frozenset(["EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli"])
"""Operators whose output has the first input's type unless an attribute names another."""

_NAMED_FLOAT32 = frozenset(
    [
        "BlackmanWindow",
        "ConstantOfShape",
        "HammingWindow",
        "HannWindow",
        "LayerNormalization",
        "MelWeightMatrix",
        "RandomNormal",
        "RandomUniform",
    ]
)
"""Operators whose output is float32 unless an attribute names another type."""


_SINGLE_PRECISION = {
    "SimplifiedLayerNormalization": (1,),
    "SkipLayerNormalization": (1, 2),
    "SkipSimplifiedLayerNormalization": (1, 2),
}
"""Operators without a schema → their outputs that are float32 whatever the inputs are."""


def name_of(text: str) -> str:
    """A schema's "seq(tensor(float))" as "seq(float32)"."""
    for wrapper in ("optional(", "seq("):
        if text.startswith(wrapper):
            return f"{wrapper}{name_of(text[len(wrapper) : -1])})"
    element = text.removeprefix("tensor(").removesuffix(")")
    return _SCHEMA_NAMES.get(element, element)


def of_proto(proto: onnx.TypeProto) -> str | None:
    """The type that a ValueInfoProto or an attribute declares; None if it declares none."""
    match proto.WhichOneof("value"):
        case "tensor_type":
            return dtypes.NAMES.get(proto.tensor_type.elem_type)
        case "sequence_type":
            return f"seq({of_proto(proto.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({of_proto(proto.optional_type.elem_type)})"
    return None


def to_proto(name: str, shape: Sequence[int] | None = None) -> onnx.TypeProto:
    """A type as ONNX writes it; a tensor's with its shape, if that is given."""
    for wrapper, make in (("optional(", onnx.helper.make_optional_type_proto), ("seq(", onnx.helper.make_sequence_type_proto)):
        if name.startswith(wrapper):
            return make(to_proto(name[len(wrapper) : -1]))
    return onnx.helper.make_tensor_type_proto(dtypes.ONNX[name], shape)


def element(name: str) -> str:
    """The tensor type inside "optional(seq(float32))" and the like."""
    return name.rsplit("(", 1)[-1].rstrip(")")


@functools.cache
def schema(operator: str, domain: str, version: int) -> defs.OpSchema | None:
    """onnx's schema of the operator in that opset; None where onnx has none."""
    try:
        return defs.get_schema(operator, version, "" if domain == "ai.onnx" else domain)
    except defs.SchemaError:
        return None


@functools.cache
def _allowed(operator: str, domain: str, version: int) -> Mapping[str, frozenset[str]]:
    """Type parameter (or concrete type) → the types that it may stand for."""
    found = schema(operator, domain, version)
    assert found is not None
    allowed = {c.type_param_str: frozenset(name_of(t) for t in c.allowed_type_strs) for c in found.type_constraints}
    for parameter in (*found.inputs, *found.outputs):
        allowed.setdefault(parameter.type_str, frozenset([name_of(parameter.type_str)]))
    return allowed


def _parameter(parameters: Sequence[Any], index: int) -> Any:
    """The formal parameter of actual number `index`; the last one may be variadic. None beyond."""
    if index < len(parameters):
        return parameters[index]
    if parameters and parameters[-1].option == defs.OpSchema.FormalParameterOption.Variadic:
        return parameters[-1]
    return None


@functools.cache
def _bound(operator: str, domain: str, version: int, types: tuple[str | None, ...], given: tuple[bool, ...]) -> dict[str, str]:
    """Type parameter → type. Raises ValueError for inputs that the operator does not take."""
    found = schema(operator, domain, version)
    assert found is not None
    allowed = _allowed(operator, domain, version)
    if not found.min_input <= len(given) <= found.max_input:
        most = "or more" if found.max_input > 1000 else f"to {found.max_input}"
        raise ValueError(f"{len(given)} inputs were given, the operator takes {found.min_input} {most}")
    bound: dict[str, tuple[str, str]] = {}
    for i, (kind, there) in enumerate(zip(types, given, strict=True)):
        formal = _parameter(found.inputs, i)
        if not there:
            if formal.option == defs.OpSchema.FormalParameterOption.Single:
                raise ValueError(f"input {i} '{formal.name}' is left out, but the operator needs it")
            continue
        if kind is None:
            continue
        if kind not in allowed[formal.type_str]:
            raise ValueError(f"input {i} '{formal.name}' is {kind}, which the operator does not take")
        if not formal.is_homogeneous:
            continue
        first, by = bound.setdefault(formal.type_str, (kind, formal.name))
        if first != kind:
            raise ValueError(f"input {i} '{formal.name}' is {kind} where '{by}' is {first}; both must have one type")
    return {parameter: kind for parameter, (kind, _) in bound.items()}


@functools.cache
def check_attributes(operator: str, domain: str, version: int, given: frozenset[tuple[str, int]]) -> None:
    """Raises ValueError for an attribute that the operator does not have or that is of another kind, and for a missing one
    that it needs. given: names and AttributeProto.AttributeType (0: not said)."""
    found = schema(operator, domain, version)
    if found is None:
        return
    names = {name for name, _ in given}
    unknown = sorted(names - set(found.attributes))
    if unknown:
        raise ValueError(
            f"attribute '{unknown[0]}' is unknown; the operator has {', '.join(sorted(found.attributes)) or 'none'}"
        )
    missing = sorted(name for name, a in found.attributes.items() if a.required and name not in names)
    if missing:
        raise ValueError(f"attribute '{missing[0]}' is missing")
    for name, kind in sorted(given):
        declared: Any = found.attributes[name].type  # the enumeration has no stub
        wanted = declared.value
        if kind not in (0, wanted):
            says = onnx.AttributeProto.AttributeType.Name
            raise ValueError(f"attribute '{name}' is {says(kind)}, but the operator takes {says(wanted)}")


def without_legacy(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that say something about the result."""
    return {name: value for name, value in attributes.items() if name not in _LEGACY}


def _named_type(operator: str, attributes: Mapping[str, Any]) -> str | None:
    """The type that an attribute names: to, dtype, output_dtype, output_datatype, stash_type, type, or a value's own."""
    for name in ("to", "dtype", "output_dtype", "output_datatype", "stash_type"):
        code = attributes.get(name)
        if isinstance(code, str):  # Cast-1 spells it
            return dtypes.NAMES.get(onnx.TensorProto.DataType.Value(code.upper()))
        if code:
            return dtypes.NAMES.get(int(code))
    if isinstance(attributes.get("type"), onnx.TypeProto):
        return of_proto(attributes["type"])
    for name in ("value", "sparse_value"):
        if name in attributes:
            value = attributes[name]
            return dtypes.NAMES.get(value.values.data_type) if name == "sparse_value" else dtypes.name_of(value.dtype)
    if operator == "Constant":
        kinds = {"value_float": "float32", "value_int": "int64", "value_string": "str"}
        return next((kind for name, kind in kinds.items() if name in attributes or f"{name}s" in attributes), None)
    return None


def _unbound(operator: str, types: Sequence[str | None], attributes: Mapping[str, Any]) -> str | None:
    """The type of an output whose type parameter no input has; None where only the result tells."""
    named = _named_type(operator, attributes)
    first = types[0] if types else None
    if operator in _WRAPPED and (first is not None or named is None):
        off, on = _WRAPPED[operator]
        if first is None:
            return None
        inner = first.removeprefix(off).removesuffix(")") if off and first.startswith(off) else first
        return f"{on}{inner})" if on else inner
    if operator == "SequenceEmpty":
        return f"seq({named or 'float32'})"
    if operator == "Optional" and named is not None:
        return named if named.startswith("optional(") else f"optional({named})"
    if operator == "DequantizeLinear":
        return named or (types[1] if len(types) > 1 else None)
    if operator == "QuantizeLinear":
        return named or "uint8"
    if named is not None:
        return named
    return first if operator in _ALIKE else "float32" if operator in _NAMED_FLOAT32 else None


def output_types(
    operator: str,
    domain: str,
    version: int,
    types: Sequence[str | None],
    given: Sequence[bool],
    attributes: Mapping[str, Any],
    n_outputs: int,
) -> list[str | None]:
    """The type of each output; None where only the result itself tells (a subgraph's, another domain's).

    types: of the inputs, None where unknown or left out; given: whether each input is there. Raises ValueError for inputs
    and numbers of outputs that the operator does not have.
    """
    found = schema(operator, domain, version)
    if found is None:
        return ["float32" if i in _SINGLE_PRECISION.get(operator, ()) else None for i in range(n_outputs)]
    bound = _bound(operator, domain, version, tuple(types), tuple(given))
    if n_outputs > found.max_output:
        raise ValueError(f"{n_outputs} outputs are named, the operator has at most {found.max_output}")
    allowed = _allowed(operator, domain, version)
    result: list[str | None] = []
    for i in range(n_outputs):
        formal = _parameter(found.outputs, i)
        choices = allowed[formal.type_str]
        if formal.is_homogeneous and formal.type_str in bound:
            result.append(bound[formal.type_str])
        elif len(choices) == 1:
            result.append(next(iter(choices)))
        else:
            kind = _unbound(operator, types, attributes)
            if kind is not None and kind not in choices:
                raise ValueError(f"output {i} '{formal.name}' would be {kind}, which the operator does not give")
            result.append(kind)
    return result
