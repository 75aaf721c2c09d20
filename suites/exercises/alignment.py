"""Where memory begins, how large it is and how far apart its rows lie: everything is right, or refused and no more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from backends.interface import Binding, Device, TensorSpec, Unsupported
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference, Refusal, declares, needs, refusing
from suites.exercises.memory import POISONS, UNWRITTEN, Imported, Place, laid_out, last_byte, shape_of


def at_offsets(device: Device, model: bytes, feeds: Arrays, side: str, *offsets: int) -> dict[str, Any]:
    """Import the tensors of one `side`, "inputs" or "outputs", all on a page, then at offsets from one, each at another."""
    subject = Inference(device, model, feeds)
    moved = subject.inputs if side == "inputs" else subject.outputs
    if side == "outputs":
        needs(device, "bind-outputs")
    refusals, counted = [], dict[str, int]()
    staggered = ({name: offsets[(first + k) % len(offsets)] for k, name in enumerate(moved)} for first in range(len(offsets)))
    for first, chosen in enumerate((dict.fromkeys(moved, 0), *staggered)):
        refusals.append(_at_offset(subject, moved, chosen, subject.variant(first), counted))
    fewest = min(counted.values(), default=0)
    for label, copies in counted.items():
        sentence = f"{label}: said to be used in place as elsewhere, but a run counts {copies} copies, elsewhere {fewest}"
        subject.told.expect(copies == fewest, "copied", sentence)
    return _summed(subject, refusals)


def _at_offset(
    subject: Inference,
    moved: Mapping[str, TensorSpec],
    offsets: Mapping[str, int],
    feeds: Arrays,
    counted: dict[str, int],
) -> Refusal:
    """One placement. `counted` takes the copies of a run on memory that is said to be used in place, where they are counted."""
    label = "offset " + ", ".join(str(offset) for offset in offsets.values())
    places: dict[str, Place] = {}
    adopted: list[bool | None] = []
    with refusing() as refusal:
        for name, offset in offsets.items():
            places[name] = subject.place(name, "import", offset)
        binding = _bound_run(subject, label, moved, places, feeds)
        adopted = [binding.adopted(name) for name in places]
        before = subject.device.copies()
        if before is not None and all(adopted):
            binding.submit().wait()
            counted[label] = (subject.device.copies() or 0) - before
    _judge_refusal(subject, label, refusal, places)
    kept, elements = _kept(subject, moved, offsets)
    promised = subject.device.capabilities().alignment is not None and declares(subject.device, "import")
    if kept and elements and promised:
        sentence = "the device refuses" if refusal else "the device copies"
        why = f"{label}: {sentence} memory that is aligned as it declares"
        subject.told.expect(not refusal and False not in adopted, "alignment-understated", why)
    if not kept and adopted and all(adopted):
        subject.told.notes.append(f"{label}: taken in place, though the declared alignment excludes it")
    return refusal


def _bound_run(
    subject: Inference, label: str, moved: Mapping[str, TensorSpec], places: Mapping[str, Place], feeds: Arrays
) -> Binding:
    """Bind the places to one side, and run, on outputs with each poison."""
    if moved is subject.inputs:
        inputs, outputs = places, None
    else:
        inputs, outputs = subject.places(subject.inputs, "import"), places
    binding = subject.bind(inputs, outputs)
    for poison in POISONS if outputs else POISONS[:1]:
        subject.run(label, binding, feeds, inputs, outputs, poison)
    return binding


def _kept(subject: Inference, moved: Mapping[str, TensorSpec], offsets: Mapping[str, int]) -> tuple[bool, bool]:
    """Whether the offsets keep to the declared alignment, and whether they keep elements aligned."""
    declared = subject.device.capabilities().alignment or 1
    kept = all(offset % math.lcm(declared, moved[name].alignment) == 0 for name, offset in offsets.items())
    return kept, all(offset % np.dtype(moved[name].dtype).itemsize == 0 for name, offset in offsets.items())


def _judge_refusal(subject: Inference, label: str, refusal: Refusal, places: Mapping[str, Place]) -> None:
    """After a refusal nothing around the memory is changed, and the device goes on."""
    if not refusal:
        return
    for name, place in places.items():
        damage = place.damage()
        subject.told.expect(not damage, "beyond-buffer", f"{label}: refused, but of the memory of {name}, {damage}")
    with refusing() as afterwards:
        subject.control(subject.feeds, f"after the refusal of {label}")
    subject.told.expect(
        not afterwards, "refusal-unclean", f"after the refusal of {label}, another run fails: {afterwards.error}"
    )


def _summed(subject: Inference, refusals: list[Refusal]) -> dict[str, Any]:
    """The evidence; nothing was shown where everything was refused, which the device may only do if it says so."""
    refused = [refusal for refusal in refusals if refusal.error]
    subject.told.number("placements", taken=len(refusals) - len(refused), refused=len(refused))
    if refused and len(refused) == len(refusals) and not subject.told.findings:
        assert refused[0].error is not None
        raise Unsupported(refused[0].error.text, phase=refused[0].error.phase, code=refused[0].error.code)
    return subject.told.plain()


def of_exact_size(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Import buffers that end with the tensors' last elements, though the device may ask for more: right or refused."""
    subject = Inference(device, model, feeds)
    subject.places(subject.inputs, "import")  # who takes nothing at all shows nothing here
    for side, moved in (("inputs", subject.inputs), ("outputs", subject.outputs)):
        places: dict[str, Place] = {}
        with refusing() as refusal:
            for name, spec in moved.items():
                places[name] = Exact(device, spec)
            _bound_run(subject, f"exact size of {side}", moved, places, subject.variant(1))
        _judge_refusal(subject, f"the exact size of {side}", refusal, places)
        subject.told.number("refused", **{side: int(bool(refusal))})
    subject.control(subject.variant(1), "afterwards")
    return subject.told.plain()


class Exact(Imported):
    """A tensor in a block that ends with its last element."""

    def __init__(self, device: Device, spec: TensorSpec) -> None:
        super().__init__(device, spec, nbytes=last_byte(spec))
        self.array = laid_out(self.block.bytes, spec)


def at_pitches(device: Device, model: bytes, feeds: Arrays, side: str, *gaps: int) -> dict[str, Any]:
    """Import the tensors of one side with rows that lie `gaps` bytes further apart than their length."""
    subject = Inference(device, model, feeds)
    moved = subject.inputs if side == "inputs" else subject.outputs
    refusals = []
    for n, gap in enumerate(gaps):
        places: dict[str, Imported] = {}
        label = f"{gap} bytes between rows"
        before: dict[str, np.ndarray] = {}
        with refusing() as refusal:
            for name, spec in moved.items():
                places[name] = Imported(device, spec, strides=pitched(spec, gap))
                before[name] = np.full_like(places[name].gaps(), POISONS[-1] if side == "outputs" else UNWRITTEN)
            _bound_run(subject, label, moved, places, subject.variant(n))
        _judge_refusal(subject, label, refusal, places)
        for name, place in places.items() if not refusal else ():
            untouched = np.array_equal(place.gaps(), before[name])
            subject.told.expect(untouched, "padding-counted", f"{label}: bytes between the rows of {name} are written")
        refusals.append(refusal)
    return _summed(subject, refusals)


def pitched(spec: TensorSpec, gap: int) -> tuple[int, ...]:
    """Strides of a tensor whose rows, along its last axis, have a gap behind them."""
    shape, item = shape_of(spec), np.dtype(spec.dtype).itemsize
    row = shape[-1] * item + gap
    outer = itertools.accumulate(reversed(shape[1:-1]), lambda pitch, d: pitch * d, initial=row)
    return (*reversed(list(outer)), item)


def allocated(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Three sets of buffers of the device's: aligned as the compiled model asks, and a run on one leaves the others alone."""
    subject = Inference(device, model, feeds)
    sets = [(subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")) for _ in range(3)]
    for inputs, outputs in sets:
        for name, place in {**inputs, **outputs}.items():
            address = place.buffer.address
            kept = address is None or address % place.spec.alignment == 0
            subject.told.expect(kept, "alignment-understated", f"{name} is allocated at an address that its own spec excludes")
            with place.buffer.map("r") as array:
                laid = array.dtype == np.dtype(place.spec.dtype) and array.shape == shape_of(place.spec)
            subject.told.expect(laid, "address-wrong", f"the map of {name} has not the shape and type of the tensor")
    bindings = [subject.bind(inputs, outputs) for inputs, outputs in sets]
    for n, (inputs, outputs) in enumerate(sets):
        subject.run(f"set {n}", bindings[n], subject.variant(n), inputs, outputs)
    inputs, outputs = sets[1]
    kept_outputs = [{name: place.read() for name, place in outputs.items()} for _, outputs in sets]
    subject.run("set 1 again", bindings[1], subject.variant(3), inputs, outputs)
    for n in (0, 2):
        subject.examine(f"set {n}", sets[n][0], {})
        for name, place in sets[n][1].items():
            untouched = place.read().tobytes() == kept_outputs[n][name].tobytes()
            subject.told.expect(untouched, "runs-disturb", f"a run on set 1 changed {name} of set {n}")
    return subject.told.plain()
