"""What a device does with models, inputs and calls that make no sense: it says so, and goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from backends.interface import PHASES, BackendError, Device, DeviceLost, ExternalMemory, Unsupported
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import needs
from suites.exercises.memory import PAGE, Block


class Trials:
    """Things to try that must be refused; after each the device must compute a control case right."""

    def __init__(self, device: Device, model: bytes, feeds: Arrays) -> None:
        self.device = device
        self.model = model
        self.feeds = feeds
        self.told = Evidence()
        self.executable = device.compile(model)
        self._control("before")

    @contextlib.contextmanager
    def refused(self, what: str) -> Iterator[None]:
        """What happens inside must end in an error of the interface."""
        try:
            yield
        except DeviceLost:
            raise
        except BackendError as error:
            self.told.expect(bool(error.text.strip()), "not-refused", f"{what}: refused without a word")
            self.told.expect(error.phase in PHASES, "declared-wrong", f"{what}: refused in {error.phase!r}, which is no phase")
            self.told.notes.append(f"{what}: {type(error).__name__} in {error.phase}: {' '.join(error.text.split())}"[:160])
        else:
            self.told.find("not-refused", f"{what}: accepted, and run")

    def end(self) -> dict[str, Any]:
        """The evidence, with a last control by a new executable and by the first."""
        self._control("after, compiled before")
        self.executable.release()
        self.executable = self.device.compile(self.model)
        self._control("after, compiled anew")
        self.executable.release()
        return self.told.plain()

    def _control(self, label: str) -> None:
        self.told.ran(label, self.feeds, self.executable.run(dict(self.feeds)))


def models(device: Device, model: bytes, feeds: Arrays, *spoilt: bytes | str) -> dict[str, Any]:
    """`spoilt`: names of what is wrong, each followed by the model. Compiling or running it must fail, in words."""
    trials = Trials(device, model, feeds)
    for what, wrong in zip(spoilt[::2], spoilt[1::2], strict=True):
        assert isinstance(what, str)
        assert isinstance(wrong, bytes)
        with trials.refused(what):
            executable = device.compile(wrong)
            executable.run(dict(feeds))
    return trials.end()


def no_models(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Bytes that are no model at all, and parts of one."""
    trials = Trials(device, model, feeds)
    for what, wrong in {
        "no bytes": b"",
        "a text": b"this is not a model\n" * 20,
        "noise": bytes(range(256)) * 8,
        "half a model": model[: len(model) // 2],
        "a model without its first bytes": model[7:],
    }.items():
        with trials.refused(what):
            device.compile(wrong).run(dict(feeds))
    return trials.end()


def feeds_that_do_not_fit(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Inputs that are missing, of another type, rank or extent."""
    trials = Trials(device, model, feeds)
    first, *_ = feeds
    x = np.asarray(feeds[first])
    for what, value in {
        "an input of another type": x.astype(np.float64 if x.dtype != np.float64 else np.float32),
        "an integer for a real": x.astype(np.int32),
        "an input with an axis more": x[None],
        "an input with an axis less": x.reshape(-1) if x.ndim > 1 else x[0],
        "an input with a longer axis": np.concatenate([x, x]),
        "an input with a shorter axis": x[:-1],
        "an empty input": x[:0],
    }.items():
        with trials.refused(what):
            trials.executable.run({**feeds, first: value})
    with trials.refused("no inputs"):
        trials.executable.run({})
    return trials.end()


def unknown_names(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Memory for, and bindings of, names that the model does not have, and of none of those that it has."""
    trials = Trials(device, model, feeds)
    executable = trials.executable
    own = {name: executable.allocate(name) for name in feeds}
    with trials.refused("memory for a name that is none"):
        executable.allocate("nobody")
    with trials.refused("a buffer bound to a name that is none"):
        executable.bind({**own, "nobody": next(iter(own.values()))}).submit().wait()
    with trials.refused("nothing bound"):
        executable.bind({}).submit().wait()
    return trials.end()


def strides_beyond(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Strides of imported memory that lead beyond its end, or before its beginning."""
    needs(device, "strided-import")
    trials = Trials(device, model, feeds)
    (spec,) = trials.executable.inputs
    x = np.asarray(feeds[spec.name])
    block = Block(-(-x.nbytes // PAGE) * PAGE)
    block.bytes[: x.nbytes] = x.reshape(-1).view(np.uint8)
    for what, strides in {
        "rows that end beyond the memory": (block.bytes.size, *x.strides[1:]),
        "rows that begin before the memory": (-x.strides[0], *x.strides[1:]),
        "fewer strides than dimensions": x.strides[1:],
    }.items():
        with trials.refused(what):
            memory = ExternalMemory("host", block.base, 0, block.bytes.size, strides)
            trials.executable.bind({spec.name: device.import_(memory)}).submit().wait()
    trials.told.expect(not block.damage(), "beyond-buffer", f"of the memory, {block.damage()}")
    return trials.end()


def closed(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """An executable that was released, twice, is refused, and another of the same model works."""
    trials = Trials(device, model, feeds)
    other = device.compile(model)
    other.run(dict(feeds))
    other.release()
    other.release()
    with trials.refused("a released executable"):
        other.run(dict(feeds))
    return trials.end()


def enormous(device: Device, model: bytes, feeds: Arrays, huge: bytes) -> dict[str, Any]:
    """A model of whose tensors none fits into any memory: refused when it is compiled, or when memory is asked for."""
    trials = Trials(device, model, feeds)
    with trials.refused("a tensor of 2^60 elements"):
        executable = device.compile(huge)
        for spec in executable.inputs:
            executable.allocate(spec.name)
        raise Unsupported("nothing was asked for", phase="allocate")
    return trials.end()


def strange_names(device: Device, model: bytes, feeds: Arrays, *renamed: bytes | str) -> dict[str, Any]:
    """`renamed`: model, name of its first input, name of its first output, in turn. Right as the model of plain names."""
    told = Evidence()
    first, *others = feeds
    told.ran("plain names", feeds, device.compile(model).run(dict(feeds)))
    result = next(iter(told.runs[0][2]))
    for changed, source, target in zip(renamed[::3], renamed[1::3], renamed[2::3], strict=True):
        assert isinstance(changed, bytes)
        assert isinstance(source, str)
        assert isinstance(target, str)
        executable = device.compile(changed)
        got = executable.run({source: feeds[first], **{name: feeds[name] for name in others}})
        told.expect(target in got, "buffers-swapped", f"the output is not called {target[:60]!r}")
        told.ran(f"named {source[:20]!r}", feeds, {result: got.get(target, np.zeros(0, np.float32))})
        executable.release()
    return told.plain()


def described_twice(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """What a device and an executable say of themselves is the same each time."""
    told = Evidence()
    executable, again = device.compile(model), device.compile(model)
    told.expect(device.capabilities() == device.capabilities(), "runs-differ", "capabilities() differs from call to call")
    for name in ("inputs", "outputs"):
        first, second = list(getattr(executable, name)), list(getattr(again, name))
        told.expect(first == second, "runs-differ", f"{name} of the same model differ: {first} and {second}")
    told.expect(executable.placement() == again.placement(), "runs-differ", "placement() of the same model differs")
    told.ran("the first", feeds, executable.run(dict(feeds)))
    told.ran("the second", feeds, again.run(dict(feeds)))
    return told.plain()


def inputs_kept(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """The arrays that are fed stay as they are, and the results are the caller's own."""
    told = Evidence()
    executable = device.compile(model)
    given = {name: np.array(x) for name, x in feeds.items()}
    first = executable.run(given)
    told.ran("first", feeds, first)
    for name, x in feeds.items():
        told.expect(given[name].tobytes() == np.asarray(x).tobytes(), "input-overwritten", f"the array fed to {name} changed")
    for name, y in first.items():
        told.expect(
            not any(np.shares_memory(y, x) for x in given.values()), "runs-disturb", f"{name} shares memory with an input"
        )
        told.expect(bool(y.flags.writeable), "view-writable", f"{name} is the caller's own, yet read-only")
        y[...] = np.zeros((), y.dtype)
    told.ran("after the results were overwritten", feeds, executable.run(given))
    return told.plain()


def long_graph(device: Device, model: bytes, feeds: Arrays, chain: bytes, length: int) -> dict[str, Any]:
    """A graph of many nodes compiles and runs; its result is its input plus their number."""
    told = Evidence()
    executable = device.compile(chain)
    x = np.arange(7, dtype=np.float32)
    (y,) = executable.run({"x": x}).values()
    told.expect(np.array_equal(y, x + length), "fusion-changes", f"{length} additions of 1 to {x.tolist()} give {y.tolist()}")
    executable.release()
    return told.plain()
