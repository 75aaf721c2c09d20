"""How the operator tables are written: ids by their parts, so that a table reads like the ids that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


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
        return (operator.rsplit("-", 1)[0] for operator in self.operators.split())

    def ids(self) -> Iterator[str]:
        recipes = [f".in:{recipe}" for recipe in self.recipes.split()] or [""]
        for operator in self.operators.split():
            for dtype in self.dtypes.split():
                for fields in self.fields.split():
                    for recipe in recipes:
                        yield f"{operator}.{dtype}.{fields}{recipe}"


def ids(rows: Iterable[Row]) -> Iterator[str]:
    """The ids of a table, each once, in the table's order."""
    return iter(dict.fromkeys(id for row in rows for id in row.ids()))
