"""Device profiles: what a simulated device can do, and what it costs, as data (profiles/*.toml)."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
import types
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, get_args, get_origin, get_type_hints


@dataclasses.dataclass(frozen=True)
class Memory:
    """discrete: the device's memory is not the host's. coherent: what the device writes is seen without waiting for a fence.

    imports: host memory can be used in place. alignment, size_multiple: bytes that an imported address and size must be
    multiples of; unaligned: other memory is refused, or used through a copy at every run. pitch_multiple: bytes that the
    distance between rows of an input or output is a multiple of. views: long-lived views that buffers give. capacity: bytes
    of device memory. guard: bytes of canaries on both sides of every allocation.
    """

    discrete: bool
    coherent: bool
    imports: bool
    alignment: int
    size_multiple: int
    unaligned: Literal["refuse", "copy"]
    pitch_multiple: int
    views: Literal["none", "read-only"]
    capacity: int
    guard: int
    queues: bool


@dataclasses.dataclass(frozen=True)
class Layout:
    """internal: layout of images inside the device, "" for the model's own. channels: bytes of a block of channels (NC1HWC0),
    or that channels are padded to a multiple of (NHWC), 0 for none. offered: layouts that inputs and outputs may have."""

    internal: Literal["", "NHWC", "NC1HWC0"]
    channels: int
    offered: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Shapes:
    """static: models with unknown dimensions are declined. max_rank: largest rank of a tensor."""

    static: bool
    max_rank: int


@dataclasses.dataclass(frozen=True)
class Unit:
    """How one tensor type is computed. storage: format that tensors between nodes have. accumulator: format of sums; block:
    products that are added exactly before the sum is rounded to it, 0 for all. flushes: subnormals become zero.
    rung: what the device declares (`Capabilities.precision`)."""

    storage: str
    accumulator: str
    block: int
    flushes: bool
    rung: str


@dataclasses.dataclass(frozen=True)
class Operators:
    """types: element types that operators may compute in; moved: types that may be moved, index or select beside those.
    declined: operators. fused: operators that are computed together with a sum of products in front of them."""

    types: frozenset[str]
    moved: frozenset[str]
    declined: frozenset[str]
    fused: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Clock:
    """Seconds and rates of the virtual clock. operations: multiply-adds a second by type. bandwidth: bytes a second between
    memory and compute units. launch: seconds to start a submitted run. fence: seconds to wait for one. transfer_latency,
    transfer_bandwidth: of a copy between host and device. map: seconds to map a buffer."""

    operations: Mapping[str, float]
    bandwidth: float
    launch: float
    fence: float
    transfer_latency: float
    transfer_bandwidth: float
    map: float


@dataclasses.dataclass(frozen=True)
class Profile:
    """One device. sources: dotted name of a number, or of a table, → where it is from; every number has one."""

    name: str
    soc: str
    vendor: str
    memory: Memory
    layout: Layout
    shapes: Shapes
    operators: Operators
    precision: Mapping[str, Unit]
    clock: Clock
    sources: Mapping[str, str]

    @property
    def rungs(self) -> dict[str, str]:
        """What `Capabilities.precision` declares: elements that are only moved, compared or requantised are not rounded."""
        found = {dtype: unit.rung for dtype, unit in self.precision.items()}
        for kind in ("movement", "quantization"):
            found |= {f"{kind}:{t}": OWN_RUNGS[t] for t, unit in self.precision.items() if unit.storage != t}
        return found

    @property
    def fingerprint(self) -> bytes:
        """Equal for profiles that say the same, in whatever order."""
        return repr(_plain(self)).encode()


OWN_RUNGS = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
"""Floating-point type → the rung of arithmetic in the type itself; the formats that a unit may store and add in."""

FOLDER = resources.files("backends.sim").joinpath("profiles")
DEFAULT = "generic"


@functools.cache
def names() -> tuple[str, ...]:
    """Every profile, the default one first."""
    found = sorted(entry.name.removesuffix(".toml") for entry in FOLDER.iterdir() if entry.name.endswith(".toml"))
    return (DEFAULT, *(name for name in found if name != DEFAULT))


@functools.cache
def load(name: str) -> Profile:
    """The profile of that name. Raises ValueError naming a field that is missing, unknown or of another type."""
    data = tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return parse(name, data)


def parse(name: str, data: Mapping[str, Any]) -> Profile:
    """A profile from the tables of its file. Raises ValueError as `load` does."""
    found: Profile = _read(Profile, {"name": name, **data}, f"profile {name}")
    for dtype, unit in found.precision.items():
        for field, form in (("type", dtype), ("storage", unit.storage), ("accumulator", unit.accumulator)):
            if form not in OWN_RUNGS:
                raise ValueError(f"profile {name}: precision.{dtype}: {field} {form!r} is none of {', '.join(OWN_RUNGS)}")
        if dtype == "float64" and (unit.storage, unit.accumulator, unit.flushes) != ("float64", "float64", False):
            raise ValueError(f"profile {name}: precision.float64: only arithmetic in float64 itself can be simulated")
    for field in ("alignment", "size_multiple", "pitch_multiple"):
        size = getattr(found.memory, field)
        if size < 1 or size & (size - 1):
            raise ValueError(f"profile {name}: memory.{field} is {size}, no power of two")
    if found.layout.internal == "NC1HWC0" and not found.layout.channels:
        raise ValueError(f"profile {name}: layout.channels is 0, but NC1HWC0 needs the bytes of a block")
    if not found.clock.operations:
        raise ValueError(f"profile {name}: clock.operations names no type")
    return found


def _plain(value: Any) -> Any:
    """Lists in a fixed order in place of dataclasses, tables and sets."""
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return sorted((key, _plain(inner)) for key, inner in value.items())
    return sorted(value) if isinstance(value, frozenset) else value


def _read(kind: Any, value: Any, where: str) -> Any:
    """`value`, as TOML gives it, as an instance of `kind`."""
    origin = get_origin(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, Mapping) or value.keys() != hints.keys():
            given = set(value) if isinstance(value, Mapping) else set()
            raise ValueError(f"{where}: needs exactly {', '.join(hints)}; differs in {', '.join(sorted(given ^ set(hints)))}")
        return kind(**{name: _read(hint, value[name], f"{where}: {name}") for name, hint in hints.items()})
    if origin is Literal:
        fits = value in get_args(kind)
    elif origin is frozenset:
        fits = isinstance(value, list)
        value = frozenset(_read(get_args(kind)[0], item, where) for item in value) if fits else value
    elif origin is not None and issubclass(origin, Mapping):
        fits = isinstance(value, Mapping)
        inner = get_args(kind)[1]
        value = types.MappingProxyType({k: _read(inner, v, f"{where}.{k}") for k, v in value.items()}) if fits else value
    else:
        value = float(value) if kind is float and isinstance(value, int) and not isinstance(value, bool) else value
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
    if not fits:
        raise ValueError(f"{where}: {value!r} is not {kind}")
    return value
