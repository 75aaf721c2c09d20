"""Faults of queues and fences: when work starts, when it is said to be done, and what is visible then."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import interface
from backends.sim.binding import SimBinding
from backends.sim.compiler import Program
from backends.sim.device import SimDevice
from backends.sim.engine import Engine
from backends.sim.faults import seeds
from backends.sim.faults.seams import become, bindings, replace
from backends.sim.queue import Fence, Queue, Work

WORK = 0.003
"""Seconds that work takes, so that what does not wait for it comes first."""


def _slow(device: SimDevice) -> None:
    compute = device.compute

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        results = compute(program, engine, inputs)
        time.sleep(WORK)
        return results

    replace(device, compute=computed)


def _fences(device: SimDevice, **methods: Any) -> None:
    """Other methods for the fences of slow work."""
    _slow(device)

    def submit(self: SimBinding, queue: interface.Queue | None = None, after: Sequence[interface.Fence] = ()) -> Any:
        return become(SimBinding.submit(self, queue, after), **methods)

    def compute(self: SimBinding, engine: Engine) -> None:
        SimBinding._compute(self, engine)
        for region, place in self.targets.values():
            region.newer = [place]  # what came too late for a fence is seen later

    bindings(device, submit=submit, _compute=compute)


@seeds("wait-returns-early")
def wait_returns_early(device: SimDevice) -> None:
    """Waiting for a fence does not wait."""
    _fences(device, block=lambda self, timeout=None: None, done=lambda self: True)


@seeds("done-too-soon")
def done_too_soon(device: SimDevice) -> None:
    """A fence says that it is done when its work has been handed over."""
    _fences(device, done=lambda self: True)


@seeds("done-never")
def done_never(device: SimDevice) -> None:
    """A fence never says that it is done, though waiting for it returns."""
    _fences(device, done=lambda self: False)


@seeds("timeout-after-done")
def timeout_after_done(device: SimDevice) -> None:
    """A wait of no time runs out of it, though the work is done."""

    def block(self: Fence, timeout: float | None = None) -> None:
        if timeout is not None and timeout <= 0:
            raise TimeoutError("the run was not complete after 0 s")
        Fence.block(self, timeout)

    _fences(device, block=block)


@seeds("timeout-swallowed")
def timeout_swallowed(device: SimDevice) -> None:
    """A wait that runs out of time returns as if the work were done."""

    def wait(self: Fence, timeout: float | None = None) -> None:
        try:
            Fence.wait(self, timeout)
        except TimeoutError:
            return

    _fences(device, wait=wait)


def _unordered(device: SimDevice, **methods: Any) -> None:
    """Other methods of submission for slow work; the device sees what the host wrote to outputs before it."""
    _slow(device)
    submit = methods.pop("submit")

    def submitted(self: SimBinding, queue: interface.Queue | None = None, after: Sequence[interface.Fence] = ()) -> Any:
        for region, _ in self.targets.values():
            device.memory.to_device(region)
        return submit(self, queue, after)

    bindings(device, submit=submitted, **methods)


@seeds("after-ignored")
def after_ignored(device: SimDevice) -> None:
    """Work does not wait for the fences that it was given."""
    _unordered(device, submit=lambda self, queue, after: SimBinding.submit(self, queue, ()))


@seeds("after-first-only")
def after_first_only(device: SimDevice) -> None:
    """Work waits for the fences of its own queue alone: those of others are dropped."""

    def submit(self: SimBinding, queue: interface.Queue | None, after: Sequence[interface.Fence]) -> Any:
        own = device.own_queue(queue)
        fence = SimBinding.submit(self, queue, [f for f in after if getattr(f, "queue", own) is own])
        fence.queue = own  # type: ignore[attr-defined]
        return fence

    _unordered(device, submit=submit)


@seeds("queue-unordered")
def queue_unordered(device: SimDevice) -> None:
    """Work of one queue starts as soon as it is submitted, whatever the queue is still doing."""
    _unordered(device, submit=SimBinding.submit)

    class Eager(Queue):
        """Every piece of work has a thread of its own."""

        def submit(self, work: Work, after: Sequence[interface.Fence], fence: Fence) -> None:
            queue = Queue()
            queue.submit(work, after, fence)
            others.append(queue)

    others: list[Queue] = []
    device._own = Eager()


@seeds("queues-share-scratch")
def queues_share_scratch(device: SimDevice) -> None:
    """Work that runs at the same time on two queues shares the memory in which inputs are staged."""
    compute, lock = device.compute, threading.Lock()
    staged: dict[tuple[str, str], np.ndarray] = {}

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        keys = {n: (n, f"{x.dtype}{x.shape}") for n, x in inputs.items() if isinstance(x, np.ndarray)}
        with lock:
            for name, key in keys.items():
                staged[key] = np.array(inputs[name])
        time.sleep(WORK)
        return compute(program, engine, {**inputs, **{name: staged[key] for name, key in keys.items()}})

    replace(device, compute=computed)
