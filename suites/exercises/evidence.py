"""What an exercise saw: faults that it found by itself, inferences for the oracle, numbers and notes for the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from suites.exercises.causes import CAUSES

Arrays = Mapping[str, np.ndarray]


@dataclasses.dataclass
class Evidence:
    """findings: (word of `CAUSES`, sentence), the most telling first. runs: (label, feeds, outputs) in the order in which they
    ran, outputs copied at the moment that the exercise speaks of. numbers: group → name → number. notes: go to the record.
    undefined: what the device does where nothing says what is right. checks: expectations that were held against the device.
    """

    findings: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    runs: list[tuple[str, Arrays, Arrays]] = dataclasses.field(default_factory=list)
    numbers: dict[str, dict[str, float | int]] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    undefined: list[str] = dataclasses.field(default_factory=list)
    checks: int = 0

    def find(self, cause: str, sentence: str) -> None:
        """Something is wrong, whatever the values of the outputs. Raises KeyError for a word that `CAUSES` lacks."""
        CAUSES[cause]
        self.findings.append((cause, sentence))

    def expect(self, holds: bool, cause: str, sentence: str) -> None:
        """`find` unless it holds."""
        self.checks += 1
        if not holds:
            self.find(cause, sentence)

    def ran(self, label: str, feeds: Arrays, outputs: Arrays) -> None:
        """One inference, which the parent's oracle will judge."""
        self.runs.append((label, {k: np.array(v) for k, v in feeds.items()}, {k: np.array(v) for k, v in outputs.items()}))

    def number(self, group: str, **numbers: float | int) -> None:
        """Measured numbers for the journal."""
        self.numbers.setdefault(group, {}).update(numbers)

    def plain(self) -> dict[str, Any]:
        """As it travels from the worker."""
        return {
            "findings": [list(found) for found in self.findings],
            "runs": [list(run) for run in self.runs],
            "numbers": self.numbers,
            "notes": self.notes,
            "undefined": self.undefined,
            "checks": self.checks,
        }

    @property
    def is_empty(self) -> bool:
        """Whether the exercise looked at nothing: then there is nothing that could have failed."""
        return not (self.findings or self.runs or self.undefined or self.checks)

    @classmethod
    def of(cls, data: Any) -> Evidence:
        """As it arrives in the parent."""
        return cls(
            [(cause, sentence) for cause, sentence in data["findings"]],
            [(label, feeds, outputs) for label, feeds, outputs in data["runs"]],
            {group: dict(numbers) for group, numbers in data["numbers"].items()},
            list(data["notes"]),
            list(data["undefined"]),
            data["checks"],
        )
