"""The table of accuracy limits (functions.toml), read once: function → limit by accuracy profile, each with its source."""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from reference.dtypes import FLOATS, quantum
from reference.node import Array

PROFILES = ("full", "half", "embedded", "relaxed", "ieee")
"""Accuracy profiles: OpenCL C's for single precision, half precision, embedded devices and unsafe optimisations; correct
rounding where IEEE 754 asks for it."""

KINDS = ("operator", "inner", "form")
"""Sections of the table: operators judged by their limit alone, functions inside formulas, absolute terms of composites."""

EVERYWHERE = (0.0, math.inf)


@dataclasses.dataclass(frozen=True)
class Limit:
    """A result may err by the larger of (ulp + floor(|per_argument·x|)) ulp of it and `absolute` units of roundoff.

    within: range of |x| that the limit is given for; outside the result is open. Infinite ulp: no number bounds it.
    """

    ulp: float = 0.0
    per_argument: float = 0.0
    absolute: float = 0.0
    within: tuple[float, float] = EVERYWHERE

    @property
    def constant(self) -> float:
        """The limit as one number of ulp for every argument whose exponential is finite; infinite where there is none."""
        if self.absolute:
            return math.inf
        return self.ulp + math.floor(self.per_argument * math.log(FLOATS["float32"].largest))

    def error(self, y: Array, arguments: Sequence[Array], form: str, rho: float) -> Array:
        """Half-width of the interval around the real results y, float64 of y's shape, infinite where the limit is not given.

        form: the unit's format; its operations err by rho times as much as rounding to nearest. arguments: of the function,
        broadcasting to y where the limit depends on them.
        """
        c: Array | float = self.ulp * rho if self.ulp < 1 else self.ulp
        with np.errstate(invalid="ignore"):
            if self.per_argument:
                c = c + np.floor(np.abs(self.per_argument * arguments[0]))
            error = np.maximum(c * quantum(y, form), self.absolute * rho * FLOATS[form].unit_roundoff)
            if self.within != EVERYWHERE:
                for x in arguments:
                    error = np.where((np.abs(x) >= self.within[0]) & (np.abs(x) <= self.within[1]), error, np.inf)
        return np.asarray(error)


@dataclasses.dataclass(frozen=True)
class Entry:
    """One function's limits by profile; `source` names document and section."""

    kind: str
    source: str
    limits: Mapping[str, Limit]


def parse(text: str) -> dict[str, Entry]:
    """Function → entry. Raises ValueError whose one line names the entry and what is wrong with it."""
    data = tomllib.loads(text)
    profiles = data.pop("profile", {})
    if sorted(profiles) != sorted(PROFILES) or not all(isinstance(v, str) and v for v in profiles.values()):
        raise ValueError(f"functions.toml: [profile] must give a source for each of {', '.join(PROFILES)}")
    entries: dict[str, Entry] = {}
    for kind, functions_ in data.items():
        if kind not in KINDS or not isinstance(functions_, dict):
            raise ValueError(f"functions.toml: there is no section [{kind}]; sections are {', '.join(KINDS)}")
        for name, fields in functions_.items():
            where = f"functions.toml: [{kind}.{name}]"
            if name in entries and kind != "form":
                raise ValueError(f"{where} is there twice")
            entries[f"form.{name}" if kind == "form" else name] = _entry(kind, fields, where)
    return entries


def _entry(kind: str, fields: Any, where: str) -> Entry:
    if not isinstance(fields, dict) or not isinstance(fields.get("source"), str) or not fields["source"].strip():
        raise ValueError(f"{where} has no source")
    unknown = sorted(fields.keys() - {*PROFILES, "source"})
    if unknown:
        raise ValueError(f"{where} has a key {unknown[0]!r}; profiles are {', '.join(PROFILES)}")
    if not {"full", "half"} <= fields.keys():
        raise ValueError(f"{where} needs the profiles full and half")
    limits = {p: _limit(fields[p], kind, f"{where} {p}") for p in PROFILES if p in fields}
    return Entry(kind, fields["source"], {p: limits.get(p, limits["full"]) for p in PROFILES})


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{where} is {value!r}, not a finite number from 0 on")
    return float(value)


def _limit(value: Any, kind: str, where: str) -> Limit:
    if kind == "form":
        return Limit(absolute=_number(value, where))
    if value == "open":
        return Limit(ulp=math.inf)
    if not isinstance(value, dict):
        return Limit(ulp=_number(value, where))
    unknown = sorted(value.keys() - {field.name for field in dataclasses.fields(Limit)})
    if unknown or not value.keys() & {"ulp", "absolute"}:
        raise ValueError(f"{where} has a key {unknown[0]!r}" if unknown else f"{where} has neither ulp nor absolute")
    ulp, per_argument, absolute = (
        _number(value.get(name, 0.0), f"{where}.{name}") for name in ("ulp", "per_argument", "absolute")
    )
    if "within" not in value:
        return Limit(ulp, per_argument, absolute)
    ends = value["within"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise ValueError(f"{where}.within is {ends!r}, not a range of magnitudes [low, high]")
    low, high = (_number(v, f"{where}.within") for v in ends)
    if not low < high:
        raise ValueError(f"{where}.within is {ends!r}, an empty range")
    return Limit(ulp, per_argument, absolute, (low, high))


@functools.cache
def table() -> Mapping[str, Entry]:
    """The table of the package, read once."""
    return parse(resources.files("reference.verify.bounds").joinpath("functions.toml").read_text("utf-8"))


def limit(function: str, profile: str) -> Limit:
    """The limit of an operator or inner function. Raises KeyError for a function or profile that is not in the table."""
    return table()[function].limits[profile]


def form(composite: str, profile: str) -> float:
    """A: the absolute error of a composite's formula in units of roundoff; 0 for composites that the table leaves out."""
    entry = table().get(f"form.{composite}")
    return entry.limits[profile].absolute if entry else 0.0
