"""Every operator in each element type that its newest schema admits, and in older versions that take the same inputs and
attributes: the type of the result as the schema has it, and exact values."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

from reference import dtypes, signature, table
from reference.evaluator import evaluate_typed
from tests.reference.type_cases import CASES, SKIPPED, Values, nested, pool

PREFERRED = ("float32", "int64", "bool", "str", "int32", "uint8")
"""The type of a parameter while another one is varied."""


@functools.cache
def schemas() -> dict[str, list[onnx.defs.OpSchema]]:
    """Operator → its schemas that are not deprecated, the newest one first."""
    found: dict[str, list[onnx.defs.OpSchema]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: -s.since_version):
        if schema.domain == "" and not schema.deprecated:
            found.setdefault(schema.name, []).append(schema)
    return found


def newest(operator: str) -> onnx.defs.OpSchema:
    return schemas()[operator][0]


def takes(schema: onnx.defs.OpSchema, operator: str) -> bool:
    """Whether a version has the inputs, outputs, attributes and broadcasting of the operator's case."""
    case = CASES[operator]
    attributes = {} if callable(case.attributes) else case.attributes
    required = {name for name, a in schema.attributes.items() if a.required}
    return (
        schema.min_input <= len(case.inputs) <= schema.max_input
        and case.outputs <= schema.max_output
        and required <= attributes.keys() <= schema.attributes.keys()
        and "broadcast" not in schema.attributes
    )


def admitted(schema: onnx.defs.OpSchema) -> dict[str, list[str]]:
    """Type parameter → the tensor types that it may stand for."""
    texts = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return {p: sorted(signature.name_of(t) for t in kinds if t.startswith("tensor(")) for p, kinds in texts.items()}


def assignments(schema: onnx.defs.OpSchema) -> Iterator[dict[str, str]]:
    """For each type of each parameter: that one, and for the other parameters a preferred one. Types that the newest
    version has given up are left out."""
    kept = {kind for kinds in admitted(newest(schema.name)).values() for kind in kinds}
    choices = {parameter: [k for k in kinds if k in kept] for parameter, kinds in admitted(schema).items()}
    usual = {p: next((t for t in PREFERRED if t in kinds), kinds[0]) for p, kinds in choices.items()}
    done = []
    for parameter, kinds in choices.items():
        for kind in kinds:
            if (assignment := usual | {parameter: kind}) not in done:
                done.append(assignment)
                yield assignment


def array(values: Any, kind: str) -> NDArray[Any]:
    """Nested Python values as an array of that type."""
    if dtypes.is_float(kind):
        return np.array(values, np.float64).astype(dtypes.numpy_dtype(kind))
    wide = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}.get(kind)
    return np.array(values, wide or dtypes.numpy_dtype(kind)).astype(dtypes.numpy_dtype(kind))


def wrapped(value: Any, kind: str) -> Any:
    """A Python number as the type holds it: integers keep their low bits."""
    if not dtypes.is_integer(kind):
        return bool(value) if kind == "bool" else value
    info = ml_dtypes.iinfo(dtypes.numpy_dtype(kind))
    return (int(value) - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def objects(values: Any) -> NDArray[Any]:
    """Nested Python values as they are."""
    return np.array(values, object)


def assert_values(got: NDArray[Any], kind: str, expected: Any, what: str) -> None:
    """The array holds a `kind` (reals as float64) and the expected values; None among them is not compared."""
    carrier = "float64" if dtypes.is_float(kind) else kind
    assert dtypes.name_of(got.dtype) == carrier, f"{what}: {got.dtype} in place of {carrier}"
    wanted = objects(nested(expected, lambda v: v if v is None else wrapped(v, kind)))
    assert got.shape == wanted.shape, f"{what}: shape {got.shape} in place of {wanted.shape}"
    compared = wanted != np.array(None)
    assert compared.any() or not wanted.size, f"{what}: nothing to compare"
    if carrier == "float64":
        np.testing.assert_allclose(got[compared], wanted[compared].astype(np.float64), rtol=1e-14, err_msg=what)
    else:
        assert [v.item() if hasattr(v, "item") else v for v in got[compared].astype(object)] == list(wanted[compared]), what


def run(
    schema: onnx.defs.OpSchema, inputs: list[NDArray[Any] | None], attributes: Any, kinds: list[str], *shapes: Any
) -> list[Any]:
    """The outputs, of those types and shapes, of a checked one-node model in the opset of the schema."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(len(kinds))]
    node = helper.make_node(schema.name, names, outputs, **attributes)
    feeds = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    ins = [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()]
    declared = zip(outputs, kinds, shapes, strict=True)
    outs = [helper.make_tensor_value_info(name, dtypes.ONNX[kind], shape) for name, kind, shape in declared]
    graph = helper.make_graph([node], schema.name, ins, outs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", schema.since_version)])
    onnx.checker.check_model(model)
    found = evaluate_typed(model, feeds)
    assert [found[name].type for name in outputs] == kinds
    return [found[name].data for name in outputs]


def test_every_operator_is_here() -> None:
    assert not (table.ONNX.keys() & schemas().keys()) - CASES.keys() - SKIPPED.keys()
    assert not CASES.keys() & SKIPPED.keys()


VERSIONS = [s for o in sorted(CASES.keys() & table.ONNX.keys()) for s in schemas()[o] if s is newest(o) or takes(s, o)]


@pytest.mark.parametrize("schema", VERSIONS, ids=lambda s: f"{s.name}-{s.since_version}")
def test_admitted_types(schema: onnx.defs.OpSchema) -> None:
    case = CASES[schema.name]
    for kinds in assignments(schema):
        what = f"{schema.name}-{schema.since_version} {kinds}"
        formals = [schema.inputs[min(i, len(schema.inputs) - 1)].type_str for i in range(len(case.inputs))]
        types = [kinds.get(f) or signature.name_of(f) for f in formals]
        inputs = []
        for x, kind in zip(case.inputs, types, strict=True):
            some = pool(kind)
            inputs.append(nested(x.positions, lambda i, some=some: some[i % len(some)]) if isinstance(x, Values) else x)
        attributes = case.attributes(kinds) if callable(case.attributes) else case.attributes
        arrays = [None if x is None else array(x, kind) for x, kind in zip(inputs, types, strict=True)]
        expected = case.expected(*inputs)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        results = [schema.outputs[min(i, len(schema.outputs) - 1)].type_str for i in range(case.outputs)]
        types = [kinds.get(f) or signature.name_of(f) for f in results]
        found = run(schema, arrays, attributes, types, *(objects(values).shape for values in wanted))
        for got, kind, values in zip(found, types, wanted, strict=True):
            assert_values(got, kind, values, what)


def one(kind: str) -> Any:
    """The number 1 as a value of that type."""
    return "1" if kind == "str" else 1


@pytest.mark.parametrize(
    ("operator", "source"), [(o, kind) for o in ("Cast", "CastLike") for kind in admitted(newest(o))["T1"]]
)
def test_casts(operator: str, source: str) -> None:
    for target in admitted(newest(operator))["T2"]:
        x = array([one(source)], source)
        inputs = [x] if operator == "Cast" else [x, array([one(target)], target)]
        attributes = {"to": dtypes.ONNX[target]} if operator == "Cast" else {}
        (got,) = run(newest(operator), inputs, attributes, [target], (1,))
        expected = x.tolist()[0] if source == "str" else "1.0" if dtypes.is_float(source) else "1"
        assert_values(got, target, [expected if target == "str" else 1], f"{operator} from {source} to {target}")


def bits(kind: str) -> int:
    """The first number in the name; a bool fills a byte."""
    digits = re.search("[0-9]+", kind)
    return int(digits.group()) if digits else 8


def test_bit_casts() -> None:
    kinds = admitted(newest("BitCast"))["T1"]
    for source, target in ((a, b) for a in kinds for b in kinds if bits(a) == bits(b)):
        x = array([1], source)
        (got,) = run(newest("BitCast"), [x], {"to": dtypes.ONNX[target]}, [target], (1,))
        expected = dtypes.to_real(x.view(dtypes.numpy_dtype(target)))
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("operator", ["Constant", "ConstantOfShape"])
def test_constants(operator: str) -> None:
    for kind in admitted(newest(operator))["T" if operator == "Constant" else "T2"]:
        value = pool(kind)[-1]
        tensor = helper.make_tensor("value", dtypes.ONNX[kind], [1], array([value], kind).ravel())
        inputs: list[Any] = [] if operator == "Constant" else [np.array([1])]
        (got,) = run(newest(operator), inputs, {"value": tensor}, [kind], (1,))
        assert_values(got, kind, [value], f"{operator} {kind}")


def test_identity_of_sequences_and_optionals() -> None:
    for text in newest("Identity").type_constraints[0].allowed_type_strs:
        if text.startswith("tensor("):
            continue
        kind = signature.name_of(text)
        some = array(pool(signature.element(kind))[:2], signature.element(kind))
        value = [some, some[:0]] if "seq(" in kind else some
        info = onnx.ValueInfoProto(name="x", type=signature.to_proto(kind))
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [info], [onnx.ValueInfoProto(name="y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
        got = evaluate_typed(model, {"x": value})["y"]
        assert got.type == kind
        for y, x in zip(got.data if "seq(" in kind else [got.data], value if "seq(" in kind else [value], strict=True):
            np.testing.assert_array_equal(y, dtypes.to_real(x))
