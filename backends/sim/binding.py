"""Buffers bound to a program of the simulated device, and its runs."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import interface
from backends.interface import BackendError, Binding, Buffer, RunError, Unsupported
from backends.sim.buffers import DeviceBuffer, ObjectBuffer, Place
from backends.sim.device import SimExecutable
from backends.sim.memory import Region
from backends.sim.queue import Fence

Bound = tuple[Region, Place]


class SimBinding(Binding):
    """Regions are held as long as the binding lives. Outputs of a shape that only a run can tell are made by each run."""

    def __init__(self, executable: SimExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None) -> None:
        self.executable = executable
        self.device = executable.device
        self.sources: dict[str, Bound] = {}
        self.objects: dict[str, ObjectBuffer] = {}
        self.targets: dict[str, Bound] = {}
        memory = self.device.memory
        strangers = [name for name in inputs if name not in {spec.name for spec in executable.inputs}]
        if strangers:
            raise RunError(f"the model has no input {strangers[0]}", phase="load", code="sim.name")
        missing = [s.name for s in executable.inputs if s.name not in inputs]
        missing += [s.name for s in executable.outputs if outputs is not None and s.name not in outputs]
        if missing:
            raise RunError(f"nothing is bound to {', '.join(missing)}", phase="load", code="sim.unbound")
        for name, buffer in inputs.items():
            self._take(name, buffer, self.sources)
        self.outputs = (
            {spec.name: outputs[spec.name] for spec in executable.outputs} if outputs is not None else self._allocated()
        )
        for name, buffer in self.outputs.items():
            self._take(name, buffer, self.targets)
        self._refuse_overlap()
        for region, _ in (*self.sources.values(), *self.targets.values()):
            memory.hold(region)
            weakref.finalize(self, memory.drop, region).atexit = False

    def _allocated(self) -> dict[str, Buffer]:
        """Memory for every output, or for none where there is not enough for all."""
        made: dict[str, Buffer] = {}
        try:
            for spec in self.executable.outputs:
                made[spec.name] = ObjectBuffer(None) if spec.nbytes is None else self.executable.allocate(spec.name)
        except BackendError:
            for buffer in made.values():
                buffer.release()
            raise
        return made

    def _take(self, name: str, buffer: Buffer, bound: dict[str, Bound]) -> None:
        spec = self.executable.spec(name)
        if isinstance(buffer, ObjectBuffer):
            self.objects[name] = buffer
            return
        if not isinstance(buffer, DeviceBuffer) or buffer.memory is not self.device.memory:
            raise Unsupported(f"{type(buffer).__name__} bound to {name}: it is not of this device", phase="load")
        bound[name] = (buffer.region, self.lay_out(name, buffer))
        if spec.nbytes is not None and buffer.region.nbytes < bound[name][1].extent[1]:
            what = f"{buffer.region.nbytes} bytes bound to {name}, which needs {spec.nbytes}"
            raise RunError(what, phase="load", code="sim.size")

    def lay_out(self, name: str, buffer: DeviceBuffer) -> Place:
        """Where the tensor lies in the buffer: imported bytes take the shape and type of the tensor. Raises RunError where the
        buffer holds another tensor."""
        wanted = self.executable.places.get(name)
        if buffer.place is not None:
            place = buffer.place
            if wanted is not None and (place.element, place.shape) != (wanted.element, wanted.shape):
                what = f"a buffer of {place.element.name}{list(place.shape)} bound to {name}, which is "
                raise RunError(f"{what}{wanted.element.name}{list(wanted.shape)}", phase="load", code="sim.type")
            return place
        if wanted is None or buffer.external is None:
            raise Unsupported(f"{name} has no fixed size: it takes no imported memory", phase="load", code="sim.dynamic")
        if buffer.external.strides is None:
            return wanted
        place = Place(wanted.shape, wanted.element, buffer.external.strides, buffer.external.first)
        low, high = place.extent if len(place.strides) == len(place.shape) else (0, -1)
        if place.packed or not 0 <= low <= high <= buffer.region.nbytes:
            what = f"strides {buffer.external.strides} of {name} do not fit {buffer.region.nbytes} bytes"
            raise RunError(what, phase="load", code="sim.strides")
        return place

    def _refuse_overlap(self) -> None:
        """Two outputs must not share bytes; an input and an output may, since inputs are read before outputs are written."""
        spans = [(name, _host_span(*bound)) for name, bound in self.targets.items()]
        for (one, (a, b)), (other, (c, d)) in itertools.combinations(spans, 2):
            if max(a, c) < min(b, d):
                raise RunError(f"outputs {one} and {other} overlap", phase="load", code="sim.alias")

    def submit(self, queue: interface.Queue | None = None, after: Sequence[interface.Fence] = ()) -> interface.Fence:
        device = self.device
        chosen = device.own_queue(queue)
        reads = [region for region, _ in self.sources.values()]
        for region in reads:
            device.memory.to_device(region)
        program, timeline = self.executable.program, device.timeline
        work = timeline.work(program.operations, program.traffic, program.dtype)
        begins = [chosen.end, *(fence.end for fence in after if isinstance(fence, Fence))]
        fence = Fence(timeline.submit(work, begins), self._arrive)
        engine = self.executable.engine
        with device.memory.lock:
            chosen.submit(lambda: self._compute(engine), after, fence)
            device.memory.uses(fence, reads, self.targets.values())
        chosen.end = fence.end
        return fence

    def _compute(self, engine: Any) -> None:
        """One inference, on the queue's thread: reads the device's bytes and writes them."""
        inputs: dict[str, Any] = {name: place.read(region.device) for name, (region, place) in self.sources.items()}
        inputs |= {name: self.objects[name].value for name in self.objects if name not in self.outputs}
        results = self.device.compute(self.executable.program, engine, inputs)
        for name, value in results.items():
            if name in self.targets:
                region, place = self.targets[name]
                place.write(region.device, value)
                self.device.memory.check(region)
            elif name in self.objects:
                self.objects[name].value = value

    def _arrive(self, fence: Fence) -> None:
        """What a fence means to the host: the results are visible, the memory is free for the next run."""
        self.device.timeline.wait(fence.end)
        self.device.memory.done(fence, [region for region, _ in self.sources.values()], self.targets.values())

    def adopted(self, name: str) -> bool | None:
        """Whether the device works on the bound memory: False where it does so through a copy; None for what has no bytes."""
        bound = self.sources.get(name, self.targets.get(name))
        return None if bound is None else not (bound[0].imported and bound[0].copied)


def _host_span(region: Region, place: Place) -> tuple[int, int]:
    """First byte and byte after the last that a tensor takes, as addresses of the host where it sees them."""
    data = region.device if region.host is None else region.host
    start = int(np.asarray(data).ctypes.data)
    return start + place.extent[0], start + place.extent[1]
