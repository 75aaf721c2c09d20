"""Must-pass profiles: files say what they select, rules read ids as they say, and a run is told apart from a part of one."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from results import summary
from results.record import MANDATORY, Record
from results.verdict import Verdict
from suites import profile_selection, recording, selection
from suites.profile_selection import ProfileError, Rule, chosen, load, names, read

NAMES = {"core", "fp16", "bf16", "int8", "int4", "dynamic", "vision", "llm"}
CONV = "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.pads:1_0_1_2.const:w.in:normal"
QUANTIZED = "QuantizeLinear-21.f32.x:2x3.y_scale:scalar.y_zero_point:scalar:i4.const:y_scale.in:half"
FILE = """
name = "toy"
version = "2.1"
description = "d"
source = "s"
cases = 1

[[rules]]
"""


def rule(text):
    return read(f"{FILE}{text}").rules[0]


def test_there_are_the_profiles():
    assert set(names()) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_profile_selects_as_many_as_it_says_and_something_by_every_word(name):
    assert list(profile_selection.problems_of(load(name))) == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_profile_is_described(name):
    profile = load(name)
    assert profile.name == name
    assert re.fullmatch(r"\d+\.\d+", profile.version)
    assert profile.description
    assert profile.source


@pytest.mark.parametrize(
    ("text", "case", "admitted"),
    [
        ('operators = "Conv"', CONV, True),
        ('operators = "ConvTranspose"', CONV, False),
        ('dtypes = "f16 f32"', CONV, True),
        ('dtypes = "f16"', CONV, False),
        ('families = "convolution"', CONV, True),
        ('recipes = "normal"', CONV, True),
        ('recipes = "lattice"', CONV, False),
        ('opsets = "11-21"', CONV, True),
        ('opsets = "13-21"', CONV, True),  # version 11 holds until 22
        ('opsets = "22-23"', CONV, False),
        ('opsets = "7-10"', CONV, False),
        ('fields = "const"', CONV, True),
        ('fields = "const feed"', CONV, False),
        ('fields = "const|feed"', CONV, True),
        ('fields = "pads:1_0_1_2"', CONV, True),
        ('fields = "pads:1_0"', CONV, False),
        ('without = "pads"', CONV, False),
        ('without = "strides"', CONV, True),
        ('fields = "y_zero_point:*:i4"', QUANTIZED, True),
        ('fields = "y_zero_point:*:i8"', QUANTIZED, False),
        ('fields = "conv-*"', "Graph-21.f32.conv-relu.in:lattice", True),
        ('operators = "ms:Gelu"', "ms:Gelu-1.f16.x:3.in:normal", True),
        ('operators = "Gelu"', "ms:Gelu-1.f16.x:3.in:normal", False),
    ],
)
def test_rules_read_ids(text, case, admitted):
    assert rule(text).admits(case) is admitted


def test_tests_without_a_case_need_a_rule_on_requirements_alone():
    assert rule('requirements = "DEV-*"').admits("")
    assert not rule('requirements = "DEV-*"\ndtypes = "f32"').admits("")


def test_optional_requirements_and_other_features_are_no_part():
    profile = read(f'{FILE}requirements = "*"')
    assert profile.has("REF-001", CONV)
    assert not profile.has("LAYOUT-007", CONV)  # optional
    assert not profile.has("ZC-001", CONV)  # asks for a feature
    assert profile.of_requirement("OPS-001")(CONV)


@pytest.mark.parametrize(
    ("text", "words"),
    [('operator = "Conv"', ["operator", "operators"]), ('dtypes = "f31"', ["f31", "f32"]), ("= 1", []), ("opsets = '9'", [])],
)
def test_files_that_are_none_are_refused_in_words(text, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # of several kinds
        rule(text)
    assert all(word in str(caught.value) for word in words)


def test_a_number_that_is_not_right_is_an_error_with_both_numbers():
    profile = read(f'{FILE}operators = "Conv"\ndtypes = "bf16"\nrecipes = "normal"')
    assert profile.selected > 1
    with pytest.raises(ProfileError, match=rf"toy 2.1 is 1 cases, but its rules select {profile.selected} "):
        profile.check()


@pytest.mark.parametrize(
    ("text", "words"),
    [("int5", ["int5", "int4"]), ("", ["core"]), (",", ["core"]), ("int8 0.9", ["int8", "1.0", "0.9"]), ("../x", ["../x"])],
)
def test_profiles_that_do_not_exist_are_named_in_one_line(text, words):
    with pytest.raises(pytest.UsageError) as caught:
        chosen(text)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


def test_several_profiles_and_versions():
    assert chosen(None) == ()
    assert [profile.name for profile in chosen("int8, fp16 1.0")] == ["int8", "fp16"]
    assert profile_selection.described("int8") == {"int8 1.0": load("int8").cases}


def test_the_header_of_a_run_is_taken_over_when_it_is_resumed(monkeypatch):
    then = {"profile": {"int8 1.0": load("int8").cases}}
    config = SimpleNamespace(option=SimpleNamespace(resume="x.jsonl", profile=None), args=[])
    monkeypatch.setattr(recording.journal, "read", lambda path: SimpleNamespace(header={"selection": {"options": then}}))
    recording.take_over_selection(config)
    assert config.option.profile == "int8 1.0"
    assert recording.selection_of(config) == then


def record(verdict, *notes, requirement="OPS-001", case=CONV):
    return Record(id=case, test=f"t[{case}]", requirement=requirement, verdict=verdict, notes=list(notes))


def test_what_is_declined_though_it_is_a_must_has_failed():
    marked = profile_selection.as_must("core", record(Verdict.UNSUPPORTED, case=CONV), CONV)
    assert marked.notes == [MANDATORY, "profile core"]
    assert marked.outcome == "failed"
    other = record(Verdict.UNSUPPORTED, case=QUANTIZED)
    assert profile_selection.as_must("core", other, QUANTIZED) == other
    assert profile_selection.as_must(None, other, QUANTIZED) == other


def said(records, **options):
    header = {"selection": {"options": options}, "backend": "sim", "device": {}, "suite": {}, "command": []}
    text = summary._profiles(header, records, summary.Layout(width=300))
    return text


def test_summary_says_how_many_passed():
    passed = record(Verdict.PASS, MANDATORY, "profile int8")
    declined = record(Verdict.UNSUPPORTED, MANDATORY, "profile int8", "profile core")
    wrong = record(Verdict.MISMATCH, MANDATORY, "profile int8")
    assert said([passed] * 3, profile={"int8 1.0": 3}) == "profile int8 1.0: 3 of 3 must-pass cases passed"
    assert said([passed, declined, wrong], profile={"int8 1.0": 5, "core 1.0": 1}).splitlines() == [
        "profile int8 1.0: 1 of 5 must-pass cases passed (1 failed, 1 unsupported, 2 without a result)",
        "profile core 1.0: 0 of 1 must-pass cases passed (1 unsupported)",
    ]
    assert said([passed], profile={"int8 1.0": 5}, ops="Conv") == (
        "profile int8 1.0: 1 of 1 cases passed; run in part (ops), of 5 must-pass cases"
    )
    assert said([passed]) == ""


def test_options_narrow_a_profile():
    option = SimpleNamespace(case=[], ops="Conv", dtype=None, family=None, profile="core", quick=False)
    config = SimpleNamespace(option=option)
    ids = (CONV, "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.in:special", "Relu-14.f32.x:3.in:normal", QUANTIZED)
    assert selection.select(config, ids, "OPS-001") == [CONV]
    assert not selection.keeps(config, "DEV-001")
    option.ops = None
    assert selection.select(config, ids, "OPS-001") == [CONV, "Relu-14.f32.x:3.in:normal"]
    assert selection.keeps(config, "DEV-001")
    assert Rule().concerns("OPS-001")
