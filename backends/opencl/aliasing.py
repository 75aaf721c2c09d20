"""Which buffers may be the same memory.

One buffer for an input and an output is always right: where kernels would read what they wrote, the output is computed beside
it and moved there at the end. Refused is an overlap in part, and what OpenCL leaves undefined.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from backends.interface import Unsupported
from backends.opencl.elements import SCALARS
from backends.opencl.memory import OpenClBuffer
from backends.opencl.program import Program


def staged(program: Program, bound: Mapping[str, OpenClBuffer], places: Sequence[Sequence[tuple[int, ...]]]) -> list[str]:
    """Outputs that must be computed elsewhere first. `places`: descriptors of each step's operands. Raises Unsupported."""
    found: list[str] = []
    for first, second in itertools.combinations(bound, 2):
        a, b = bound[first], bound[second]
        written = [name for name in (first, second) if name in program.outputs]
        if a.allocation is not b.allocation:
            if _overlap(a, b, a.address, b.address):
                raise Unsupported(
                    f"{first} and {second} overlap in host memory, but not as parts of one memory object: undefined in OpenCL",
                    phase="load",
                    code="opencl.alias",
                )
        elif written and _overlap(a, b, a.offset, b.offset):
            if len(written) == 2 or (not _same(a, b) and not _in_order(program, places, first, second)):
                raise Unsupported(f"{first} and {second} overlap", phase="load", code="opencl.alias")
            if not _in_order(program, places, first, second):
                found.append(second)
    return found


def _same(a: OpenClBuffer, b: OpenClBuffer) -> bool:
    """Whether two buffers lie at the same places."""
    return (a.offset, a.size, a.strides, a.first) == (b.offset, b.size, b.strides, b.first)


def _overlap(a: OpenClBuffer, b: OpenClBuffer, at: int | None, bt: int | None) -> bool:
    return at is not None and bt is not None and at < bt + b.size and bt < at + a.size


def _in_order(program: Program, places: Sequence[Sequence[tuple[int, ...]]], source: str, target: str) -> bool:
    """Whether every read of `source` comes before the write of `target` that hits it: in an earlier step, or in the same work
    item, where both lie at the same places."""
    written = [n for n, step in enumerate(program.steps) if step.operands[0].tensor == target]
    width = {name: SCALARS[program.tensors[name].dtype].element.bits for name in (source, target)}
    for n, step in enumerate(program.steps):
        for access, place in zip(step.operands[1:], places[n][1:], strict=False):
            if access.tensor != source:
                continue
            same = step.in_place and width[source] == width[target] and place == places[n][0]
            if any(writer < n or (writer == n and not same) for writer in written):
                return False
    return True
