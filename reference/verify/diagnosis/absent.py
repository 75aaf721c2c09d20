"""Inputs that a model leaves out and a device reads all the same: they count as zeros, as in memory that was cleared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx

from reference import dtypes, signature
from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.placement import computed

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,))
"""Shapes that are tried for zeros: limits and axes are scalars or lists of one."""

MOST = 3
"""Inputs left out that are supposed to be read, at most."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """All of them first, as a device treats one like the other, then each alone."""
    node = question.node
    left_out = dict(list(_left_out(node).items())[:MOST])
    for chosen in ([list(left_out)] if len(left_out) > 1 else []) + [[i] for i in left_out]:
        names = " and ".join(left_out[i][0] for i in chosen)
        text = f"the reference computed with 0 for {names}, which {'is' if len(chosen) == 1 else 'are'} not given"
        for shape in SHAPES:
            zeros = {i: (left_out[i][1], shape) for i in chosen}
            found = list(question.of_node("attribute-value", text, computed(*_filled(node, zeros))))
            yield from found
            if found:
                break


def _left_out(node: Node) -> dict[int, tuple[str, str]]:
    """Number → (name, type) of the optional inputs that are not given, as far as ONNX has a schema."""
    found = signature.schema(node.operator, node.domain, node.version)
    if found is None:
        return {}
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    known = {f.type_str: t for f, t in zip(found.inputs, node.types, strict=False) if t is not None}
    absent = {}
    for i, formal in enumerate(found.inputs):
        if formal.option == optional and not node.given(i):
            dtype = known.get(formal.type_str) or _simplest(formal.types)
            if dtype is not None:
                absent[i] = (formal.name, dtype)
    return absent


def _simplest(allowed: set[str]) -> str | None:
    """The type of zeros where no other input decides it."""
    names = {signature.name_of(t) for t in allowed}
    return next((t for t in ("int64", "int32", "float32", "bool") if t in names), None)


def _filled(node: Node, zeros: Mapping[int, tuple[str, Sequence[int]]]) -> tuple[Node, list[Array | None]]:
    """(the node with the types of zeros that it now reads, its inputs with them); zeros go by number, as (type, shape)."""
    count = max(len(node.inputs), *(i + 1 for i in zeros))
    inputs = [*node.inputs, *[None] * (count - len(node.inputs))]
    types = [*node.types, *[None] * (count - len(node.types))]
    for i, (dtype, shape) in zeros.items():
        inputs[i] = np.zeros(tuple(shape), np.float64 if dtypes.is_float(dtype) else dtypes.numpy_dtype(dtype))
        types[i] = dtype
    return dataclasses.replace(node, types=tuple(types)), inputs
