"""The quick part of the suites has something of everything, is small, and is the same each time."""

from __future__ import annotations

from types import SimpleNamespace

from suites import detection, quick, selection
from suites.cases import operators
from suites.requirement import catalogue


def config(**given):
    option = {"case": [], "ops": None, "dtype": None, "family": None, "profile": None, "quick": True, **given}
    return SimpleNamespace(option=SimpleNamespace(**option))


def heads(ids):
    return {case.split(".", 1)[0].rpartition("-")[0] for case in ids}


def chosen():
    """(requirement, function) → the cases of its tests that a quick run has."""
    found = {}
    for name, checks in detection.checks().items():
        for check in checks:
            found.setdefault((name, check.function.__name__), []).append(check.case)
    return {
        key: [""] if cases == [""] else selection.select(config(), operators.ALL if key[0] == "OPS-001" else cases, key[0])
        for key, cases in found.items()
    }


def test_every_requirement_and_operator_is_there_and_few_tests():
    kept = chosen()
    assert all(kept.values())
    assert {name for name, _ in kept} == set(catalogue())
    of_operators = kept["OPS-001", "test_operator"]
    assert heads(of_operators) == heads(operators.ALL)
    assert {case.split(".")[1] for case in of_operators} == {case.split(".")[1] for case in operators.ALL}
    assert 1200 <= sum(map(len, kept.values())) <= 1900
    assert sum(map(quick.elements, of_operators)) / len(of_operators) < 300


def test_options_narrow_what_a_quick_run_has():
    whole = selection.select(config(), operators.ALL, "OPS-001")
    of_conv = selection.select(config(ops="Conv"), operators.ALL, "OPS-001")
    assert of_conv == [case for case in whole if case.startswith("Conv-")]
    assert len(of_conv) > 3


def test_cases_that_differ_come_first():
    ids = (
        "Relu-14.f32.x:3x5x7.in:normal",
        "Relu-14.f32.x:3x5x9.in:normal",
        "Relu-14.f32.x:3x5x11.in:normal",
        "Relu-14.f16.x:3x5x7.in:normal",
        "Relu-13.f32.x:1000x1000.in:special",
        "Relu-14.f32.x:3x5x7.in:special",
    )
    ids += tuple(f"Relu-14.f32.x:3x5x{n}.in:normal" for n in range(12, 22))
    kept = quick.subset(ids, by_operator=False)
    assert len(kept) == 4
    assert {"Relu-14.f16.x:3x5x7.in:normal", "Relu-14.f32.x:3x5x7.in:special"} <= kept
    assert not any("1000" in case for case in kept)


def test_elements_are_counted_off_ids():
    assert quick.elements("Conv-11.f32.x:1x3x7x5.w:4x3x3x3.in:normal") == 105 + 108
    assert quick.elements("Expand-13.f32.input:3x1.shape:100_3_7.in:normal") == 3 + 2100
