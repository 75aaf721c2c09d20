"""Everything that a verdict asks of the reference, in one call for one node: the value, what its error bound is made of, and
which elements no single value is right for.

For whole graphs see `reference.propagation`.
"""

from __future__ import annotations

import dataclasses

from reference import dtypes, ingredients, magnitudes, marks
from reference.ingredients import Ingredients
from reference.magnitudes import Magnitudes
from reference.node import Array, Node


@dataclasses.dataclass(frozen=True)
class Result:
    """One output of a node.

    value: float64 and unrounded for floating-point types, else exact in its own type. magnitudes: B, Q and the number of terms
    of a linear operator (first output only), else None. ingredients: inner quantities of an explicit bound, empty where inputs
    and value suffice. open: mask of the elements that ONNX leaves to the implementation; ties: mask of those that a relative
    move of the operands by 2^-20 would decide otherwise (a coordinate half-way between two elements, a quotient half-way
    between two integers, an overlap at the threshold; by 2^-14 for requantised results, which single precision computes).
    Masks broadcast to the value; None where there is no such element.
    """

    name: str
    dtype: str
    value: Array
    magnitudes: Magnitudes | None
    ingredients: Ingredients
    open: Array | None
    ties: Array | None

    def stored(self) -> Array:
        """The value as a correct device stores it: rounded to nearest even in its type."""
        return dtypes.cast(self.value, self.dtype) if dtypes.is_float(self.dtype) else self.value


def results(node: Node, *, with_magnitudes: bool = True) -> tuple[Result, ...]:
    """The outputs that the node names. B and Q are computed when they are first looked at; `with_magnitudes=False` leaves
    them and the ingredients out."""
    sizes = magnitudes.of(node) if with_magnitudes else None
    inner = ingredients.of(node) if with_magnitudes else {}
    return tuple(
        Result(name, kind, value, sizes if i == 0 else None, inner, _any(marks.left_open(node, i)), _any(marks.ties(node, i)))
        for i, (name, kind, value) in enumerate(zip(node.output_names, node.output_types, node.results, strict=True))
        if name
    )


def _any(mask: Array | None) -> Array | None:
    """The mask, or None if it marks nothing."""
    return mask if mask is not None and mask.any() else None
