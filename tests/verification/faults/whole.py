"""Faults of the whole tensor: an offset, a factor, the sign."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from tests.verification.faults.kind import Fault, on, typed

Random = np.random.Generator
REALS = (
    "Add", "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "MatMul", "Mul",
    "Relu", "Resize", "Tanh",
)  # fmt: skip


def _mapped(f: Callable[[Array], Array]) -> Callable[[Node, Random], list[Array]]:
    def perform(node: Node, rng: Random) -> list[Array]:
        with np.errstate(all="ignore"):
            return typed(node, [f(node.results[0]), *node.results[1:]])

    return perform


def _rms(y: Array) -> float:
    finite = y[np.isfinite(y)]
    return float(np.sqrt(np.mean(finite * finite))) if finite.size else 1.0


def _real(node: Node) -> bool:
    return dtypes.is_float(node.output_types[0])


def _fault(
    name: str, cause: str, f: Callable[[Array], Array], operators: tuple[str, ...] = (*REALS, "Sub"), *others: str
) -> Fault:
    recipes = ("normal", "grid", "positive", "index")
    return Fault(name, (cause, *others), "tier 1", on(*operators, when=_real), _mapped(f), recipes)


FAULTS: tuple[Fault, ...] = (
    _fault("offset", "constant-offset", lambda y: y + 0.0625 * _rms(y)),
    _fault("factor of 2", "constant-factor", lambda y: 2 * y),
    _fault("factor of 255/256", "constant-factor", lambda y: y * (255 / 256)),
    _fault("sign flipped", "sign-flipped", np.negative, REALS),
    _fault("sign of the difference flipped", "sign-flipped", np.negative, ("Sub",), "operands-swapped"),  # a − b = −(b − a)
)
"""Every element wrong in the same way."""
