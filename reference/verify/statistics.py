"""ACCUM tiers 2 and 3: what rounding errors of a sum of products look like over a whole tensor.

Tier 2 compares the root mean square of errors with the one that rounding at the declared precision explains, tier 3 looks for
a direction in them. Both hold for data without order (random recipes); docs/numerics.md derives and measures the constants.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from reference import magnitudes
from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.arithmetic import Arithmetic
from reference.verify.setting import Setting

ROUNDING = 0.18
"""Mean square of a rounding error to nearest in units of (u·|y|)²: uniform over half an ulp, significands logarithmic."""

DIRECTED = 0.721**2
"""The same for directed rounding."""

LIMIT, LIMIT_DIRECTED, LIMIT_FUSED = 1.5, 1.25, 1.0
"""Largest rms(e/σ) of a right tensor of many elements: for rounding to nearest, directed rounding, fused blocks."""

MANY = 1000
"""Elements from which on the limits hold as they are."""

TAU = 5.75
"""Largest |z| of unbiased errors: 1 % over 75,000 tests. By Hoeffding's inequality it holds for any number of elements."""

FARTHEST = 24.0
"""Largest |e|/σ of a single element, where rounding is to nearest. Errors of the steps of a sum are independent, at most u
times its partial sums: by Hoeffding's inequality e exceeds 24σ once in 10^11 elements even where the squares of an element's
partial sums are twice what σ expects. Over 18,000 right tensors of about 1,000 elements the largest was 8.6."""

CHANNELS = 33
"""Channels from which on a bias can be told from what elements of a channel share."""

STAGNATION = 0.1
"""K·u from which on sums of one sign may stop growing: then no statistics are known."""

DRIFT = 2.0**-10
"""K·√K·u from which on errors of sums of one sign may have a direction that shows: terms below half an ulp of their sum are
lost, always downwards (measured on mantissas and exponents spread evenly over 2^-6 … 2^6)."""


@dataclasses.dataclass(frozen=True)
class Spread:
    """How errors of a right output are spread.

    sigma: expected root mean square per element, infinite where none is known. limit: of rms(e/sigma) for many elements.
    bits: significand bits of the accumulator. unbiased: whether the errors must have no direction. channel: axis along whose
    other axes the errors are summed first, since elements share a bias there; None: each element stands for itself. chained:
    elements in a row that share their partial sums, and so their errors. drifts: mask of elements whose errors may have a
    direction. nearest: whether every step rounds to nearest.
    """

    sigma: Array
    limit: float
    bits: int
    unbiased: bool
    channel: int | None = None
    chained: int = 1
    drifts: Array | bool = False
    nearest: bool = False


@dataclasses.dataclass(frozen=True)
class Statistics:
    """rms: rms(e/σ). far: largest |e|/σ, at `farthest`, a flat index. z, z_sign: Σe/√Σe² and Σe·sign(S)/√Σe². limit: of rms
    at this number of elements. effective_bits: significand bits of the arithmetic whose errors these are. elements: independent
    ones that were judged."""

    rms: float
    far: float
    farthest: int
    limit: float
    z: float
    z_sign: float
    unbiased: bool
    nearest: bool
    effective_bits: float
    elements: int

    @property
    def too_large(self) -> bool:
        """Tier 2 fails, by all elements together."""
        return self.rms > self.limit

    @property
    def too_far(self) -> bool:
        """Tier 2 fails, by a single element."""
        return self.nearest and self.far > FARTHEST

    @property
    def biased(self) -> bool:
        """Tier 3 fails."""
        return self.unbiased and max(abs(self.z), abs(self.z_sign)) > TAU

    def numbers(self) -> dict[str, float | int]:
        """For the journal."""
        return {
            "rms_ratio": self.rms,
            "rms_limit": self.limit,
            "far": self.far,
            "effective_bits": self.effective_bits,
            "z": self.z,
            "z_sign": self.z_sign,
        }


SUMS = frozenset(
    [
        *(
            "AveragePool",
            "Conv",
            "ConvTranspose",
            "CumSum",
            "Einsum",
            "Gemm",
            "GlobalAveragePool",
            "MatMul",
            "Mean",
            "ReduceL1",
        ),
        *("ReduceMean", "ReduceSum", "ReduceSumSquare", "Sum"),
    ]
)
"""Linear operators whose products have exact factors; the weights of interpolation have errors of their own."""

BIASED_BY_CONSTANTS = frozenset(["AveragePool", "GlobalAveragePool", "Mean", "ReduceMean"])
"""Operators that may multiply by a rounded reciprocal, whose error all elements share."""


def spread(node: Node, setting: Setting) -> Spread | None:
    """How the errors of a linear operator's first output are spread, None where no law is known. sigma is infinite for sums
    of one sign that may stagnate, directed rounding of few terms, and fused blocks of signed or few terms."""
    sizes = magnitudes.of(node) if node.operator in SUMS and not _squares_exactly(node, setting) else None
    if sizes is None or setting.dtype not in node.output_types[:1]:
        return None
    arithmetic = setting.arithmetic
    with np.errstate(all="ignore"):
        s = np.asarray(node.results[0], np.float64)
        b, k, q = (np.broadcast_to(x, s.shape) for x in (sizes.B, sizes.terms, sizes.Q))
        one_sign = np.abs(s) > 0.5 * b
        drift = one_sign * k * np.sqrt(k) * arithmetic.u  # of a sum of one sign, in units of its random error
        unknown = one_sign & (k * arithmetic.u > STAGNATION) if arithmetic.fused else drift > DRIFT
        moments = (k + 1) * (q + 2 * s * s) / 6
        if arithmetic.fused:
            inside, limit = _fused(arithmetic, k, q, s), LIMIT_FUSED
            unknown |= ~one_sign | (k < 1024)
        elif arithmetic.faithful:
            roundings = k * (2.0 if arithmetic.products == "rounded" else 1.0)
            inside, limit = DIRECTED * arithmetic.u**2 * roundings * moments, LIMIT_DIRECTED
            unknown |= k < 64
        else:
            rounded = q if arithmetic.products == "rounded" else 0.0
            extra = 3.0 if node.operator in (*BIASED_BY_CONSTANTS, "Gemm") else 0.0  # divisions, alpha and beta
            inside, limit = ROUNDING * arithmetic.u**2 * (moments + rounded + extra * s * s), LIMIT
        sigma = np.sqrt(inside + ROUNDING * (2 * setting.u_in**2 * q + (_stored(setting) * s) ** 2) + _floor(setting, k) ** 2)
        drifts = drift * np.sqrt(s.size) > 2 * DRIFT
    unbiased, channel = _direction(node, setting, s)
    chained = int(k.max(initial=1.0)) if node.operator == "CumSum" else 1
    sigma = np.where(unknown, np.inf, sigma)
    nearest = not arithmetic.fused and not arithmetic.faithful
    return Spread(sigma, limit, arithmetic.precision, unbiased, channel, chained, drifts, nearest)


def _squares_exactly(node: Node, setting: Setting) -> bool:
    """Whether the terms are squares of numbers of at most half the accumulator's bits. The square of an odd number is 1 modulo
    8: the last bits of such terms are alike, and so are the errors of their sums."""
    if node.operator != "ReduceSumSquare":
        return False
    significand, _ = np.frexp(node.real(0))
    kept = np.ldexp(significand, setting.arithmetic.precision // 2)
    return bool(np.all((kept == np.rint(kept)) | ~np.isfinite(kept)))


def _fused(arithmetic: Arithmetic, k: Array, q: Array, s: Array) -> Array:
    """Mean square error of sums in fused blocks."""
    fused = arithmetic.fused
    assert fused
    blocks = np.ceil(k / fused.fan_in)
    moments = (blocks + 1) * (q + 2 * s * s) / 6
    cut, kept = 0.36 * (fused.fan_in + 1) * 2.0**-fused.fraction, 0.36 * 2.0 ** (1 - arithmetic.precision)
    return np.asarray(blocks * (moments + q) * (cut**2 + kept**2))


def _stored(setting: Setting) -> float:
    """Roundoff of storing a result, 0 where the accumulator has the tensor's format."""
    own = FLOATS[setting.dtype].unit_roundoff
    return own if own > setting.arithmetic.u else setting.u_border


def _floor(setting: Setting, k: Array) -> Array:
    """Errors of results and terms among the subnormals."""
    return np.asarray(0.5 * FLOATS[setting.dtype].smallest_subnormal + np.sqrt(k) * (setting.eta + setting.eta_in))


def _direction(node: Node, setting: Setting, s: Array) -> tuple[bool, int | None]:
    """(whether errors must be unbiased, the axis of channels that share a constant)."""
    nearest = setting.arithmetic.rounding == "nearest" and not setting.arithmetic.fused and setting.u_in == 0
    if not nearest or node.operator in BIASED_BY_CONSTANTS or node.operator == "CumSum":
        return False, None
    if node.operator == "Gemm" and any(abs(node.attribute(name, 1.0)) != 1.0 for name in ("alpha", "beta")):
        return False, None
    if node.operator in ("Conv", "ConvTranspose", "Gemm") and node.given(2):
        return s.shape[1] >= CHANNELS, 1
    return True, None


def limit_of(spread: Spread, elements: int) -> float:
    """The limit for a tensor of `elements`: wider for few, whose mean square scatters more."""
    return spread.limit if elements >= MANY else spread.limit * (1 + 8 / np.sqrt(max(elements, 1)))


def statistics(spread: Spread, error: Array, reference: Array, judged: Array) -> Statistics | None:
    """Of signed errors got − reference over the elements of the mask `judged`; None if there is none."""
    use = judged & np.isfinite(error) & np.isfinite(spread.sigma)
    n = int(np.count_nonzero(use))
    if n == 0:
        return None
    with np.errstate(all="ignore"):
        ratio = np.where(use & (error != 0), error / spread.sigma, 0.0)
        rms = float(np.sqrt((ratio**2).sum() / n))
        directed = ratio * np.sign(reference)
        z, z_sign = (_z(x, use & ~np.asarray(spread.drifts), spread.channel) for x in (ratio, directed))
    bits = spread.bits - np.log2(rms) if rms > 0 else float(spread.bits)
    independent, farthest = max(1, n // spread.chained), int(np.argmax(np.abs(ratio)))
    far = float(np.abs(ratio.flat[farthest]))
    limit = limit_of(spread, independent)
    return Statistics(rms, far, farthest, limit, z, z_sign, spread.unbiased, spread.nearest, float(bits), independent)


def _z(errors: Array, use: Array, channel: int | None) -> float:
    """Self-normalised sum of errors, of each channel's sum where elements of a channel share a constant."""
    x = np.where(use, errors, 0.0)
    if channel is not None:
        x = x.sum(tuple(a for a in range(x.ndim) if a != channel))
    size = float(np.sqrt((x * x).sum()))
    return float(x.sum() / size) if size else 0.0
