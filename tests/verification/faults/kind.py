"""What a fault is, and what a faulty device starts from: the right results in the tensors' own types, or other ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify import modes

TIERS = ("shape", "special", "exact", "lattice", "interval", "tier 1", "tier 2", "tier 3")
"""Tests of a verdict, in their order."""

Perform = Callable[[Node, np.random.Generator], list[Array]]
Condition = Callable[[Node], bool]


@dataclasses.dataclass(frozen=True)
class Fault:
    """A way in which a device is wrong.

    causes: words of `reference.verify.diagnosis.causes.CAUSES`; the first is what the fault is, the others describe the same
    outputs as well, so that a diagnosis may name them instead. tier: by which test of the verdict it must be found at the
    latest, on real data. applies: whether the fault can
    happen to a node at all. perform: the outputs of a faulty device in declared types. recipes: the data on which it shows;
    none: on all. smallest, largest: the number of terms of a sum from which on and up to which it shows.
    """

    name: str
    causes: tuple[str, ...]
    tier: str
    applies: Condition
    perform: Perform
    recipes: tuple[str, ...] = ()
    smallest: int = 1
    largest: int = 4096

    def expected(self, node: Node, outputs: list[Array] | None = None) -> str:
        """The tier that must find it on this node: on integers and in exact operators another than on reals, and the shape
        if that of `outputs`, which `perform` gave, is another."""
        if outputs is not None and any(y.shape != r.shape for y, r in zip(outputs, node.results, strict=True)):
            return "shape"
        if self.tier != "tier 1":
            return self.tier
        if node.operator in modes.INTERVALS and dtypes.is_integer(node.output_types[0]):
            return "interval"
        if node.operator in modes.EXACT or not dtypes.is_float(node.output_types[0]):
            return "exact"
        integral = all(x is None or bool(np.all(x == np.rint(x))) for x in node.inputs)
        return "lattice" if integral and modes.mode_of(node.operator) == "ACCUM" else "tier 1"


def on(*operators: str, when: Condition = lambda node: True) -> Condition:
    """Applies to these operators, where `when` holds."""
    return lambda node: node.operator in operators and when(node)


def typed(node: Node, results: Iterable[Array]) -> list[Array]:
    """Exact results in the declared types of the outputs."""
    found = []
    with np.errstate(all="ignore"):
        for value, name in zip(results, node.output_types, strict=True):
            found.append(dtypes.cast(value, name) if dtypes.is_float(name) else value.astype(dtypes.numpy_dtype(name)))
    return found


def right(node: Node) -> list[Array]:
    """What a device returns that rounds the exact result once."""
    return typed(node, node.results)


def again(node: Node, changes: dict[int, Array | None] | None = None, **attributes: Any) -> list[Array]:
    """The outputs for other inputs (by position) or attributes, each in the declared extents if it has as many elements."""
    inputs = [(changes or {}).get(i, x) for i, x in enumerate(node.inputs)]
    return in_buffer(node, typed(node, node.again(inputs, **attributes)))


def in_buffer(node: Node, outputs: list[Array]) -> list[Array]:
    """Outputs whose elements fill the buffer of the declared extents are read with those."""
    return [y.reshape(r.shape) if y.size == r.size else y for y, r in zip(outputs, node.results, strict=True)]


def data(node: Node, index: int = 0) -> Array:
    """Input number `index`, which is there."""
    x = node.inputs[index]
    assert x is not None
    return x


def with_first(node: Node, first: Array) -> list[Array]:
    """The right outputs but for the first one."""
    return [first.reshape(node.results[0].shape), *right(node)[1:]]


def bites(node: Node, outputs: list[Array]) -> bool:
    """Whether any output differs from the right one, the bits of NaN aside: a fault that does not touch a node's result
    cannot be found."""
    for y, expected in zip(outputs, right(node), strict=True):
        if y.shape != expected.shape or y.dtype != expected.dtype:
            return True
        if y.tobytes() != expected.tobytes() and not _same_but_for_nan(y, expected):
            return True
    return False


def _same_but_for_nan(y: Array, expected: Array) -> bool:
    if not dtypes.is_float(dtypes.name_of(y.dtype)):
        return False
    a, b = dtypes.to_real(y), dtypes.to_real(expected)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))
