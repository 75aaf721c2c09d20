"""How entries of the operator tables combine their parts, and what of the whole set is promised."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest

from suites.cases import operators
from suites.cases.operators.shapes import LENGTHS
from suites.cases.operators.spread import Spread
from suites.cases.operators.table import FEW, Row, share

FIELDS = [f"x:{a}x{b}" for a, b in itertools.product(range(1, 9), range(1, 6))]
TEXT = " ".join(FIELDS)


def _met(ids):
    """Operator with version and type, recipe → fields, in order."""
    found = {}
    for id in ids:
        head, _, rest = id.partition(".x:")
        middle, _, recipe = rest.partition(".in:")
        found.setdefault((head, recipe), []).append(f"x:{middle}")
    return found


def test_the_first_type_recipe_and_version_meets_every_field_and_others_a_few():
    found = _met(Row("Relu-14 Relu-13 Sigmoid-13", "f32 f16", "normal grid", TEXT).ids())
    assert len(found) == 12
    for (head, recipe), fields in found.items():
        whole = head in ("Relu-14.f32", "Sigmoid-13.f32") and recipe == "normal"
        assert fields == FIELDS if whole else len(fields) == FEW, (head, recipe)


def test_a_short_list_is_combined_in_full():
    row = Row("Relu-14 Relu-13", "f32 f16", "normal grid", " ".join(FIELDS[:FEW]), one_in=4)
    assert len(set(row.ids())) == 2 * 2 * 2 * FEW


@pytest.mark.parametrize(("one_in", "count"), [(1, 40), (2, 20), (4, 10), (8, FEW), (100, FEW)])
def test_a_share_keeps_the_order_and_every_value_of_nested_loops(one_in, count):
    for turn in range(9):
        chosen = share(FIELDS, one_in, turn)
        assert len(chosen) == count
        assert chosen == [field for field in FIELDS if field in chosen]
        assert {field[-1] for field in chosen} == set("12345")


def test_turns_together_take_every_field():
    assert {field for turn in range(5) for field in share(FIELDS, 8, turn)} == set(FIELDS)


@pytest.mark.parametrize("number", range(30))
def test_a_share_holds_distinct_fields_of_lists_of_any_length(number):
    fields = FIELDS[:number]
    for turn in range(3):
        assert len(set(share(fields, 3, turn))) == min(max(number // 3, FEW), number)


def test_a_spread_meets_every_field_with_two_types_and_a_third_with_others():
    ids = list(Spread("Relu-14 Sigmoid-13", "f32 f16 bf16 f64", "normal grid", TEXT).ids())
    assert Counter(id.split(".")[1] for id in ids) == {"f32": 40, "f16": 40, "bf16": 13, "f64": 13}
    assert len({(id.split(".")[0], id.split(".")[1]) for id in ids}) == 8


@pytest.mark.parametrize(
    "operator", ["Add-14 Sub-14 Mul-14 Div-14", "Relu-14 LeakyRelu-16 ThresholdedRelu-22", "Sqrt-13 Reciprocal-13", "MatMul-13"]
)
def test_every_length_around_vectors_stays_in_some_operator_of_a_kernel(operator):
    ids = [id for id in operators.ALL if id.startswith(tuple(f"{name}.f32." for name in operator.split()))]
    lengths = {n for id in ids for n in re.findall(r"\d+", id.partition(":")[2].partition(".in:")[0])}
    assert lengths >= set(LENGTHS.split())
