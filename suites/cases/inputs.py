"""Deterministic inputs: the values of a case's tensors and parameters, from the case's id alone.

A recipe says how values are spread (`recipes`); what an operator needs of an input whatever the recipe, an index within
its axis or a positive variance, is a role (`roles`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes
from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import RECIPES, Draw, carrier, normal, small_integers
from suites.cases.roles import role_of

Array = NDArray[Any]


def generate(id: str, node: Node, tensor: Tensor) -> Array:
    """The values of one tensor of a case: its recipe, then its role, rounded to its type. Shape and dtype are the
    tensor's.
    """
    draw = Draw(id, tensor.name)
    n = math.prod(tensor.shape)
    assert node.recipe is not None, "a node with tensors has a recipe"
    recipe = RECIPES[node.recipe]
    if tensor.dtype == "str":
        return np.array([f"s{word % 997}" for word in draw.words(n).tolist()], object).reshape(tensor.shape)
    if tensor.dtype.startswith("complex"):
        parts = (recipe.reals or normal)(draw, 2 * n, "float32", node).reshape(*tensor.shape, 2)
        return (parts[..., 0] + 1j * parts[..., 1]).astype(tensor.dtype)
    if dtypes.is_float(tensor.dtype):
        values = (recipe.reals or normal)(draw, n, tensor.dtype, node)
    elif tensor.dtype == "bool":
        values = draw.below(n, 2)
    else:
        values = (recipe.integers or small_integers)(draw, n, tensor.dtype, node)
    values = values.reshape(tensor.shape)
    role = role_of(node, tensor.name)
    return store(role(values, draw, node, tensor) if role else values, tensor.dtype)


def store(values: Array, dtype: str) -> Array:
    """Values as an array of the type: reals rounded to nearest even, integers as they are (they fit)."""
    stored = dtypes.cast(values, dtype) if dtypes.is_float(dtype) else values.astype(dtypes.numpy_dtype(dtype))
    return np.asarray(stored)  # arithmetic on arrays of rank 0 leaves scalars


def as_array(parameter: Parameter) -> Array:
    """A parameter's values as an array of its type and rank."""
    return store(np.asarray(parameter.values, carrier(parameter.dtype)), parameter.dtype)
