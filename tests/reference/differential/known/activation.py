"""Known disagreements of the family `families.activation`."""

from __future__ import annotations

import math

import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Declines, Disagreement
from .elementwise import kind


def _flattened(sample: Sample) -> bool:
    """Whether the axes from `axis` on, which are one line before opset 13, hold more than one of them, the last by default."""
    shape = sample.input(0).shape
    line = shape[sample.attribute("axis", 1) % len(shape) :]
    return sample.version < 13 and math.prod(line) != shape[sample.attribute("axis", -1)]


def _underflows(sample: Sample) -> bool:
    """Whether e^(x − max) may be less than the smallest normal number of the type."""
    x = dtypes.to_real(sample.input(0))
    x = x[np.isfinite(x)]
    return x.size > 0 and float(np.ptp(x)) > -math.log(dtypes.FLOATS[kind(sample)].smallest_normal)


def _beyond(sample: Sample, bits: int) -> bool:
    """Whether an integer needs more bits than a significand has."""
    x = sample.input(0)
    return x.dtype.kind in "iu" and any(abs(int(v)) > 2**bits for v in x.ravel())


KNOWN: list[Disagreement] = [
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Softmax", "LogSoftmax", "Hardmax"),
        what="takes lines along one axis before opset 13 too, by default the last",
        why="Softmax-11: the input is coerced into two dimensions, all axes from `axis` on are one line; from 1 on by default",
        when=_flattened,
        example=lambda: call("Softmax", [np.zeros((1, 2, 2), "f4")], version=11, axis=1),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("LogSoftmax",),
        what="takes the logarithm of the rounded softmax: −inf where that underflows",
        why="ln softmax([0, −20]) is −20 in every type",
        when=_underflows,
        example=lambda: call("LogSoftmax", [np.array([0, -20], "f2")], version=13),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Gelu",),
        what="computes float64 with constants and an erf that are less exact than float32 constants explain",
        why="gelu(2.46875) is 2.4520136147230773, it gives 2.452013644…",
        when=lambda s: kind(s) == "float64",
        example=lambda: call("Gelu", [np.array(2.46875)], version=20),
    ),
    *(
        Disagreement(
            peer=peer,
            version=version,
            operators=("Gelu",),
            what="loses the tail: 1 + erf(x/√2) is rounded to 0 below about −5, in the type of the input",
            why="gelu(−7.453125) is −3.4·10^−13, a normal number of float32; it gives −0",
            when=lambda s: kind(s) != "float64" and bool(np.any(dtypes.to_real(s.input(0)) < -4)),
            example=lambda: call("Gelu", [np.array([-7.453125], "f4")], version=20),
        )
        for peer, version in (("onnx.reference", "1.23.2"), ("ONNX Runtime", "1.32.0"))
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("PRelu",),
        what="broadcasts a slope a channel along the last axis before opset 7",
        why="PRelu-6: a slope of size C, one a channel",
        when=lambda s: s.version < 7 and s.input(0).ndim > 2 and s.input(1).size > 1,
        example=lambda: call("PRelu", [-np.ones((1, 2, 2), "f4"), np.array([1, 2], "f4")], version=6),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Selu",),
        what="has the default alpha and gamma of Selu-6 for Selu-1",
        why="Selu-1: alpha = 1.6732 and gamma = 1.0507 by default",
        when=lambda s: s.version == 1 and None in (s.attribute("alpha"), s.attribute("gamma")),
        example=lambda: call("Selu", [np.array([2], "f4")], version=1),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("LogSoftmax",),
        what="gives numbers or −inf in a line of float64 that holds NaN",
        why="the sum of the line is NaN, whatever its order",
        when=lambda s: kind(s) == "float64" and bool(np.isnan(s.input(0)).any()),
        example=lambda: call("LogSoftmax", [np.array([2, np.nan, -np.inf, 7])], version=13),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Shrink",),
        what="computes float64, and integers beyond 2^24, in single precision",
        why="x + bias: 2^24 + 1 stays itself with a bias of 0",
        when=lambda s: kind(s) == "float64" or _beyond(s, 24),
        example=lambda: call("Shrink", [np.array([2**24 + 1], "i4")], version=9),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Shrink",),
        what="computes integers beyond 2^54 in float64",
        why="x + bias: 2^55 + 3 stays itself with a bias of 0",
        when=lambda s: _beyond(s, 54),
        example=lambda: call("Shrink", [np.array([2**55 + 3])], version=9),
    ),
]

DECLINED: Declines = {"ONNX Runtime": {"SwiGLU": "its function body calls Swish, which has no kernel in opset 28"}}
