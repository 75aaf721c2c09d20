"""How the operator tables are written: ids by their parts, so that a table reads like the ids that it makes.

What further types, recipes and versions add to a long list of fields is mostly repetition: the same kernel with another width,
or the same meaning under another number. So the first of them meets every one of the fields, each other a share of them, which
is another share each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, Protocol

FEW = 8
"""Fields that each type, recipe and version meets at least."""


class Entry(Protocol):
    """An entry of a table: operators and the ids of their cases."""

    def names(self) -> Iterator[str]:
        """The operators, without versions."""

    def ids(self) -> Iterator[str]:
        """The ids, in a fixed order."""


class Row(NamedTuple):
    """Ids that share their parts: the words of the four texts combined, in this order.

    The first type with the first recipe meets every one of the fields, for the first version of each operator; every other
    combination meets one in eight of them, but `FEW` at least. So what matters most comes first.

    operators: "Conv-11 Conv-22". dtypes: short names. recipes: "normal grid", "" where there is nothing to fill.
    fields: the middle of an id, "x:1x3x7x5.w:4x3x3x3.pads:1_0_1_2".
    one_in: 4 for a fourth of the fields only, but `FEW` at least: of versions and types that repeat another row.
    """

    operators: str
    dtypes: str
    recipes: str
    fields: str
    one_in: int = 1

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        return combined(self.operators, self.dtypes, self.recipes, self.fields.split(), self.one_in)


def combined(operators: str, dtypes: str, recipes: str, middles: Iterable[str], one_in: int = 1) -> Iterator[str]:
    """Ids of the combinations that a `Row` makes."""
    middles, met = list(middles), set[str]()
    for operator in operators.split():
        is_first = operator.rsplit("-", 1)[0] not in met
        met |= set(names(operator))
        for turn, (dtype, recipe) in enumerate(product(dtypes.split(), recipes.split() or [""])):
            for middle in share(middles, one_in if is_first and not turn else max(one_in, 8), turn + (not is_first)):
                yield f"{operator}.{dtype}.{middle}" + (f".in:{recipe}" if recipe else "")


def share(fields: Sequence[str], one_in: int, turn: int, least: int = FEW) -> list[str]:
    """One in so many of the fields, but so many at least, in their order; the next turn takes others.

    They are a step apart that has no factor in common with their number, so that lists made by nested loops yield every value
    of each loop.
    """
    number = len(fields)
    count = min(max(number // one_in, least), number)
    step = next((s for s in range(round(number * 0.618), number) if math.gcd(s, number) == 1), 1)
    return [fields[i] for i in sorted((turn * count + k) * step % number for k in range(count))]


def names(operators: str) -> Iterator[str]:
    """Operators without their versions."""
    return (operator.rsplit("-", 1)[0] for operator in operators.split())


def ids(entries: Iterable[Entry]) -> Iterator[str]:
    """The ids of a table, each once, in the table's order."""
    return iter(dict.fromkeys(id for entry in entries for id in entry.ids()))
