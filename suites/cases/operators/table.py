"""How the operator tables are written: ids by their parts, so that a table reads like the ids that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol


class Entry(Protocol):
    """An entry of a table: operators and the ids of their cases."""

    def names(self) -> Iterator[str]:
        """The operators, without versions."""

    def ids(self) -> Iterator[str]:
        """The ids, in a fixed order."""


class Row(NamedTuple):
    """Ids that share their parts: every combination of the words of the four texts, in this order.

    operators: "Conv-11 Conv-22". dtypes: short names. recipes: "normal grid", "" where there is nothing to fill.
    fields: the middle of an id, "x:1x3x7x5.w:4x3x3x3.pads:1_0_1_2".
    """

    operators: str
    dtypes: str
    recipes: str
    fields: str

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        return combined(self.operators, self.dtypes, self.recipes, self.fields.split())


def combined(operators: str, dtypes: str, recipes: str, middles: Iterable[str]) -> Iterator[str]:
    """Ids of all combinations."""
    middles = list(middles)
    endings = [f".in:{recipe}" for recipe in recipes.split()] or [""]
    for operator in operators.split():
        for dtype in dtypes.split():
            for middle in middles:
                for ending in endings:
                    yield f"{operator}.{dtype}.{middle}{ending}"


def names(operators: str) -> Iterator[str]:
    """Operators without their versions."""
    return (operator.rsplit("-", 1)[0] for operator in operators.split())


def ids(entries: Iterable[Entry]) -> Iterator[str]:
    """The ids of a table, each once, in the table's order."""
    return iter(dict.fromkeys(id for entry in entries for id in entry.ids()))
