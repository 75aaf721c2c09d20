"""What an operator is told by name, whether the version at hand takes it as an attribute or as an input."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx

from reference import evaluator, signature
from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question


def names(node: Node) -> list[str]:
    """The attributes that the operator has, of ONNX's schema or, for another domain's, of the reference."""
    found = signature.schema(node.operator, node.domain, node.version)
    if found is not None:
        return sorted(found.attributes)
    try:
        known = evaluator.keywords(evaluator.function(node.operator, node.domain, node.version))
    except evaluator.EvaluationError:
        known = frozenset()
    return sorted({*known, *node.attributes} - {"dtypes", "n_outputs"})


def default(node: Node, name: str) -> Any:
    """The value of an attribute that is not given; None where there is none."""
    found = signature.schema(node.operator, node.domain, node.version)
    if found is not None:
        attribute = found.attributes.get(name)
        if attribute is None or not attribute.default_value.type:
            return None
        value = onnx.helper.get_attribute_value(attribute.default_value)
        return value.decode() if isinstance(value, bytes) else value
    try:
        function = evaluator.function(node.operator, node.domain, node.version)
    except evaluator.EvaluationError:
        return None
    parameter = inspect.signature(function).parameters.get(name)
    return None if parameter is None or parameter.default is inspect.Parameter.empty else parameter.default


def value(node: Node, name: str) -> Any:
    """An attribute, as given or by default, or the flat list of the input of that name; None where there is neither."""
    if name in node.attributes:
        return node.attributes[name]
    at = position(node, name)
    if at is None:
        return default(node, name)
    given = node.inputs[at]
    assert given is not None
    return given.reshape(-1).tolist()


def position(node: Node, name: str) -> int | None:
    """The number of the input of that name, None where it is not given."""
    for i, x in enumerate(node.inputs):
        if isinstance(x, np.ndarray) and label(node, i) == name:
            return i
    return None


def label(node: Node, index: int) -> str:
    """The name of an input, as ONNX has it."""
    found = signature.schema(node.operator, node.domain, node.version)
    if found is not None:
        formals = [formal.name for formal in found.inputs]
        variadic = bool(formals) and found.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    else:
        formals, variadic = _arguments(node)
    if variadic and index >= len(formals) - 1:
        return f"input {index}"
    return formals[index] if index < len(formals) else f"input {index}"


def _arguments(node: Node) -> tuple[list[str], bool]:
    """The reference's own names of inputs, and whether the last one stands for any number."""
    try:
        function = evaluator.function(node.operator, node.domain, node.version)
    except evaluator.EvaluationError:
        return [], False
    formals = [p for p in inspect.signature(function).parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    return [p.name for p in formals], any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in formals)


def with_value(question: Question, cause: str, text: str, name: str, new: Any) -> Iterator[Hypothesis]:
    """The same operator told something else under that name; an input keeps its shape where the number of values fits."""
    at = position(question.node, name)
    if at is None or name in question.node.attributes:
        return question.of_attributes(cause, text, **{name: new})
    old = question.node.inputs[at]
    assert old is not None
    return question.of_inputs(cause, text, lambda: substituted(question.node, {at: _like(np.asarray(new, old.dtype), old)}))


def _like(x: Array, old: Array) -> Array:
    return x.reshape(old.shape) if x.size == old.size else x.reshape(-1)


def substituted(node: Node, new: dict[int, Array | None]) -> list[Array | None]:
    """The inputs with some of them replaced, by number."""
    return [new.get(i, x) for i, x in enumerate(node.inputs)]


def shown(x: Any) -> str:
    """A value as it stands in a sentence."""
    if isinstance(x, np.ndarray):
        x = x.reshape(-1).tolist()
    if isinstance(x, Sequence) and not isinstance(x, str):
        return f"({','.join(shown(v) for v in x)})"
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def instead(name: str, new: Any, old: Any) -> str:
    """ "the reference computed with pads (0,0,1,1) instead of (1,1,0,0)"."""
    return f"the reference computed with {name} {shown(new)} instead of {shown(old)}"
