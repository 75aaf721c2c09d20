"""A cause that explains a wrong output, and how well."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """A cause (a word of `causes.CAUSES`) and how much it explains: `matched` of `elements` of the output, `exact` of them to
    the bit. `text` completes the sentence "y equals …", or is one of its own where nothing is rebuilt (matched 0)."""

    cause: str
    text: str
    matched: int = 0
    exact: int = 0
    elements: int = 0

    @property
    def complete(self) -> bool:
        """Whether every element is explained."""
        return self.elements > 0 and self.matched == self.elements

    def sentence(self, name: str) -> str:
        """As a colleague would say it: "y equals the reference computed with …: 3,072 of 3,072 elements exact"."""
        if not self.matched:
            return f"{name}: {self.text}"
        within = "exact" if self.exact == self.matched else "within the tolerance"
        return f"{name} equals {self.text}: {self.matched:,} of {self.elements:,} elements {within}"
