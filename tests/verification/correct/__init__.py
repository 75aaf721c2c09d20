"""Legitimate implementations of operators in an emulated unit: whatever they return, verification must accept.

`implementations(operator)` → name → function of (node, unit) that gives the node's outputs in their declared types. Each is
an algorithm that real kernels use: an order of summation, one pass or two, a division or a product with the reciprocal. They
share no code with the reference, but for the rounding of a result to its tensor's type.
"""

from __future__ import annotations

from tests.verification.correct import attention, element, movement, normal, quantised, sums
from tests.verification.correct.kind import Implementation

_ALL: dict[str, dict[str, Implementation]] = {
    **sums.IMPLEMENTATIONS,
    **normal.IMPLEMENTATIONS,
    **element.IMPLEMENTATIONS,
    **attention.IMPLEMENTATIONS,
    **quantised.IMPLEMENTATIONS,
    **movement.IMPLEMENTATIONS,
}

OPERATORS: tuple[str, ...] = tuple(sorted(_ALL))
"""Operators that have implementations."""


def implementations(operator: str) -> dict[str, Implementation]:
    """Algorithm → implementation. Raises KeyError for an operator that has none."""
    return _ALL[operator]
