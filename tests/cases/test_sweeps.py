"""Attribute sweeps: pairs.json holds the rows of the tables as they are, and the rows what `pairwise` says of them."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest

from suites.cases import operators
from suites.cases.operators import sweep
from suites.cases.operators.sweep import DIGITS, chosen
from suites.cases.pairing import paired

STORED = json.loads(Path(sweep.__file__).with_name(sweep.STORED).read_text("utf-8"))
READ = {name: (fields, values) for name, fields, values in sweep.READ}
SMALL = sorted(name for name, (_, values) in READ.items() if 50 < math.prod(map(len, values.values())) < 2000)


def _pairs(rows):
    """Two places of a row and their digits, for all rows."""
    return {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}


def _product(values):
    """Every row there is."""
    return map("".join, itertools.product(*(DIGITS[: len(choices)] for choices in values.values())))


def test_the_tables_have_sweeps():
    assert len(operators.ALL) > len(READ) > 200


def test_no_name_is_stale_or_missing():
    assert STORED.keys() == {name for name, _, _ in sweep.READ}


@pytest.mark.parametrize("name", SMALL[::12])
def test_stored_rows_are_those_that_allpairspy_finds(name):
    assert STORED[name].split() == paired(*READ[name])


def test_stored_rows_are_distinct_and_make_nodes():
    for name, (fields, values) in READ.items():
        rows = STORED[name].split()
        assert len(set(rows)) == len(rows) > 0
        assert [row for row in rows if fields(**chosen(values, row)) is None] == [], fields


def test_rows_hold_all_pairs_but_where_rows_are_refused():
    count = missing = 0
    for name, (fields, values) in READ.items():
        possible = set()
        for (i, a), (j, b) in itertools.combinations(enumerate(values.values()), 2):
            possible |= {((i, x), (j, y)) for x in DIGITS[: len(a)] for y in DIGITS[: len(b)]}
        found = _pairs(STORED[name].split())
        assert found <= possible
        if found != possible:
            assert any(fields(**chosen(values, row)) is None for row in _product(values)), fields
        count, missing = count + len(possible), missing + len(possible - found)
    assert missing < count / 20


def test_every_value_occurs_that_a_row_can_hold():
    for name, (fields, values) in READ.items():
        columns = [set(digits) for digits in zip(*STORED[name].split(), strict=True)]
        for i, (column, choices) in enumerate(zip(columns, values.values(), strict=True)):
            for digit in set(DIGITS[: len(choices)]) - column:
                rows = (row for row in _product(values) if row[i] == digit)
                assert all(fields(**chosen(values, row)) is None for row in rows), (fields, i, digit)
