"""Small graphs that compilers rewrite: right to the bit, whether nodes become one or stay apart."""

from __future__ import annotations

from suites.cases import graphs
from suites.cases.graphs import GraphCase
from suites.device import DeviceUnderTest
from suites.exercises.graphs import together_and_apart
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("GRAPH-001")
@cases(graphs.ids(graphs.FUSED))
def test_fused_nodes(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(together_and_apart, case, case.with_everything.model_bytes))


@requirement("GRAPH-002")
@cases(graphs.ids(graphs.BORDERS))
def test_layouts_at_borders(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))


@requirement("GRAPH-003")
@cases(graphs.ids(graphs.BINDINGS))
def test_inputs_and_outputs(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))


@requirement("GRAPH-004")
@cases(graphs.ids(graphs.REUSED))
def test_lifetimes_of_tensors(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))


@requirement("GRAPH-005")
@cases(graphs.EVERYTHING)
def test_every_tensor_as_an_output(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))
