"""Known disagreements of the family `families.conversion`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Declines, Disagreement
from .elementwise import kind

NARROW = ("int4", "uint4", "int2", "uint2")
BOTH = (("onnx.reference", "1.23.2"), ("ONNX Runtime", "1.32.0"))


def _target(sample: Sample) -> str:
    """The type that is cast to."""
    if sample.operator == "CastLike":
        return kind(sample, 1)
    to = sample.attribute("to")
    return dtypes.NAMES[to] if isinstance(to, int) else to.lower()


def _reals(sample: Sample, *targets: str) -> Any:
    """The values of reals that are cast to one of these types; none otherwise."""
    x = sample.input(0)
    return dtypes.to_real(x) if dtypes.is_float(kind(sample)) and _target(sample) in targets else np.zeros(0)


def _rounded_twice(sample: Sample) -> bool:
    """Whether an integer that float32 may not hold is cast to float8_e8m0fnu, also one in a string."""
    inside = dtypes.is_integer(kind(sample)) or kind(sample) == "str"
    return inside and _target(sample) == dtypes.SCALE and any(abs(float(v)) > 2**24 for v in sample.input(0).ravel())


def _cast(x: Any, to: str, version: int = 25, **attributes: Any) -> Sample:
    return call("Cast", [x], version=version, to=dtypes.ONNX[to], **attributes)


def _unsaturated(sample: Sample, to: str, low: float, high: float) -> bool:
    """Whether a magnitude in [low, high] is cast to this type without saturation."""
    if _target(sample) != to or sample.attribute("saturate", 1) or kind(sample) == "str":
        return False
    size = np.abs(sample.input(0).astype(np.float64))
    return bool(np.any((size >= low) & (size <= high)))


def _infinite_fnuz(sample: Sample) -> bool:
    """Whether an infinity is cast to a FNUZ format before opset 24."""
    return sample.version < 24 and _target(sample).endswith("fnuz") and bool(np.isinf(sample.input(0).astype(np.float64)).any())


def _no_scale(sample: Sample) -> bool:
    """Whether a number is cast to float8_e8m0fnu that is out of its range, or in its lowest binade."""
    if _target(sample) != dtypes.SCALE:
        return False
    x = sample.input(0).astype(np.float64)
    return bool(np.any((x < 2.0**-126) | (x > 2.0**127)))


KNOWN: list[Disagreement] = [
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Cast", "CastLike"),
        what="truncates reals to 4 and 2 bits",
        why="ONNX's technical details: such a cast rounds to the nearest integer, ties to even",
        when=lambda s: bool(np.any(np.rint(x := _reals(s, *NARROW)) != np.trunc(x))),
        example=lambda: _cast(np.array([1.75], "f4"), "int4"),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Cast", "CastLike"),
        what="rounds reals to 4 and 2 bits with ties away from zero",
        why="ONNX's technical details: ties to even, 2.5 is 2",
        when=lambda s: bool(np.any(np.abs(np.modf(_reals(s, *NARROW))[0]) == 0.5)),
        example=lambda: _cast(np.array([2.5], "f4"), "int4"),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Cast", "CastLike"),
        what="writes infinities and NaN in lower case",
        why="Cast's words for them are INF, -INF and NaN",
        when=lambda s: not np.isfinite(_reals(s, "str")).all(),
        example=lambda: _cast(np.array([np.inf], "f4"), "str"),
    ),
    Disagreement(
        peer="onnx.reference",
        version="1.23.2",
        operators=("Cast", "CastLike"),
        what="gives 2^-127 for 0 and NaN for infinity in float8_e8m0fnu, whatever `saturate`, and rounds its lowest binade up",
        why="Cast-24: without saturation what is out of range is NaN, with it the nearer end",
        when=_no_scale,
        example=lambda: _cast(np.array([0], "f4"), "float8_e8m0fnu", saturate=0),
    ),
    *[
        Disagreement(
            peer=peer,
            version=version,
            operators=("Cast", "CastLike"),
            what="rounds integers beyond 2^24 to float32 before it rounds them to float8_e8m0fnu",
            why="Cast-24 rounds once: 2^25 − 1 toward zero is 2^24",
            when=_rounded_twice,
            example=lambda: _cast(np.array([2**25 - 1], "i4"), "float8_e8m0fnu", round_mode="down"),
        )
        for peer, version in BOTH
    ],
    *[
        Disagreement(
            peer=peer,
            version=version,
            operators=("Cast", "CastLike"),
            what="gives the largest number for infinity in FNUZ formats before opset 24 too",
            why="Cast-19 to Cast-23 have NaN in their table; Cast-24 changed it",
            when=_infinite_fnuz,
            example=lambda: _cast(np.array([np.inf], "f4"), "float8_e4m3fnuz", version=19),
        )
        for peer, version in BOTH
    ],
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("CastLike",),
        what="passes over `round_mode`",
        why="CastLike-24 has it, with the meaning of Cast's",
        when=lambda s: _target(s) == dtypes.SCALE and s.attribute("round_mode", "up") != "up",
        example=lambda: call(
            "CastLike", [np.array([3], "f4"), np.ones(1, ml_dtypes.float8_e8m0fnu)], version=24, round_mode="down"
        ),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Cast", "CastLike"),
        what="gives NaN for what rounds to 65536 in float8_e5m2 without `saturate`",
        why="Cast-19: what is beyond the largest number is infinity",
        when=lambda s: _unsaturated(s, "float8_e5m2", 61440, 65536),
        example=lambda: _cast(np.array([61440], "f4"), "float8_e5m2", saturate=0),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Cast", "CastLike"),
        what="gives 448 for what rounds to 480 in float8_e4m3fn without `saturate`, from 480 on",
        why="Cast-19: what is beyond the largest number is NaN",
        when=lambda s: _unsaturated(s, "float8_e4m3fn", 480, 496),
        example=lambda: _cast(np.array([480], "f4"), "float8_e4m3fn", saturate=0),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Cast", "CastLike"),
        what="casts −0 of float8 to true",
        why="Cast: +/- 0.0 to False",
        when=lambda s: kind(s).startswith("float8") and bool(np.any(((x := _reals(s, "bool")) == 0) & np.signbit(x))),
        example=lambda: _cast(np.array([-0.0], ml_dtypes.float8_e5m2), "bool"),
    ),
    Disagreement(
        peer="ONNX Runtime",
        version="1.32.0",
        operators=("Cast", "CastLike"),
        what="keeps infinities of float8_e5m2 in a cast to itself with `saturate`",
        why="Cast-19: infinity becomes the largest number, whatever it comes from",
        when=lambda s: kind(s) == "float8_e5m2" and bool(np.isinf(_reals(s, "float8_e5m2")).any()),
        example=lambda: _cast(np.array([np.inf], ml_dtypes.float8_e5m2), "float8_e5m2"),
    ),
]

DECLINED: Declines = {}
