"""The record of one case: what the journal keeps of it, and all that reports may know of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from results.strict_json import decode, encode, plain, revive
from results.verdict import Expectation, Verdict, outcome

Phase = Literal["discover", "allocate", "compile", "load", "run", "read", "verify"]
PHASES: tuple[Phase, ...] = get_args(Phase)
MANDATORY = "mandatory"  # the note of a case that the profile makes mandatory
OF_PROFILE = "profile "  # begins the note that names the profile
EXPECTED = "expected: "  # begins the note of a case that failed as expected: the finding or the reason, then an address
STALE = "expected to fail: "  # begins the note, of the same form, of a case that passed though it was expected to fail


@dataclasses.dataclass(frozen=True)
class Vendor:
    """The vendor's own words about a failure, verbatim: error text and error code."""

    text: str = ""
    code: str = ""


@dataclasses.dataclass(frozen=True)
class Rerun:
    """What the same case gave in a fresh worker."""

    verdict: Verdict
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Record:
    """One case on one device. docs/journal.md explains every field.

    numbers: output name → number name → value. seconds: duration by phase. placement: device → count of nodes, None
    without evidence. worker: generation of the device worker, from 1 on, 0 without one. A test without a model has operator ""
    and opset None.
    """

    id: str
    test: str
    requirement: str
    verdict: Verdict
    operator: str = ""
    domain: str = ""
    opset: int | None = None
    dtype: str = ""
    family: str = ""
    phase: Phase | None = None
    reason: str = ""
    vendor: Vendor = Vendor()
    exit: str = ""
    placement: Mapping[str, int] | None = None
    fallback: list[str] = dataclasses.field(default_factory=list)
    numbers: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    worker: int = 0
    rerun: Rerun | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    diagnosis: list[str] = dataclasses.field(default_factory=list)

    @property
    def outcome(self) -> Literal["passed", "failed", "skipped", "xfailed"]:
        """What the verdict is to pytest. Notes say whether the case is in the profile's mandatory set, and what became of an
        expectation.
        """
        if not self.notes:
            return outcome(self.verdict).pytest
        return outcome(self.verdict, mandatory=MANDATORY in self.notes, expectation=self._expectation).pytest

    @property
    def _expectation(self) -> Expectation:
        if any(note.startswith(EXPECTED) for note in self.notes):
            return "met"
        return "stale" if any(note.startswith(STALE) for note in self.notes) else ""

    def to_json(self) -> dict[str, Any]:
        """A "completed" line as strict JSON types.

        A measured record is never refused: what cannot be stored is left out, and the record's notes say so.
        """
        notes: list[str] = []
        data: dict[str, Any] = {"type": "completed"}
        for field in dataclasses.fields(self):
            try:
                value = plain(getattr(self, field.name), notes, field.name)
            except Exception as error:  # a str() or a property of a foreign object may raise anything
                value = None
                notes.append(f"not stored: {field.name} ({type(error).__name__})")
            kind = KINDS[field.name]
            if field.name == "numbers":
                value = _numbers_of(value, notes)
            if not kind.fits(value):
                notes.append(f"not stored: {field.name} (not {kind.name})")
                value = kind.empty()
            data[field.name] = value
        data["notes"] = [*data["notes"], *notes]
        return data

    def to_line(self) -> str:
        """The "completed" line of a journal, without its end."""
        return encode(self.to_json()).decode("ascii").rstrip("\n")

    @classmethod
    def from_line(cls, line: str) -> Record:
        """The record of a "completed" line. Raises ValueError naming a field that is missing, unknown or mistyped."""
        return cls.from_json(decode(line))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """The record of a "completed" line. Raises ValueError naming a field that is missing, unknown or mistyped."""
        values = dict(data)
        values.pop("type", None)
        if values.keys() != KINDS.keys():
            missing, unknown = sorted(KINDS.keys() - values.keys()), sorted(values.keys() - KINDS.keys())
            raise ValueError(f"field {missing[0]} is missing" if missing else f"field {unknown[0]} is unknown")
        for name, kind in KINDS.items():
            if not kind.fits(values[name]):
                raise ValueError(f"field {name} is not {kind.name}")
        values["verdict"] = Verdict(values["verdict"])
        values["vendor"] = Vendor(**values["vendor"])
        if values["rerun"]:
            values["rerun"] = Rerun(Verdict(values["rerun"]["verdict"]), values["rerun"]["reason"])
        values["seconds"] = {phase: revive(number) for phase, number in values["seconds"].items()}
        values["numbers"] = {
            output: {name: revive(number) for name, number in measured.items()}
            for output, measured in values["numbers"].items()
        }
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a field may be in JSON: its name in messages, the test, and what stands for a value that does not fit."""

    name: str
    fits: Callable[[Any], bool]
    empty: Callable[[], Any]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_integer(value) or isinstance(value, float) or value in ("nan", "inf", "-inf")


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(_is_number(number) for number in value.values())


def _numbers_of(value: object, notes: list[str]) -> object:
    """`numbers` without its members that are no numbers: one bad member must not cost the others."""
    if not isinstance(value, dict):
        return value
    kept: dict[str, dict[str, Any]] = {}
    for output, measured in value.items():
        members = measured if isinstance(measured, dict) else {}
        kept[output] = {name: number for name, number in members.items() if _is_number(number)}
        bad = [f"{output}.{name}" for name in members if name not in kept[output]]
        bad += [] if isinstance(measured, dict) else [output]
        notes += [f"not stored: numbers.{name} (not a number)" for name in bad]
    return kept


VERDICTS = frozenset(verdict.value for verdict in Verdict)

TEXT = Kind("a string", lambda value: isinstance(value, str), str)
TEXTS = Kind("a list of strings", _is_texts, list)
KINDS: dict[str, Kind] = {
    "id": TEXT,
    "test": TEXT,
    "requirement": TEXT,
    # A verdict that cannot be read is the suite's mistake.
    "verdict": Kind("a verdict", lambda value: isinstance(value, str) and value in VERDICTS, lambda: "harness_error"),
    "operator": TEXT,
    "domain": TEXT,
    "opset": Kind("an integer or null", lambda value: value is None or _is_integer(value), lambda: None),
    "dtype": TEXT,
    "family": TEXT,
    "phase": Kind("a phase or null", lambda value: value is None or value in PHASES, lambda: None),
    "reason": TEXT,
    "vendor": Kind(
        "an object of text and code",
        lambda value: (
            isinstance(value, dict) and value.keys() == {"text", "code"} and _is_texts([value["text"], value["code"]])
        ),
        lambda: {"text": "", "code": ""},
    ),
    "exit": TEXT,
    "placement": Kind(
        "an object of integers or null",
        lambda value: value is None or (isinstance(value, dict) and all(map(_is_integer, value.values()))),
        lambda: None,
    ),
    "fallback": TEXTS,
    "numbers": Kind(
        "an object of objects of numbers",
        lambda value: isinstance(value, dict) and all(map(_is_numbers, value.values())),
        dict,
    ),
    "seconds": Kind("an object of numbers by phase", lambda value: _is_numbers(value) and value.keys() <= set(PHASES), dict),
    "worker": Kind("an integer", _is_integer, int),
    "rerun": Kind(
        "an object of verdict and reason, or null",
        lambda value: (
            value is None
            or (
                isinstance(value, dict)
                and value.keys() == {"verdict", "reason"}
                and value["verdict"] in VERDICTS
                and isinstance(value["reason"], str)
            )
        ),
        lambda: None,
    ),
    "notes": TEXTS,
    "diagnosis": TEXTS,
}
