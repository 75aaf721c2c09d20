"""What makes no sense is refused in words, and the device goes on; what only looks strange is right."""

from __future__ import annotations

from suites.cases import broken
from suites.cases.case import Case
from suites.device import DeviceUnderTest
from suites.exercises import refusals
from suites.judge import verify
from suites.requirement import cases, requirement

CONTROL = ("Add-14.f32.a:3x5.b:3x5.in:place", "MatMul-13.f32.a:3x5.b:5x7.in:lattice")
UNARY = ("Relu-14.f32.x:3x5x7.in:place",)
CHAIN = 1000


def _case_of(what: str) -> tuple[str, ...]:
    return (broken.BROKEN[what][0],)


def _ways(case: Case, what: str) -> list[str | bytes]:
    """What is wrong and the spoilt model, in turn."""
    return [part for way, model in broken.spoilt(case, what).items() for part in (way, model)]


@requirement("REF-001")
@cases(CONTROL)
def test_bytes_that_are_no_model(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.no_models, case))


@requirement("REF-002")
@cases(_case_of("operator"))
def test_unknown_operators(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "operator")))


@requirement("REF-003")
@cases(_case_of("opset"))
def test_unknown_opsets(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "opset")))


@requirement("REF-004")
@cases(_case_of("wiring"))
def test_graphs_that_are_none(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "wiring")))


@requirement("REF-005")
@cases(_case_of("types"))
def test_operands_of_two_types(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "types")))


@requirement("REF-006")
@cases(_case_of("shapes"))
def test_shapes_that_do_not_fit(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "shapes")))


@requirement("REF-007")
@cases(_case_of("attributes"))
def test_attributes_that_contradict(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "attributes")))


@requirement("REF-008")
@cases(_case_of("axis"))
def test_axes_out_of_range(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "axis")))


@requirement("REF-009")
@cases(_case_of("weights"))
def test_weights_that_are_not_there(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.models, case, *_ways(case, "weights")))


@requirement("REF-010")
@cases((*CONTROL, *UNARY))
def test_inputs_that_do_not_fit(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.feeds_that_do_not_fit, case))


@requirement("REF-011")
@cases(CONTROL)
def test_released_executables(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.closed, case))


@requirement("REF-012")
@cases(UNARY)
def test_tensors_beyond_any_memory(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.enormous, case, broken.enlarged(case)))


@requirement("REF-013")
@cases((*CONTROL, *UNARY))
def test_names_of_any_letters(case: Case, device: DeviceUnderTest) -> None:
    renamed = [part for name in broken.NAMES.values() for part in broken.renamed(case, name)]
    verify(case, device.exercise(refusals.strange_names, case, *renamed))


@requirement("REF-014")
@cases((*CONTROL, *UNARY))
def test_descriptions_are_stable(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.described_twice, case))


@requirement("REF-015")
@cases((*CONTROL, *UNARY))
def test_arrays_stay_the_callers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.inputs_kept, case))


@requirement("REF-016")
@cases(CONTROL[:1])
def test_graphs_of_many_nodes(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.long_graph, case, broken.long_chain(CHAIN), CHAIN))


@requirement("REF-017")
@cases((*CONTROL, *UNARY))
def test_names_that_are_none(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.unknown_names, case))


@requirement("REF-018")
@cases(UNARY)
def test_strides_beyond_the_memory(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(refusals.strides_beyond, case))
