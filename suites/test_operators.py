"""Operator coverage: each operator, type, attribute combination and recipe of the tables, alone in a model."""

from __future__ import annotations

from suites.cases import operators
from suites.cases.case import Case
from suites.device import DeviceUnderTest
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("OPS-001")
@cases(operators.ALL)
def test_operator(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))
