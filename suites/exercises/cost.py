"""Copies by their cost: what is bound in place takes no time that grows with its size as a copy's does."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backends.interface import Binding, Device
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference
from suites.exercises.memory import Imported, Place

TRIES = 7
"""Measurements of which the fastest counts: noise only adds."""

ROUNDS = 3
"""All of which must show a copy: what is said of a device must not hang on one unlucky moment."""

HOST_SHARE = 0.8
"""Of the time that the host takes to copy the input, which no hidden copy beats by more."""

DEVICE_SHARE = 0.25
"""Of the time of a run by the device's own clock."""

LINE = 64
"""Bytes of a cache line, to which memory begins that is not on a page: pages are copied by nobody."""

GROWTH = 8
"""Times that the cost of a copy must grow at least, where the size grows by more than a hundred."""


class Bound:
    """A model over imported memory, and over memory of the device's own, to be bound and run again and again."""

    def __init__(self, device: Device, model: bytes, feeds: Arrays) -> None:
        self.subject = Inference(device, model, feeds)
        self.device = device
        aligned = {
            name: math.lcm(device.capabilities().alignment or 1, s.alignment, LINE) for name, s in self.subject.inputs.items()
        }
        self.imported = {name: Imported(device, s, aligned[name]) for name, s in self.subject.inputs.items()}
        self.binding = self._filled(self.imported)
        own = self.subject.places(self.subject.inputs, "allocate")
        on_host = all(place.buffer.address is not None for place in own.values())
        self.own = self._filled(own) if on_host else None
        self.clock = time.perf_counter if device.clock() is None else lambda: device.clock() or 0.0

    def _filled(self, places: Mapping[str, Place]) -> Binding:
        for name, place in places.items():
            place.write(self.subject.feeds[name])
        return self.subject.bind(places)

    def bind_again(self) -> object:
        """As for memory that was not seen before."""
        return self.subject.executable.bind({n: self.device.import_(p.memory) for n, p in self.imported.items()})

    def fastest(self, action: Callable[[], object]) -> float:
        """Seconds of the fastest of some tries."""
        times = []
        for _ in range(TRIES):
            start = self.clock()
            action()
            times.append(self.clock() - start)
        return min(times)

    def excess(self) -> float | None:
        """Seconds that a run on imported memory takes longer than on the device's own; None where that is no host memory."""
        if self.own is None:
            return None
        own = self.own
        return self.fastest(lambda: self.binding.submit().wait()) - self.fastest(lambda: own.submit().wait())


def by_size(device: Device, model: bytes, feeds: Arrays, small: bytes) -> dict[str, Any]:
    """Import, bind and run a large input of which the model needs little, and a `small` one of the same kind.

    Importing and binding touch no data: if they take as much longer as a copy of the large input takes, it is copied. Running
    may read all of it, so its time says something only against a run on host memory of the device's own: where that too has a
    host address, memory that is used in place costs the same.
    """
    large = Bound(device, model, feeds)
    little = Bound(device, small, _first_rows(device, feeds, small))
    subject, told = large.subject, large.subject.told
    subject.run("large", large.binding, subject.feeds, large.imported)
    name = max(subject.inputs, key=lambda n: subject.feeds[n].nbytes)
    claimed = large.binding.adopted(name) is True
    shown = {"binding": 0, "running": 0}
    for _ in range(ROUNDS):
        least = _least(large, subject.feeds[name])
        tie = large.fastest(large.bind_again) - little.fastest(little.bind_again)
        excess, of_little = large.excess(), little.excess() or 0.0
        shown["binding"] += tie > least
        shown["running"] += excess is not None and excess > max(least, GROWTH * of_little)
        told.number("seconds", least=least, bind=tie, **({} if excess is None else {"run": excess}))
    for what, times in shown.items():
        sentence = f"{name} is said to be used in place, but {what} takes a copy's time longer in each of {ROUNDS} rounds"
        told.expect(not (claimed and times == ROUNDS), "time-hidden-copy", sentence)
    told.number("evidence", adopted=int(claimed), inference=int(ROUNDS not in shown.values()))
    return told.plain()


def _least(large: Bound, array: np.ndarray) -> float:
    """Seconds that a hidden copy takes at least: on the host's clock from copying, on the device's from running."""
    if large.clock is time.perf_counter:
        into = np.empty_like(array)
        return HOST_SHARE * large.fastest(lambda: np.copyto(into, array))
    whole = large.own or large.binding
    return DEVICE_SHARE * large.fastest(lambda: whole.submit().wait())


def _first_rows(device: Device, feeds: Arrays, small: bytes) -> dict[str, np.ndarray]:
    """Feeds of the small model: as many rows of the large one's as it has."""
    return {spec.name: feeds[spec.name][: spec.shape[0]] for spec in device.compile(small).inputs}
