"""Compiled models kept in a folder: the same results, never another model's, whatever happens to the files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from backends.interface import BackendError, Device, DeviceLost, Executable, Unsupported
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import far


def warm(device: Device, model: bytes, feeds: Arrays, folder: str) -> dict[str, Any]:
    """Compiles twice with the same folder; something must be kept there."""
    evidence = Evidence()
    evidence.ran("cold", feeds, _run(device, model, feeds, folder))
    kept = [path for path in Path(folder).rglob("*") if path.is_file()]
    evidence.number("cache", files=len(kept), bytes=sum(path.stat().st_size for path in kept))
    evidence.expect(bool(kept), "cache-unused", "after a compilation with a cache folder the folder is empty")
    evidence.ran("warm", feeds, _run(device, model, feeds, folder))
    again = [path for path in Path(folder).rglob("*") if path.is_file()]
    evidence.expect(
        len(again) <= len(kept), "cache-unused", f"the same model compiled again makes {len(again)} files of {len(kept)}"
    )
    return evidence.plain()


def other_weights(device: Device, model: bytes, feeds: Arrays, other: bytes, folder: str) -> dict[str, Any]:
    """Compiles a model that differs in the values of its weights alone, then the model itself."""
    evidence = Evidence()
    before = _run(device, other, feeds, folder)
    after = _run(device, model, feeds, folder)
    stale = all(np.array_equal(after[name], before[name], equal_nan=True) for name in after)
    evidence.expect(not stale, "cache-stale", "a model with other weights gives the results of the one compiled before")
    evidence.ran("after a model with other weights", feeds, after)
    return evidence.plain()


def other_options(device: Device, model: bytes, feeds: Arrays, folder: str) -> dict[str, Any]:
    """Compiles with the first input in channels-last, then without that option, with the same folder."""
    evidence = Evidence()
    plain = device.compile(model)
    name, shape = plain.inputs[0].name, plain.inputs[0].shape
    plain.release()
    other = _compiled(device, model, {"cache": folder, f"layout.{name}": "NHWC"})
    changed = other.inputs[0].shape != shape
    other.release()
    if not changed:
        raise Unsupported(f"the layout of {name} is no option here", phase="load")
    again = _compiled(device, model, {"cache": folder})
    same = again.inputs[0].shape == shape
    evidence.expect(same, "cache-stale", f"{name} is {list(again.inputs[0].shape)}, as it was compiled with another layout")
    if same:
        evidence.ran("after another layout", feeds, again.run(feeds))
    again.release()
    return evidence.plain()


def damaged(device: Device, model: bytes, feeds: Arrays, folder: str) -> dict[str, Any]:
    """Cuts short, empties and overwrites what the cache holds; each time the result must be right, or the refusal clean."""
    evidence = Evidence()
    for what, damage in DAMAGE.items():
        whole = _run(device, model, feeds, folder)
        for path in [path for path in Path(folder).rglob("*") if path.is_file()]:
            path.write_bytes(damage(path.read_bytes()))
        try:
            results = _run(device, model, feeds, folder)
            evidence.ran(what, feeds, results)
            evidence.expect(not far(results, whole), "cache-broken", f"{what}: the entry is used as it is")
        except DeviceLost:
            raise
        except BackendError as error:
            evidence.notes.append(f"{what}: {type(error).__name__}: {error.text}"[:200])
            for path in [path for path in Path(folder).rglob("*") if path.is_file()]:
                path.unlink()
            evidence.ran(f"{what}, after the cache was emptied", feeds, _run(device, model, feeds, folder))
    return evidence.plain()


def _changed(data: bytes, eighth: int) -> bytes:
    """With all bits of one byte turned over, so many eighths into the data."""
    position = min(len(data) * eighth // 8, len(data) - 1)
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :] if data else data


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "emptied": lambda data: b"",
    "overwritten": lambda data: bytes(len(data)),
    **{f"a byte changed at {k}/8": functools.partial(_changed, eighth=k) for k in range(2, 8)},
}
"""What happens to the files of a cache."""


def _run(device: Device, model: bytes, feeds: Arrays, folder: str) -> Arrays:
    executable = _compiled(device, model, {"cache": folder})
    try:
        return executable.run(feeds)
    finally:
        executable.release()


def _compiled(device: Device, model: bytes, options: dict[str, str]) -> Executable:
    """A model that compiles without the options: that they are declined says nothing against what is declared of operators."""
    try:
        return device.compile(model, options)
    except Unsupported as declined:
        device.compile(model).release()
        raise Unsupported(declined.text, phase="load", code=declined.code) from declined
