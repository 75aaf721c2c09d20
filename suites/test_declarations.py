"""What a device says of itself is true: of its features, of open dimensions, of where nodes run, of the time that passes."""

from __future__ import annotations

from suites.cases import memory
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.cases.open import GROWING, OpenCase
from suites.device import DeviceUnderTest
from suites.exercises import declarations
from suites.judge import verify
from suites.requirement import cases, requirement

SMALL_AND_LARGE = {
    "MatMul-13.f32.a:8x8.b:8x8.in:grid": "MatMul-13.f32.a:256x256.b:256x256.in:grid",
    "Relu-14.f32.x:8x8.in:index": "Relu-14.f32.x:256x512.in:index",
}
"""Case → another of the same operator with more than a thousand times as much to do."""


@requirement("DEV-004")
@cases(memory.FEW[:1])
def test_words(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(declarations.words, case))


@requirement("DEV-005")
@cases(tuple(GROWING))
def test_open_dimensions(case: Case, device: DeviceUnderTest) -> None:
    opened = OpenCase(case.id, case.node)
    verify(opened, device.exercise(declarations.open_dimension, opened, *opened.growing))


@requirement("DEV-006")
@cases(memory.MIXED)
def test_placement(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(declarations.placed, case))


@requirement("DEV-007")
@cases(tuple(SMALL_AND_LARGE))
def test_clock(case: Case, device: DeviceUnderTest) -> None:
    large = parse(SMALL_AND_LARGE[case.id])
    verify(case, device.exercise(declarations.clock, case, large.model_bytes, *large.feeds.values()))
