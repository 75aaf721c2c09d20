"""Buffers that hold what their tensor's type does not: bools that are neither 0 nor 1, elements of another type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backends.interface import BackendError, Buffer, Device, DeviceLost, Executable, ExternalMemory, Unsupported
from suites.exercises.evidence import Arrays, Evidence

PAGE = 4096
"""Bytes that the start of imported memory is a multiple of, unless the device asks for more."""

BYTES = (0, 1, 2, 255, 128, 3)
"""What a bool in memory of somebody else's may hold. NumPy and C take all but 0 for true."""

READINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "Cast": lambda result: result.astype(np.int64),
    "Not": lambda result: 1 - result.view(np.uint8).astype(np.int64),
    "And": lambda result: result.view(np.uint8).astype(np.int64),
    "Where": lambda result: (result.astype(np.int64) + 1) // 2,
}
"""Operator → its result, as what it took its bools for: 1 true, 0 false, anything else neither. Where chooses 1 or -1; And is
of a tensor with itself."""


def odd_bools(device: Device, model: bytes, feeds: Arrays, other: bytes, operator: str) -> dict[str, Any]:
    """What Cast, which is the case, and another operator take bytes of a bool for that are neither 0 nor 1."""
    told = Evidence()
    cast = device.compile(model)
    told.ran("0 and 1", feeds, cast.run(dict(feeds)))
    for name, executable in (("Cast", cast), (operator, device.compile(other))):
        taken = _taken_for(device, executable, name)
        if taken is None:
            told.notes.append(f"{name}: bools beyond 0 and 1 are refused")
        else:
            wrong = {byte: value for byte, value in taken.items() if value != (byte != 0)}
            text = ", ".join(f"{byte} for {value}" for byte, value in wrong.items())
            if wrong:
                told.undefined.append(f"{name} takes the byte {text}, where 1 is true and 0 false")
        executable.release()
    return told.plain()


def _taken_for(device: Device, executable: Executable, operator: str) -> dict[int, int] | None:
    """Byte → what the operator took it for, None if the device refuses such bytes."""
    held, buffers = [], {}
    for i, spec in enumerate(executable.inputs):
        shape, dtype = tuple(d or 0 for d in spec.shape), np.dtype(spec.dtype)
        values = np.resize(np.array(BYTES, np.uint8), shape) if spec.dtype == "bool" else np.full(shape, 3 - 2 * i, dtype)
        memory, buffers[spec.name] = _imported(device, np.frombuffer(values.tobytes(), np.uint8))
        held.append(memory)
    try:
        binding = executable.bind(buffers)
        binding.submit().wait()
    except (DeviceLost, Unsupported):
        raise
    except BackendError:
        return None
    with next(iter(binding.outputs.values())).map("r") as array:
        result = np.array(array)
    for buffer in buffers.values():
        buffer.release()
    taken = READINGS[operator](result).reshape(-1)
    return {byte: int(taken[i]) for i, byte in enumerate(BYTES)}


def _imported(device: Device, raw: np.ndarray) -> tuple[np.ndarray, Buffer]:
    """Bytes in memory that keeps to what the device asks of imports; the memory has to live as long as the buffer."""
    declared = device.capabilities()
    multiple, page = declared.size_multiple or 1, math.lcm(PAGE, declared.alignment or 1)
    nbytes = -(-raw.size // multiple) * multiple
    block = np.zeros(nbytes + page, np.uint8)
    start = -block.ctypes.data % page
    block[start : start + raw.size] = raw
    return block, device.import_(ExternalMemory("host", int(block.ctypes.data), start, nbytes))


def other_type(device: Device, model: bytes, feeds: Arrays, other: bytes, where: str) -> dict[str, Any]:
    """A buffer that was allocated for a tensor of another type and the same size is bound to an input or output."""
    told = Evidence()
    executable = device.compile(model)
    try:
        stranger = device.compile(other)
    except Unsupported as declined:
        told.notes.append(f"not asked, since the other type is declined: {declined.text}")
        stranger = None
    if stranger is not None:
        inputs = {spec.name: executable.allocate(spec.name) for spec in executable.inputs}
        outputs = {spec.name: executable.allocate(spec.name) for spec in executable.outputs}
        for name, buffer in inputs.items():
            with buffer.map("w") as array:
                array[...] = feeds[name]
        ours, theirs = (inputs, stranger.inputs) if where == "input" else (outputs, stranger.outputs)
        ours[next(iter(ours))] = stranger.allocate(theirs[0].name)
        try:
            executable.bind(inputs, outputs).submit().wait()
            told.find("type-taken", f"a buffer of {theirs[0].dtype} is taken for an {where} of another type")
        except DeviceLost:
            raise
        except BackendError as refusal:
            told.notes.append(f"refused: {' '.join(refusal.text.split())[:200]}")
        for buffer in (*inputs.values(), *outputs.values()):
            buffer.release()
        stranger.release()
    told.ran("control", feeds, executable.run({spec.name: feeds[spec.name] for spec in executable.inputs}))
    executable.release()
    return told.plain()
