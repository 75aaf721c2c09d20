"""Evaluates ONNX graphs with the operators of `reference.table`: reals in float64, unrounded; everything else exact.

Floating-point tensors enter and leave every operator as float64 whatever their declared type; rounding to a declared type
is a step of its own (`reference.dtypes.round_to`), so that the verifier can compare with the real value.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, shape_inference

from reference import dtypes, table

Array = NDArray[Any]


class EvaluationError(ValueError):
    """A model that cannot be evaluated; the text names node, operator, domain and version."""


@functools.cache
def function(operator: str, domain: str, version: int) -> table.Function:
    """The reference function that an opset `version` of `domain` means by `operator`. Raises EvaluationError."""
    entries = table.ONNX.get(operator, {}) if domain in ("", "ai.onnx") else {}
    since = [v for v in entries if v <= version]
    if not since:
        known = f"from version {min(entries)} on" if entries else "not at all"
        raise EvaluationError(f"the reference has {domain or 'ai.onnx'}:{operator} {known}; version {version} was asked for")
    return entries[max(since)]


@functools.cache
def _keywords(f: table.Function) -> frozenset[str]:
    return frozenset(n for n, p in inspect.signature(f).parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY)


def apply(
    operator: str,
    version: int,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, Any],
    *,
    domain: str = "",
    types: Sequence[str | None] | None = None,
    n_outputs: int = 1,
) -> tuple[Array, ...]:
    """One operator on arrays. `types` are the declared input types, needed only where floats arrive as float64 already."""
    f = function(operator, domain, version)
    if types is None:
        types = [None if x is None else dtypes.name_of(x.dtype) for x in inputs]
    extra: dict[str, Any] = {}
    if "dtypes" in _keywords(f):
        extra["dtypes"] = tuple(types)
    if "n_outputs" in _keywords(f):
        extra["n_outputs"] = n_outputs
    reals = [None if x is None else dtypes.to_real(x) for x in inputs]
    with np.errstate(all="ignore"):
        result = f(*reals, **attributes, **extra)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(np.asarray(r) for r in results)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as Python values: bytes decoded, tensors as arrays."""

    def value(attribute: onnx.AttributeProto) -> Any:
        v = onnx.helper.get_attribute_value(attribute)
        if isinstance(v, bytes):
            return v.decode()
        if isinstance(v, onnx.TensorProto):
            return numpy_helper.to_array(v)
        if isinstance(v, list | tuple) and v and isinstance(v[0], bytes):
            return [item.decode() for item in v]
        return v

    return {attribute.name: value(attribute) for attribute in node.attribute}


def opset_of(model: onnx.ModelProto, domain: str = "") -> int:
    """The version of `domain` that the model imports. Raises EvaluationError if it imports none."""
    for entry in model.opset_import:
        if entry.domain in ({"", "ai.onnx"} if domain in ("", "ai.onnx") else {domain}):
            return int(entry.version)
    raise EvaluationError(f"the model imports no opset of domain {domain or 'ai.onnx'}")


def evaluate(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Values of all graph outputs by name. Raises EvaluationError for missing feeds and unknown operators."""
    inferred = shape_inference.infer_shapes(model)
    graph = inferred.graph
    types = {v.name: dtypes.NAMES.get(v.type.tensor_type.elem_type) for v in [*graph.input, *graph.output, *graph.value_info]}
    values: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    types.update({name: dtypes.name_of(v.dtype) for name, v in values.items()})
    for needed in graph.input:
        if needed.name in feeds:
            values[needed.name] = np.asarray(feeds[needed.name])
        elif needed.name not in values:
            raise EvaluationError(f"no value was fed for graph input '{needed.name}'")
    for node in graph.node:
        where = f"node '{node.name}' ({node.domain or 'ai.onnx'}:{node.op_type})"
        missing = [name for name in node.input if name and name not in values]
        if missing:
            raise EvaluationError(f"{where} reads '{missing[0]}', which nothing produces before it")
        try:
            results = apply(
                node.op_type,
                opset_of(model, node.domain),
                [values[name] if name else None for name in node.input],
                attributes_of(node),
                domain=node.domain,
                types=[types.get(name) if name else None for name in node.input],
                n_outputs=len(node.output),
            )
        except EvaluationError as error:
            raise EvaluationError(f"{where}: {error}") from None
        values.update({name: result for name, result in zip(node.output, results, strict=False) if name})
    return {output.name: values[output.name] for output in graph.output}
