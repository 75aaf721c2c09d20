"""How well an output fits a hypothesis whose numbers were estimated from that output, and that therefore must explain more than
others."""

from __future__ import annotations

import numpy as np

from reference import dtypes
from reference.node import Array
from reference.verify.compare import elements
from reference.verify.diagnosis.hypothesis import Hypothesis, Question, strict

EXPLAINED = 0.9
"""Share of all elements that a hypothesis with an estimated number must explain."""

NEARER = 0.25
"""What may be left of the error's root mean square."""


def explains(question: Question, hypothesis: Hypothesis) -> bool:
    """Whether nearly all elements are within the hypothesis' bound."""
    judged = elements(strict(hypothesis.expected), question.got)
    return bool(np.count_nonzero(~judged.wrong & ~judged.open) >= EXPLAINED * np.count_nonzero(~judged.open))


def leaves_little(question: Question, hypothesis: Hypothesis) -> bool:
    """Whether the hypothesis takes most of the error away: a bias of rounding is no factor."""
    got = dtypes.to_real(question.got).astype(np.float64)
    before, after = (_size(got - x.astype(np.float64)) for x in (question.reference, hypothesis.expected.value))
    return after <= NEARER * before


def _size(error: Array) -> float:
    """Root mean square of the finite errors."""
    known = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(known * known))) if known.size else 0.0
