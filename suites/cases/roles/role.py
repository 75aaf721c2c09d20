"""What a role is: `role(values, draw, node, tensor) -> values` gets what the recipe made (float64, int64 or uint64, in the
tensor's shape) and returns what the operator may be given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from reference import dtypes
from suites.cases.node import Node, Tensor
from suites.cases.recipes import Draw

Array = NDArray[Any]
Role = Callable[[Array, Draw, Node, Tensor], Array]


def is_integer(tensor: Tensor) -> bool:
    """Whether a tensor holds whole numbers, bool apart."""
    return not dtypes.is_float(tensor.dtype) and tensor.dtype not in ("bool", "str")


def in_turn(*roles: Role) -> Role:
    """Several roles, one after the other."""

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        for each in roles:
            values = each(values, draw, node, tensor)
        return values

    return role
