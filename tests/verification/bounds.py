"""What tests of bounds share: a node with its exact results, and how far computed ones are off in units of their bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify.arithmetic import RUNGS
from reference.verify.expectation import expectations
from reference.verify.setting import Setting
from tests.verification import single_nodes

UNIT_AND_TYPE = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"), ("fp32", "float16"))
"""Units and the tensor types they compute in; the last one has a wider accumulator than its tensors."""


def node_of(
    operator: str,
    inputs: Sequence[Array | None],
    outputs: int = 1,
    *,
    version: int = 23,
    domain: str = "",
    **attributes: object,
) -> Node:
    """A call on tensors in their declared types; None is an input that is left out."""
    return Node.of(*single_nodes.model(operator, inputs, [None] * outputs, version, domain=domain, **attributes))


def setting_of(unit: str, dtype: str, *, random: bool = False, storage: str | None = None) -> Setting:
    return Setting(RUNGS[unit], dtype, random, storage)


def ratio(node: Node, got: Array, setting: Setting, output: int = 0) -> float:
    """The largest |got − exact| in units of its bound; infinite where a bound of 0 is missed, NaN where nothing is judged."""
    expected = expectations(node, setting)[output]
    y = dtypes.to_real(got)
    assert y.shape == expected.value.shape
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), y.shape)
    judged = np.isfinite(bound) & np.isfinite(expected.value)
    if not judged.any():
        return float("nan")
    exact = dtypes.round_to(expected.value, expected.dtype)
    with np.errstate(all="ignore"):
        found = np.where(bound > 0, np.abs(y - expected.value) / bound, np.where(y == exact, 0.0, np.inf))
    return float(np.where(np.isnan(found), np.inf, found)[judged].max())


def decided(node: Node, setting: Setting, output: int = 0) -> float:
    """The share of elements that have a bound."""
    bound = np.broadcast_to(np.asarray(expectations(node, setting)[output].bound, np.float64), node.results[output].shape)
    return float(np.isfinite(bound).mean())


def sample(recipe: str, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Random data by name, on the grid of `dtype`; of 16 bits, so that other units may read it too, in float32."""
    rng = np.random.default_rng([seed, *shape])
    x = {
        "normal": lambda: rng.normal(size=shape),
        "positive": lambda: rng.uniform(0.5, 1.5, shape),
        "tiny": lambda: 1e-3 * rng.normal(size=shape),
        "wide": lambda: 4 * rng.normal(size=shape) * np.exp(rng.normal(size=shape)),
        "constant": lambda: np.broadcast_to(rng.normal(size=(*shape[:-1], 1)), shape),
        "ramp": lambda: np.broadcast_to(np.linspace(-3, 3, shape[-1]), shape),
        "offset": lambda: 30 + rng.normal(size=shape),
    }[recipe]()
    return dtypes.cast(np.ascontiguousarray(x), dtype)


RANDOM = ("normal", "positive", "tiny", "wide")
"""Recipes whose data has no structure."""
