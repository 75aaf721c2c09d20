"""Zero-copy: memory used in place by CPU and device, on the evidence of addresses, behaviour and cost."""

from __future__ import annotations

import pytest

from suites.cases import memory
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.device import DeviceUnderTest
from suites.exercises import aliasing, cost, fences, lifetime, zero_copy
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("ZC-001")
@cases(memory.MIXED)
def test_imported_inputs_written_after_binding(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.mutate_after_bind, case, "import"))


@requirement("ZC-002")
@cases(memory.MIXED)
def test_allocated_inputs_written_after_binding(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.mutate_after_bind, case, "allocate"))


@requirement("ZC-003")
@cases((*memory.MIXED, *memory.TWO_OUTPUTS))
def test_results_in_imported_outputs(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.bound_output, case, "import"))


@requirement("ZC-004")
@cases((*memory.MIXED, *memory.TWO_OUTPUTS))
def test_results_in_allocated_outputs(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.bound_output, case, "allocate"))


@requirement("ZC-005")
@cases(memory.FEW)
def test_counted_copies(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.copies, case))


@requirement("ZC-033")
@cases(memory.FEW)
def test_counted_copies_of_what_is_copied(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.counted, case))


@requirement("ZC-006")
@cases((memory.THREE_OF_MANY,))
def test_cost_by_size(case: Case, device: DeviceUnderTest) -> None:
    small = parse(memory.THREE_OF_FEW)
    verify(case, device.exercise(cost.by_size, case, small.model_bytes))


@requirement("ZC-007")
@cases(memory.FEW)
def test_a_hundred_runs_in_allocated_buffers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.reuse, case, "allocate"))


@requirement("ZC-008")
@cases(memory.FEW)
def test_a_hundred_runs_in_imported_memory(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.reuse, case, "import"))


@requirement("ZC-009")
@cases(memory.FEW)
def test_two_sets_of_buffers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.two_sets, case, "allocate"))


@requirement("ZC-010")
@cases(memory.MIXED)
def test_outputs_held_across_runs(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.held_outputs, case))


@requirement("ZC-011")
@cases(memory.FEW)
def test_maps(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.mapping, case))


@requirement("ZC-012")
@cases(memory.FEW)
def test_export_and_import(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.export, case))


@requirement("ZC-013")
@cases(memory.FEW)
def test_dlpack(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.as_array, case, "__dlpack__"))


@requirement("ZC-035")
@cases(("Add-14.f32.a:67.b:67.in:place", "Add-14.i32.a:67.b:67.in:normal"))
def test_runs_in_flight(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.in_flight, case))


@requirement("ZC-034")
@cases(memory.ELEMENTWISE)
def test_array_interface(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.as_array, case, "__array_interface__"))


@requirement("ZC-014")
@cases((*memory.ELEMENTWISE, *memory.NOT_IN_PLACE))
def test_in_place(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(aliasing.in_place, case, "allocate"))


@requirement("ZC-031")
@cases((*memory.ELEMENTWISE, *memory.NOT_IN_PLACE))
def test_in_place_in_imported_memory(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(aliasing.in_place, case, "import"))


@requirement("ZC-015")
@cases((*memory.ELEMENTWISE, *memory.NOT_IN_PLACE))
def test_overlap(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(aliasing.overlapping, case))


@requirement("ZC-016")
@cases(memory.TWO_OUTPUTS)
def test_one_buffer_for_two_outputs(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(aliasing.one_for_two_outputs, case))


@requirement("ZC-017")
@pytest.mark.parametrize("side", ["inputs", "outputs"])
@cases(memory.SQUARE)
def test_memory_that_is_too_small(case: Case, side: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.too_small, case, side))


@requirement("ZC-018")
@cases(tuple(memory.OTHER_TYPE))
def test_buffers_of_another_type(case: Case, device: DeviceUnderTest) -> None:
    other = parse(memory.OTHER_TYPE[case.id])
    verify(case, device.exercise(zero_copy.other_type, case, other.model_bytes))


@requirement("ZC-019")
@pytest.mark.parametrize("order", ["reversed", "forgotten"])
@cases(memory.FEW)
def test_many_imports(case: Case, order: str, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(zero_copy.batch, case, order))


@requirement("ZC-020")
@cases(memory.FEW)
def test_views(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.views, case))


@requirement("ZC-021")
@cases(memory.FEW)
def test_views_outlive_their_owners(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.view_outlives, case))


@requirement("ZC-022")
@cases(memory.FEW[:1])
def test_views_outlive_the_device(case: Case, device: DeviceUnderTest) -> None:
    run = device.exercise(lifetime.view_outlives_device, case)
    device.state.session.restart()
    verify(case, run)


@requirement("ZC-023")
@cases(memory.FEW)
def test_bindings_keep_their_buffers(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.owners, case, "allocate"))


@requirement("ZC-032")
@cases(memory.FEW)
def test_bindings_keep_their_imports(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.owners, case, "import"))


@requirement("ZC-024")
@cases(memory.FEW)
def test_orders_of_giving_back(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.orders, case))


@requirement("ZC-025")
@cases((*memory.FEW, *memory.SQUARE, *memory.SLOW))
def test_fences(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.sufficient, case))


@requirement("ZC-026")
@cases((*memory.SQUARE, *memory.SLOW))
def test_views_before_and_after_the_fence(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.unsynchronised, case))


@requirement("ZC-027")
@cases((*memory.SQUARE, *memory.SLOW))
def test_order_on_one_queue(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.chain, case, 1, 1))


@requirement("ZC-028")
@cases((*memory.SQUARE, *memory.SLOW))
def test_order_across_queues(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.chain, case, 2, 1))


@requirement("ZC-029")
@cases((*memory.SQUARE, *memory.SLOW))
def test_two_queues(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.two_queues, case))


@requirement("ZC-030")
@cases((*memory.SQUARE, *memory.SLOW))
def test_order_without_fences(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(fences.chain, case, 1, 0))
