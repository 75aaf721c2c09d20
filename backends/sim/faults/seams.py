"""How faults of memory, queues and the interface are seeded: parts of the device get other methods.

What lives as long as the device is given them directly. What comes and goes (executables, bindings, buffers, fences) gets them
by a class of its own: a method that refers to its object would keep it, and its memory, alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backends.interface import Buffer, ExternalMemory, MemoryKind, Options
from backends.sim.binding import SimBinding
from backends.sim.device import SimDevice, SimExecutable

Method = Callable[..., Any] | property


def replace(part: object, **methods: Callable[..., Any]) -> None:
    """Other methods for a part that lives as long as the device."""
    for name, method in methods.items():
        setattr(part, name, method)


def become(part: Any, **methods: Method) -> Any:
    """The same object, with other methods."""
    kind = type(part)
    part.__class__ = type(kind.__name__, (kind,), methods)
    return part


def executables(device: SimDevice, **methods: Method) -> None:
    """Other methods for everything that is compiled from now on."""
    compile_ = device.compile

    def compiled(model: bytes, options: Options | None = None) -> SimExecutable:
        executable: SimExecutable = become(compile_(model, options), **methods)
        return executable

    replace(device, compile=compiled)


def bindings(device: SimDevice, **methods: Method) -> None:
    """Other methods for everything that is bound from now on, already while it is made."""
    kind = type("SimBinding", (SimBinding,), methods)
    executables(device, bind=lambda self, inputs, outputs=None: kind(self, inputs, outputs))


def buffers(device: SimDevice, **methods: Method) -> None:
    """Other methods for all buffers of fixed size, allocated and imported."""
    import_ = device.import_

    def allocate(self: SimExecutable, name: str, kind: MemoryKind = "host") -> Buffer:
        buffer: Buffer = become(SimExecutable.allocate(self, name, kind), **methods)
        return buffer

    def imported(memory: ExternalMemory) -> Buffer:
        buffer: Buffer = become(import_(memory), **methods)
        return buffer

    executables(device, allocate=allocate)
    replace(device, import_=imported)
