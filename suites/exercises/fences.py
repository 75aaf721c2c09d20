"""Submitted work: a fence is done when the work is, results are there after it, and work waits for the fences it was given."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from backends.interface import Binding, Device, Fence, Queue
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference, far, read, same
from suites.exercises.memory import POISONS, Place

FLIGHT = 64
"""Runs submitted at once."""

ROUNDS = 4
SETTLING = 0.02
"""Seconds in which a result that came before its work was done would still change."""


def sufficient(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """After `wait` the results are there and stay; `done` and `wait(timeout)` agree with it."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    binding = subject.bind(inputs, outputs)
    early = 0
    for n in range(ROUNDS):
        values = subject.variant(n)
        for name, place in inputs.items():
            place.write(values[name])
        for place in outputs.values():
            place.poison(POISONS[n % 2])
        fence = binding.submit()
        early += _waited(subject, f"round {n}", fence, timed=n % 2 == 1)
        results = {name: place.read() for name, place in outputs.items()}
        subject.ran(f"round {n}", values, results)
        time.sleep(SETTLING)
        for name, place in outputs.items():
            kept = place.read().tobytes() == results[name].tobytes()
            subject.told.expect(kept, "fence-early", f"round {n}: {name} changed after the fence was waited for")
        subject.explain(f"round {n}", binding, values, results, POISONS[n % 2])
        subject.examine(f"round {n}", inputs, outputs)
    subject.told.number("fences", rounds=ROUNDS, done_at_once=early)
    return subject.told.plain()


def _waited(subject: Inference, label: str, fence: Fence, timed: bool) -> int:
    """Wait, at first in vain where `timed`; whether the fence was done at once."""
    at_once = fence.done()
    if timed:
        try:
            fence.wait(0)
            subject.told.expect(fence.done(), "fence-early", f"{label}: wait(0) returned, but done() is false")
        except TimeoutError:
            sentence = f"{label}: done() was true, then wait(0) ran out of time"
            subject.told.expect(not at_once, "fence-early", sentence)
    fence.wait()
    subject.told.expect(fence.done(), "fence-early", f"{label}: after wait(), done() is false")
    try:
        fence.wait(0)
    except TimeoutError:
        subject.told.find("fence-early", f"{label}: after wait(), wait(0) runs out of time")
    return int(at_once)


def unsynchronised(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Without the fence, a view or the memory itself may show what was there before; after it, what the run gave."""
    subject = Inference(device, model, feeds)
    inputs = subject.places(subject.inputs, "allocate")
    outputs = subject.places(subject.outputs, "allocate")
    binding = subject.bind(inputs, outputs)
    views = {name: place.buffer.view() for name, place in outputs.items()}
    stale = 0
    for n in range(ROUNDS):
        values = subject.variant(n)
        for name, place in inputs.items():
            place.write(values[name])
        for place in outputs.values():
            place.poison(POISONS[0])
        fence = binding.submit()
        seen = {name: np.array(view) for name, view in views.items()}
        fence.wait()
        results = {name: np.array(view) for name, view in views.items()}
        stale += int(any(seen[name].tobytes() != results[name].tobytes() for name in seen))
        subject.ran(f"round {n}", values, results)
        mapped = {name: place.read() for name, place in outputs.items()}
        if not same(results, mapped):
            late = same({name: np.array(view) for name, view in views.items()}, mapped)
            shows = "before the buffer is mapped" if late else "at all"
            cause = "stale-output" if late else "view-dead"
            subject.told.find(cause, f"round {n}: after the fence a view does not show the results {shows}")
    subject.told.number("fences", rounds=ROUNDS, stale_before=stale)
    return subject.told.plain()


def chain(device: Device, model: bytes, feeds: Arrays, queues: int, fenced: int) -> dict[str, Any]:
    """B reads what A writes: on one queue or on two, submitted `after` A's fence or, on one queue, only later."""
    subject = Inference(device, model, feeds)
    source, target = next(iter(subject.inputs)), next(iter(subject.outputs))
    first = subject.place(source, "allocate")
    between, last = subject.place(target, "allocate"), subject.place(target, "allocate")
    a = subject.bind({source: first}, {target: between})
    b = subject.executable.bind({source: between.buffer}, {target: last.buffer})
    pair = (device.queue(), device.queue()) if queues == 2 else (None, None)
    for n in range(ROUNDS):
        submit = functools.partial(_submitted, a, b, pair, bool(fenced))
        _link(subject, f"round {n}", submit, first, between, last, subject.variant(n)[source])
    return subject.told.plain()


def _submitted(a: Binding, b: Binding, queues: tuple[Queue | None, Queue | None], fenced: bool) -> None:
    """Submit A, then B, and wait for both."""
    fence = a.submit(queues[0])
    b.submit(queues[1], [fence] if fenced else []).wait()
    fence.wait()


def _link(
    subject: Inference,
    label: str,
    submit: Callable[[], None],
    first: Place,
    between: Place,
    last: Place,
    values: np.ndarray,
) -> None:
    source, target = first.spec.name, last.spec.name
    before = np.array(np.roll(values, 7))  # what B would read if it did not wait for A
    first.write(values)
    between.write(before)
    last.poison(POISONS[0])
    submit()
    middle, results = {target: between.read()}, {target: last.read()}
    subject.ran(f"{label}, A", {source: values}, middle)
    subject.ran(f"{label}, B", {source: middle[target]}, results)
    early, wanted = subject.control({source: before}), subject.control({source: middle[target]})
    if far(results, wanted) and not far(results, early):
        subject.told.find("order-ignored", f"{label}: B ran on what was in the buffer before A, which it was to run after")


def in_flight(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """c = a + b, where the sum becomes the next run's a: as many submissions as `FLIGHT`, and only the last is waited for."""
    subject = Inference(device, model, feeds)
    (a, b), (c,) = subject.inputs, subject.outputs
    ping, pong, one = subject.place(a, "allocate"), subject.place(c, "allocate"), subject.place(b, "allocate")
    there = subject.bind({a: ping, b: one}, {c: pong})
    back = subject.executable.bind({a: pong.buffer, b: one.buffer}, {c: ping.buffer})
    start = np.arange(subject.feeds[a].size).reshape(subject.feeds[a].shape).astype(subject.feeds[a].dtype)
    ping.write(start)
    one.write(np.ones_like(start))
    fences = [binding.submit() for _ in range(FLIGHT // 2) for binding in (there, back)]
    fences[-1].wait()
    done = ping.read() - start
    wrong = done[done != FLIGHT]
    text = f"after {FLIGHT} submissions that each add 1, waited for once, the sum is {wrong[:1].tolist()}"
    subject.told.expect(not wrong.size, "run-lost", f"{text} in {wrong.size} of {done.size} elements")
    for fence in fences:
        fence.wait()
    subject.control(subject.feeds, "afterwards")
    return subject.told.plain()


def two_queues(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Work on two queues that shares nothing: each gives what it would give alone."""
    subject = Inference(device, model, feeds)
    sets = [(subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")) for _ in range(2)]
    bindings = [subject.bind(*places) for places in sets]
    queues = [device.queue() for _ in sets]
    for n in range(ROUNDS):
        fences = []
        for k, (inputs, outputs) in enumerate(sets):
            for name, place in inputs.items():
                place.write(subject.variant(2 * n + k)[name])
            for place in outputs.values():
                place.poison(POISONS[k])
        for k, binding in enumerate(bindings):
            fences.append(binding.submit(queues[k]))
        for k in reversed(range(2)):
            fences[k].wait()
            results = read(bindings[k])
            label, values = f"round {n}, queue {k}", subject.variant(2 * n + k)
            subject.ran(label, values, results)
            other = subject.control(subject.variant(2 * n + 1 - k))
            crossed = far(results, subject.control(values)) and not far(results, other)
            subject.told.expect(not crossed, "runs-disturb", f"{label}: the results are those of the other queue's inputs")
    return subject.told.plain()
