"""The operator cases: one module of tables a family; `ALL` are their ids, in a fixed order, each once.

Ids are put together from text here; nothing is parsed and no model is built until a test asks for it.
Versions are those that opset 21 means, plus a few newer ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.cases.operators import (
    activation,
    arithmetic,
    axes,
    comparison,
    contributed_attention,
    contributed_fused,
    contributed_quantized,
    conversion,
    convolution,
    elementwise,
    functions,
    indexing,
    large,
    logical,
    losses,
    matrix,
    movement,
    nonlinear,
    normalization,
    patches,
    pooling,
    position,
    quantization,
    random,
    recurrent,
    reduction,
    regions,
    resize,
    sampling,
    signal,
    softmax,
    transformer,
)
from suites.cases.operators.table import Entry, ids
from suites.cases.schema import DOMAINS

_TABLES: Mapping[str, Sequence[Entry]] = {
    "elementwise": (*elementwise.CASES, *arithmetic.CASES, *functions.CASES, *large.LARGE["elementwise"]),
    "logical": (*logical.CASES, *comparison.CASES, *large.LARGE["logical"]),
    "activation": (*activation.CASES, *nonlinear.CASES, *softmax.CASES, *large.LARGE["activation"]),
    "reduction": (*reduction.CASES, *axes.CASES, *position.CASES, *large.LARGE["reduction"]),
    "conversion": conversion.CASES,
    "convolution": convolution.CASES,
    "pooling": pooling.CASES,
    "matrix": matrix.CASES,
    "normalization": normalization.CASES,
    "movement": movement.CASES,
    "indexing": indexing.CASES,
    "resize": resize.CASES,
    "sampling": sampling.CASES,
    "regions": regions.CASES,
    "patches": patches.CASES,
    "quantization": quantization.CASES,
    "recurrent": recurrent.CASES,
    "transformer": transformer.CASES,
    "signal": signal.CASES,
    "random": random.CASES,
    "losses": losses.CASES,
    "contributed_quantized": contributed_quantized.CASES,
    "contributed_attention": contributed_attention.CASES,
    "contributed_fused": contributed_fused.CASES,
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
