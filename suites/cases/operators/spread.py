"""Spreads: ids in which operators, types, recipes and shapes meet in pairs.

A kernel is often written once for several operators and instantiated for each type, with a tail for what its vectors leave
over; so each operator should meet each type, each length and each recipe, but not every triple.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from suites.cases.operators.table import names


class Spread(NamedTuple):
    """Every type with every one of `fields`, for `times` of the operators; operators and recipes take turns, recipes more
    slowly. The texts are those of a `Row`.
    """

    operators: str
    dtypes: str
    recipes: str
    fields: str
    times: int = 1

    def names(self) -> Iterator[str]:
        """The operators, without versions."""
        return names(self.operators)

    def ids(self) -> Iterator[str]:
        operators, recipes = self.operators.split(), self.recipes.split()
        count = len(operators)
        for i, middle in enumerate(self.fields.split()):
            for j, dtype in enumerate(self.dtypes.split()):
                for k in range(self.times):
                    turn = i + j + k * count // self.times
                    recipe = recipes[(turn // count + k) % len(recipes)]
                    yield f"{operators[turn % count]}.{dtype}.{middle}.in:{recipe}"
