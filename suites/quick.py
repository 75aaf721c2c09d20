"""`--quick`: the part of each test's cases that is looked at when there are ten seconds; the same on every machine.

Of every operator, and of every other test, some cases are taken one after the other, each the one that brings most that
those before had not: a type, a version, a recipe, an attribute, a value. Where two bring as much, the smaller goes first.
"""

from __future__ import annotations

import functools
import heapq
import math
import re
from collections.abc import Iterator, Sequence

OPERATOR_CASES = 1000
"""About as many cases of the operators' test are taken, of each operator in proportion to the root of how many it has."""

SMALL = 1500
"""Elements, counted roughly; larger cases are taken only where an operator has no other."""

_KINDS = {"head": 3, "dtype": 4, "in": 2}
"""Parts of an id that count for more than one if they are new; names of fields count for two."""

_EXTENTS = re.compile(r":(\d+(?:x\d+)*|\d+(?:_\d+)*)(?=[.:]|$)")


@functools.cache
def subset(ids: tuple[str, ...], *, by_operator: bool) -> frozenset[str]:
    """Some of a test's ids, at least one; where `by_operator`, at least one of each operator and of each type."""
    if not by_operator:
        return frozenset(_picked(ids, math.isqrt(len(ids)) or 1))
    groups: dict[str, list[str]] = {}
    for case in ids:
        groups.setdefault(case.split(".", 1)[0].rpartition("-")[0], []).append(case)
    share = OPERATOR_CASES / sum(math.sqrt(len(group)) for group in groups.values())
    picked = {case for group in groups.values() for case in _picked(group, max(1, round(share * math.sqrt(len(group)))))}
    known = {_type(case) for case in picked}
    of_type = {_type(case): case for case in sorted(ids, key=elements, reverse=True) if _type(case) not in known}
    return frozenset(picked | set(of_type.values()))


def _type(case: str) -> str:
    return case.split(".", 2)[1]


def _picked(ids: Sequence[str], count: int) -> Iterator[str]:
    """The ids that bring most, until `count`. What one brings only shrinks, so a stale rank is renewed when it leads."""
    traits = [_traits(case) for case in ids]
    known: set[str] = set()
    sizes = map(elements, ids)
    queue = [(size > SMALL, -sum(traits[i].values()), size, i) for i, size in enumerate(sizes)]
    heapq.heapify(queue)
    while queue and count:
        is_large, before, size, i = queue[0]
        now = -sum(worth for text, worth in traits[i].items() if text not in known)
        if now != before:
            heapq.heapreplace(queue, (is_large, now, size, i))
            continue
        heapq.heappop(queue)
        known.update(traits[i])
        count -= 1
        yield ids[i]


def _traits(case: str) -> dict[str, int]:
    """What can be new about a case, read off its id → how much that counts."""
    head, dtype, *fields = case.split(".")
    found = {head: _KINDS["head"], f"type {dtype}": _KINDS["dtype"]}
    for field in fields:
        name, _, value = field.partition(":")
        if "x" in value and value[0].isdigit():  # of a shape, the rank
            field = f"{name}:{value.count('x')}"
        found[name] = 2
        found[field] = _KINDS.get(name, 1)
    return found


def elements(case: str) -> int:
    """About how many elements a case has, read off its id: extents of shapes, and numbers of lists taken as extents too."""
    return sum(math.prod(map(int, found.replace("_", "x").split("x"))) for found in _EXTENTS.findall(case))
