"""What a device may have read in place of what it was given: inputs that would explain a wrong result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from suites.exercises.evidence import Arrays
from suites.exercises.memory import Imported, Place

ROUNDINGS = (4096, 256, 128, 64, 32, 16, 8, 4)
"""Multiples that devices want addresses to be of."""

Hypothesis = tuple[str, str, dict[str, np.ndarray]]
"""(cause, sentence, what the inputs would have been)."""


def read_elsewhere(inputs: Mapping[str, Place], feeds: Arrays) -> Iterator[Hypothesis]:
    """Imported inputs as they would be without their strides, or at the start of their page, or at a rounded address."""
    imported = {name: place for name, place in inputs.items() if isinstance(place, Imported)}
    packed = {name: array for name, place in imported.items() if (array := place.packed()) is not None}
    if packed:
        yield "strides-ignored", "the inputs were read as if their rows followed each other", {**feeds, **packed}
    tried = [feeds]
    for multiple in ROUNDINGS:
        for word, rounded in (("down", _down), ("up", _up)):
            read = {name: place.at(rounded(place.address, multiple)) for name, place in imported.items()}
            found = {**feeds, **{name: array for name, array in read.items() if array is not None}}
            if not any(all(found[n].tobytes() == known[n].tobytes() for n in feeds) for known in tried):
                tried.append(found)
                yield "address-wrong", f"the inputs were read at their addresses rounded {word} to {multiple} bytes", found


def _down(address: int, multiple: int) -> int:
    return address - address % multiple


def _up(address: int, multiple: int) -> int:
    return address + -address % multiple
