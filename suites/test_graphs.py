"""Small graphs that compilers rewrite: the same results whether nodes become one, move or stay apart, at every level of
optimisation that the device offers."""

from __future__ import annotations

from suites.cases import graphs
from suites.cases.graphs import GraphCase, chains, control, decompositions, folding, quantised, sinking
from suites.device import DeviceUnderTest, Run
from suites.exercises.graphs import every_way
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("GRAPH-001")
@cases(graphs.ids(graphs.FUSED))
def test_fused_nodes(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device, apart=True)


@requirement("GRAPH-001")
@cases(graphs.of(chains.TABLES))
def test_products_with_epilogues(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device)


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
@cases(graphs.everything())
def test_every_tensor_as_an_output(case: GraphCase, device: DeviceUnderTest) -> None:
    verify(case, device.run(case))


@requirement("GRAPH-006")
@cases(graphs.of((*folding.TABLES, *sinking.TABLES)))
def test_folded_and_moved_nodes(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device)


@requirement("GRAPH-007")
@cases(graphs.of(decompositions.TABLES))
def test_operators_written_out(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device)


@requirement("GRAPH-008")
@cases(graphs.of(quantised.TABLES))
def test_quantised_operators(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device)


@requirement("GRAPH-009")
@cases(graphs.of(control.TABLES))
def test_control_flow_and_sequences(case: GraphCase, device: DeviceUnderTest) -> None:
    compare(case, device)


def compare(case: GraphCase, device: DeviceUnderTest, *, apart: bool = False) -> None:
    """The graph in every way that the device offers; without levels of optimisation, every tensor as an output is another. A
    wrong graph runs with every tensor as an output in any case: what is right then is wrong because nodes became one."""
    levels = device.capabilities.optimizations
    others = ",".join(levels) if levels is not None and len(levels) > 1 else ""

    def run(everything: bool) -> Run:
        return device.exercise(every_way, case, case.with_everything.model_bytes if everything else b"", others)

    if apart or levels is None:
        verify(case, run(everything=True))
    else:
        verify(case, run(everything=False), closer=lambda: run(everything=True))
