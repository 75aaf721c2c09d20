"""One piece of memory bound more than once: what cannot be right must be refused, and what is not refused must be right."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.interface import Device, ExternalMemory
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference, buffers, declares, far, refusing
from suites.exercises.memory import Block, extent, laid_out

SHIFTS = (1, 8, 64)
"""Elements that an output begins behind its input."""


def in_place(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """One buffer as input and as output of the same shape and type; a device that declares it must not refuse."""
    subject = Inference(device, model, feeds)
    source, target = next(iter(subject.inputs)), next(iter(subject.outputs))
    for n in range(2):
        values = subject.variant(n)
        wanted = subject.control(values)
        inputs, outputs = subject.places(subject.inputs, how), subject.places(subject.outputs, how)
        place = inputs[source]
        with refusing() as refusal:
            binding = subject.executable.bind(buffers(inputs), {**buffers(outputs), target: place.buffer})
            for name, other in inputs.items():
                other.write(values[name])
            binding.submit().wait()
        if refusal:
            subject.control(subject.variant(1), "after the refusal")
            subject.told.notes.append(f"refused: {refusal.error}"[:200])
            declared = declares(device, "in-place")
            subject.told.expect(not declared, "refusal-unclean", f"declared as in-place, but refused: {refusal.error}")
            break
        _right(subject, f"in place, run {n}", values, {target: place.read()}, wanted)
        subject.told.expect(not place.damage(), "beyond-buffer", f"in place: {place.damage()}")
    subject.told.number("placements", refused=int(bool(refusal)))
    return subject.told.plain()


def _right(subject: Inference, label: str, feeds: Arrays, results: Arrays, wanted: Arrays) -> None:
    subject.ran(label, feeds, results)
    if far(results, wanted):
        subject.told.find("alias-wrong", f"{label}: neither refused nor right")


def overlapping(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """An output that begins within its input."""
    subject = Inference(device, model, feeds)
    (source, spec), (target, to) = next(iter(subject.inputs.items())), next(iter(subject.outputs.items()))
    item = np.dtype(spec.dtype).itemsize
    multiple = max(device.capabilities().size_multiple or 1, 1)
    refusals = 0
    for n, shift in enumerate(SHIFTS):
        distance = shift * item
        needed, behind = (-(-extent(s) // multiple) * multiple for s in (spec, to))
        block = Block(distance + max(needed, behind))
        feeding, resulting = laid_out(block.bytes, spec), laid_out(block.bytes[distance:], to)
        values = subject.variant(n)
        wanted = subject.control(values)
        label = f"output {distance} bytes behind its input"
        with refusing() as refusal:
            first = device.import_(ExternalMemory("host", block.base, 0, needed))
            second = device.import_(ExternalMemory("host", block.base, distance, behind))
            others = subject.places([name for name in subject.inputs if name != source], "import")
            binding = subject.executable.bind({source: first, **buffers(others)}, {target: second})
            for name, place in others.items():
                place.write(values[name])
            with first.map("w"):
                feeding[...] = values[source]
            binding.submit().wait()
            with second.map("r"):
                results = {target: np.array(resulting)}
        damage = block.damage()
        subject.told.expect(not damage, "beyond-buffer", f"{label}: {damage}")
        if not refusal:
            _right(subject, label, values, results, wanted)
        refusals += bool(refusal)
    subject.told.number("placements", taken=len(SHIFTS) - refusals, refused=refusals)
    subject.control(subject.variant(4), "afterwards")
    return subject.told.plain()


def one_for_two_outputs(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """One buffer for two outputs, which hold different values."""
    subject = Inference(device, model, feeds)
    wanted = subject.control(subject.feeds)
    inputs = subject.places(subject.inputs, "allocate")
    first, second = list(subject.outputs)[:2]
    place = subject.place(first, "allocate")
    with refusing() as refusal:
        binding = subject.executable.bind(buffers(inputs), {first: place.buffer, second: place.buffer})
        for name, p in inputs.items():
            p.write(subject.feeds[name])
        binding.submit().wait()
    subject.control(subject.variant(1), "afterwards")
    if refusal:
        subject.told.notes.append(f"refused: {refusal.error}"[:200])
        return subject.told.plain()
    lost = [name for name in (first, second) if far({name: place.read()}, {name: wanted[name]})]
    subject.told.expect(not lost, "alias-wrong", f"one buffer was taken for two outputs, and {', '.join(lost)} is lost")
    return subject.told.plain()
