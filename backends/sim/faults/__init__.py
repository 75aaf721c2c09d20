"""Faults that can be seeded into the simulated device, one at a time: each imitates a public report about a real one.

A fault is an entry of faults.toml and a few lines in one of the modules beside it, a function that takes the opened device and
replaces methods of its parts. The device itself knows nothing of them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from backends.sim.device import SimDevice

Part = Literal["compiler", "numerics", "memory", "queue", "interface"]
KINDS = (
    "attributes",
    "crash",
    "memory",
    "types",
    "special",
    "rounding",
    "fallback",
    "fusion",
    "determinism",
    "layout",
    "latency",
)
"""Kinds of public reports."""

Seed = Callable[["SimDevice"], None]
SEEDS: dict[str, Seed] = {}
"""Name → function that seeds it; filled by the modules when they are imported."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """what: what the device does wrong. imitates: the public report. kind: one of `KINDS`. part: the module that holds it.
    operators: those whose cases show it, () for faults of the memory suites. caught_by: requirements that must find it.
    causes: words of diagnosis that are right. device: profile that can have it. isolated: it may end or block the process."""

    name: str
    what: str
    imitates: str
    kind: str
    part: Part
    caught_by: tuple[str, ...]
    causes: tuple[str, ...]
    operators: tuple[str, ...] = ()
    device: str = "generic"
    isolated: bool = False


@functools.cache
def catalogue() -> Mapping[str, Fault]:
    """Every fault by name. Raises ValueError naming an entry that is not as `Fault` says."""
    text = resources.files("backends.sim.faults").joinpath("faults.toml").read_text(encoding="utf-8")
    known = {field.name: field for field in dataclasses.fields(Fault)}
    found = {}
    for name, entry in tomllib.loads(text).items():
        odd = sorted(set(entry) - (set(known) - {"name"}))
        missing = sorted(n for n, f in known.items() if f.default is dataclasses.MISSING and n not in (*entry, "name"))
        if odd or missing or entry["kind"] not in KINDS or entry["part"] not in get_args(Part):
            raise ValueError(
                f"faults.toml: {name}: unknown {odd}, missing {missing}, kind {entry['kind']}, part {entry['part']}"
            )
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        found[name] = Fault(name, **fields)
    return found


def seeds(name: str) -> Callable[[Seed], Seed]:
    """Registers the function that seeds the fault of that name."""

    def register(function: Seed) -> Seed:
        SEEDS[name] = function
        return function

    return register


def seed(device: SimDevice, name: str) -> None:
    """Seeds a fault of the catalogue into an opened device."""
    importlib.import_module(f"backends.sim.faults.{catalogue()[name].part}")
    SEEDS[name](device)
