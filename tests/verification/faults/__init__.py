"""The catalogue of faults that verification must find and diagnosis must name.

`CATALOGUE` holds a `Fault` for every way in which an emulated device is wrong: `fault.applies(node)` says whether it can
happen to a node, `fault.perform(node, rng)` gives the device's outputs in declared types, `fault.causes` what a diagnosis may
say (the first word is what the fault is), `fault.expected(node, outputs)` the tier of the verdict that finds it,
`fault.recipes` the data on which it shows. `bites(node, outputs)` tells whether a fault has changed anything on this node at
all. Faults are made from the operator on other inputs, from NumPy and from emulated units; nothing here knows how they are
diagnosed.
"""

from __future__ import annotations

from tests.verification.faults import attributes, integers, omission, placement, precision, special, whole
from tests.verification.faults.kind import TIERS, Fault, bites, right

__all__ = ["CATALOGUE", "TIERS", "Fault", "bites", "faults_of", "right"]

CATALOGUE: tuple[Fault, ...] = (
    *placement.FAULTS,
    *attributes.FAULTS,
    *omission.FAULTS,
    *integers.FAULTS,
    *precision.FAULTS,
    *special.FAULTS,
    *whole.FAULTS,
)
"""All faults; names are unique."""


def faults_of(cause: str) -> tuple[Fault, ...]:
    """Those that are made for a cause: the first of their words."""
    return tuple(fault for fault in CATALOGUE if fault.causes[0] == cause)
