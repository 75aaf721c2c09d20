"""Which arithmetic a run is judged by: as the device declares, else as its fingerprint shows, frozen for the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from backends.interface import Capabilities
from reference.dtypes import FLOATS
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


STEP = 2.0**-12
CLOSE = 2.0**-20
"""How far from 1 a lost 2^-12 may leave a product: Qualcomm's HTP gives 1 + 2^-23 where it computes in float16."""
ROUNDED = (1 + STEP) * (1 + 3 * STEP) + STEP * STEP
"""A product that lies between two float32 numbers, rounded to nearest even (backends/probe.py)."""


def infer_float32(fingerprint: Mapping[str, Any]) -> str | None:
    """The most exact rung that the probe's values allow, None where the device declines the probe's models or is wrong there.

    1 + 2^-12 lost in a product means 16-bit inputs, 1 + 2^-9 lost too means bfloat16; a sum of 128,000 that comes out
    otherwise means 16-bit accumulators. A product an ulp off, a tie rounded down or a flushed subnormal is a unit of single
    precision that is no IEEE 754 one.
    """
    product, total = fingerprint.get("matmul_1p2m12"), fingerprint.get("matmul_sum")
    if product is None:
        product = fingerprint.get("mul_1p2m12")
    if product is None:
        return None
    if abs(product - (1 + STEP)) <= 2.0**-23:
        plain = fingerprint.get("mul_rounding") in (None, ROUNDED) and fingerprint.get("mul_subnormal") in (None, 2.0**-127)
        return "fp32" if product == 1 + STEP and plain else "fp32-faithful"
    if not abs(product - 1.0) <= CLOSE:
        return None  # wrong, not reduced: the type's own arithmetic is what it is held to
    narrow = total is not None and abs(total - 128000) > 1280
    kept = fingerprint.get("mul_1p2m9")
    if kept is not None and abs(kept - 1.0) <= CLOSE:
        return "bf16-faithful" if narrow else "bf16-in"
    return "fp16-faithful" if narrow else "fp16-in"


def contradictions(declared: str, fingerprint: Mapping[str, Any]) -> list[str]:
    """What of a fingerprint is impossible at the declared rung of float32, [] for a device that keeps its word.

    A unit may always be more exact than it says.
    """
    arithmetic = RUNGS[declared]
    found = []
    product, total = fingerprint.get("matmul_1p2m12"), fingerprint.get("matmul_sum")
    single = FLOATS[arithmetic.compute].precision >= 24
    if single and arithmetic.inputs is None and product is not None and abs(product - (1 + STEP)) > 2.0**-23:
        found.append(f"1 + 2^-12 times 1 gives {product!r}")
    if single and total is not None and abs(total - 128000) > 1280:
        found.append(f"64 times 2000 adds up to {total!r}")
    kept = fingerprint.get("mul_1p2m9")
    if (
        kept is not None
        and FLOATS[arithmetic.inputs or arithmetic.compute].precision >= 11
        and abs(kept - (1 + 8 * STEP)) > 2.0**-12
    ):
        found.append(f"1 + 2^-9 times 1 gives {kept!r}")
    return found
