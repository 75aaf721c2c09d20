"""Attribute sweeps: ids in which every two values of different parameters meet at least once.

Most failures need no more than two settings together (Kuhn, Wallace, Gallo, IEEE TSE 30(6), 2004), so pairs are covered rather
than the product. The values of a parameter that come first are met most often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from allpairspy import AllPairs

from suites.cases.operators.table import combined, names


class Sweep(NamedTuple):
    """Ids that share operators, types and recipes, as in a `Row`; their middles come of parameters that meet in pairs.

    fields: makes the middle of an id of one value of each parameter, None where they make no valid node together.
    values: parameter → its values.
    """

    operators: str
    dtypes: str
    recipes: str
    fields: Callable[..., str | None]
    values: Mapping[str, Sequence[Any]]

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        return combined(self.operators, self.dtypes, self.recipes, pairwise(self.fields, self.values))


def pairwise(fields: Callable[..., str | None], values: Mapping[str, Sequence[Any]]) -> list[str]:
    """The middles of ids that `fields` makes of rows in which all valid pairs of values occur, in a fixed order, each once."""
    parameters = list(values)

    def is_valid(row: Sequence[Any]) -> bool:
        return len(row) < len(parameters) or fields(**dict(zip(parameters, row, strict=True))) is not None

    if len(parameters) == 1:
        rows: list[list[Any]] = [[value] for value in values[parameters[0]]]
    else:
        rows = [list(row) for row in AllPairs([list(values[name]) for name in parameters], filter_func=is_valid)]
    made = (fields(**dict(zip(parameters, row, strict=True))) for row in rows)
    return list(dict.fromkeys(middle for middle in made if middle is not None))


def joined(*fields: str) -> str:
    """Fields of an id, those that are empty left out: `joined("x:3x5", pads and f"pads:{pads}")`."""
    return ".".join(field for field in fields if field)
