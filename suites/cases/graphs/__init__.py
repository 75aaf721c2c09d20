"""Small graphs that compilers rewrite: fused nodes, constants computed in advance, layouts that change at borders, outputs
bound in odd ways, memory reused, control flow.

An id reads `Graph-21.f32.conv-bn-relu.in:lattice`: opset, type, name of the graph, how values are made; `outputs:all` makes
every intermediate tensor an output too. On a lattice operands are small integers, so that sums are exact in any arithmetic from
8 significant bits on and a right result is right to the bit, however the nodes are fused or ordered.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from reference import dtypes
from suites.cases import identifier
from suites.cases.case import Case
from suites.cases.errors import CaseIdError
from suites.cases.graphs import chains, control, decompositions, folding, quantised, sinking
from suites.cases.graphs.case import GraphCase
from suites.cases.graphs.rewritten import BINDINGS, BORDERS, FUSED, REUSED
from suites.cases.graphs.text import WORDS, Table
from suites.cases.node import Node

__all__ = ["BINDINGS", "BORDERS", "FUSED", "HEAD", "REUSED", "TABLES", "GraphCase", "everything", "ids", "of"]

HEAD = "Graph"
"""First word of the ids."""

TABLES: tuple[Table, ...] = (
    Table({**FUSED, **BORDERS, **BINDINGS, **REUSED}),
    *chains.TABLES,
    *decompositions.TABLES,
    *quantised.TABLES,
    *folding.TABLES,
    *sinking.TABLES,
    *control.TABLES,
)

_TEXTS = {(name, table.opset, table.recipe): text for table in TABLES for name, text in table.graphs.items()}
_NAMES = {name for name, *_ in _TEXTS}

_ID = re.compile(rf"Graph-([1-9][0-9]*)\.({'|'.join(WORDS)})\.([a-z0-9-]+)(\.outputs:all)?\.in:([a-z]+)")


def ids(graphs: Iterable[str]) -> tuple[str, ...]:
    """The ids of graphs of the tables in all their types, without those that have every tensor as an output."""
    wanted = set(graphs)
    return tuple(case_id for table in TABLES for case_id in table.ids() if case_id.split(".")[2] in wanted)


def of(tables: Iterable[Table]) -> tuple[str, ...]:
    """The ids of the cases of some tables, without those that have every tensor as an output."""
    return tuple(case_id for table in tables for case_id in table.ids())


def everything() -> tuple[str, ...]:
    """The ids of all cases that have every intermediate tensor as an output."""
    return tuple(case_id for table in TABLES for case_id in table.ids(everything=True))


def _read(id: str) -> Case:
    match = _ID.fullmatch(id)
    if not match:
        raise CaseIdError(f"expected Graph-OPSET.TYPE.NAME.in:RECIPE with a type of {', '.join(WORDS)}")
    opset, dtype, name, outputs, recipe = match.groups()
    text = _TEXTS.get((name, int(opset), recipe))
    if text is None:
        known = [f"Graph-{o}.{dtype}.{n}.in:{r}" for n, o, r in _TEXTS if n == name]
        near = known or difflib.get_close_matches(name, _NAMES, 3, 0.5)
        raise CaseIdError(f"no graph is called that; expected {', '.join(near) or 'a name of the tables'}")
    return GraphCase(id, Node("", name, int(opset), dtypes.SHORT[dtype], recipe=recipe), text, bool(outputs))


identifier.HEADS[HEAD] = _read
