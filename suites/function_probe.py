"""How exact functions are on a device that does not say: three tiny models, run like cases, so that a crash or a refusal costs
nothing but the answer.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

from backends.worker import DeviceSession

X = (np.arange(16, dtype=np.float64) * 0.31830988618 - 2.5).astype(np.float32).reshape(1, 2, 2, 4)
"""Values with 24 significant bits."""

OPERATORS = {"function": "Exp", "normalization": "InstanceNormalization", "softmax": "LogSoftmax"}
"""Class of the precision profile → operator that stands for it."""

OPSET, IR_VERSION = 13, 7  # old enough for every stack


def right_bits(session: DeviceSession) -> dict[str, int]:
    """ "CLASS_bits" → −log2 of the largest error relative to the largest result, at most 24; without the classes whose operator
    the device declines or fails to compute. Raises DeviceGone."""
    found = {}
    for kind, operator in OPERATORS.items():
        seen = session.observe(model(operator), {"x": X})
        bits = _bits(seen.outputs["y"], exact(operator)) if seen.ended == "ran" and "y" in seen.outputs else None
        if bits is not None:
            found[f"{kind}_bits"] = bits
    return found


def exact(operator: str) -> np.ndarray:
    """The result for X in float64."""
    x = X.astype(np.float64)
    if operator == "Exp":
        return np.asarray(np.exp(x))
    if operator == "LogSoftmax":
        return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))
    deviation = x - x.mean((2, 3), keepdims=True)
    return np.asarray(deviation / np.sqrt((deviation**2).mean((2, 3), keepdims=True) + 1e-5) + 1)


def _bits(y: np.ndarray, right: np.ndarray) -> int | None:
    """None for another shape or what is not finite."""
    if y.shape != right.shape or not np.isfinite(y).all():
        return None
    error = float(np.abs(y - right).max() / np.abs(right).max())
    return 24 if error == 0 else max(0, min(24, int(-math.log2(error))))


@functools.cache
def model(operator: str) -> bytes:
    """`operator` of the graph input x, serialised; the parameters of InstanceNormalization are 1."""
    names = ("scale", "bias") if operator == "InstanceNormalization" else ()
    value = functools.partial(helper.make_tensor_value_info, elem_type=onnx.TensorProto.FLOAT, shape=X.shape)
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", *names], ["y"], name=operator)],
        f"probe_{operator}",
        [value("x")],
        [value("y")],
        [numpy_helper.from_array(np.ones(2, np.float32), name) for name in names],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="npu-cts")
    proto.ir_version = IR_VERSION
    return bytes(proto.SerializeToString(deterministic=True))
