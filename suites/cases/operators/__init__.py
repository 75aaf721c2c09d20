"""The operator cases: one module of tables a family; `ALL` are their ids, in a fixed order, each once.

Ids are put together from text here; nothing is parsed and no model is built until a test asks for it.
Versions are those that opset 21 means, plus a few newer ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.cases.operators import (
    activation,
    conversion,
    convolution,
    elementwise,
    indexing,
    logical,
    matrix,
    movement,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    resize,
)
from suites.cases.operators.table import ids
from suites.cases.schema import DOMAINS

_TABLES = {
    "elementwise": elementwise.CASES,
    "logical": logical.CASES,
    "activation": activation.CASES,
    "reduction": reduction.CASES,
    "conversion": conversion.CASES,
    "convolution": convolution.CASES,
    "pooling": pooling.CASES,
    "matrix": matrix.CASES,
    "normalization": normalization.CASES,
    "movement": movement.CASES,
    "indexing": indexing.CASES,
    "resize": resize.CASES,
    "quantization": quantization.CASES,
    "recurrent": recurrent.CASES,
}

_FAMILIES: Mapping[str, tuple[str, ...]] = {family: tuple(ids(rows)) for family, rows in _TABLES.items()}
_FAMILY_OF = {name: family for family, rows in _TABLES.items() for row in rows for name in row.names()}
_PREFIX = {domain: f"{prefix}:" if prefix else "" for prefix, domain in DOMAINS.items()}

ALL: tuple[str, ...] = tuple(id for family in _FAMILIES.values() for id in family)
"""Every operator case's id."""


def families() -> Mapping[str, tuple[str, ...]]:
    """Family → its ids; together they are `ALL`."""
    return _FAMILIES


def family(domain: str, operator: str) -> str:
    """The family whose table holds an operator, "other" if none does."""
    return _FAMILY_OF.get(_PREFIX.get(domain, "") + operator, "other")
