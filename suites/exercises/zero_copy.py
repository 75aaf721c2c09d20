"""Memory used in place: what a run sees, where its results land, and whether what is said about it is true."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backends.interface import Binding, Device, ExternalMemory, Unsupported
from suites.exercises.evidence import Arrays
from suites.exercises.inference import Inference, Places, buffers, needs, read, refusing
from suites.exercises.memory import POISONS, Block, Imported, Place, last_byte

ROUNDS = 3
REUSED = 100
BATCH = 64


def mutate_after_bind(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """What is written to a bound input is seen by the next run, each time."""
    subject = Inference(device, model, feeds)
    inputs = subject.places(subject.inputs, how)
    for name, place in inputs.items():
        place.write(subject.feeds[name])
    subject.control(subject.feeds)  # by which stale data is known
    binding = subject.bind(inputs)
    for n in range(1, 1 + ROUNDS):
        subject.run(f"round {n}", binding, subject.variant(n), inputs)
    _identity(subject, binding, inputs)
    return subject.told.plain()


def bound_output(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """Results land in the buffers that were bound, fill them, and change nothing else."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, how), subject.places(subject.outputs, how)
    binding = subject.bind(inputs, outputs)
    for n, poison in enumerate(POISONS):
        subject.run(f"round {n}", binding, subject.variant(n), inputs, outputs, poison)
    _identity(subject, binding, {**inputs, **outputs})
    return subject.told.plain()


def _identity(subject: Inference, binding: Binding, places: Places) -> None:
    """What is claimed of each buffer, against its address and what lies there. 1 is yes, 0 no; what is not known is absent."""
    claims, equal = [], []
    for name, place in places.items():
        claims.append(binding.adopted(name))
        address = place.buffer.address
        if address is None:
            continue
        if isinstance(place, Imported):
            equal.append(address == place.address)
            contradicts = claims[-1] is True and not equal[-1]
            subject.told.expect(not contradicts, "address-wrong", f"{name} is said to be used in place, at another address")
        elif place.spec.strides is None:
            with place.buffer.map("r") as array:
                there = ctypes.string_at(address, array.nbytes) == array.tobytes()
            subject.told.expect(there, "address-wrong", f"at the address of {name} lies something else than its map shows")
    known = [claim for claim in claims if claim is not None]
    if known:
        subject.told.number("evidence", adopted=int(all(known)))
    if equal:
        subject.told.number("evidence", identity=int(all(equal)))
    subject.told.number("evidence", behaviour=int(not subject.told.findings))


def copies(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """The device's own count of copies does not grow in runs on memory that it says it uses in place."""
    needs(device, "copies")
    if device.copies() is None:
        raise Unsupported("the device does not count copies", phase="run")
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "import"), subject.places(subject.outputs, "import")
    binding = subject.bind(inputs, outputs)
    subject.run("first", binding, subject.feeds, inputs, outputs)
    before = device.copies()
    for _ in range(ROUNDS):
        binding.submit().wait()
    counted = (device.copies() or 0) - (before or 0)
    adopted = all(binding.adopted(name) for name in (*inputs, *outputs))
    subject.told.number("evidence", inference=int(not counted), copies_a_run=counted / ROUNDS)
    sentence = f"all memory is said to be used in place, but {ROUNDS} runs count {counted} copies"
    subject.told.expect(not (adopted and counted), "copied", sentence)
    return subject.told.plain()


def counted(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """The device's own count of copies grows with runs on imports that it says it copies: those one element behind a page."""
    needs(device, "copies", "import")
    if device.copies() is None:
        raise Unsupported("the device does not count copies", phase="run")
    subject = Inference(device, model, feeds)
    with refusing() as refusal:
        inputs = {n: subject.place(n, "import", np.dtype(spec.dtype).itemsize) for n, spec in subject.inputs.items()}
        binding = subject.bind(inputs)
        before = device.copies() or 0
        for n in range(ROUNDS):
            subject.run(f"round {n}", binding, subject.variant(n), inputs)
        growth, copied = (device.copies() or 0) - before, [n for n in inputs if binding.adopted(n) is False]
        subject.told.number("evidence", copied=len(copied), copies_a_run=growth / ROUNDS)
        sentence = f"{', '.join(copied)} is said to be copied, but {ROUNDS} runs count no copy"
        subject.told.expect(not copied or growth > 0, "copies-uncounted", sentence)
    if refusal:
        subject.told.notes.append(f"refused: {refusal.error}"[:200])
    return subject.told.plain()


def reuse(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """A hundred runs with fresh data through the same buffers."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, how), subject.places(subject.outputs, how)
    binding = subject.bind(inputs, outputs)
    for n in range(REUSED):
        subject.run(f"run {n}", binding, subject.variant(n), inputs, outputs, POISONS[n % 2])
        if subject.told.findings:  # the same a hundred times says no more
            break
    subject.told.number("evidence", runs=REUSED)
    return subject.told.plain()


def two_sets(device: Device, model: bytes, feeds: Arrays, how: str) -> dict[str, Any]:
    """Two sets of buffers in turn, then one's inputs with the other's outputs: each run uses what was bound, and no more."""
    subject = Inference(device, model, feeds)
    sets = [(subject.places(subject.inputs, how), subject.places(subject.outputs, how)) for _ in range(2)]
    bindings = [subject.bind(*places) for places in sets]
    crossed = subject.bind(sets[0][0], sets[1][1])
    held: list[dict[str, np.ndarray]] = [{}, {}]
    for n in range(2 * ROUNDS):
        k = n % 2
        held[k] = subject.run(f"run {n} on set {k}", bindings[k], subject.variant(n), *sets[k])
        subject.elsewhere = subject.variant(n)
        _undisturbed(subject, f"run {n} on set {k}", sets[1 - k][1], held[1 - k])
    subject.run("inputs of set 0, outputs of set 1", crossed, subject.variant(2), sets[0][0], sets[1][1])
    return subject.told.plain()


def _undisturbed(subject: Inference, label: str, outputs: Places, held: Arrays) -> None:
    for name, array in held.items():
        kept = outputs[name].read().tobytes() == array.tobytes()
        subject.told.expect(kept, "runs-disturb", f"{label} changed output {name} of the other set")


def held_outputs(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """What run 1 gave is the same after run 2: arrays of `run`, and outputs that the runtime owns of two bindings."""
    subject = Inference(device, model, feeds)
    first = subject.executable.run(dict(subject.feeds))
    copied = {name: np.array(array) for name, array in first.items()}
    subject.control(subject.variant(1))
    subject.executable.run(subject.variant(2))
    for name, array in first.items():
        kept = array.tobytes() == copied[name].tobytes()
        subject.told.expect(kept, "memory-recycled", f"a later run changed {name}, which an earlier one had returned")
    subject.ran("run 1, after run 2", subject.feeds, first)
    held = []
    with refusing():
        for n in range(2):
            inputs = subject.places(subject.inputs, "allocate")
            binding = subject.bind(inputs)
            results = subject.run(f"binding {n}", binding, subject.variant(n), inputs)
            held.append((n, binding, inputs, results))
    for n, binding, _, results in held:
        for name, now in read(binding).items():
            kept = now.tobytes() == results[name].tobytes()
            subject.told.expect(kept, "runs-disturb", f"a later binding's run changed output {name} of binding {n}")
    return subject.told.plain()


def mapping(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """What is written in a map is there in the next one; a map for reading is refused to be written or changes nothing."""
    subject = Inference(device, model, feeds)
    for name in subject.inputs:
        place = subject.place(name, "allocate")
        for n in range(ROUNDS):
            values = subject.variant(n)[name]
            place.write(values)
            there = place.read().tobytes() == values.tobytes()
            subject.told.expect(there, "map-lost", f"what is written to {name} in a map is not there in the next one")
        values = np.array(subject.feeds[name])
        place.write(values)
        with place.buffer.map("rw") as array:
            array[(-1,) * array.ndim] = values.flat[0]
        values.flat[-1] = values.flat[0]
        kept = place.read().tobytes() == values.tobytes()
        subject.told.expect(kept, "map-lost", f"after one element of {name} was written in a map, others are not as before")
        with place.buffer.map("r") as array:
            if array.flags.writeable:
                array[...] = np.zeros((), array.dtype)
        kept = place.read().tobytes() == values.tobytes()
        subject.told.expect(kept, "map-lost", f"what was written in a map of {name} for reading is there in the next one")
    return subject.told.plain()


def export(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """An exported buffer that is imported again is the same memory, both ways."""
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    kinds = sorted(device.capabilities().memory_kinds or {"host"})
    shared = {}
    for name, place in {**inputs, **outputs}.items():
        shared[name] = device.import_(_exported(place, kinds))
    binding = subject.executable.bind({n: shared[n] for n in inputs}, {n: shared[n] for n in outputs})
    for n, poison in enumerate(POISONS):
        subject.run(f"round {n} through the imported handles", binding, subject.variant(n), inputs, outputs, poison)
    return subject.told.plain()


def _exported(place: Place, kinds: list[str]) -> ExternalMemory:
    """Under the first kind that the buffer can be exported as. Raises Unsupported of the last."""
    for kind in kinds:
        with refusing() as refusal:
            return place.buffer.export(kind)  # type: ignore[arg-type]
    assert refusal.error is not None
    raise refusal.error


PROTOCOLS: Mapping[str, Callable[[Any], np.ndarray]] = {"__dlpack__": np.from_dlpack, "__array_interface__": np.asarray}
"""What a buffer may offer → what makes an array of it."""


def as_array(device: Device, model: bytes, feeds: Arrays, protocol: str) -> dict[str, Any]:
    """An array made of a buffer is that memory: values, type, shape, newest results, and alive for as long as the array.

    Converted to another type it is a copy, with the values and not the bytes.
    """
    subject = Inference(device, model, feeds)
    inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
    if not all(hasattr(type(place.buffer), protocol) for place in outputs.values()):
        raise Unsupported(f"buffers of this device have no {protocol}", phase="read")
    binding = subject.bind(inputs, outputs)
    first = subject.run("run 0", binding, subject.feeds, inputs, outputs)
    arrays = {name: PROTOCOLS[protocol](place.buffer) for name, place in outputs.items()}
    converted = {name: np.array(array, np.complex128) for name, array in arrays.items()}
    _shown(subject, arrays, first, "address-wrong", "differs from what its map shows")
    for name, place in outputs.items():
        address = place.buffer.address
        held = address is None or int(arrays[name].ctypes.data) == address
        subject.told.expect(held, "copied", f"the array of {name} by {protocol} lies at another address than the buffer")
    second = subject.run("run 1", binding, subject.variant(1), inputs, outputs)
    _shown(subject, arrays, second, "view-dead", "does not show the newest run")
    for name, copy in converted.items():
        kept = np.array_equal(copy, first[name].astype(np.complex128), equal_nan=True)
        subject.told.expect(kept, "type-differs", f"{name} converted to another type has not the values of its run")
    for place in (*inputs.values(), *outputs.values()):
        place.buffer.release()
    del binding, inputs, outputs, place
    churn(second)
    _shown(subject, arrays, second, "memory-recycled", "changed after its buffer was released")
    return subject.told.plain()


def _shown(subject: Inference, arrays: Arrays, wanted: Arrays, cause: str, sentence: str) -> None:
    for name, array in arrays.items():
        right = array.dtype == wanted[name].dtype and array.shape == wanted[name].shape
        right = right and np.array(array).tobytes() == wanted[name].tobytes()
        subject.told.expect(right, cause, f"the array of {name} made of its buffer {sentence}")


def churn(arrays: Arrays, rounds: int = 32) -> None:
    """Let memory that was given up be taken by others of the same sizes."""
    gc.collect(1)  # what was made just now; going through everything takes too long
    taken = [np.full(max(1, array.nbytes), 0x5A, np.uint8) for array in arrays.values() for _ in range(rounds)]
    del taken


def batch(device: Device, model: bytes, feeds: Arrays, order: str) -> dict[str, Any]:
    """Many imports at once, given back in reverse `order`, or forgotten ("forgotten")."""
    subject = Inference(device, model, feeds)
    name, spec = next(iter(subject.inputs.items()))
    before = device.allocated()
    places = [Imported(device, spec) for _ in range(BATCH)]
    for n, place in enumerate(places):
        place.write(subject.variant(n)[name])
    for n, place in enumerate(places):
        kept = not place.changed() and place.read().tobytes() == subject.variant(n)[name].tobytes()
        subject.told.expect(kept, "runs-disturb", f"importing other memory changed import {n} of {BATCH}")
        subject.examine(f"import {n} of {BATCH}", {}, {name: place})
    if order == "reversed":
        for place in reversed(places):
            place.buffer.release()
    places.clear()
    place = None  # type: ignore[assignment]
    gc.collect()
    after = device.allocated()
    if before is not None and after is not None:
        subject.told.expect(after <= before, "leak", f"{BATCH} imports given back leave {after - before} bytes in use")
    subject.control(subject.variant(1), "control afterwards")
    return subject.told.plain()


def too_small(device: Device, model: bytes, feeds: Arrays, side: str) -> dict[str, Any]:
    """Memory smaller than its tensor is refused, and nothing is written beyond it."""
    subject = Inference(device, model, feeds)
    moved = subject.inputs if side == "inputs" else subject.outputs
    name, spec = next(iter(moved.items()))
    last = last_byte(spec)
    multiple = device.capabilities().size_multiple or 1
    for nbytes in sorted({last // 2 // multiple * multiple, (last - 1) // multiple * multiple} - {0}):
        block = Block(nbytes)
        block.bytes[:] = POISONS[0]
        label = f"{nbytes} bytes for {name}, whose elements take {last}"
        with refusing() as refusal:
            small = device.import_(ExternalMemory("host", block.base, 0, nbytes))
            inputs, outputs = subject.places(subject.inputs, "import"), subject.places(subject.outputs, "import")
            for other, place in inputs.items():
                place.write(subject.feeds[other])
            given = {**buffers(inputs), **buffers(outputs), name: small}
            binding = subject.executable.bind({n: given[n] for n in inputs}, {n: given[n] for n in outputs})
            binding.submit().wait()
        damage = block.damage()
        subject.told.expect(not damage, "beyond-buffer", f"{label}: {damage}")
        subject.told.expect(bool(refusal), "not-refused", f"{label} were taken")
        subject.control(subject.variant(1), f"after {label}")
    return subject.told.plain()


def other_type(device: Device, model: bytes, feeds: Arrays, other: bytes) -> dict[str, Any]:
    """A buffer that was allocated for a tensor of another type is refused. `other` is a model of the same shapes."""
    subject = Inference(device, model, feeds)
    stranger = device.compile(other)
    for side, mine, theirs in (
        ("inputs", subject.inputs, stranger.inputs),
        ("outputs", subject.outputs, stranger.outputs),
    ):
        wrong = stranger.allocate(theirs[0].name)
        inputs, outputs = subject.places(subject.inputs, "allocate"), subject.places(subject.outputs, "allocate")
        given = {**buffers(inputs), **buffers(outputs), next(iter(mine)): wrong}
        with refusing() as refusal:
            binding = subject.executable.bind({n: given[n] for n in inputs}, {n: given[n] for n in outputs})
            binding.submit().wait()
        sentence = f"a buffer of {theirs[0].dtype} was bound to {side} of {next(iter(mine.values())).dtype} and run"
        subject.told.expect(bool(refusal), "type-taken", sentence)
        subject.control(subject.variant(1), f"after a buffer of another type among the {side}")
    return subject.told.plain()
