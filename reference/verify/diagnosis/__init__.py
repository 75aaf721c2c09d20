"""What is wrong with a wrong output: hypotheses rebuild what faulty devices would return, and those that explain it are named.

Each family of hypotheses is a module with a function `hypotheses(question)`, which yields the likelier ones first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from reference import dtypes, magnitudes
from reference.node import Array
from reference.verify.compare import elements
from reference.verify.diagnosis import (
    absent,
    arguments,
    attributes,
    axes,
    broadcast,
    coordinates,
    epsilons,
    estimates,
    extent,
    groups,
    integers,
    layout,
    memory,
    operands,
    pitch,
    precision,
    special,
    terms,
    unread,
    weights,
    whole,
    windows,
)
from reference.verify.diagnosis.finding import Diagnosis
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question, misfit, strict

__all__ = ["Diagnosis", "Question", "diagnose"]

FAMILIES = (
    *(special, integers, windows, operands, weights, broadcast, axes, groups, coordinates, layout, attributes, arguments),
    *(absent, epsilons, pitch, terms, extent, unread, memory, precision, whole, estimates),
)

DESCRIPTIONS = (integers, extent, memory, precision)
"""Families that also say what a wrong output looks like where nothing rebuilds it: `described(question)`."""

GENERAL = frozenset(
    [
        *("axes-permuted", "reshape-misread", "attribute-default", "attribute-value", "wild-element", "tail-wrong"),
        *("constant-offset", "constant-factor", "precision-low", "uninitialised"),
    ]
)
"""Causes that describe what another one may explain: among equals they come last."""

EFFORT, FEWEST = 2**26, 6
"""Multiplications that all hypotheses of a family together may cost, a pass over an element counting for `PASSES`; how many
hypotheses it has in any case."""

PASSES = 16

NEARER = 0.99
"""Share of the error that a hypothesis may leave at most: a wider bound alone explains nothing."""

SHARE = 0.5
"""What a hypothesis must explain at least of the wrong elements."""


def diagnose(question: Question, most: int = 3) -> list[Diagnosis]:
    """The hypotheses that explain at least half of the wrong elements, the best first, no cause twice; [] if there is none.

    Where only the statistics of a tensor are wrong, elements count as wrong whose error is not one of rounding. No family is
    asked after one that explains everything by a cause that is not `GENERAL`.
    """
    if question.got.size == 0 or dtypes.name_of(question.got.dtype) != question.expected.dtype:
        return []
    found, limit = list[Diagnosis](), _affordable(question)
    with np.errstate(all="ignore"):
        for family in FAMILIES if question.wrong.any() else ():
            for hypothesis in itertools.islice(_supposed(family, question), limit):
                found += _explained(hypothesis, question)
            if any(d.complete and d.cause not in GENERAL for d in found):
                break
        for family in DESCRIPTIONS:
            found += _supposed(family, question, "described")
    found.sort(key=lambda d: (-d.matched / max(d.elements, 1), _rank(d.cause)))
    best = {d.cause: d for d in reversed(found)}
    return [d for d in found if best[d.cause] is d][:most]


def _supposed(family: ModuleType, question: Question, function: str = "hypotheses") -> Iterator[Any]:
    """What a family supposes, as far as it comes: whatever it does not expect of a node, the verdict stands."""
    try:
        yield from getattr(family, function)(question)
    except REFUSALS:
        return


def _rank(cause: str) -> int:
    """Specific causes first, then memory as it was, whose bits no attribute would match by chance, then other general ones."""
    return (cause in GENERAL) + (cause in GENERAL and cause not in ("tail-wrong", "uninitialised"))


def _explained(hypothesis: Hypothesis, question: Question) -> Iterator[Diagnosis]:
    """How much a hypothesis explains, nothing if that is too little."""
    judged = elements(strict(hypothesis.expected), question.got)
    right = ~judged.wrong & ~judged.open
    if misfit(judged) > question.misfit or np.count_nonzero(right) <= np.count_nonzero(~question.wrong & ~judged.open):
        return
    if np.count_nonzero(right & question.wrong & _nearer(hypothesis, question)) > _share(question):
        matched, exact = int(np.count_nonzero(right)), int(np.count_nonzero(right & judged.exact))
        count = int(right.size - np.count_nonzero(judged.open))
        yield Diagnosis(hypothesis.cause, hypothesis.text, matched, exact, count)


def _share(question: Question) -> float:
    """How many wrong elements a hypothesis must explain: among few values, many agree by chance."""
    by_chance = 0.5 if question.got.dtype == np.bool_ else 0.0
    return float((SHARE + by_chance / 2) * np.count_nonzero(question.wrong))


def _nearer(hypothesis: Hypothesis, question: Question) -> Array | bool:
    """Where the output is clearly nearer to the hypothesis than to the reference."""
    value, reference, got = hypothesis.expected.value, question.reference, dtypes.to_real(question.got)
    if not question.same_shape or not all(x.dtype == np.float64 for x in (value, reference, got)):
        return True
    supposed, right = np.abs(got - value), np.abs(got - reference)
    return np.asarray((supposed < NEARER * right) | (right == 0) | ~np.isfinite(right) | ~np.isfinite(supposed))


def _affordable(question: Question) -> int:
    """How many hypotheses of a family the size of the case allows: a fixed number, so that the diagnosis is the same on any
    machine."""
    size = question.got.size + sum(x.size for x in question.node.inputs if isinstance(x, np.ndarray))
    sums = magnitudes.of(question.node)
    cost = (
        PASSES * size if sums is None else PASSES * size + float(np.sum(np.broadcast_to(sums.terms, question.reference.shape)))
    )
    return max(FEWEST, int(EFFORT / max(cost, 1)))
