"""Alignment: tensors in memory that begins, ends and is spaced where others would not have put it, between canaries."""

from __future__ import annotations

import pytest

from suites.cases import memory
from suites.cases.case import Case
from suites.device import DeviceUnderTest
from suites.exercises import alignment
from suites.judge import verify
from suites.requirement import cases, requirement

OFFSETS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 4095, 4096)
"""Bytes from a page."""

GAPS = (0, 1, 4, 12, 16, 64, 128)
"""Bytes between rows."""


@requirement("ALIGN-001")
@cases(memory.SIZES)
def test_inputs_at_every_offset(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(alignment.at_offsets, case, "inputs", *OFFSETS))


@requirement("ALIGN-002")
@cases(memory.SIZES)
def test_outputs_at_every_offset(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(alignment.at_offsets, case, "outputs", *OFFSETS))


@requirement("ALIGN-003")
@cases(memory.SIZES)
def test_buffers_of_exact_size(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(alignment.of_exact_size, case))


@requirement("ALIGN-004")
@pytest.mark.parametrize("side", ["inputs", "outputs"])
@cases(memory.ROWS)
def test_rows_apart(case: Case, side: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(alignment.at_pitches, case, side, *GAPS))


@requirement("ALIGN-005")
@cases(memory.SIZES)
def test_allocated_buffers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(alignment.allocated, case))
