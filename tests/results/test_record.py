"""A record survives the journal; what cannot be stored of it is left out with a note, and never the record."""

from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import interface
from results import record as record_module
from results.record import KINDS, PHASES, Record, Rerun, Vendor
from results.strict_json import TEXT_LIMIT, decode, encode
from results.verdict import Verdict

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
number = st.one_of(st.floats(), st.integers(-(2**63), 2**64 - 1))
records = st.builds(
    Record,
    id=text,
    test=text,
    requirement=text,
    verdict=st.sampled_from(Verdict),
    operator=text,
    opset=st.none() | st.integers(1, 30),
    phase=st.none() | st.sampled_from(PHASES),
    reason=text,
    vendor=st.builds(Vendor, text, text),
    placement=st.none() | st.dictionaries(text, st.integers(0, 1000), max_size=3),
    fallback=st.lists(text, max_size=3),
    numbers=st.dictionaries(text, st.dictionaries(text, number, max_size=3), max_size=3),
    seconds=st.dictionaries(st.sampled_from(PHASES), st.floats(0), max_size=3),
    worker=st.integers(0, 99),
    rerun=st.none() | st.builds(Rerun, st.sampled_from(Verdict), text),
    notes=st.lists(text, max_size=3),
    diagnosis=st.lists(text, max_size=3),
)


def through_json(record: Record) -> Record:
    line = encode(record.to_json())
    assert line.isascii()
    assert line.count(b"\n") == 1
    return Record.from_json(decode(line.decode()))


@settings(max_examples=200, deadline=None)
@given(records)
def test_round_trip(record: Record):
    # repr, since NaN is not equal to itself
    assert repr(through_json(record)) == repr(record)


def test_phases_are_those_of_the_backend_interface():
    assert record_module.PHASES == interface.PHASES


def test_non_finite_numbers_are_strings_in_the_file_and_floats_in_the_record(make_record):
    numbers = {"y": {"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1.5}}
    record = make_record(numbers=numbers, seconds={"run": math.inf})
    assert record.to_json()["numbers"] == {"y": {"a": "nan", "b": "inf", "c": "-inf", "d": 1.5}}
    back = through_json(record)
    assert math.isnan(back.numbers["y"]["a"])
    assert back.numbers["y"]["b"] == math.inf
    assert back.numbers["y"]["c"] == -math.inf
    assert back.seconds == {"run": math.inf}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.float32(0.5), 0.5),
        (np.float16("inf"), "inf"),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.longdouble(0.25), 0.25),
        (ml_dtypes.bfloat16(1.5), 1.5),
        (ml_dtypes.int4(-7), -7),
        (np.array(2.5), 2.5),
    ],
)
def test_numpy_scalars_are_stored_as_numbers(make_record, value, stored):
    data = make_record(numbers={"y": {"n": value}}).to_json()
    assert data["numbers"]["y"]["n"] == stored
    assert not isinstance(data["numbers"]["y"]["n"], np.generic)
    assert data["notes"] == []


def test_one_member_that_cannot_be_stored_costs_no_other(make_record):
    numbers = {
        "y": {"good": 1.0, "object": object(), "text": "three", "complex": 1j, "huge": 10**5000},
        "z": {"good": 2},
    }
    record = make_record(numbers=numbers, notes=["mine"])
    data = record.to_json()
    assert data["numbers"] == {"y": {"good": 1.0}, "z": {"good": 2}}
    assert data["notes"][0] == "mine"
    for member in ("object", "text", "complex", "huge"):
        assert any(note.startswith("not stored: ") and f"y.{member}" in note for note in data["notes"]), member
    assert through_json(record).verdict is Verdict.PASS


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


@pytest.mark.parametrize("field", sorted(set(KINDS) - {"id", "test"}))
def test_a_field_of_any_other_type_is_noted_and_the_record_stays_readable(make_record, field):
    loop: list[object] = []
    loop.append(loop)
    for value in (object(), Hostile(), loop, {Hostile(): 1}, np.zeros(5000), 1 + 2j, b"\xff"):
        back = through_json(make_record(**{field: value}))
        assert back.id == "Conv-22.f32.x:1x3x8x9"
        assert any(note.startswith(f"not stored: {field}") for note in back.notes), value.__class__


def test_a_verdict_that_is_none_is_the_harness_error(make_record):
    assert through_json(make_record(verdict="splendid")).verdict is Verdict.HARNESS_ERROR


def test_texts_of_any_kind(make_record):
    words = 'snow ☃ 😀 \u2028 "quoted" back\\slash \x00\x1b[31m\r\n\t end'
    assert through_json(make_record(vendor=Vendor(words, "☃"))).vendor == Vendor(words, "☃")
    undecodable = b"bad \xff byte".decode("utf-8", "surrogateescape")
    line = encode(make_record(reason=undecodable).to_json())
    json.loads(line)["reason"].encode("utf-8")  # strict parsers refuse lone surrogates
    assert b"bad" in line


def test_huge_text_keeps_its_ends(make_record):
    record = through_json(make_record(vendor=Vendor("first" + "x" * 5_000_000 + "last")))
    assert len(record.vendor.text) < TEXT_LIMIT + 100
    assert record.vendor.text.startswith("first")
    assert record.vendor.text.endswith("last")
    assert any("cut: vendor.text (5000009 characters)" in note for note in record.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "splendid"}, "verdict is not a verdict"),
        ({"numbers": {"y": {"a": "three"}}}, "numbers is not"),
        ({"seconds": {"lunch": 1.0}}, "seconds is not"),
        ({"phase": "lunch"}, "phase is not"),
        ({"worker": True}, "worker is not an integer"),
        ({"extra": 1}, "extra is unknown"),
        ({"vendor": {"text": ""}}, "vendor is not"),
    ],
)
def test_from_json_names_what_is_wrong(make_record, change, message):
    with pytest.raises(ValueError, match=message):
        Record.from_json({**make_record().to_json(), **change})


def test_from_json_names_what_is_missing(make_record):
    data = make_record().to_json()
    del data["dtype"]
    with pytest.raises(ValueError, match="dtype is missing"):
        Record.from_json(data)


def test_mandatory_note_turns_unsupported_into_a_failure(make_record):
    assert make_record(verdict=Verdict.UNSUPPORTED).outcome == "skipped"
    assert make_record(verdict=Verdict.UNSUPPORTED, notes=["mandatory"]).outcome == "failed"
