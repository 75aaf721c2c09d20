"""What a sweep draws: a small model with its feeds, and the strategies that most operators share."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper

from reference import dtypes, signature
from reference.evaluator import attributes_of

Array = np.ndarray[Any, Any]

FLOATS = ("float32", "float16", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@dataclasses.dataclass(frozen=True)
class Sample:
    """A model and the values of its inputs: arrays, lists of arrays for sequences, None for empty optionals."""

    model: onnx.ModelProto
    feeds: dict[str, Any]

    @property
    def node(self) -> onnx.NodeProto:
        """The node that the sample is about, the first one."""
        return self.model.graph.node[0]

    @property
    def operator(self) -> str:
        """The operator's name; those of another domain than ONNX's own after it and a colon; "graphs" for several nodes."""
        if len(self.model.graph.node) > 1:
            return "graphs"
        return f"{self.node.domain}:{self.node.op_type}" if self.node.domain else self.node.op_type

    @property
    def version(self) -> int:
        """The opset that the model imports of the operator's domain."""
        return int(self.model.opset_import[0].version)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the node, or `default` where it is left out."""
        return attributes_of(self.node).get(name, default)

    def input(self, index: int) -> Any:
        """The value of input number `index`; None where it is left out."""
        return self.feeds.get(self.node.input[index]) if index < len(self.node.input) else None

    def __repr__(self) -> str:
        feeds = ", ".join(f"{name}={_text(value)}" for name, value in self.feeds.items())
        graph = self.operator == "graphs" or any(a.type == onnx.AttributeProto.GRAPH for a in self.node.attribute)
        if self.model.functions or graph:
            return f"{' '.join(onnx.printer.to_text(self.model).split())} with {feeds}"
        attributes = ", ".join(f"{name}={value!r}" for name, value in attributes_of(self.node).items())
        return f"{self.node.op_type}-{self.model.opset_import[0].version}<{attributes}>({feeds})"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "nothing" if value is None else f"{value.dtype}{list(value.shape)} {value.tolist()!r:.300}"


def call(
    operator: str,
    inputs: Sequence[Any],
    *,
    version: int,
    outputs: int = 1,
    domain: str = "",
    types: Mapping[int, str] | None = None,
    **attributes: Any,
) -> Sample:
    """A node on these inputs (None: left out, a list: a sequence), in the opset `version` of its domain; attributes of None
    are left out. types: of the inputs whose values do not tell it, by position, such as "seq(float32)" of an empty list and
    "optional(float32)"; None is an empty optional there."""
    types = types or {}
    present = [i for i, x in enumerate(inputs) if x is not None or i in types]
    names = [f"x{i}" if i in present else "" for i in range(len(inputs))]
    values = [x if x is None or isinstance(x, list) else np.asarray(x) for x in inputs]
    given = {name: value for name, value in attributes.items() if value is not None}
    wanted = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, wanted, domain=domain)
    integers = onnx.AttributeProto.INTS  # what an empty list is one of
    node.attribute.extend(helper.make_attribute(k, v, attr_type=integers if v == [] else None) for k, v in given.items())
    graph = helper.make_graph(
        [node],
        "sample",
        [helper.make_value_info(names[i], type_of(values[i], types.get(i))) for i in present],
        [onnx.ValueInfoProto(name=name) for name in wanted],
    )
    feeds = {names[i]: values[i] for i in present}
    opsets = [helper.make_opsetid(domain, version)]
    if domain:
        opsets.append(helper.make_opsetid("", 21))
    return Sample(helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds)


def written(text: str, version: int, feeds: Mapping[str, Any]) -> Sample:
    """A graph, and functions of the domain "local", in ONNX's textual syntax, in the opset `version`."""
    opsets = f'["" : {version}, "local" : 1]' if '"local"' in text else f'["" : {version}]'
    model = onnx.parser.parse_model(f"<ir_version: 10, opset_import: {opsets}> {text}")
    return Sample(model, {name: x if x is None or isinstance(x, list) else np.asarray(x) for name, x in feeds.items()})


def textual(kind: str) -> str:
    """An element type in ONNX's textual syntax."""
    return {"float32": "float", "float64": "double", "str": "string"}.get(kind, kind)


def type_of(value: Any, kind: str | None = None) -> onnx.TypeProto:
    """The type that a graph declares for a value: `kind`, or as the value tells it."""
    if isinstance(value, list):
        return signature.to_proto(kind or f"seq({dtypes.name_of(value[0].dtype)})")
    return signature.to_proto(kind or dtypes.name_of(value.dtype), None if value is None else value.shape)


def shapes(min_dims: int = 0, max_dims: int = 4, min_side: int = 1, max_side: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def any_shape(draw: st.DrawFn, min_dims: int = 0, max_dims: int = 5, max_side: int = 5) -> tuple[int, ...]:
    """A shape with lengths from 1 on; now and then one length is 0."""
    shape = list(draw(shapes(min_dims, max_dims, 1, max_side)))
    if shape and draw(st.integers(0, 9)) == 9:
        shape[draw(st.integers(0, len(shape) - 1))] = 0
    return tuple(shape)


def length(draw: st.DrawFn, most: int) -> int:
    """A length from 1 on, seldom 0."""
    return int(draw(st.sampled_from([*range(1, most + 1)] * 6 + [0])))


def axis_of(draw: st.DrawFn, rank: int, *, negative: bool = True) -> int:
    """An axis, counted from the start or, with `negative`, from the end too."""
    return draw(st.integers(-rank if negative else 0, rank - 1))


def broadcastable(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape` from one side: some lengths 1, some leading axes left out."""
    kept = [n if draw(st.booleans()) else 1 for n in shape]
    return tuple(kept[draw(st.integers(0, len(kept))) :])


def array(
    draw: st.DrawFn,
    shape: tuple[int, ...],
    kind: str,
    low: float = -4,
    high: float = 4,
    *,
    specials: bool = False,
    extremes: bool = False,
) -> Array:
    """Values of `kind` in [low, high]: reals on a grid of 1/64 (so that ties and equal values come up), integers, booleans;
    with `specials` some reals are NaN, infinities or −0, with `extremes` some integers are at their type's ends, next to
    them or a quarter of them."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    if kind == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if kind == "str":
        return random.choice(np.array(["", "a", "B c", "ß", "αβ"], object), shape)
    if kind.startswith("complex"):
        return np.asarray(random.integers(-9, 10, shape) / 4 + 1j * random.integers(-9, 10, shape), kind)
    if not dtypes.is_float(kind):
        return _integers(random, shape, kind, low, high, extremes=extremes and draw(st.booleans()))
    fine = random.uniform(low, high, shape)
    values = np.where(random.random(shape) < 0.5, np.round(fine * 64) / 64, fine)
    if specials and draw(st.booleans()):
        odd = random.choice([np.nan, np.inf, -np.inf, -0.0], shape)
        values = np.where(random.random(shape) < 0.2, odd, values)
    return np.asarray(dtypes.cast(values, kind))


def _integers(
    random: np.random.Generator, shape: tuple[int, ...], kind: str, low: float, high: float, *, extremes: bool
) -> Array:
    dtype = dtypes.numpy_dtype(kind)
    info = ml_dtypes.iinfo(dtype)
    lowest, highest = int(info.min), int(info.max)
    values = random.integers(max(int(low), lowest), min(int(high), highest), shape, endpoint=True).astype(object)
    if extremes:
        ends = random.choice(np.array([lowest, lowest + 1, lowest // 4, highest // 4, highest - 1, highest], object), shape)
        values = np.where(random.random(shape) < 0.3, ends, values)
    return np.asarray(values).astype(np.uint64 if highest >= 2**63 else np.int64).astype(dtype)


@functools.cache
def _versions(operator: str, domain: str) -> list[int]:
    schemas = onnx.defs.get_all_schemas_with_history()
    return sorted(s.since_version for s in schemas if s.name == operator and s.domain == domain)


def version_of(draw: st.DrawFn, operator: str, domain: str = "", since: int = 1, until: int = 28) -> int:
    """An opset in which the operator means one of its versions from `since` to `until`."""
    return draw(st.sampled_from([v for v in _versions(operator, domain) if since <= v <= until]))


def kind_of(draw: st.DrawFn, operator: str, version: int, index: int = 0, domain: str = "") -> str:
    """An element type that the operator takes as input number `index`."""
    return draw(st.sampled_from(kinds_of(operator, version, index, domain)))


def common_kind(draw: st.DrawFn, operator: str, version: int, index: int = 0) -> str:
    """As `kind_of`, float32 more often than the others."""
    return draw(st.sampled_from(["float32", "float32", *kinds_of(operator, version, index)]))


@functools.cache
def kinds_of(operator: str, version: int, index: int = 0, domain: str = "") -> list[str]:
    """The element types of tensors that the operator takes as input number `index`, float32 first if it is one of them."""
    schema = signature.schema(operator, domain, version)
    assert schema is not None
    parameter = schema.inputs[index].type_str
    allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter), [parameter])
    return sorted((signature.name_of(t) for t in allowed if t.startswith("tensor(")), key=lambda t: (t != "float32", t))
