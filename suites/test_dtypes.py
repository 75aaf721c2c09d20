"""Types: what is stored comes back, what is computed keeps the precision and the special values of its type."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper

from suites.cases import dtypes
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.cases.recipes import integer_range
from suites.device import DeviceUnderTest
from suites.exercises import dtypes as exercises
from suites.exercises import foreign
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("DTYPE-001")
@cases(dtypes.MOVED)
def test_bit_patterns(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.moved, case))


@requirement("DTYPE-002")
@cases(dtypes.SIGNIFICANT)
def test_full_significands(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.significands, case, dtypes.NEUTRAL.get(case.operator, "")))


@requirement("DTYPE-003")
@cases(dtypes.POSITIONS)
def test_special_values_at_every_position(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.positions, case))


@requirement("DTYPE-004")
@cases(dtypes.EXTREMES)
def test_edges_of_integers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.extremes, case, int(case.operator not in dtypes.WITHOUT_LOWEST)))


@requirement("DTYPE-005")
@cases(dtypes.IN_RANGE)
def test_reals_to_integers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(exercises.to_integers, case, *integer_range(case.output_dtypes[0])))


@requirement("DTYPE-006")
@cases(dtypes.HALF_WAY)
def test_half_way_values(case: Case, device: DeviceUnderTest) -> None:
    target = case.output_dtypes[0] if case.operator == "Cast" else ""
    verify(case, device.exercise(exercises.half_way, case, target, scale_of(case)))


def scale_of(case: Case) -> float:
    """Of a quantisation whose scale is a constant; 1/2, which the exercise feeds, for any other; 1 where nothing is scaled."""
    if case.operator != "QuantizeLinear":
        return 1.0
    stored = [numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer if tensor.name == "y_scale"]
    return float(np.asarray(stored[0], np.float64).reshape(-1)[0]) if stored else 0.5


@requirement("DTYPE-007")
@cases(dtypes.PACKED)
def test_packed_types(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))


@requirement("DTYPE-008")
@cases(dtypes.BOOLS)
@pytest.mark.parametrize("other", dtypes.OTHER_BOOLS, ids=lambda other: f"and:{other.split('-')[0]}")
def test_bools_beyond_0_and_1(case: Case, other: str, device: DeviceUnderTest) -> None:
    second = parse(other)
    verify(case, device.exercise(foreign.odd_bools, case, second.model_bytes, second.operator))


@requirement("DTYPE-009")
@cases(tuple(dtypes.OTHER_TYPE))
@pytest.mark.parametrize("where", ["input", "output"], ids=lambda where: f"at:{where}")
def test_buffer_of_another_type(case: Case, where: str, device: DeviceUnderTest) -> None:
    other = parse(dtypes.OTHER_TYPE[case.id])
    verify(case, device.exercise(foreign.other_type, case, other.model_bytes, where))
