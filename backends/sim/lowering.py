"""Which operators and types the simulated device supports, and in which type it computes each.

A (operator, type) pair is supported if the engine has a kernel for it, if ONNX's own function body of the operator
needs only such kernels, or if computing in a wider type and casting back gives the same result:
- halves through float32, always, so that every operator rounds once;
- integers through exact int64 arithmetic where the engine's goes through floats;
- small integers through int32 or int64: with wrap-around on the way back where the operator is a ring expression, in
  the same order where it selects or compares, unchanged where it only moves elements.
Everything else is declined, and not declared.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any

import onnx

from backends.ortvalue import ELEMENTS
from backends.sim.contributed import Schema
from backends.sim.decompositions import FLOAT32, INT64, Replacement, bounded_slice, round_first
from backends.sim.support import DECLINED, DOUBLES, FUNCTIONS, INT64_FIRST, MOVES, ORDERS, RINGS, SCATTERS

HALVES = ("float16", "bfloat16")
WIDER: dict[str, tuple[str, ...]] = {
    "int8": ("int32", "int64"),
    "uint8": ("int32", "int64"),
    "int16": ("int32", "int64"),
    "uint16": ("int32", "int64"),
    "int32": ("int64",),
    "uint32": ("int64",),
}
"""Type → those that hold all its values."""

AS_BITS: dict[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32", "int64"),
    "uint64": ("int64",),
    "int4": ("int8", "int32"),
    "uint4": ("uint8", "int32"),
}
"""Type → those that elements may travel in: a cast there and back changes none (uint64 wraps to int64 and back)."""

FEW_BITS = ("int4", "uint4", "int2", "uint2")
REALS = ("float32", "float64", *HALVES, "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")

OPSETS = range(21, 26)
"""Opsets that the support table speaks for: what exporters write, up to what vendors' stacks take."""

OPEN_ENDED = 2**31 - 1

TO_ONNX = {element.name: element.onnx for element in ELEMENTS.values()}
WORDS = {element.onnx: word for word, element in ELEMENTS.items()}
NAMES = {word: element.name for word, element in ELEMENTS.items()}


@functools.cache
def kernels() -> Mapping[tuple[str, str], list[tuple[int, int, dict[str, frozenset[str]]]]]:
    """(domain, operator) → the engine's kernels: first and last operator version, type variable → element types."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    found: dict[tuple[str, str], list[tuple[int, int, dict[str, frozenset[str]]]]] = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider != "CPUExecutionProvider":
            continue
        types = {
            variable: frozenset(element_name(text) for text in allowed) for variable, allowed in kernel.type_constraints.items()
        }
        first, last = kernel.version_range
        found.setdefault((kernel.domain, kernel.op_name), []).append((first, last, types))
    return found


def element_name(type_text: str) -> str:
    """ "tensor(float)" → "float32"; other types stay as ONNX writes them."""
    word = type_text.removeprefix("tensor(").removesuffix(")") if type_text.startswith("tensor(") else type_text
    return NAMES.get(word, type_text)


def has_kernel(schema: Schema, types: Mapping[str, str]) -> bool:
    """Whether the engine has a kernel for these types of the operator's type variables."""
    for first, last, allowed in kernels().get((schema.domain, schema.name), ()):
        # An open-ended kernel serves only the operator version that it starts with (kernel_registry.cc).
        serves = first == schema.since_version or (first < schema.since_version <= last and last != OPEN_ENDED)
        if serves and all(types[v] in names for v, names in allowed.items() if v in types):
            return True
    return False


def _has_function(schema: Schema, types: Mapping[str, str], opset: int) -> bool:
    """Whether ONNX has, in this opset, a function body of the operator that computes these types."""
    covered = FUNCTIONS.get(schema.name, frozenset()) if not schema.domain else frozenset()
    facts: Any = schema  # the stubs of onnx know neither attribute
    bodies = [*facts.function_opset_versions, *facts.context_dependent_function_opset_versions]
    return any(version <= opset for version in bodies) and bool(covered) and all(name in covered for name in types.values())


def replacement(schema: Schema, types: Mapping[str, str]) -> Replacement | None:
    """What stands in for the node where the engine's own kernel is wrong or missing."""
    if schema.domain:
        return None
    if schema.name == "Cast" and types["T2"] in FEW_BITS and types["T1"] in REALS:
        return round_first
    if schema.name == "Slice" and schema.since_version >= 13 and has_kernel(schema, types):
        return bounded_slice(types["Tind"])
    computed = {types[v] for v in types if v not in ("I", "B")}  # MaxPool's type of indices, Where's of its condition
    return (INT64 if computed == {"int64"} else FLOAT32 if computed == {"float32"} else {}).get(schema.name)


def _candidates(operator: str, dtype: str) -> tuple[str, ...]:
    """Types in which the operator may be computed for `dtype`, the preferred one first."""
    if dtype in HALVES:
        if operator in DOUBLES:
            return ("float64",)
        return (dtype, "float32") if operator in MOVES - SCATTERS - FLOAT32.keys() else ("float32", dtype)
    if operator == "NonZero":
        return (dtype, "bool")
    if operator in INT64_FIRST and dtype in ("int32", "uint32", "int64", "uint64"):
        unsigned = dtype == "uint64" and operator in ("Div", "Mod")
        return (dtype,) if unsigned else ("int64",)
    if operator in ("DepthToSpace", "SpaceToDepth"):  # the engine has no integer kernels beside 8 bits
        return (dtype, "uint8") if dtype == "bool" else (dtype, "float64") if dtype in WIDER else (dtype,)
    if operator in MOVES:
        return (dtype, *WIDER.get(dtype, ()), *AS_BITS.get(dtype, ()))
    if operator in RINGS:
        return (dtype, *WIDER.get(dtype, ()), *(("int64",) if dtype == "uint64" else ()))
    if operator in ORDERS:
        # bool goes wide first: the engine's ReduceMax of bool refuses empty sets.
        return ("uint8", "int8", dtype) if dtype == "bool" else (dtype, *WIDER.get(dtype, ()))
    if operator in DOUBLES and dtype == "float32":
        return ("float64",)
    return (dtype,)


def lowering(schema: Schema, types: Mapping[str, str], opset: int) -> dict[str, str] | None:
    """Type variable → type to compute in, for a node whose variables have these types; None if it is declined."""
    if any(name in DECLINED.get(schema.name, ()) for name in types.values()):
        return None
    if schema.name == "OneHot" and types.get("T1") in ("float16", "float32", "float64"):
        return None  # the engine has such kernels, but not for depths of another type
    if schema.name == "CastLike":
        schema = onnx.defs.get_schema("Cast", schema.since_version)
    variables = list(types)
    for choice in itertools.product(*(_candidates(schema.name, types[v]) for v in variables)):
        chosen = dict(zip(variables, choice, strict=True))
        if replacement(schema, chosen) or has_kernel(schema, chosen) or _has_function(schema, chosen, opset):
            return chosen
    return None


@functools.cache
def support_table() -> Mapping[str, frozenset[str]]:
    """Operator of ai.onnx → types of its first type constraint that this device supports.

    A type is declared if every version of the operator in `OPSETS` whose constraint admits it supports it, so that no
    version is overclaimed; an operator younger than those is declared by its newest version. The constraint that
    counts is that of the first input or output with a choice of types: not the condition of Where, always bool.
    """
    versions: dict[str, list[onnx.defs.OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.type_constraints:
            versions.setdefault(schema.name, []).append(schema)
    table = {}
    for name, schemas in versions.items():
        schemas.sort(key=lambda s: s.since_version)
        starts = [s.since_version for s in schemas]
        in_force = {max((v for v in starts if v <= opset), default=0) for opset in OPSETS} - {0}
        chosen = [s for s in schemas if s.since_version in in_force and not s.deprecated] or schemas[-1:]
        supported: set[str] = set()
        refused: set[str] = set()
        for schema in chosen:
            admitted, working = _types_of_first(schema)
            supported |= working
            refused |= admitted - working
        if supported - refused:
            table[name] = frozenset(supported - refused)
    return table


def allowed_types(schema: onnx.defs.OpSchema) -> dict[str, list[str]]:
    """Type variable → the element types that the operator admits for it."""
    return {c.type_param_str: [element_name(t) for t in c.allowed_type_strs] for c in schema.type_constraints}


def first_variable(schema: onnx.defs.OpSchema) -> str:
    """The variable that the support table speaks of: that of the first input or output with a choice of types."""
    constraints = allowed_types(schema)
    typed = [f.type_str for f in (*schema.inputs, *schema.outputs) if len(constraints.get(f.type_str, ())) > 1]
    return next(iter(typed or constraints))


def _types_of_first(schema: onnx.defs.OpSchema) -> tuple[set[str], set[str]]:
    """Types that the operator's first type constraint admits, and those of them that the device supports."""
    constraints = allowed_types(schema)
    first = first_variable(schema)
    others = [v for v in constraints if v != first]

    def supported(dtype: str) -> bool:
        combinations = itertools.product(*(constraints[v] for v in others))
        given = ({first: dtype, **dict(zip(others, rest, strict=True))} for rest in combinations)
        return any(lowering(schema, types, schema.since_version) for types in given)

    admitted = {dtype for dtype in constraints[first] if dtype in TO_ONNX}
    return admitted, {dtype for dtype in admitted if supported(dtype)}
