"""Layouts of windows that convolutions and pools share: their attributes, and axes on which they fit by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from suites.cases.operators.sweep import joined, pairwise

Numbers = tuple[int, ...]
Padding = Numbers | str
"""pads, or a value of auto_pad; () leaves both out."""

SAME = ("SAME_UPPER", "SAME_LOWER")
PAIRS = ((0, 1), (1, 1), (2, 0), (1, 2))
"""Elements of padding at the beginning and at the end of an axis."""


def swept(fields: Callable[..., str | None], values: Mapping[str, Sequence[Any]]) -> str:
    """The fields of a `Row`, made of values that meet in pairs: for middles that several rows share."""
    return " ".join(pairwise(fields, values))


def listed(numbers: Iterable[int]) -> str:
    return "_".join(map(str, numbers))


def shape(*lengths: int) -> str:
    return "x".join(map(str, lengths))


def staggered(values: Sequence[int], rank: int) -> list[Numbers]:
    """As many tuples as values, in which each axis has another value than the axis before."""
    return [tuple(values[(i + axis) % len(values)] for axis in range(rank)) for i in range(len(values))]


def uneven(pairs: Sequence[tuple[int, int]], rank: int) -> list[Numbers]:
    """pads, as many as pairs, in which each axis has another pair than the axis before."""
    rows = [[pairs[(i + axis) % len(pairs)] for axis in range(rank)] for i in range(len(pairs))]
    return [(*(begin for begin, _ in row), *(end for _, end in row)) for row in rows]


class Windows(NamedTuple):
    """Windows of a kernel; one entry per spatial axis (two of `padding`), () for what the node leaves out."""

    kernel: Numbers
    padding: Padding = ()
    strides: Numbers = ()
    dilations: Numbers = ()

    @property
    def extents(self) -> Numbers:
        """Elements that a window spans, gaps included."""
        dilations = self.dilations or (1,) * len(self.kernel)
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, dilations, strict=True))

    def within_kernel(self) -> Windows:
        """The same with less padding than a kernel is long, and strides within it under SAME: what is beyond that, runtimes
        refuse in pools, or ONNX leaves open."""
        if isinstance(self.padding, str):
            steps = zip(self.strides, self.extents, strict=False)
            return self._replace(strides=tuple(min(pair) for pair in steps)) if self.padding in SAME else self
        most = [k - 1 for k in self.kernel] * 2
        return self._replace(padding=tuple(min(pair) for pair in zip(self.padding, most, strict=False)))

    def lengths(self, outputs: Numbers, rest: int = 0) -> Numbers:
        """Lengths of axes on which so many windows fit and leave over `rest` elements, or as many as a stride allows."""
        rank = len(self.kernel)
        strides = self.strides or (1,) * rank
        pads = self.padding if self.padding and not isinstance(self.padding, str) else (0,) * 2 * rank
        first = (1,) * rank if self.padding in SAME else self.extents
        return tuple(
            max(first[i] + (outputs[i] - 1) * strides[i] + min(rest, strides[i] - 1) - int(pads[i]) - int(pads[rank + i]), 1)
            for i in range(rank)
        )

    def counts(self, lengths: Numbers) -> Numbers:
        """How many windows fit along axes of such lengths."""
        rank = len(self.kernel)
        strides, pads = self.strides or (1,) * rank, self.padding or (0,) * 2 * rank
        return tuple(
            (n + int(pads[i]) + int(pads[rank + i]) - extent) // stride + 1
            for i, (n, extent, stride) in enumerate(zip(lengths, self.extents, strides, strict=True))
        )

    def begins_outside(self, lengths: Numbers) -> bool:
        """Whether ceil_mode would make a window that begins behind the tensor: before version 22, ONNX's text and its shape
        inference count it, against its reference."""
        rank = len(self.kernel)
        strides = self.strides or (1,) * rank
        pads = self.padding if self.padding and not isinstance(self.padding, str) else (0,) * 2 * rank
        for n, extent, stride, begin, end in zip(lengths, self.extents, strides, pads[:rank], pads[rank:], strict=True):
            last = -(-(n + int(begin) + int(end) - extent) // stride) * stride
            if last >= n + int(begin):
                return True
        return False

    def fields(self, *, kernel_shape: bool = True) -> str:
        """The attributes as an id has them."""
        if isinstance(self.padding, str):
            padding = f"auto_pad:{self.padding}"
        else:
            padding = f"pads:{listed(self.padding)}" if self.padding else ""
        return joined(
            f"kernel_shape:{listed(self.kernel)}" if kernel_shape else "",
            padding,
            f"strides:{listed(self.strides)}" if self.strides else "",
            f"dilations:{listed(self.dilations)}" if self.dilations else "",
        )
