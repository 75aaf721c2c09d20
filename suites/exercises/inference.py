"""One compiled model with what it is fed, bound to buffers and run: what all exercises of memory are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from backends.interface import PHASES, BackendError, Binding, Buffer, Device, DeviceLost, TensorSpec, Unsupported
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.hypotheses import read_elsewhere
from suites.exercises.memory import POISONS, UNWRITTEN, Imported, Place

Places = Mapping[str, Place]


def same(first: Arrays, second: Arrays) -> bool:
    """Whether outputs agree in their bits."""
    return first.keys() == second.keys() and all(first[n].tobytes() == second[n].tobytes() for n in first)


def needs(device: Device, *features: str) -> None:
    """Raises Unsupported where the device says what it has, and that is not it."""
    declared = device.capabilities().features
    for feature in features:
        if declared is not None and feature not in declared:
            raise Unsupported(f"the device does not declare {feature}", phase="load")


def declares(device: Device, feature: str) -> bool:
    """Whether the device says that it has it; what is undeclared is not relied on."""
    return feature in (device.capabilities().features or ())


class Refusal:
    """Whether what was tried within `refusing` was refused, and in which words."""

    def __init__(self) -> None:
        self.error: BackendError | None = None

    def __bool__(self) -> bool:
        return self.error is not None


@contextlib.contextmanager
def refusing() -> Iterator[Refusal]:
    """Takes every error of the device for a refusal, but not its loss."""
    refusal = Refusal()
    try:
        yield refusal
    except DeviceLost:
        raise
    except BackendError as error:
        if error.phase not in PHASES:
            raise ValueError(f"{error.phase!r}, where an error says that it arose, is no phase: {error.text}") from error
        refusal.error = error


class Inference:
    """A compiled model, its feeds and variants of them, and the evidence."""

    def __init__(self, device: Device, model: bytes, feeds: Arrays, told: Evidence | None = None) -> None:
        self.device = device
        self.model = model
        self.executable = device.compile(model)
        self.feeds = {spec.name: np.asarray(feeds[spec.name]) for spec in self.executable.inputs}
        self.told = told or Evidence()
        self.inputs: dict[str, TensorSpec] = {spec.name: spec for spec in self.executable.inputs}
        self.outputs: dict[str, TensorSpec] = {spec.name: spec for spec in self.executable.outputs}
        self.elsewhere: dict[str, np.ndarray] = {}  # what lies in another set of input buffers
        self._told_of: set[bytes] = set()
        self._known: list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = []

    def variant(self, n: int) -> dict[str, np.ndarray]:
        """The feeds in another order, so that values stay within what the operator takes. 0 is the feeds themselves."""
        return {name: np.roll(array, n * (2 * k + 1)) for k, (name, array) in enumerate(self.feeds.items())}

    def control(self, feeds: Arrays, label: str = "control") -> dict[str, np.ndarray]:
        """An inference with copies in and out. Known results are not computed again, except under another label."""
        for known, outputs in self._known if label == "control" else ():
            if same(known, feeds):
                return outputs
        found = {name: np.array(array) for name, array in self.executable.run(dict(feeds)).items()}
        self._known.append(({name: np.array(array) for name, array in feeds.items()}, found))
        self.ran(label, feeds, found)
        return found

    def ran(self, label: str, feeds: Arrays, outputs: Arrays) -> None:
        """For the oracle, which need not see the same inference twice."""
        key = b"".join(array.tobytes() for arrays in (feeds, outputs) for array in arrays.values())
        if key not in self._told_of:
            self._told_of.add(key)
            self.told.ran(label, feeds, outputs)

    def place(self, name: str, how: str, offset: int = 0) -> Place:
        """Memory for one input or output: "import" ours, or "allocate" the device's."""
        spec = {**self.inputs, **self.outputs}[name]
        if how == "import":
            return Imported(self.device, spec, offset)
        return Place(spec, self.executable.allocate(name))

    def places(self, names: Sequence[str] | Mapping[str, TensorSpec], how: str) -> dict[str, Place]:
        return {name: self.place(name, how) for name in names}

    def bind(self, inputs: Places, outputs: Places | None = None) -> Binding:
        """`outputs` None leaves them to the runtime."""
        given = None if outputs is None else buffers(outputs)
        return self.executable.bind(buffers(inputs), given)

    def run(
        self,
        label: str,
        binding: Binding,
        feeds: Arrays,
        inputs: Places,
        outputs: Places | None = None,
        poison: int = POISONS[0],
    ) -> dict[str, np.ndarray]:
        """Write, poison, run, wait, read; then look for damage, stale data and results that went elsewhere."""
        for name, place in inputs.items():
            place.write(feeds[name])
            kept = place.read().tobytes() == feeds[name].tobytes()
            self.told.expect(kept, "map-lost", f"{label}: what was written to {name} in a map is not there in the next one")
        for place in (outputs or {}).values():
            place.poison(poison)
        binding.submit().wait()
        results = {n: p.read() for n, p in outputs.items()} if outputs else read(binding)
        self.ran(label, feeds, results)
        self.examine(label, inputs, outputs or {})
        self.explain(label, binding, feeds, results, poison if outputs else None, inputs)
        return results

    def examine(self, label: str, inputs: Places, outputs: Places) -> None:
        """Guards of all memory, and the bytes of inputs."""
        for name, place in {**inputs, **outputs}.items():
            damage = place.damage()
            self.told.expect(not damage, "beyond-buffer", f"{label}: of the memory of {name}, {damage}")
        for name, place in inputs.items():
            self.told.expect(not place.changed(), "input-overwritten", f"{label}: the run changed its input {name}")

    def explain(
        self, label: str, binding: Binding, feeds: Arrays, results: Arrays, poison: int | None, inputs: Places | None = None
    ) -> None:
        """Names what results are that are not those of a run with copies; whether they are wrong is the oracle's to say."""
        expected = self.control(feeds)
        if same(results, expected):
            return
        found = len(self.told.findings)
        if poison is not None:
            for name, array in results.items():
                self._left(label, binding, name, array, expected[name], poison)
        if len(self.told.findings) > found or not far(results, expected):
            return
        before = [outputs for _, outputs in self._known[:-1]]
        if self.elsewhere and same(results, self.control(self.elsewhere)):
            self.told.find("buffers-swapped", f"{label}: the outputs are those of the inputs in other buffers")
        elif misread := self._misread(inputs or {}, feeds, results):
            self.told.find(misread[0], f"{label}: {misread[1]}")
        elif made_of(results, expected, [*before, *self._unwritten()]):
            self.told.find("stale-input", f"{label}: the wrong elements are those of what the inputs held before")

    def _misread(self, inputs: Places, feeds: Arrays, results: Arrays) -> tuple[str, str] | None:
        """Cause and sentence, if the results are those of imported inputs read from elsewhere in their memory."""
        with refusing():
            for cause, sentence, instead in read_elsewhere(inputs, feeds):
                if same(self.executable.run(instead), results):
                    return cause, sentence
        return None

    def _unwritten(self) -> list[dict[str, np.ndarray]]:
        """The outputs of inputs that hold what imported memory holds at first, if the device gives any."""
        with refusing():
            raw = {name: np.full(array.nbytes, UNWRITTEN, np.uint8) for name, array in self.feeds.items()}
            at_first = {name: raw[name].view(array.dtype).reshape(array.shape) for name, array in self.feeds.items()}
            return [{name: np.array(array) for name, array in self.executable.run(at_first).items()}]
        return []

    def _left(self, label: str, binding: Binding, name: str, found: np.ndarray, wanted: np.ndarray, poison: int) -> None:
        """Elements that still are poison, and no result could be: of four bytes or more."""
        if found.shape != wanted.shape or found.dtype != wanted.dtype or found.dtype.itemsize < 4 or not found.size:
            return
        left = poisoned(found, poison) & ~poisoned(wanted, poison)
        if not left.all():
            text = f"{label}: {int(left.sum())} of {left.size} elements of {name} were not written"
            self.told.expect(not left.any(), "not-written", text)
        elif not poisoned(read(binding)[name], poison).any():
            self.told.find("output-elsewhere", f"{label}: the result is not in the buffer that was bound to {name}")
        else:
            self.told.find("stale-output", f"{label}: nothing was written to {name}")


def far(first: Arrays, second: Arrays) -> bool:
    """Whether outputs differ by more than rounding could make of the same inputs: by a hundredth of their largest value."""
    for name, array in first.items():
        a, b = (np.nan_to_num(np.asarray(x, np.float64)) for x in (array, second[name]))
        if a.shape != b.shape or float(np.abs(a - b).max(initial=0)) > 0.01 * float(np.abs(b).max(initial=0)):
            return True
    return False


def made_of(results: Arrays, expected: Arrays, others: Sequence[Arrays]) -> bool:
    """Whether each wrong element is, in its bits, the one at the same place in one of some other outputs."""
    for name, array in results.items():
        wanted = expected[name]
        if array.shape != wanted.shape or array.dtype != wanted.dtype or array.dtype.kind not in "fiu":
            return False
        bits = [np.ascontiguousarray(a).view(f"u{array.dtype.itemsize}") for a in (array, wanted)]
        explained = bits[0] == bits[1]
        for other in others:
            if other[name].shape == array.shape and other[name].dtype == array.dtype:
                explained |= bits[0] == np.ascontiguousarray(other[name]).view(bits[0].dtype)
        if not explained.all():
            return False
    return True


def poisoned(array: np.ndarray, poison: int) -> np.ndarray:
    """Which elements consist of that byte alone."""
    raw = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, array.dtype.itemsize)
    return np.asarray((raw == poison).all(axis=1))


def buffers(places: Places) -> dict[str, Buffer]:
    return {name: place.buffer for name, place in places.items()}


def read(binding: Binding) -> dict[str, np.ndarray]:
    """Copies of what a binding's outputs hold."""
    results = {}
    for name, buffer in binding.outputs.items():
        with buffer.map("r") as array:
            results[name] = np.array(array)
    return results
