"""What a device says of itself, against what it does: words, open dimensions, where nodes run, and its clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from backends.interface import FEATURES, LAYOUTS, Binding, Device, Unsupported
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import refusing

EXTENTS = (3, 1, 8, 3)
"""Of an open dimension, one run after the other."""


def words(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Features and layouts are words of the interface; numbers are such that sizes and addresses can be multiples of them."""
    told, declared = Evidence(), device.capabilities()
    for what, said, known in (
        ("feature", declared.features or (), FEATURES.keys()),
        ("layout", declared.layouts or (), LAYOUTS.keys() | {"NCHW", "NC1HWC0"}),
    ):
        unknown = sorted(set(said) - known)
        told.expect(not unknown, "declared-wrong", f"{', '.join(unknown)}: no {what} that the interface knows")
    for name in ("alignment", "size_multiple"):
        number = getattr(declared, name)
        whole = number is None or (number > 0 and number & (number - 1) == 0)
        told.expect(whole, "declared-wrong", f"{name} is {number}, no power of two")
    told.ran("control", feeds, device.compile(model).run(dict(feeds)))
    return told.plain()


def open_dimension(device: Device, model: bytes, feeds: Arrays, *growing: str) -> dict[str, Any]:
    """The first dimension of the inputs `growing` is open: runs of several extents, one after the other."""
    told = Evidence()
    executable = device.compile(model)
    for spec in executable.inputs:
        is_open = spec.name not in growing or spec.shape[0] is None
        told.expect(is_open, "declared-wrong", f"{spec.name}, whose first dimension is open, is said to be {spec.shape}")
    for extent in EXTENTS:
        given = {name: _first(array, extent) if name in growing else array for name, array in feeds.items()}
        told.ran(f"of extent {extent}", given, executable.run(given))
    executable.release()
    with refusing():  # a layout that the device cannot give a tensor of unknown shape, or can
        device.compile(model, {f"layout.{growing[0]}": "NHWC"}).release()
    return told.plain()


def _first(array: np.ndarray, extent: int) -> np.ndarray:
    """Another extent of the first dimension, of the same values."""
    return np.resize(array, (extent, *array.shape[1:]))


def placed(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Each node of the model is placed once, under its own name and operator, whatever nodes the compiler adds."""
    told = Evidence()
    executable = device.compile(model)
    placement = executable.placement()
    told.ran("control", feeds, executable.run(dict(feeds)))
    executable.release()
    if placement is None:
        raise Unsupported("the device does not say where nodes run", phase="load")
    said = [(p.operator, p.node) for p in placement]
    for node in onnx.load_from_string(model).graph.node:
        times = said.count((node.op_type, node.name))
        told.expect(times == 1, "declared-wrong", f"{node.op_type} {node.name} is placed {times} times, among {said}")
    return told.plain()


class Costs:
    """Seconds that things take by the device's own clock."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.told = Evidence()
        self._last = 0.0
        self._last = self.now("at first")

    def now(self, when: str) -> float:
        """What the clock says, which must not be less than it said before."""
        seconds = self.device.clock()
        if seconds is None:
            raise Unsupported("the device has no clock of its own", phase="load")
        self.told.expect(seconds >= self._last, "clock-wrong", f"{when} the clock goes back from {self._last} s to {seconds} s")
        self._last = seconds
        return seconds

    def of_runs(self, binding: Binding, count: int) -> float:
        """The fewest seconds, of three tries, for so many runs and waiting for each."""
        times = []
        for _ in range(3):
            before = self.now("between runs")
            fences = []
            for _ in range(count):
                fences.append(binding.submit())
                self.now("at submit()")
            for fence in fences:
                fence.wait()
                self.now("at wait()")
            times.append(self.now("after a run") - before)
        return min(times)

    def of(self, what: str, action: Callable[[], object]) -> float:
        """Of anything else, once."""
        before = self.now(f"before {what}")
        action()
        return self.now(f"after {what}") - before


def clock(device: Device, model: bytes, feeds: Arrays, larger: bytes, *values: np.ndarray) -> dict[str, Any]:
    """The clock goes on while work is waited for: longer for much more of it, and for two runs than for one. `larger`: a model
    of the same inputs, `values` what they are fed."""
    costs = Costs(device)
    told, small, large = costs.told, device.compile(model), device.compile(larger)
    little, much = (e.bind({spec.name: e.allocate(spec.name) for spec in e.inputs}) for e in (small, large))
    part, whole, both = costs.of_runs(little, 1), costs.of_runs(much, 1), costs.of_runs(much, 2)
    told.expect(0 < part < whole, "clock-wrong", f"a large run takes {whole:g} s, a small one {part:g} s")
    told.expect(whole < both, "clock-wrong", f"two runs take {both:g} s, one of them {whole:g} s")
    fed = costs.of("a run with its inputs and outputs", lambda: large.run(dict(zip(feeds, values, strict=True))))
    told.expect(whole <= fed, "clock-wrong", f"a run takes {fed:g} s with its inputs and outputs, {whole:g} s without")
    told.number("seconds", small=part, large=whole, two=both, fed=fed)
    told.ran("control", feeds, small.run(dict(feeds)))
    return told.plain()
