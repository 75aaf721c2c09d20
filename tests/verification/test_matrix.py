"""A part of the mutation matrix: every mutant of some operators is found, and nine of ten are named first."""

from __future__ import annotations

import functools

import pytest

from reference.verify.diagnosis.causes import CAUSES
from tests.verification.faults import CATALOGUE
from tests.verification.matrix import Mutant, mutants, report
from tests.verification.specifications import SPECIFICATIONS

PARTS = {
    "normal": ("Conv", "MatMul", "Softmax", "MaxPool", "Transpose", "QLinearConv", "LayerNormalization"),
    "special": ("Add", "Concat", "Exp", "Neg"),
    "subnormal": ("Mul", "Neg"),
    "ties": ("Cast", "Round"),
    "wide": ("QuantizeLinear",),
}
"""Recipe → operators."""


@functools.cache
def found(recipe: str, operator: str) -> list[Mutant]:
    first = {operator: dict(list(SPECIFICATIONS[operator].items())[:1])}
    return list(mutants(recipes=[recipe], operators=[operator], variants=tuple(first[operator])))


@pytest.mark.parametrize(("recipe", "operator"), [(r, o) for r, operators in PARTS.items() for o in operators])
def test_every_mutant_is_found(recipe, operator):
    part = found(recipe, operator)
    assert part
    assert [f"{m.fault}: {m.what}: {m.verdict.status}" for m in part if not m.killed] == []


@pytest.mark.parametrize(("recipe", "operator"), [(r, o) for r, operators in PARTS.items() for o in operators])
def test_nine_of_ten_mutants_are_named_first(recipe, operator):
    part = found(recipe, operator)
    wrong = [f"{m.fault}: {m.what}: {[d.cause for d in m.verdict.diagnosis]}" for m in part if not m.named]
    assert len(wrong) <= 0.1 * len(part), "\n".join(wrong)


def test_every_cause_has_a_fault():
    assert set(CAUSES) - {cause for fault in CATALOGUE for cause in fault.causes} == set()


def test_every_fault_is_of_known_causes_and_has_a_name_of_its_own():
    assert {cause for fault in CATALOGUE for cause in fault.causes} <= set(CAUSES)
    assert len({fault.name for fault in CATALOGUE}) == len(CATALOGUE)


def test_the_report_counts_what_was_found():
    part = found("subnormal", "Neg")
    text = report(part)
    assert f"Of {len(part):,} mutants {len(part):,} are found" in text
    assert all(m.fault in text for m in part)
