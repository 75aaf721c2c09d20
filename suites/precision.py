"""Which arithmetic a run is judged by: as the device declares, else as its fingerprint shows, frozen for the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from backends.interface import Capabilities
from reference.verify import RUNGS


@dataclasses.dataclass(frozen=True)
class Precision:
    """rungs: tensor type → rung of `reference.verify.RUNGS`. inferred: the types among them that nobody declared."""

    rungs: Mapping[str, str]
    inferred: frozenset[str]


def settle(capabilities: Capabilities, fingerprint: Mapping[str, Any]) -> Precision:
    """Declared rungs win; float32 is inferred where undeclared, unless the probe has no value: then the default rung holds.

    Raises ValueError for a declared rung that is none.
    """
    rungs = dict(capabilities.precision or {})
    for dtype, rung in rungs.items():
        if rung not in RUNGS:
            raise ValueError(f"the device declares precision {dtype}: {rung!r}; the rungs are {', '.join(RUNGS)}")
    if "float32" in rungs:
        return Precision(rungs, frozenset())
    inferred = infer_float32(fingerprint)
    if inferred is None:
        return Precision(rungs, frozenset())
    return Precision({**rungs, "float32": inferred}, frozenset({"float32"}))


def infer_float32(fingerprint: Mapping[str, Any]) -> str | None:
    """1 + 2^-12 lost in a product means 16-bit inputs; a sum of 128,000 cut at 65,536 means 16-bit accumulators too.
    A product within an ulp of the right one means single precision with faithful rounding."""
    product, total = fingerprint.get("matmul_1p2m12"), fingerprint.get("matmul_sum")
    if product is None:
        product = fingerprint.get("mul_1p2m12")
    if product is None:
        return None
    exact = 1 + 2.0**-12
    if product == exact:
        return "fp32"
    if abs(product - exact) <= 2.0**-23:
        return "fp32-faithful"
    return "fp16-faithful" if total is not None and abs(total - 128000) > 1 else "fp16-in"
