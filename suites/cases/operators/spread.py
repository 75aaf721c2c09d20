"""Spreads: ids in which operators, types, recipes and shapes meet in pairs.

A kernel is often written once for several operators and instantiated for each type, with a tail for what its vectors leave
over; so each operator should meet each type, each length and each recipe, but not every triple.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from suites.cases.operators.table import FEW, names, share


class Spread(NamedTuple):
    """The first two types with every one of `fields`, further ones with one in three (half of `FEW` at least), for `times` of
    the operators; operators and recipes take turns, recipes more slowly. The texts and `one_in` are those of a `Row`.
    """

    operators: str
    dtypes: str
    recipes: str
    fields: str
    times: int = 1
    one_in: int = 1

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        operators, recipes = self.operators.split(), self.recipes.split()
        count, fields = len(operators), self.fields.split()
        for j, dtype in enumerate(self.dtypes.split()):
            met = share(fields, self.one_in, j) if j < 2 else share(fields, max(self.one_in, 3), j, FEW // 2)
            for i, middle in enumerate(met):
                for k in range(self.times):
                    turn = i + j + k * count // self.times
                    recipe = recipes[(turn // count + k) % len(recipes)]
                    yield f"{operators[turn % count]}.{dtype}.{middle}.in:{recipe}"
