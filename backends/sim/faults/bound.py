"""Faults of the interface: which buffers a run uses, what is accepted that cannot be right, what is claimed and not kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import elements, interface
from backends.interface import Capabilities, ExternalMemory, MemoryKind, RunError, Unsupported
from backends.sim.binding import Bound, SimBinding
from backends.sim.buffers import DeviceBuffer, Place
from backends.sim.compiler import Program
from backends.sim.device import SimDevice, SimExecutable
from backends.sim.engine import Engine
from backends.sim.faults import seeds
from backends.sim.faults.seams import bindings, buffers, executables, replace
from backends.sim.memory import Region

LAST = 8
"""Elements of a vector."""


# Which buffers are used


@seeds("outputs-private")
def outputs_private(device: SimDevice) -> None:
    """Results land in the runtime's own buffers, whichever were bound."""
    executables(device, bind=lambda self, inputs, outputs=None: SimBinding(self, inputs, None))


@seeds("outputs-private-at-first")
def outputs_private_at_first(device: SimDevice) -> None:
    """The first run of a model writes to the runtime's own buffers, later ones to those that were bound."""

    def compute(self: SimBinding, engine: Engine) -> None:
        kept = {name: region.device.copy() for name, (region, _) in self.targets.items()}
        SimBinding._compute(self, engine)
        if "ran" not in self.executable.__dict__:
            self.executable.__dict__["ran"] = True
            for name, (region, _) in self.targets.items():
                region.device[...] = kept[name] if region.host is None else region.host

    bindings(device, _compute=compute)


@seeds("outputs-misordered")
def outputs_misordered(device: SimDevice) -> None:
    """Outputs of the same shape and type are bound in the reverse order."""
    compute = device.compute

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        results = compute(program, engine, inputs)
        for alike in _alike(results).values():
            results |= dict(zip(alike, [results[name] for name in reversed(alike)], strict=True))
        return results

    replace(device, compute=computed)


@seeds("inputs-misordered")
def inputs_misordered(device: SimDevice) -> None:
    """Inputs of the same shape and type are bound in the reverse order."""
    compute = device.compute

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(inputs)
        for alike in _alike(given).values():
            given |= dict(zip(alike, [inputs[name] for name in reversed(alike)], strict=True))
        return compute(program, engine, given)

    replace(device, compute=computed)


def _alike(arrays: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of arrays of the same shape and type."""
    found: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            found.setdefault(f"{array.dtype}{array.shape}", []).append(name)
    return found


@seeds("bindings-share-buffers")
def bindings_share_buffers(device: SimDevice) -> None:
    """An executable reads the inputs that were bound to it last, in all its bindings."""
    latest: dict[int, dict[str, Bound]] = {}

    def init(self: SimBinding, *arguments: Any) -> None:
        SimBinding.__init__(self, *arguments)
        latest[id(self.executable)] = self.sources

    def submit(self: SimBinding, *arguments: Any, **options: Any) -> Any:
        own, self.sources = self.sources, latest.get(id(self.executable), self.sources)
        try:
            fence = SimBinding.submit(self, *arguments, **options)
            fence.wait()
            return fence
        finally:
            self.sources = own

    bindings(device, __init__=init, submit=submit)


@seeds("export-of-a-copy")
def export_of_a_copy(device: SimDevice) -> None:
    """An exported handle names memory of its own, with what the buffer held then."""
    copies: list[np.ndarray] = []

    def export(self: DeviceBuffer, kind: MemoryKind) -> ExternalMemory:
        memory = DeviceBuffer.export(self, kind)
        copies.append(elements.memory(memory.handle, memory.nbytes).copy())
        return dataclasses.replace(memory, handle=int(copies[-1].ctypes.data))

    buffers(device, export=export)


@seeds("dlpack-strides-ignored")
def dlpack_strides_ignored(device: SimDevice) -> None:
    """An array taken over by DLPack has rows that follow each other, whatever their pitch."""

    def export(self: DeviceBuffer, **options: Any) -> Any:
        view = self.view()
        return np.ndarray(view.shape, view.dtype, device.memory.view(self.region)).__dlpack__(**options)

    buffers(device, __dlpack__=export)


@seeds("dlpack-of-a-copy")
def dlpack_of_a_copy(device: SimDevice) -> None:
    """DLPack hands out a copy."""
    buffers(device, __dlpack__=lambda self, **options: self.view().copy().__dlpack__(**options))


@seeds("fed-views-as-contiguous")
def fed_views_as_contiguous(device: SimDevice) -> None:
    """Arrays with strides are read one element after the other from their first one on, as far as that is within them."""

    def filled(self: SimExecutable, name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype != object and min(value.strides, default=0) > 0:
            value = elements.memory(value.ctypes.data, value.nbytes, value).view(value.dtype).reshape(value.shape)
        return SimExecutable._filled(self, name, value)

    executables(device, _filled=filled)


@seeds("fed-strides-remembered")
def fed_strides_remembered(device: SimDevice) -> None:
    """The strides of the first array that an input was fed are used for all that follow, if they fit into them."""

    def filled(self: SimExecutable, name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype != object and value.size and min(value.strides, default=0) > 0:
            strides = self.__dict__.setdefault("strides", {}).setdefault(name, value.strides)
            reach = sum((d - 1) * s for d, s in zip(value.shape, strides, strict=True)) + value.itemsize
            if reach <= sum((d - 1) * s for d, s in zip(value.shape, value.strides, strict=True)) + value.itemsize:
                value = np.lib.stride_tricks.as_strided(value, value.shape, strides)
        return SimExecutable._filled(self, name, value)

    executables(device, _filled=filled)


# What is accepted


@seeds("outputs-may-alias")
def outputs_may_alias(device: SimDevice) -> None:
    bindings(device, _refuse_overlap=lambda self: None)


@seeds("in-place-tail-twice")
def in_place_tail_twice(device: SimDevice) -> None:
    """In place, the last vector overlaps the one before it, whose elements are computed twice."""

    def compute(self: SimBinding, engine: Engine) -> None:
        SimBinding._compute(self, engine)
        inputs = {region: (name, place) for name, (region, place) in self.sources.items()}
        for name, (region, place) in self.targets.items():
            if region not in inputs or place.packed:
                continue
            given = {n: p.read(r.device) for n, (r, p) in self.sources.items()}
            again = self.device.compute(self.executable.program, engine, given)[name]
            place.array(region.device).reshape(-1)[-LAST:] = again.reshape(-1)[-LAST:]

    bindings(device, _compute=compute)


@seeds("overlap-row-by-row")
def overlap_row_by_row(device: SimDevice) -> None:
    """An output that begins within its input is written half by half, each over what the other half still has to read."""

    def compute(self: SimBinding, engine: Engine) -> None:
        SimBinding._compute(self, engine)
        for name, (region, place) in self.targets.items():
            for source, (read, _) in self.sources.items():
                if not _overlaps(region, read):
                    continue
                half = region.nbytes // 2
                first = region.device[:half].copy()
                assert region.host is not None
                assert read.host is not None
                region.host[:half] = first
                given = {n: p.read(r.device) for n, (r, p) in self.sources.items()}
                given[source] = self.sources[source][1].read(read.host.copy())
                place.write(region.device, self.device.compute(self.executable.program, engine, given)[name])
                region.device[:half] = first

    bindings(device, _compute=compute)


def _overlaps(one: Region, other: Region) -> bool:
    """Whether two regions share some bytes of the host and do not begin at the same one."""
    a, b = one.address, other.address
    return a is not None and b is not None and a != b and max(a, b) < min(a + one.nbytes, b + other.nbytes)


@seeds("other-type-taken")
def other_type_taken(device: SimDevice) -> None:
    """A buffer is taken for what the tensor is, whatever it was allocated for."""

    def lay_out(self: SimBinding, name: str, buffer: DeviceBuffer) -> Place:
        try:
            return SimBinding.lay_out(self, name, buffer)
        except RunError:
            return self.executable.places[name]

    bindings(device, lay_out=lay_out)


# What is claimed


@seeds("import-unrunnable")
def import_unrunnable(device: SimDevice) -> None:
    """Host memory is imported and bound, and then no run takes it."""

    def submit(self: SimBinding, queue: interface.Queue | None = None, after: Sequence[interface.Fence] = ()) -> Any:
        if any(region.imported for region, _ in (*self.sources.values(), *self.targets.values())):
            raise RunError("Invalid kernel handle", code="sim.fault")
        return SimBinding.submit(self, queue, after)

    bindings(device, submit=submit)


@seeds("claims-export")
def claims_export(device: SimDevice) -> None:
    """Buffers are declared to be exported, and none can be."""

    def export(self: DeviceBuffer, kind: MemoryKind) -> ExternalMemory:
        raise Unsupported(f"this driver cannot export memory as {kind}", phase="allocate", code="sim.fault")

    buffers(device, export=export)


@seeds("claims-views")
def claims_views(device: SimDevice) -> None:
    """Views are declared by a device that cannot give any."""
    capabilities = device.capabilities

    def claimed() -> Capabilities:
        real = capabilities()
        return dataclasses.replace(real, features=(real.features or frozenset()) | {"view"})

    replace(device, capabilities=claimed)


@seeds("layout-option-ignored")
def layout_option_ignored(device: SimDevice) -> None:
    """The option for the layout of an input or output is accepted and has no effect."""
    build = device.compiler.build
    replace(
        device.compiler,
        build=lambda model, options: build(model, {k: v for k, v in options.items() if not k.startswith("layout.")}),
    )
