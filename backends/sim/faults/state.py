"""Faults of the interface: what a device remembers that it should not, from run to run and from model to model."""

from __future__ import annotations

import hashlib
import itertools
import pathlib
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from backends.interface import Options, RunError
from backends.sim import cache
from backends.sim.compiler import Program
from backends.sim.device import SimDevice, SimExecutable
from backends.sim.engine import Engine
from backends.sim.faults import seeds
from backends.sim.faults.seams import executables, replace

Arrays = dict[str, Any]
Compute = Callable[[Program, Engine, Mapping[str, Any]], Arrays]


def _runs(device: SimDevice, change: Callable[[Compute, int, Program, Engine, Mapping[str, Any]], Arrays]) -> None:
    """A run is changed that knows how many its executable did before."""
    compute, counts = device.compute, weakref.WeakKeyDictionary[Engine, Any]()

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> Arrays:
        count = counts.setdefault(engine, itertools.count())
        return change(compute, next(count), program, engine, inputs)

    replace(device, compute=computed)


@seeds("first-run-wrong")
def first_run_wrong(device: SimDevice) -> None:
    """The first run of an executable finds its memory not set up yet: the second half of every result is 0."""

    def change(compute: Compute, number: int, *run: Any) -> Arrays:
        results = compute(*run)
        for array in results.values() if number == 0 else ():
            if isinstance(array, np.ndarray) and array.dtype.kind in "fiu":
                array.reshape(-1)[array.size // 2 :] = 0
        return results

    _runs(device, change)


@seeds("every-second-run-stale")
def every_second_run_stale(device: SimDevice) -> None:
    """Every second run of an executable gives the results of the one before."""
    kept = weakref.WeakKeyDictionary[Engine, Arrays]()

    def change(compute: Compute, number: int, program: Program, engine: Engine, inputs: Mapping[str, Any]) -> Arrays:
        results = compute(program, engine, inputs)
        before, kept[engine] = kept.get(engine, results), results
        fits = all(np.shape(before[name]) == np.shape(results[name]) for name in results)
        return before if number % 2 and fits else results

    _runs(device, change)


@seeds("second-run-fails")
def second_run_fails(device: SimDevice) -> None:
    """Only the first run of an executable works."""

    def change(compute: Compute, number: int, *run: Any) -> Arrays:
        if number:
            raise RunError("left operand cannot broadcast on dim 0", code="sim.fault")
        return compute(*run)

    _runs(device, change)


@seeds("last-bits-vary")
def last_bits_vary(device: SimDevice) -> None:
    """The order of sums depends on how threads are scheduled: results differ in their last bit from run to run."""

    def change(compute: Compute, number: int, *run: Any) -> Arrays:
        results = compute(*run)
        for name, array in results.items():
            if isinstance(array, np.ndarray) and array.dtype == np.float32 and number % 3 == 2:
                with np.errstate(all="ignore"):
                    results[name] = np.where(np.arange(array.size).reshape(array.shape) % 5 == 1, np.nextafter(array, 0), array)
        return results

    _runs(device, change)


@seeds("values-vary")
def values_vary(device: SimDevice) -> None:
    """Memory that is not initialised takes part: now and then an element is off."""
    noise = np.random.default_rng(7)

    def change(compute: Compute, number: int, *run: Any) -> Arrays:
        results = compute(*run)
        for array in results.values():
            if isinstance(array, np.ndarray) and array.dtype == np.float32 and array.size and number % 25 == 24:
                array.reshape(-1)[noise.integers(array.size)] += np.float32(0.5)
        return results

    _runs(device, change)


# From model to model


def _alike(one: Engine, other: Engine) -> bool:
    """Whether two executables take and give tensors of the same names, shapes and types."""
    ports = [[(s.name, s.shape, s.dtype) for s in (*engine.inputs, *engine.outputs)] for engine in (one, other)]
    return ports[0] == ports[1]


@seeds("models-mixed")
def models_mixed(device: SimDevice) -> None:
    """Models with the same inputs and outputs share their constants: those of the one that was compiled last."""
    compute, compile_ = device.compute, device.compile
    latest: list[weakref.ref[Any]] = []

    def compiled(model: bytes, options: Options | None = None) -> Any:
        executable: Any = compile_(model, options)
        latest.append(weakref.ref(executable.engine))
        return executable

    def computed(program: Program, engine: Engine, inputs: Mapping[str, Any]) -> Arrays:
        alive = (other for other in (reference() for reference in reversed(latest)) if other is not None)
        newest = next((other for other in alive if other._session is not None and _alike(other, engine)), engine)
        return compute(program, newest, inputs)

    replace(device, compile=compiled, compute=computed)


@seeds("model-spoils-others")
def model_spoils_others(device: SimDevice) -> None:
    """Once a second model has run, those that ran before it give NaN."""
    ran = weakref.WeakKeyDictionary[Engine, bool]()

    def change(compute: Compute, number: int, program: Program, engine: Engine, inputs: Mapping[str, Any]) -> Arrays:
        results = compute(program, engine, inputs)
        for other in list(ran):
            ran[other] = ran[other] or other is not engine
        if ran.setdefault(engine, False):
            for name, array in results.items():
                if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                    results[name] = np.full_like(array, np.nan)
        return results

    _runs(device, change)


@seeds("scratch-not-cleared")
def scratch_not_cleared(device: SimDevice) -> None:
    """Results are added to what the last model of that size left behind, if it was another one."""
    left: dict[str, tuple[weakref.ref[Engine], np.ndarray]] = {}

    def change(compute: Compute, number: int, program: Program, engine: Engine, inputs: Mapping[str, Any]) -> Arrays:
        results = compute(program, engine, inputs)
        for name, array in results.items():
            if isinstance(array, np.ndarray) and array.dtype == np.float32:
                key = f"{array.nbytes}"
                owner, rest = left.get(key, (None, array))
                left[key] = (weakref.ref(engine), array.copy())
                if owner is not None and owner() not in (None, engine):
                    results[name] = array + rest.reshape(array.shape)
        return results

    _runs(device, change)


@seeds("threads-race")
def threads_race(device: SimDevice) -> None:
    """Runs of one executable in several threads stage their inputs in the same buffers."""

    def run(self: SimExecutable, feeds: Mapping[str, Any]) -> Arrays:
        if not all(spec.nbytes for spec in self.inputs):
            return SimExecutable.run(self, feeds)
        with lock:
            own = self.__dict__.setdefault("staged", {})
            own.update({spec.name: np.array(feeds[spec.name]) for spec in self.inputs})
        time.sleep(0.0005)
        return SimExecutable.run(self, dict(own))

    lock = threading.Lock()
    executables(device, run=run)


# Compile cache


def _named(key: Callable[[bytes, Options], bytes]) -> Callable[[SimDevice], None]:
    """Cache entries are found by less than they depend on."""

    def seed(device: SimDevice) -> None:
        replace(device.compiler, cache_key=lambda model, options: hashlib.sha256(key(model, options)).hexdigest())

    return seed


def _without_weights(model: bytes, options: Options) -> bytes:
    parsed = onnx.load_from_string(model)
    for tensor in parsed.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
    return bytes(parsed.SerializeToString(deterministic=True)) + repr(sorted(options.items())).encode()


seeds("cache-ignores-weights")(_named(_without_weights))
seeds("cache-ignores-options")(_named(lambda model, options: model))


@seeds("cache-unchecked")
def cache_unchecked(device: SimDevice) -> None:
    """What is found in the cache is used, whatever became of it."""

    def load(folder: pathlib.Path, name: str) -> bytes | None:
        path = folder.joinpath(f"{name}.sim")
        data = path.read_bytes() if path.is_file() else b""
        content = data[len(cache.MAGIC) + 32 :]
        head = int.from_bytes(content[:8], "little")
        return content if data.startswith(cache.MAGIC) and content[8 + head - 1 : 8 + head] == b"}" else None

    replace(device.compiler, cache_load=load)


@seeds("cache-never-hit")
def cache_never_hit(device: SimDevice) -> None:
    """Every compilation adds an entry of its own to the cache."""
    count = itertools.count()
    key = device.compiler.cache_key
    replace(device.compiler, cache_key=lambda model, options: f"{key(model, options)}-{next(count)}")


@seeds("cache-never-written")
def cache_never_written(device: SimDevice) -> None:
    """The option for the cache is accepted and has no effect."""
    replace(device.compiler, cache_store=lambda folder, name, content: None)
