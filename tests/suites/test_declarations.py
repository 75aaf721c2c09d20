"""What a device says of itself: the simulated device is believed, each way of saying otherwise is found."""

from __future__ import annotations

import dataclasses

import pytest

from backends.interface import NodePlacement
from backends.sim import SimBackend
from suites.cases.identifier import parse
from suites.cases.open import GROWING, OpenCase
from suites.exercises import declarations, refusals

RELU = parse("Relu-14.f32.x:8x8.in:index")
LARGER = parse("Relu-14.f32.x:256x512.in:index")


@pytest.fixture
def device():
    backend = SimBackend()
    opened = backend.open(backend.discover()[0], {})
    yield opened
    opened.close()


def causes(evidence):
    return {cause for cause, _ in evidence["findings"]}


def words(device):
    return causes(declarations.words(device, RELU.model_bytes, RELU.feeds))


def clock(device):
    return causes(declarations.clock(device, RELU.model_bytes, RELU.feeds, LARGER.model_bytes, *LARGER.feeds.values()))


def placed(device):
    return causes(declarations.placed(device, RELU.model_bytes, RELU.feeds))


def test_the_simulated_device_is_believed(device):
    opened = OpenCase(next(iter(GROWING)), parse(next(iter(GROWING))).node)
    evidence = declarations.open_dimension(device, opened.model_bytes, opened.feeds, *opened.growing)
    assert [outputs["y"].shape[0] for *_, outputs in evidence["runs"]] == list(declarations.EXTENTS)
    assert words(device) | clock(device) | placed(device) | causes(evidence) == set()


@pytest.mark.parametrize(
    "said", [{"features": frozenset({"imports"})}, {"layouts": frozenset({"NHCW"})}, {"alignment": 48}, {"size_multiple": 0}]
)
def test_words_without_meaning(device, said):
    true = device.capabilities()
    device.capabilities = lambda: dataclasses.replace(true, **said)
    assert words(device) == {"declared-wrong"}


@pytest.mark.parametrize("ticks", [lambda now: -now, lambda now: 0.0, lambda now: 1.0 if now else 0.0])
def test_clocks_that_go_wrong(device, ticks):
    true = device.clock
    device.clock = lambda: ticks(true())
    assert clock(device) == {"clock-wrong"}


@pytest.mark.parametrize("times", [0, 2])
def test_placements_that_are_none(device, times):
    compiled = device.compile

    def compile(model, options=None):
        executable = compiled(model, options)
        executable.placement = lambda: [NodePlacement("Relu", "Relu", "sim", True)] * times
        return executable

    device.compile = compile
    assert placed(device) == {"declared-wrong"}


def test_names_that_are_none_are_taken(device):
    compiled = device.compile

    def compile(model, options=None):
        executable = compiled(model, options)
        allocate, bind = executable.allocate, executable.bind
        executable.allocate = lambda name, kind="host": allocate("x" if name == "nobody" else name, kind)
        executable.bind = lambda inputs, outputs=None: bind({n: b for n, b in inputs.items() if n != "nobody"}, outputs)
        return executable

    device.compile = compile
    evidence = refusals.unknown_names(device, RELU.model_bytes, RELU.feeds)
    assert [sentence.partition(":")[0] for _, sentence in evidence["findings"]] == [
        "memory for a name that is none",
        "a buffer bound to a name that is none",
    ]
