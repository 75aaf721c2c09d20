"""PROPERTIES: random operators, whose outputs are judged by range, type and distribution (`reference.random_properties`).

What a correct generator gives contradicts them in one of 10^9 tensors at most, so 25,000 cases have 2.5·10^-5 false alarms.
The values themselves are no one's to predict: without a violation they are implementation_defined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference import dtypes, random_properties
from reference.node import Array, Node
from reference.verify.compare import Expected
from reference.verify.verdict import TensorVerdict, judge

RANDOM = frozenset(random_properties.CHECKS)
"""Operators that are random whatever their attributes."""


def is_random(node: Node) -> bool:
    """Whether the node's outputs are random: an operator of `RANDOM`, or a Dropout that trains and drops."""
    return node.operator in RANDOM or (node.operator == "Dropout" and _trains(node) and _ratio(node) > 0)


def verify_random(node: Node, outputs: Sequence[Array], drawn: str | None = None) -> list[TensorVerdict]:
    """One verdict for each output that the node names, in the order of `outputs`, which are in their declared types; `drawn` is
    the format of the device's numbers where that is narrower. Mismatch with the first violation, else implementation_defined.
    Raises ValueError for a node that is not random."""
    if not is_random(node):
        raise ValueError(f"{node.operator} is not random here")
    named = [i for i, name in enumerate(node.output_names) if name]
    names = [node.output_names[i] for i in named]
    for i, got in zip(named, outputs, strict=True):
        if got.shape != node.results[i].shape or dtypes.name_of(got.dtype) != node.output_types[i]:
            expected = Expected(node.output_names[i], node.results[i], 0.0, node.output_types[i])
            return [judge(expected, got)] + [TensorVerdict(n, "implementation_defined") for n in names if n != expected.name]
    lines = _dropped(node, outputs) if node.operator == "Dropout" else _drawn(node, outputs, drawn)
    verdicts = []
    for name, found, got in zip(names, lines, outputs, strict=True):
        numbers: dict[str, float | int] = {"compared": int(got.size), "wrong": 0, "open": int(got.size)}
        if found:
            text = f"{name}: {'; '.join(found)}"
            verdicts.append(TensorVerdict(name, "mismatch", text, numbers | {"wrong": int(got.size)}, tier="properties"))
        else:
            verdicts.append(TensorVerdict(name, "implementation_defined", "", numbers))
    return verdicts


def _typed(node: Node, index: int) -> Array | None:
    """Input number `index` in its declared type."""
    kind = node.types[index] if index < len(node.types) else None
    if not node.given(index) or kind is None:
        return None
    x = node.inputs[index]
    assert x is not None
    return dtypes.cast(x.astype(np.float64), kind) if dtypes.is_float(kind) else x


def _drawn(node: Node, outputs: Sequence[Array], drawn: str | None) -> list[list[str]]:
    inputs = [_typed(node, i) for i in range(len(node.inputs))]
    return [random_properties.violations(node.operator, inputs, node.attributes, got, drawn) for got in outputs]


def _trains(node: Node) -> bool:
    """Whether a Dropout of any version trains."""
    if node.version < 7:
        return not node.attribute("is_test", 0)
    return node.version >= 12 and node.given(2) and bool(node.real(2).reshape(()))


def _ratio(node: Node) -> float:
    if node.version < 12:
        return float(node.attribute("ratio", 0.5))
    return float(node.real(1).reshape(())) if node.given(1) else 0.5


def _dropped(node: Node, outputs: Sequence[Array]) -> list[list[str]]:
    """The output's violations; those of a mask that the node names show there. Infinite data times 0 are nobody's to judge."""
    x, given = _typed(node, 0), _typed(node, 1) if node.version >= 12 else None
    assert x is not None
    ratio = np.asarray(_ratio(node), np.float32) if given is None else given
    named = [i for i, name in enumerate(node.output_names) if name]
    found = dict(zip(named, outputs, strict=True))
    mask, y = found.get(1), found.get(0)
    if y is None or not np.isfinite(dtypes.to_real(x)).all():
        return [[] for _ in outputs]
    lines = random_properties.dropout_violations(x, ratio, y, mask)
    return [lines if i == 0 else [] for i in named]
