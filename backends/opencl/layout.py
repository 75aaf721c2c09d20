"""Where elements lie: layouts of tensors in memory, and how a kernel's index space walks through them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Layout:
    """A tensor in memory, in elements: where its first one lies and how far apart they are along each axis of the model."""

    offset: int
    strides: tuple[int, ...]


def contiguous(shape: Sequence[int], order: Sequence[int] | None = None, offset: int = 0) -> Layout:
    """C order; with `order`, the axes as memory has them, from the first to the last."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order if order is not None else range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    return Layout(offset, tuple(strides))


@dataclasses.dataclass(frozen=True)
class Access:
    """How an operand is walked: for each axis of the index space its extent and the tensor's axis, None to stay in place.

    start: (axis, index) of the first element. steps: elements of the tensor's axis a step, one by default.
    """

    tensor: str
    extents: tuple[int, ...]
    axes: tuple[int | None, ...]
    start: tuple[tuple[int, int], ...] = ()
    steps: tuple[int, ...] = ()

    def descriptor(self, layout: Layout, *, relative: bool = False) -> tuple[int, ...]:
        """(rank, offset, extent and stride from the last axis to the first), axes that are one walk merged.

        relative: from wherever an outer walk stands, as loops inside a work item are.
        """
        merged: list[tuple[int, int]] = []
        steps = self.steps or (1,) * len(self.axes)
        for extent, axis, step in reversed(list(zip(self.extents, self.axes, steps, strict=True))):
            stride = 0 if axis is None else layout.strides[axis] * step
            if extent == 1:
                continue
            if merged and stride == merged[-1][0] * merged[-1][1]:
                merged[-1] = (merged[-1][0] * extent, merged[-1][1])
            else:
                merged.append((extent, stride))
        offset = layout.offset + sum(index * layout.strides[axis] for axis, index in self.start)
        return (len(merged), 0 if relative else offset, *(number for pair in merged for number in pair))

    @property
    def count(self) -> int:
        return math.prod(self.extents)


def whole(tensor: str, shape: Sequence[int]) -> Access:
    """Every element, in the order of the model's axes."""
    return Access(tensor, tuple(shape), tuple(range(len(shape))))


def broadcast(tensor: str, shape: Sequence[int], target: Sequence[int]) -> Access:
    """Every element of `target`, to which NumPy's rules stretch `shape`."""
    missing = len(target) - len(shape)
    axes = [None if n < missing or shape[n - missing] != target[n] else n - missing for n in range(len(target))]
    return Access(tensor, tuple(target), tuple(axes))


def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest place of an element relative to the first one, in the unit of the strides."""
    spans = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans)


def overlaps_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements may share a place: an axis steps less far than the axes inside it reach."""
    reached = 0
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(strides, shape, strict=True) if extent > 1):
        if stride <= reached:
            return True
        reached += stride * (extent - 1)
    return False
