"""Who keeps memory alive: views, bindings and results outlive what they were made of, in every order that is legal."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np

from backends.interface import Binding, Device
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference, Places, far, read, refusing
from suites.exercises.memory import POISONS, Imported, Place
from suites.exercises.zero_copy import churn

LAST_OWNERS = ("the buffers", "the binding", "the executable")


def views(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """A view shows its memory's newest contents, a copy does not; it refuses to be written."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    binding = subject.bind(inputs, outputs)
    first = subject.run("run 0", binding, subject.feeds, inputs, outputs)
    shown = {name: place.buffer.view() for name, place in outputs.items()}
    copies = {name: np.array(array) for name, array in shown.items()}
    second = subject.run("run 1", binding, subject.variant(1), inputs, outputs)
    for name, array in shown.items():
        _expect_refused_write(subject, name, array)
        newest = array.tobytes() == second[name].tobytes()
        subject.told.expect(newest, "view-dead", f"a view of {name} does not show the newest run")
        kept = copies[name].tobytes() == first[name].tobytes()
        subject.told.expect(kept, "address-wrong", f"a copy of a view of {name} does not hold what the run gave")
    return subject.told.plain()


def _expect_refused_write(subject: Inference, name: str, array: np.ndarray) -> None:
    before = array.tobytes()
    writable = array.flags.writeable
    if writable and array.size:
        array[(0,) * array.ndim] = array.flat[-1]
    sentence = f"a view of {name} lets itself be written"
    subject.told.expect(not writable and array.tobytes() == before, "view-writable", sentence)


def view_outlives(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """A view stays as it is when buffers, binding and executable are given up one after another, and memory is taken anew; its
    memory is given back with it."""
    subject = Inference(device, model, feeds)
    in_use: list[int] = []
    for order in itertools.permutations(LAST_OWNERS):
        executable = device.compile(model)
        inputs = {name: executable.allocate(name) for name in subject.inputs}
        outputs = {name: executable.allocate(name) for name in subject.outputs}
        for name, buffer in inputs.items():
            with buffer.map("w") as array:
                array[...] = subject.feeds[name]
        binding: Binding | None = executable.bind(inputs, outputs)
        assert binding is not None
        binding.submit().wait()
        shown = {name: buffer.view() for name, buffer in outputs.items()}
        copies = {name: np.array(array) for name, array in shown.items()}
        subject.ran("before anything was given up", subject.feeds, copies)
        for given_up in order:
            if given_up == "the binding":
                binding = None
            elif given_up == "the executable":
                executable.release()
            else:
                for buffer in (*inputs.values(), *outputs.values()):
                    buffer.release()
                inputs, outputs, buffer, array = {}, {}, None, None  # type: ignore[assignment]
            _retake(subject)
            for name, array in shown.items():
                kept = array.tobytes() == copies[name].tobytes()
                subject.told.expect(kept, "memory-recycled", f"a view of {name} changed after {given_up} went")
        shown, array = {}, None  # type: ignore[assignment]
        gc.collect()
        in_use.append(device.allocated() or 0)
    sentence = f"memory in use after all views went, in turn: {', '.join(map(str, in_use))} bytes"
    subject.told.expect(in_use[-1] <= in_use[0], "leak", sentence)
    return subject.told.plain()


def _retake(subject: Inference) -> None:
    """Take memory of the same sizes, from the host and from the device, and run on it."""
    churn({**subject.feeds, **subject.control(subject.feeds)}, rounds=8)
    names = [*subject.inputs, *subject.outputs]
    taken = [subject.place(name, "allocate") for name in names for _ in range(4)]
    for place in taken:
        place.poison(0x77)
    for place in taken:
        place.buffer.release()
    subject.executable.run(subject.variant(2))


def view_outlives_device(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """A view stays as it is when the device is closed. Whoever calls this opens the device again."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    binding: Binding | None = subject.bind(inputs, outputs)
    assert binding is not None
    copies = subject.run("before the device was closed", binding, subject.feeds, inputs, outputs)
    shown = {name: place.buffer.view() for name, place in outputs.items()}
    told = subject.told
    binding, inputs, outputs = None, {}, {}
    subject.executable.release()
    del subject
    device.close()
    churn(copies)
    for name, array in shown.items():
        kept = array.tobytes() == copies[name].tobytes()
        told.expect(kept, "memory-recycled", f"a view of {name} changed after the device was closed")
    return told.plain()


def owners(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """A binding holds what it needs: runs are right though the references to buffers were dropped, and others take memory."""
    subject = Inference(device, model, feeds)
    blocks = {}
    inputs = subject.places(subject.inputs, how)
    for name, place in inputs.items():
        place.write(subject.feeds[name])
        if isinstance(place, Imported):
            blocks[name] = place.block
    binding = subject.bind(inputs)
    inputs.clear()
    place = None  # type: ignore[assignment]
    for n in range(2):
        churn(subject.feeds)
        binding.submit().wait()
        results = read(binding)
        subject.ran(f"run {n} after the buffers were dropped", subject.feeds, results)
        wrong = any(results[k].tobytes() != v.tobytes() for k, v in subject.control(subject.feeds).items())
        if wrong and n:
            subject.told.notes.append("bits differ from a run with copies")
    for name, block in blocks.items():
        subject.told.expect(not block.damage(), "beyond-buffer", f"of the memory of {name}, {block.damage()}")
    return subject.told.plain()


def orders(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Buffers over imported memory, binding and executable are given back in every order, then the memory; others go on."""
    subject = Inference(device, model, feeds)
    for order in itertools.permutations(LAST_OWNERS):
        executable = device.compile(model)
        inputs = {name: Imported(device, spec) for name, spec in subject.inputs.items()}
        for name, place in inputs.items():
            place.write(subject.feeds[name])
        binding: Binding | None = executable.bind({name: place.buffer for name, place in inputs.items()})
        assert binding is not None
        binding.submit().wait()
        subject.ran("before anything was given back", subject.feeds, read(binding))
        for given_back in order:
            if given_back == "the binding":
                binding = None
            elif given_back == "the executable":
                executable.release()
            else:
                for place in inputs.values():
                    place.buffer.release()
            gc.collect(1)
        for name, place in inputs.items():
            subject.told.expect(not place.block.damage(), "beyond-buffer", f"of the memory of {name}, {place.block.damage()}")
        inputs.clear()
        place = None  # type: ignore[assignment]
        churn(subject.feeds)
        subject.control(subject.variant(1), f"after {', '.join(order)} were given back")
    return subject.told.plain()


def after_release(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Releasing twice does nothing; what is used after its release is refused, or still right."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    binding = subject.bind(inputs, outputs)
    first = subject.run("before", binding, subject.feeds, inputs, outputs)
    with refusing() as running:
        _released(subject, inputs)
        binding.submit().wait()
        results = {name: place.read() for name, place in outputs.items()}
        subject.ran("a binding whose inputs were released", subject.feeds, results)
        sentence = "a binding whose inputs were released computes with memory that was allocated after it"
        subject.told.expect(not far(results, first), "memory-recycled", sentence)
    others = _released(subject, outputs)
    held = [other.read().tobytes() for other in others]
    with refusing() as mapping:
        for name, place in outputs.items():
            subject.told.expect(not far({name: place.read()}, first), "memory-recycled", f"{name} is not what it was")
    with refusing():
        binding.submit().wait()
    untouched = all(other.read().tobytes() == before for other, before in zip(others, held, strict=True))
    sentence = "a binding whose outputs were released writes to memory that was allocated after it"
    subject.told.expect(untouched, "memory-recycled", sentence)
    executable = device.compile(model)
    executable.release()
    executable.release()
    with refusing() as released:
        subject.ran("an executable that was released", subject.feeds, executable.run(dict(subject.feeds)))
    subject.told.number("refused", map=int(bool(mapping)), submit=int(bool(running)), run=int(bool(released)))
    subject.control(subject.variant(1), "control afterwards")
    return subject.told.plain()


def _released(subject: Inference, places: Places) -> list[Place]:
    """Release buffers, twice, and take others of their sizes."""
    for place in places.values():
        place.buffer.release()
        place.buffer.release()
    others = [subject.place(name, "allocate") for name in places for _ in range(2)]
    for other in others:
        other.poison(POISONS[0])
    return others
