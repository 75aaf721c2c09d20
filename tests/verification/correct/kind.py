"""What an implementation is, and how a family of them over orders of summation is made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from reference.node import Array, Node
from tests.verification.orders import ORDERS
from tests.verification.units import Unit

Implementation = Callable[[Node, Unit], list[Array]]


def in_every_order(f: Callable[..., list[Array]], prefix: str = "", **fixed: Any) -> dict[str, Implementation]:
    """f with each order of summation as its keyword `order`, named after it."""
    return {prefix + order: functools.partial(f, order=order, **fixed) for order in ORDERS}
