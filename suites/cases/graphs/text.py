"""How graphs are written down: ONNX's textual syntax with short cuts.

A graph that begins with "(" is in full: `(T[3,5] x, T[5] w) => (T[3,5] y) { y = Add(x, w) }`. Any other is its nodes, with
inputs described where they are first read: `y = Add(T[3,5] x, T[5] w)`; what no node reads is an output. T is the type of the
case's id, {to} its number. An input whose name begins with w or v is a weight, and so is one with values, `T[] half = 0.5` (one
number fills the tensor); all others are fed.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping

import onnx
from onnx import helper

from reference import dtypes

WORDS = {"f32": "float", "f16": "float16", "bf16": "bfloat16", "f64": "double", "i32": "int32"}
"""Short type → ONNX's word, where T stands in a graph."""

IR_VERSION = 10

_NUMBER = r"-?[0-9.]+(?:e-?[0-9]+)?"
_OPERAND = re.compile(rf"\b([A-Za-z][a-z0-9]*)\[([0-9,]*)\] ([a-z]\w*)(?: = ({_NUMBER}(?:,{_NUMBER})*))?")
"""An input: type, shape, name, and values if it is a constant."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Graphs of one kind by name. types: short types that each has a case of. recipe: how tensors get their values, "lattice"
    where every result is exact. everything: types of the cases with all tensors as outputs."""

    graphs: Mapping[str, str]
    types: tuple[str, ...] = ("f32", "f16")
    recipe: str = "lattice"
    opset: int = 21
    everything: tuple[str, ...] = ("f32",)

    def ids(self, *, everything: bool = False) -> tuple[str, ...]:
        """The ids of all cases, of those with every tensor as an output or of those without."""
        types, outputs = (self.everything, ".outputs:all") if everything else (self.types, "")
        return tuple(f"Graph-{self.opset}.{t}.{name}{outputs}.in:{self.recipe}" for name in self.graphs for t in types)


@dataclasses.dataclass(frozen=True)
class Parsed:
    """A graph as ONNX has it, its weights among its inputs, and the values that are written out."""

    model: onnx.ModelProto
    constants: Mapping[str, tuple[float, ...]]


@functools.lru_cache(maxsize=64)
def parse(text: str, dtype: str, opset: int) -> Parsed:
    """dtype: short name. Raises onnx.parser.ParseError."""
    constants: dict[str, tuple[float, ...]] = {}
    text = text.replace("{to}", str(dtypes.ONNX[dtypes.SHORT[dtype]]))

    def described(match: re.Match[str]) -> str:
        kind, shape, name, values = match.groups()
        if values is not None:
            constants[name] = tuple(float(number) for number in values.split(","))
        return f"{WORDS[dtype] if kind == 'T' else kind}{f'[{shape}]' if shape else ''} {name}"  # T[] would be of any rank

    if text.startswith("("):
        head, arrow, rest = text.partition("=>")
        full = _OPERAND.sub(described, head) + arrow + re.sub(r"\bT(?=[\[ ])", WORDS[dtype], rest)
    else:
        operands: dict[str, str] = {}

        def hoisted(match: re.Match[str]) -> str:
            operands.setdefault(match[3], described(match))
            return match[3]

        nodes = _OPERAND.sub(hoisted, text)
        full = f"({', '.join(operands.values())}) => () {{ {nodes} }}"
    model = onnx.parser.parse_model(f'<ir_version: {IR_VERSION}, opset_import: ["" : {opset}]> g {full}')
    if not text.startswith("("):
        read = {name for node in model.graph.node for name in node.input}
        unread = [name for node in model.graph.node for name in node.output if name not in read]
        model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in unread)
    return Parsed(model, constants)


def chain(*steps: str) -> str:
    """Nodes one after the other: "_" in a step is the result of the one before, the last result is y. A step that begins with
    "name =" is a tensor beside the chain."""
    lines, running, count = [], "", 0
    last = max(i for i, step in enumerate(steps) if not re.match(r"\w+ = ", step))
    for i, step in enumerate(steps):
        nodes = re.sub(r"\b_\b", running, step)
        if re.match(r"\w+ = ", step):
            lines.append(nodes)
            continue
        running, count = "y" if i == last else f"a{count}", count + 1
        lines.append(f"{running} = {nodes}")
    return " ".join(lines)
