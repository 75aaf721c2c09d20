"""Single-node models with data, for emulated devices to run.

`sample(operator, variant, recipe, size, dtype, seed)` → (model, feeds); `SPECIFICATIONS[operator][variant]` lists what there
is. `size` is the number of terms of a sum (K), or the length of the axis that the operator works along; None takes the
variant's own. `recipe` is one of `data.RECIPES` and concerns the data inputs ("special" and "subnormal" the first of them, the
others are normal then); scales, indices and the like are fixed. Tensors have 1000 elements wherever statistics are to apply.
"""

from __future__ import annotations

import zlib

import numpy as np
import onnx
from onnx import helper

from reference import dtypes
from reference.node import Array
from tests.verification.data import fill
from tests.verification.specifications import SPECIFICATIONS, Input, Positive, Specification

OPSET = 23

RANDOM = ("normal", "grid", "positive")
"""Recipes whose data has no order, so that the statistics of rounding errors apply."""

SIZED = (
    *("Gemm", "LayerNormalization", "LogSoftmax", "MatMul", "RMSNormalization"),
    *("ReduceMean", "ReduceSum", "ReduceSumSquare", "Softmax"),
)
"""Operators whose `size` is worth varying."""


def sample(
    operator: str, variant: str, recipe: str = "normal", size: int | None = None, dtype: str = "float32", seed: int = 0
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A single-node model with inputs x0, x1, … and outputs y0, y1, …, and its feeds. Raises KeyError for what there is not."""
    found = SPECIFICATIONS[operator][variant]
    size = found.size if size is None else size
    rng = np.random.default_rng([seed, zlib.crc32(f"{operator} {variant} {recipe} {dtype} {size}".encode())])
    feeds = {}
    for i, x in enumerate(found.inputs(size)):
        one = "normal" if recipe in ("special", "subnormal") and i else recipe
        feeds[f"x{i}"] = _input(x, found, one, size, dtype, rng)
    names = ["" if x.shape == (0,) else name for name, x in feeds.items()]
    feeds = {name: x for name, x in feeds.items() if x.shape != (0,)}
    outputs = [f"y{i}" for i in range(len(found.outputs))]
    typed = [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()]
    results = [
        helper.make_tensor_value_info(n, dtypes.ONNX[t or dtype], None) for n, t in zip(outputs, found.outputs, strict=True)
    ]
    node = helper.make_node(operator, names, outputs, **found.attributes)
    graph = helper.make_graph([node], operator, typed, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10), feeds


def _input(x: Input, found: Specification, recipe: str, size: int, dtype: str, rng: np.random.Generator) -> Array:
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    if isinstance(x, Positive):
        if not dtypes.is_float(dtype):
            return rng.integers(1, 60, x.shape).astype(dtype)
        value = 2.0 ** rng.integers(0, 3, x.shape) if recipe == "lattice" else rng.uniform(x.low, x.high, x.shape)
        return dtypes.cast(np.asarray(value), dtype)
    own = x.dtype or dtype
    filled = fill(recipe, x.shape, own, rng, max(1, found.terms(size)), found.factors)
    if found.gain == 1.0 or not dtypes.is_float(own) or recipe in ("lattice", "index", "ties"):
        return filled
    with np.errstate(all="ignore"):
        return dtypes.cast(filled.astype(np.float64) * found.gain, own)
