"""Known disagreements of the family `families.elementwise`, and of broadcasting before opset 7 also those of `logical`."""

from __future__ import annotations

import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Declines, Disagreement


def kind(sample: Sample, index: int = 0) -> str:
    """The element type of an input."""
    return dtypes.name_of(sample.input(index).dtype)


def _aligned_elsewhere(sample: Sample) -> bool:
    """Whether b is a part of a that neither ends where a ends nor is a single element."""
    axis, b = sample.attribute("axis"), sample.input(1)
    return sample.version < 7 and axis is not None and b.size != 1 and axis + b.ndim != sample.input(0).ndim


def _zeros_below(sample: Sample) -> bool:
    """Whether a selected tensor holds −0."""
    return any(
        dtypes.is_float(kind(sample, i)) and bool(np.any((sample.input(i) == 0) & np.signbit(sample.input(i)))) for i in (1, 2)
    )


KNOWN: list[Disagreement] = [
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"),
        what="broadcasts as from opset 7 on and passes over `axis`",
        why="before opset 7 the shape of B is a part of the shape of A that starts at `axis`",
        when=_aligned_elsewhere,
        example=lambda: call("Add", [np.zeros((2, 2)), np.arange(2.0)], version=6, axis=0, broadcast=1),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Erf",),
        what="computes float64 in single precision",
        why="erf(1.5) is 0.96610514647531…, it gives 0.966105163…",
        when=lambda s: kind(s) == "float64",
        example=lambda: call("Erf", [np.array(1.5)], version=13),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Sin", "Cos"),
        what="loses up to 20 bits of float64 near the zeros between 1.5 and 25",
        why="its absolute error there is 2^-52 or so, not its relative one: cos(4.712387180933059) is off by 867,484 ulp",
        when=lambda s: kind(s) == "float64" and bool(np.any(np.abs(s.input(0)) > 1.5)),
        example=lambda: call("Cos", [np.full(16, 4.712387180933059)], version=22),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Where",),
        what="gives +0 for a selected −0",
        why="an element is selected, not computed (https://github.com/microsoft/onnxruntime/issues/32191)",
        when=_zeros_below,
        example=lambda: call("Where", [np.array([True]), np.array([-0.0], "f4"), np.array([1], "f4")], version=16),
    ),
]

DECLINED: Declines = {}
