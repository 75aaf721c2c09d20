"""What a device still does after a thousand times, after its memory was full, and while it does something else."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from backends.interface import BackendError, Buffer, Device, OutOfMemory, Unsupported
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import Inference, declares, far, refusing, same

CYCLES = 1000
ENOUGH = 400
"""Cycles that show one open file more in each eighth of them."""

CYCLE_SECONDS = 1.5
PATIENCE = 6.0
"""Seconds after which there are no more cycles than `ENOUGH`, and none at all with slow compilers or on a busy machine."""

SLACK = 2**20
"""Bytes of resident memory that allocators may keep or give back between two thirds of a run."""

HANDLES = 8
"""Open files that a runtime's thread pool or log may take in the course of a run."""

EARLY = 200
RUNS = 50
THREADS = 4
TURNS = 8
MODELS = 24
LIMIT = 1536 * 2**20
LIMIT_SECONDS = 1.0
"""Bytes, and seconds, after which a device's memory is taken for larger than may be tried."""


def cycles(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Compile, run and release again and again: memory and handles do not grow."""
    told = Evidence()
    begins = time.monotonic()
    samples: list[tuple[float, float, float]] = []
    for n in range(CYCLES):
        with_device = Inference(device, model, feeds, told)
        with_device.control(with_device.feeds, f"cycle {n}") if n in (0, CYCLES - 1) else _round(with_device)
        with_device.executable.release()
        del with_device
        gc.collect(0)
        samples.append((_resident(), _handles(), float(device.allocated() or 0)))
        seconds = time.monotonic() - begins
        if n >= 11 and seconds > (CYCLE_SECONDS if n >= ENOUGH else PATIENCE):
            break
    last = Inference(device, model, feeds, told)
    last.control(last.feeds, "after all cycles")
    told.number("cycles", count=len(samples))
    growth_of(told, [s[0] for s in samples], "bytes of resident memory", SLACK)
    for counted in (samples[:EARLY], samples):  # counts are exact: what leaks at first and is then exhausted is a leak, too
        growth_of(told, [s[1] for s in counted], "open files", HANDLES)
        growth_of(told, [s[2] for s in counted], "bytes of device memory", 0)
    return told.plain()


def _round(subject: Inference) -> None:
    """One inference in buffers, as an application makes it."""
    subject.executable.run(dict(subject.feeds))


def growth_of(told: Evidence, samples: list[float], what: str, slack: float) -> None:
    """A leak goes on: of the last three quarters of the samples, each lies above all of the one before, by more than `slack`,
    and the later step is no smaller than half the first, as that of a warm-up would be."""
    quarter = len(samples) // 4
    if quarter < 3 or not any(samples):
        return
    parts = [np.array(samples[k * quarter : (k + 1) * quarter]) for k in (1, 2, 3)]
    first, second = (float(np.median(b) - np.median(a)) for a, b in itertools.pairwise(parts))
    rising = all(a.max() <= b.min() for a, b in itertools.pairwise(parts))
    told.number("growth", **{what.replace(" ", "_"): second})
    sentence = f"{what} grow by {second:.0f} in {quarter} cycles of compile, run and release"
    told.expect(not (rising and min(first, second) > slack and 2 * second >= first), "leak", sentence)


def _resident() -> float:
    """Bytes of this process in memory, 0 where the system does not tell."""
    try:
        return float(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0


def _handles() -> float:
    """Open files of this process, 0 where the system does not tell."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return float(len(os.listdir(folder)))
    return 0.0


def repeated(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """The first run equals the later ones, and all have the same bits where the device declares it."""
    told = Evidence()
    firsts = []
    for session in range(2):
        subject = Inference(device, model, feeds, told)
        outputs = [{k: np.array(v) for k, v in subject.executable.run(dict(feeds)).items()} for _ in range(RUNS)]
        for n, output in enumerate(outputs):
            subject.ran(f"session {session}, run {n}", subject.feeds, output)
        firsts.append(outputs[0])
        _compare(told, subject, session, outputs)
        subject.executable.release()
    if declares(device, "deterministic"):
        told.expect(same(*firsts), "runs-differ", "two compilations of one model give other bits")
    return told.plain()


def _compare(told: Evidence, subject: Inference, session: int, outputs: list[dict[str, np.ndarray]]) -> None:
    differing = [n for n in range(2, RUNS) if not same(outputs[n], outputs[1])]
    told.number("bits", **{f"runs_that_differ_{session}": len(differing)})
    if differing:
        if declares(subject.device, "deterministic"):
            told.find("runs-differ", f"run {differing[0]} of {RUNS} on the same inputs gives other bits than run 1")
        return
    if far(outputs[0], outputs[1]) or (not same(outputs[0], outputs[1]) and declares(subject.device, "deterministic")):
        told.find("first-run-differs", f"the first run differs from the {RUNS - 1} after it, which agree")


def interleaved(device: Device, model: bytes, feeds: Arrays, other: bytes, *arrays: np.ndarray) -> dict[str, Any]:
    """Two executables in turn: neither changes what the other computes. `arrays` are the inputs of the other model."""
    told = Evidence()
    one = Inference(device, model, feeds, told)
    alone = [one.control(one.variant(n), f"alone, {n}") for n in range(TURNS)]
    theirs = dict(zip((spec.name for spec in device.compile(other).inputs), arrays, strict=True))
    stranger = Inference(device, other, theirs)
    expected = stranger.control(stranger.feeds)
    for n in range(TURNS):
        mine = one.control(one.variant(n), f"turn {n}")
        there = {name: np.array(array) for name, array in stranger.executable.run(dict(stranger.feeds)).items()}
        for who, changed in (("it", far(mine, alone[n])), ("the other executable", far(there, expected))):
            told.expect(not changed, "runs-disturb", f"turn {n}: {who} gives another result than before the other one ran")
    stranger.executable.release()
    one.control(one.variant(TURNS), "after the other executable was released")
    return told.plain()


def reloaded(device: Device, model: bytes, feeds: Arrays, other: bytes) -> dict[str, Any]:
    """A model is released and compiled again, with another one between: the results stay."""
    told = Evidence()
    first: dict[str, np.ndarray] = {}
    for n in range(4):
        subject = Inference(device, model, feeds, told)
        outputs = subject.control(subject.feeds, f"load {n}")
        first = first or outputs
        changed = declares(device, "deterministic") and not same(outputs, first)
        told.expect(not changed, "runs-differ", f"load {n} of the same model gives other bits than the first")
        subject.executable.release()
        device.compile(other).release()
    return told.plain()


def many_alive(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Many executables at once, run in turn and in reverse, then released in another order than they were made."""
    told = Evidence()
    alive = [Inference(device, model, feeds, told) for _ in range(MODELS)]
    for n, subject in enumerate([*alive, *reversed(alive)]):
        subject.control(subject.variant(n % 5), f"executable {n % MODELS}")
    for subject in (*alive[::2], *alive[1::2]):
        subject.executable.release()
    again = Inference(device, model, feeds, told)
    again.control(again.feeds, "after all were released")
    told.number("executables", alive=MODELS)
    return told.plain()


def threads(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Threads that each run their own executable, and all run a shared one: each gets the results of its own inputs."""
    if not declares(device, "threads"):
        raise Unsupported("the device does not declare threads: calls come from one", phase="run")
    told = Evidence()
    shared = Inference(device, model, feeds, told)
    results: list[list[tuple[Arrays, dict[str, np.ndarray]]]] = [[] for _ in range(THREADS)]
    errors: list[str] = []

    def work(k: int) -> None:
        try:
            own = Inference(device, model, feeds)
            for n in range(10):
                values = own.variant(10 * k + n)
                for executable in (own.executable, shared.executable):
                    results[k].append((values, {name: np.array(a) for name, a in executable.run(dict(values)).items()}))
        except BackendError as error:
            errors.append(f"thread {k}: {error.text}")

    workers = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    told.expect(not errors, "runs-disturb", f"with {THREADS} threads a run fails: {errors[:1]}")
    for k, found in enumerate(results):
        wrong = 0
        for values, outputs in found:
            wrong += far(outputs, shared.control(values))
            if wrong <= 1:
                shared.ran(f"thread {k}", values, outputs)
        told.expect(not wrong, "runs-disturb", f"thread {k} gets another result than alone in {wrong} of {len(found)} runs")
    return told.plain()


def exhausted(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Memory runs out with a clean error; once it is given back, the same allocation works and results are right.

    Number memory.ran_out says whether it did within a limit that spares the host.
    """
    subject = Inference(device, model, feeds)
    name = max(subject.outputs, key=lambda n: subject.outputs[n].nbytes or 0)
    size = subject.outputs[name].nbytes or 0
    subject.executable.allocate(name).release()  # or Unsupported
    before = device.allocated()
    held: list[Buffer] = []
    refusal: BackendError | None = None
    ends = time.monotonic() + LIMIT_SECONDS
    try:
        while size and len(held) * size < LIMIT and refusal is None and time.monotonic() < ends:
            with refusing() as refused:
                held.append(subject.executable.allocate(name))
            refusal = refused.error
        count = len(held)
    finally:
        for buffer in held:
            buffer.release()
        held.clear()
        gc.collect()
    told = subject.told
    told.number("memory", bytes=count * size, buffers=count, ran_out=int(refusal is not None))
    text = f"memory ran out with {type(refusal).__name__}, not OutOfMemory: {refusal}"
    told.expect(isinstance(refusal, OutOfMemory | None), "refusal-unclean", text[:300])
    after = device.allocated()
    if before is not None and after is not None:
        told.expect(after <= before, "leak", f"{after - before} bytes are in use after all buffers were released")
    _again(subject, name)
    return told.plain()


def _again(subject: Inference, name: str) -> None:
    with refusing() as refused:
        subject.executable.allocate(name).release()
        subject.control(subject.variant(1), "after memory had run out")
    subject.told.expect(not refused, "refusal-unclean", f"after everything was released: {refused.error}")
