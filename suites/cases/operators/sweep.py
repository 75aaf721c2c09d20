"""Attribute sweeps: ids in which values of different parameters meet in pairs, but for a few pairs (see `pairwise`).

Most failures need no more than two settings together (Kuhn, Wallace, Gallo, IEEE TSE 30(6), 2004), so pairs are covered rather
than the product. The values of a parameter that come first are met most often.

Finding the rows takes allpairspy many seconds, and another version could find others, which would change the ids of cases. So
they are kept in pairs.json, which `suites.cases.pairing` writes; a sweep that is not there yet is paired when it is read.
"""

from __future__ import annotations

import functools
import hashlib
import json
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from suites.cases.operators.table import combined, names

STORED = "pairs.json"
"""Sweep → its rows, each a word of one digit a parameter: the position of its value."""

DIGITS = string.digits + string.ascii_letters + "!#$%&()*+,-./:;<=>?@[]^_`{|}~"
"""Characters that JSON writes as they are."""

Fields = Callable[..., str | None]
Values = Mapping[str, Sequence[Any]]


class Sweep(NamedTuple):
    """Ids that share operators, types and recipes, as in a `Row`; their middles come of parameters that meet in pairs.

    fields: makes the middle of an id of one value of each parameter, None where they make no valid node together.
    values: parameter → its values.
    one_in: as in a `Row`.
    """

    operators: str
    dtypes: str
    recipes: str
    fields: Fields
    values: Values
    one_in: int = 1

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        return combined(self.operators, self.dtypes, self.recipes, pairwise(self.fields, self.values), self.one_in)


def pairwise(fields: Fields, values: Values) -> list[str]:
    """The middles of ids that `fields` makes of rows in which values meet in pairs, in a fixed order, each once.

    All pairs meet where `fields` makes something of every row. Where it refuses rows, pairs are left out that a valid row could
    hold, about 3 in 100 over all sweeps: allpairspy ends at the first row that brings no new pair, without a look at others.
    """
    name = _name(fields, values)
    READ.append((name, fields, values))
    rows = _stored().get(name)
    if rows is None:
        from suites.cases.pairing import paired  # needs allpairspy, of the extra dev

        rows = " ".join(paired(fields, values))
    made = (fields(**chosen(values, row)) for row in rows.split())
    return list(dict.fromkeys(middle for middle in made if middle is not None))


def chosen(values: Values, row: str) -> dict[str, Any]:
    """Parameter → the value that a row gives it."""
    return {name: choices[DIGITS.index(digit)] for (name, choices), digit in zip(values.items(), row, strict=True)}


def joined(*fields: str) -> str:
    """Fields of an id, those that are empty left out: `joined("x:3x5", pads and f"pads:{pads}")`."""
    return ".".join(field for field in fields if field)


READ: list[tuple[str, Fields, Values]] = []
"""The sweeps of the tables that were imported: name in pairs.json, function, parameters."""


def _name(fields: Fields, values: Values) -> str:
    """Of a sweep in pairs.json: changes with its parameters and with the name of its function."""
    bound: tuple[object, ...] = ()
    while isinstance(fields, functools.partial):
        bound, fields = (*bound, fields.args, fields.keywords), fields.func
    text = f"{fields.__module__}.{fields.__qualname__} {bound} {dict(values)!r}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@functools.cache
def _stored() -> Mapping[str, str]:
    found: dict[str, str] = json.loads(resources.files(__package__).joinpath(STORED).read_text("utf-8"))
    return found
