"""Layouts, strides, row pitches and ranks: a tensor means the same wherever its elements lie."""

from __future__ import annotations

import pytest

from suites.cases import layout
from suites.cases.case import Case
from suites.device import DeviceUnderTest
from suites.exercises import layout as exercises
from suites.exercises.views import WAYS
from suites.judge import verify
from suites.requirement import cases, requirement

ENDS = ("first-input", "first-output", "first-input first-output")
AT = [f"at:{ends.replace(' ', '_')}" for ends in ENDS]


@requirement("LAYOUT-001")
@cases(layout.IMAGES)
@pytest.mark.parametrize("ends", ENDS, ids=AT)
def test_channels_last(case: Case, ends: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.in_layout, case, "NHWC", ends))


@requirement("LAYOUT-002")
@cases(layout.IMAGES)
@pytest.mark.parametrize("ends", ENDS, ids=AT)
def test_blocks_of_channels(case: Case, ends: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.in_layout, case, "NC1HWC0", ends))


@requirement("LAYOUT-003")
@cases(layout.WEIGHTS)
def test_weights_channels_last(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.in_layout, case, "OHWI", "second-input"))


@requirement("LAYOUT-004")
@cases(layout.MATRICES)
def test_matrix_transposed(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.in_layout, case, "NK", "second-input"))


@requirement("LAYOUT-005")
@cases(layout.STRIDED)
@pytest.mark.parametrize("way", WAYS, ids=[f"way:{way}" for way in WAYS])
def test_views(case: Case, way: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.fed_view, case, way))


@requirement("LAYOUT-005")
@cases(layout.STRIDED)
def test_views_in_turn(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.one_view_each, case))


@requirement("LAYOUT-006")
@cases(layout.PITCHED)
def test_allocated_rows(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.allocated, case))


@requirement("LAYOUT-007")
@cases(layout.PITCHED)
@pytest.mark.parametrize("where", ["inputs", "outputs", "both"], ids=lambda where: f"at:{where}")
@pytest.mark.parametrize("way", exercises.STRIDES, ids=[f"way:{way}" for way in exercises.STRIDES])
def test_strided_imports(case: Case, way: str, where: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.imported, case, way, where))


@requirement("LAYOUT-008")
@cases(layout.RANKS)
def test_ranks(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.of_rank, case))
