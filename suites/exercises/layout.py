"""Tensors that do not lie in memory as the model has them: other layouts, views, row pitches, strided imports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from backends.elements import memory
from backends.interface import (
    LAYOUTS,
    Buffer,
    CompileError,
    Device,
    Executable,
    ExternalMemory,
    TensorSpec,
    Unsupported,
)
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import same
from suites.exercises.views import STARTS, WAYS, image, misread, poisoned

BLOCKED = "NC1HWC0"

PAGE = 4096
"""Bytes that the start of imported memory is a multiple of, unless the device asks for more."""


# Layouts


def in_layout(device: Device, model: bytes, feeds: Arrays, layout: str, tensors: str) -> dict[str, Any]:
    """Inferences with some tensors in a layout. `tensors`: "first-input", "second-input", "first-output" joined by a space."""
    told = Evidence()
    plain = device.compile(model)
    specs = {spec.name: spec for spec in (*plain.inputs, *plain.outputs)}
    ends = {
        "first-input": plain.inputs[0],
        "second-input": plain.inputs[-1 if len(plain.inputs) == 1 else 1],
        "first-output": plain.outputs[0],
    }
    names = [ends[word].name for word in tensors.split()]
    plain.release()
    executable = _compiled(device, model, names, layout)
    laid = {spec.name: spec for spec in (*executable.inputs, *executable.outputs)}
    for name in names:
        wrong = _misshapen(specs[name], laid[name], layout)
        if wrong and layout in (device.capabilities().layouts or ()):
            told.find("layout-ignored", f"{name} was asked for in {layout}, but {wrong}")
        elif wrong:
            raise Unsupported(f"the option for {layout} has no effect: {wrong}", phase="load")
    if told.findings:
        return told.plain()
    for label, fill in (("poisoned padding", poisoned), ("zero padding", np.zeros))[: 2 if layout == BLOCKED else 1]:
        fed = {n: stored(x, layout, laid[n], fill) if n in names else x for n, x in feeds.items() if n in laid}
        results = executable.run(fed)
        for name in (n for n in names if n in results):
            results[name], padding = logical(results[name], layout, specs[name])
            told.expect(not np.any(padding != 0), "padding-counted", f"{label}: the padding of {name} in {layout} is not zero")
        told.ran(label if layout == BLOCKED else layout, feeds, results)
    executable.release()
    return told.plain()


def _compiled(device: Device, model: bytes, names: Sequence[str], layout: str) -> Executable:
    """Compiled with some tensors in a layout. The plain model compiles: that a device declines is about the layout alone.

    A ValueError says, as for every option, that the backend knows none of that name.
    """
    declared = device.capabilities().layouts
    if declared is not None and layout not in declared:
        raise Unsupported(f"{layout} is not among the layouts that the device declares", phase="load")
    try:
        return device.compile(model, {f"layout.{name}": layout for name in names})
    except Unsupported as declined:
        if declared is not None:
            raise CompileError(f"{layout}: {declined.text}", code=declined.code, accepted=True) from declined
        raise Unsupported(f"{layout}: {declined.text}", phase="load", code=declined.code) from declined
    except ValueError as unknown:
        if declared is not None:
            raise
        raise Unsupported(f"{layout}: {unknown}", phase="load") from unknown


def _misshapen(model: TensorSpec, compiled: TensorSpec, layout: str) -> str:
    """How a compiled shape contradicts the layout, "" where it does not."""
    shape, found = model.shape, compiled.shape
    if layout == BLOCKED:
        fits = len(found) == 5 and found[0] == shape[0] and found[2:4] == shape[2:]
        block = found[4] or 0 if fits else 0
        fits = block > 0 and found[1] == -(-(shape[1] or 0) // block)
    else:
        fits = found == tuple(shape[axis] for axis in LAYOUTS[layout])
    return "" if fits else f"its shape is {list(found)} where the model's is {list(shape)}"


def stored(
    array: np.ndarray, layout: str, spec: TensorSpec, fill: Callable[[tuple[int, ...], np.dtype], np.ndarray]
) -> np.ndarray:
    """An array as it lies in a layout, in the shape that `spec` gives to its memory; `fill` makes the padding of channels."""
    if layout != BLOCKED:
        return np.array(array.transpose(LAYOUTS[layout]), order="C")
    n, blocks, height, width, block = (d or 0 for d in spec.shape)
    filled = fill((n, blocks * block, height, width), array.dtype)
    filled[:, : array.shape[1]] = array
    return np.array(filled.reshape(n, blocks, block, height, width).transpose(0, 1, 3, 4, 2), order="C")


def logical(array: np.ndarray, layout: str, spec: TensorSpec) -> tuple[np.ndarray, np.ndarray]:
    """The tensor in the model's axes, and the channels that only fill the last block."""
    if layout != BLOCKED:
        return array.transpose(np.argsort(LAYOUTS[layout])), array[:0]
    n, blocks, height, width, block = array.shape
    filled = array.transpose(0, 1, 4, 2, 3).reshape(n, blocks * block, height, width)
    channels = spec.shape[1] or 0
    return filled[:, :channels], filled[:, channels:]


# Views


def fed_view(device: Device, model: bytes, feeds: Arrays, way: str) -> dict[str, Any]:
    """Inferences whose inputs are views of other memory, given to `run` as they are; two, since the first may copy."""
    told = Evidence()
    executable = device.compile(model)
    for label, turn in ((way, 0), (f"{way}, again", 1)):
        views = {spec.name: WAYS[way](np.roll(feeds[spec.name], turn)) for spec in executable.inputs}
        values = {name: np.array(view, order="C") for name, view in views.items()}
        before = {name: image(view) for name, view in views.items()}
        results = executable.run(views)
        told.ran(label, values, results)
        for name, view in views.items():
            told.expect(image(view) == before[name], "input-overwritten", f"{label}: the run changed the memory of {name}")
        if not same(results, executable.run(values)):
            _strides_ignored(told, label, executable, views, results)
    executable.release()
    return told.plain()


def _strides_ignored(told: Evidence, label: str, executable: Executable, views: Arrays, results: Arrays) -> None:
    """Finds that a result is that of inputs read without their strides."""
    for start in STARTS:
        wrong = {name: misread(view, start) for name, view in views.items()}
        data = {name: np.array(views[name] if array is None else array, order="C") for name, array in wrong.items()}
        if any(array is not None for array in wrong.values()) and same(results, executable.run(data)):
            told.find("strides-ignored", f"{label}: the inputs are read from their {start} on, without strides")
            return


def one_view_each(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """One executable, whose inputs are another kind of view at every run: what it remembers of the last one must not matter."""
    told = Evidence()
    executable = device.compile(model)
    for way in ("fortran-order", "every-other-element", "stride-0-first", "negative-strides", "offset"):
        views = {spec.name: WAYS[way](feeds[spec.name]) for spec in executable.inputs}
        told.ran(way, {name: np.array(view, order="C") for name, view in views.items()}, executable.run(views))
    told.ran("contiguous", feeds, executable.run({spec.name: feeds[spec.name] for spec in executable.inputs}))
    executable.release()
    return told.plain()


# Ranks

EVERY_DEVICE = 4
"""Rank that images have: no limit of ranks is below it."""


def of_rank(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """An inference. That a device declines a high rank says nothing against what it declares of operators."""
    told = Evidence()
    try:
        executable = device.compile(model)
    except Unsupported as declined:
        if max(array.ndim for array in feeds.values()) <= EVERY_DEVICE:
            raise
        raise Unsupported(declined.text, phase="load", code=declined.code) from declined
    told.ran("rank", feeds, executable.run({spec.name: feeds[spec.name] for spec in executable.inputs}))
    executable.release()
    return told.plain()


# Row pitch


def allocated(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Allocated buffers lie as their specifications say; what lies between rows has no part in the result."""
    told = Evidence()
    executable = device.compile(model)
    buffers: dict[str, Buffer] = {}
    for spec in (*executable.inputs, *executable.outputs):
        buffers[spec.name] = executable.allocate(spec.name)
        _describe(told, spec, buffers[spec.name])
    if told.findings:
        return told.plain()
    for spec in executable.inputs:
        with buffers[spec.name].map("w") as array:
            _poison(spec, array, buffers[spec.name])
            array[...] = feeds[spec.name]
    for spec in executable.outputs:
        with buffers[spec.name].map("w") as array:
            _poison(spec, array, buffers[spec.name])
    binding = executable.bind(
        {spec.name: buffers[spec.name] for spec in executable.inputs},
        {spec.name: buffers[spec.name] for spec in executable.outputs},
    )
    binding.submit().wait()
    told.ran("allocated", feeds, {spec.name: _copy(buffers[spec.name]) for spec in executable.outputs})
    for spec in executable.inputs:
        kept = _copy(buffers[spec.name]).tobytes() == feeds[spec.name].tobytes()
        told.expect(kept, "input-overwritten", f"the run changed its input {spec.name}")
    for buffer in buffers.values():
        buffer.release()
    executable.release()
    return told.plain()


def _describe(told: Evidence, spec: TensorSpec, buffer: Buffer) -> None:
    """Compares a mapped buffer with its specification."""
    with buffer.map("w") as array:
        plain = np.empty(array.shape, array.dtype).strides
        told.expect(
            array.shape == spec.shape, "layout-ignored", f"{spec.name} maps as {list(array.shape)}, not {list(spec.shape)}"
        )
        told.expect(array.dtype.name == spec.dtype, "type-differs", f"{spec.name} maps as {array.dtype}, not {spec.dtype}")
        laid = tuple(array.strides) == (spec.strides or plain)
        told.expect(
            laid or array.size < 2,
            "layout-ignored",
            f"{spec.name} has strides {array.strides}, declared {spec.strides or plain}",
        )
        if spec.nbytes is not None and spec.strides is not None and array.size:
            reach = sum((d - 1) * s for d, s in zip(array.shape, array.strides, strict=True)) + array.itemsize
            short = f"{spec.name} has {spec.nbytes} bytes, its elements reach {reach}"
            told.expect(reach <= spec.nbytes, "layout-ignored", short)


def _poison(spec: TensorSpec, array: np.ndarray, buffer: Buffer) -> None:
    """Fills a mapped buffer, the bytes between its rows included where they are known to be its own."""
    array[...] = poisoned(array.shape, array.dtype)
    if spec.strides is not None and spec.nbytes is not None and buffer.address == int(array.ctypes.data):
        memory(buffer.address, spec.nbytes, array)[:] = 0xFF


def _copy(buffer: Buffer) -> np.ndarray:
    with buffer.map("r") as array:
        return np.array(array, order="C")


# Strided imports


def _rows_apart(shape: tuple[int, ...], item: int) -> list[int]:
    """Strides in bytes: rows longer by three elements, planes by one more row."""
    strides, step = [], item
    for i, extent in enumerate(reversed(shape)):
        strides.append(step)
        step *= extent + (3 if i == 0 else 1)
    return strides[::-1]


def _axes_reversed(shape: tuple[int, ...], item: int) -> list[int]:
    """Column by column."""
    strides, step = [], item
    for extent in shape:
        strides.append(step)
        step *= extent
    return strides


def _twice(shape: tuple[int, ...], item: int) -> list[int]:
    """Every other element."""
    return [2 * step for step in np.empty(shape, f"V{item}").strides]


def _backwards(shape: tuple[int, ...], item: int) -> list[int]:
    """Rows of descending addresses."""
    return [-step for step in _rows_apart(shape, item)]


STRIDES: Mapping[str, Callable[[tuple[int, ...], int], list[int]]] = {
    "rows-apart": _rows_apart,
    "column-by-column": _axes_reversed,
    "every-other-element": _twice,
    "negative-strides": _backwards,
}
"""Name → (shape, bytes of an element) → strides in bytes."""


class Strided:
    """Memory of ours in which the elements of one tensor lie apart; the bytes between them are not the device's."""

    def __init__(self, device: Device, spec: TensorSpec, way: str) -> None:
        shape, dtype = tuple(d or 0 for d in spec.shape), np.dtype(spec.dtype)
        self.spec = spec
        strides = STRIDES[way](shape, dtype.itemsize)
        steps = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
        first, span = -sum(s for s in steps if s < 0), sum(map(abs, steps)) + dtype.itemsize
        declared = device.capabilities()
        multiple = declared.size_multiple or 1
        nbytes = -(-span // multiple) * multiple
        page = math.lcm(PAGE, declared.alignment or 1, spec.alignment)
        self._block = np.full(nbytes + page, 0xFF, np.uint8)
        start = -self._block.ctypes.data % page
        self.bytes = self._block[start : start + nbytes]
        self.array = np.ndarray(shape, dtype, self.bytes, first, tuple(strides))
        inside = np.zeros(nbytes, bool)
        np.ndarray((*shape, dtype.itemsize), bool, inside, first, (*strides, 1))[...] = True
        inside[span:] = True  # what only makes the size a multiple is nobody's
        self._gaps = ~inside
        address = int(self.bytes.ctypes.data)
        self.buffer = device.import_(ExternalMemory("host", address, 0, nbytes, tuple(strides), first))

    def gaps_written(self) -> int:
        """How many bytes between the elements are not what they were."""
        return int(np.count_nonzero(self.bytes[self._gaps] != 0xFF))


def imported(device: Device, model: bytes, feeds: Arrays, way: str, where: str) -> dict[str, Any]:
    """Inputs, outputs or both in imported memory with strides; everything else contiguous."""
    told = Evidence()
    executable = device.compile(model)
    held: dict[str, Strided] = {}
    inputs, outputs = {}, {}
    for spec in executable.inputs:
        if where in ("inputs", "both"):
            held[spec.name] = Strided(device, spec, way)
            with held[spec.name].buffer.map("w"):
                held[spec.name].array[...] = feeds[spec.name]
            inputs[spec.name] = held[spec.name].buffer
        else:
            inputs[spec.name] = executable.allocate(spec.name)
            with inputs[spec.name].map("w") as array:
                array[...] = feeds[spec.name]
    for spec in executable.outputs:
        if where in ("outputs", "both"):
            held[spec.name] = Strided(device, spec, way)
        outputs[spec.name] = held[spec.name].buffer if spec.name in held else executable.allocate(spec.name)
    binding = executable.bind(inputs, outputs)
    binding.submit().wait()
    results = {}
    for name, buffer in outputs.items():
        with buffer.map("r") as array:
            results[name] = np.array(held[name].array if name in held else array, order="C")
    told.ran(way, feeds, results)
    control = executable.run({name: feeds[name] for name in inputs})
    if not same(results, control):
        _strides_ignored(told, way, executable, {n: held[n].array if n in held else feeds[n] for n in inputs}, results)
        for name in (n for n in outputs if n in held):
            written = misread(held[name].array, STARTS[1])
            packed = written is not None and written.tobytes() == control[name].tobytes()
            told.expect(not packed, "strides-ignored", f"{way}: {name} is written without strides")
    for name, strided in held.items():
        count = strided.gaps_written()
        told.expect(count == 0, "padding-counted", f"{way}: {count} bytes between the elements of {name} are overwritten")
        if name in inputs:
            kept = strided.array.tobytes() == feeds[name].tobytes()
            told.expect(kept, "input-overwritten", f"{way}: the run changed its input {name}")
    for buffer in (*inputs.values(), *outputs.values()):
        buffer.release()
    executable.release()
    return told.plain()
