"""A graph that is wrong runs with every tensor as an output, which tells faults of fusion from those of nodes."""

from __future__ import annotations

import dataclasses

import pytest

from backends.worker import DeviceGone, DeviceSession
from results.verdict import Verdict
from suites.cases.identifier import parse
from suites.detection import Everything
from suites.device import DeviceUnderTest, RunState, Subject
from suites.exercises.graphs import every_way
from suites.judge import verify
from suites.test_graphs import compare

pytest.importorskip("onnxruntime")

SCALED = "Graph-21.f32.conv-scale.in:lattice"


class Counting(DeviceUnderTest):
    """Counts exercises."""

    count = 0

    def exercise(self, function, case, *arguments):
        self.count += 1
        return super().exercise(function, case, *arguments)


@pytest.fixture
def device(request):
    options = {"fault": request.param} if request.param else {}
    with DeviceSession("sim", "generic", options, in_process=True) as session:
        state = RunState(session)
        state.confirmed = Everything()
        yield Counting(state, Subject("graphs"))


@pytest.mark.parametrize("device", ["conv-scale-lost"], indirect=True)
def test_what_is_right_apart_is_the_fault_of_the_fusion(device):
    with pytest.raises(pytest.fail.Exception):
        compare(parse(SCALED), device)
    record = device.state.record
    assert device.count == 2
    assert record.verdict is Verdict.MISMATCH
    assert record.diagnosis == ["fusion-changes: together: y: it is right once every intermediate tensor is an output"]
    assert record.reason.endswith("equal to the graph without Mul_1")


@pytest.mark.parametrize("device", [""], indirect=True)
def test_a_right_graph_runs_once(device):
    compare(parse(SCALED), device)
    assert device.count == 1
    assert device.state.record.verdict is Verdict.PASS


@pytest.mark.parametrize("device", ["conv-scale-lost"], indirect=True)
@pytest.mark.parametrize("how", ["lost", "right"])
def test_a_closer_look_that_shows_nothing_leaves_what_was_seen(device, how):
    case = parse(SCALED)
    run = device.exercise(every_way, case, b"", "")

    def closer():
        if how == "lost":
            raise DeviceGone("unplugged")
        label, feeds, _ = run.observation.evidence["runs"][0]
        evidence = {**run.observation.evidence, "runs": [[label, feeds, device.run(case.with_everything).observation.outputs]]}
        return dataclasses.replace(run, observation=dataclasses.replace(run.observation, evidence=evidence))

    with pytest.raises(pytest.fail.Exception):
        verify(case, run, closer=closer)
    assert device.state.record.verdict is Verdict.MISMATCH
    assert device.state.record.diagnosis == []
    assert device.state.lost == ("unplugged" if how == "lost" else "")
