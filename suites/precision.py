"""Which arithmetic a run is judged by: as the device declares, else as its fingerprint shows, frozen for the run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from backends.interface import Capabilities
from reference.dtypes import FLOATS
from reference.verify import RUNGS, Profile
from reference.verify.arithmetic import exactness
from reference.verify.profile import Declared


@dataclasses.dataclass(frozen=True)
class Precision:
    """rungs: tensor type, or class and type, → what `reference.verify.Profile` takes. inferred: keys that nobody declared."""

    rungs: Mapping[str, Declared]
    inferred: frozenset[str]

    @functools.cached_property
    def profile(self) -> Profile:
        """What results are held to."""
        return Profile.of(self.rungs)


def settle(capabilities: Capabilities, fingerprint: Mapping[str, Any]) -> Precision:
    """Declarations win; where none speaks of float32, it is inferred by class of operators, unless the probe has no value: then
    the default rung holds.

    Raises ValueError for a declaration that means nothing.
    """
    declared = dict(capabilities.precision or {})
    try:
        Profile.of(declared)
    except ValueError as error:
        raise ValueError(f"the device declares {error}") from None
    if "float32" in declared:
        return Precision(declared, frozenset())
    inferred = {key: rung for key, rung in infer(fingerprint).items() if key not in declared}
    return Precision({**inferred, **declared}, frozenset(inferred))


def infer(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """The rungs of float32 that the probe's values allow, by class where a class has its own; {} where they say nothing."""
    linear = infer_float32(fingerprint)
    if linear is None:
        return {}
    products = {f"matmul_{name}": fingerprint.get(f"mul_{name}") for name in ("1p2m12", "1p2m9")}
    base = infer_float32({**fingerprint, **products}) or linear
    rungs = {"float32": base} | ({"linear:float32": linear} if linear != base else {})
    for kind in ("function", "normalization", "softmax"):
        bits = fingerprint.get(f"{kind}_bits")
        lower = None if bits is None else next((rung for least, rung in COARSE if bits >= least), None)
        if lower and exactness(RUNGS[lower]) > exactness(RUNGS[base]):
            rungs[f"{kind}:float32"] = lower
    return rungs


COARSE = ((17, "fp32"), (8, "fp16-faithful"), (5, "bf16-faithful"))
"""Correct bits of a few function values at least → rung of the unit that computes them."""

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
    kept = fingerprint.get("matmul_1p2m9")
    if kept is None:
        kept = fingerprint.get("mul_1p2m9")
    if kept is not None and abs(kept - 1.0) <= CLOSE:
        return "bf16-faithful" if narrow else "bf16-in"
    return "fp16-faithful" if narrow else "fp16-in"


def contradictions(declared: Profile, fingerprint: Mapping[str, Any]) -> list[str]:
    """What of a fingerprint is impossible in the declared arithmetic of float32, [] for a device that keeps its word.

    A unit may always be more exact than it says.
    """
    return [*_sums(declared, fingerprint), *_products(declared, fingerprint), *_functions(declared, fingerprint)]


def _sums(declared: Profile, fingerprint: Mapping[str, Any]) -> list[str]:
    arithmetic = declared.arithmetic("linear", "float32")
    if arithmetic is None or arithmetic.precision < 24:
        return []
    found = []
    product, total = fingerprint.get("matmul_1p2m12"), fingerprint.get("matmul_sum")
    if arithmetic.inputs is None and product is not None and abs(product - (1 + STEP)) > 2.0**-23:
        found.append(f"1 + 2^-12 times 1 gives {product!r}")
    if total is not None and abs(total - 128000) > 1280:
        found.append(f"64 times 2000 adds up to {total!r}")
    return found


def _products(declared: Profile, fingerprint: Mapping[str, Any]) -> list[str]:
    found = []
    for kind, name in (("elementwise", "mul_1p2m9"), ("linear", "matmul_1p2m9")):
        arithmetic, kept = declared.arithmetic(kind, "float32"), fingerprint.get(name)
        if arithmetic is None or kept is None or FLOATS[arithmetic.inputs or arithmetic.compute].precision < 11:
            continue
        if abs(kept - (1 + 8 * STEP)) > 2.0**-12:
            found.append(f"1 + 2^-9 times 1 gives {kept!r}{' in a sum' if kind == 'linear' else ''}")
    return found


def _functions(declared: Profile, fingerprint: Mapping[str, Any]) -> list[str]:
    found = []
    for kind, what in (("function", "exp"), ("normalization", "a normalisation"), ("softmax", "softmax")):
        arithmetic, bits = declared.arithmetic(kind, "float32"), fingerprint.get(f"{kind}_bits")
        if arithmetic and bits is not None and bits < min(arithmetic.precision, 24) - SPARE:
            found.append(f"{what} is right to {bits} bits")
    return found


SPARE = 7
"""Bits that a function of a few roundings may lose: 2^7 ulp are more than any limit of OpenCL C's full profile."""
