"""Is the device healthy, and in which precision does it compute? Three tiny models, judged by value.

Options of real stacks stick to a process: after one session with Qualcomm's `soc_model` set, every later float32
session of the process computes in float16, and no case fails by that alone. So the values themselves are looked at.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from backends.interface import BackendError, DeviceLost, Unsupported

if TYPE_CHECKING:
    from backends.interface import Device

OPSET = 13  # old enough for every stack
IR_VERSION = 7  # that opset 13 came with
STEP = 2.0**-12  # 1 + STEP is exact in float32, TensorFloat-32 and narrower formats round it to 1
SUM_TOLERANCE = 1e-2  # reduced accumulators may add in another order each time; float16 and float32 differ by half

# Small integers, so that every partial sum is exact even with the 8 significant bits of bfloat16.
CONV_X = (np.arange(32) % 5 - 2).reshape(1, 2, 4, 4).astype(np.float32)
CONV_W = (np.arange(36) % 3 - 1).reshape(2, 2, 3, 3).astype(np.float32)
# By element: what of 1 + STEP survives; a tie, 1 + 4 STEP + 3 STEP², that float32's default mode rounds upwards (to
# even) and rounding towards zero downwards; the largest subnormal power of two, 0 where subnormals are flushed; what of
# 1 + 8 STEP survives, which float16 holds and bfloat16 rounds to 1.
MUL_A = np.array([1 + STEP, 1 + STEP, 2.0**-126, 1 + 8 * STEP], np.float32)
MUL_B = np.array([1, 1 + 3 * STEP, 0.5, 1], np.float32)
MUL_NAMES = ("mul_1p2m12", "mul_rounding", "mul_subnormal", "mul_1p2m9")
# By row: 1 + STEP, then 1 + 8 STEP, with zeros; 64 times 2000, beyond float16's largest number.
MATMUL_A = np.full((3, 64), 2000, np.float32)
MATMUL_A[:2] = np.eye(64)[:2] * np.array([[1 + STEP], [1 + 8 * STEP]])
MATMUL_B = np.ones((64, 1), np.float32)
MATMUL_NAMES = ("matmul_1p2m12", "matmul_1p2m9", "matmul_sum")


def fingerprint(device: Device) -> dict[str, Any]:
    """Health and precision of `device` in float32.

    {"conv": exact (True) or not (False), "mul_1p2m12", "mul_rounding", "mul_subnormal", "mul_1p2m9", "matmul_1p2m12",
    "matmul_1p2m9", "matmul_sum": float}; None stands for what the device declines, or for a value it fails to compute. A
    convolution that fails for another reason than Unsupported is unhealthy. Raises DeviceLost and whatever is no BackendError.
    """
    result: dict[str, Any] = {}
    try:
        y = _run(device, "Conv", CONV_X, CONV_W)
        result["conv"] = y.shape == (1, 2, 2, 2) and bool(np.array_equal(y, convolved()))
    except Unsupported:
        result["conv"] = None
    except DeviceLost:
        raise
    except BackendError:
        result["conv"] = False
    for operator, a, b, names in (("Mul", MUL_A, MUL_B, MUL_NAMES), ("MatMul", MATMUL_A, MATMUL_B, MATMUL_NAMES)):
        values: Sequence[float | None] = [None] * len(names)
        try:
            values = [float(value) for value in _run(device, operator, a, b).ravel()]
        except DeviceLost:
            raise
        except BackendError:
            pass
        if len(values) != len(names):
            values = [None] * len(names)
        result.update(zip(names, values, strict=True))
    return result


def differences(first: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of a fingerprint changed, one text each, [] if nothing did. Sums compare to 1 %, everything else exactly."""
    names = [*first, *(name for name in now if name not in first)]
    return [
        f"{name} was {first.get(name)!r}, is {now.get(name)!r}"
        for name in names
        if not _same(first.get(name), now.get(name), SUM_TOLERANCE if name.endswith("_sum") else 0.0)
    ]


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=tolerance)
    return type(a) is type(b) and a == b


def convolved() -> np.ndarray:
    """CONV_X convolved with CONV_W, no padding: (1, 2, 2, 2)."""
    windows = np.lib.stride_tricks.sliding_window_view(CONV_X, (3, 3), axis=(2, 3))
    result: np.ndarray = np.einsum("nchwij,mcij->nmhw", windows, CONV_W)
    return result


def _run(device: Device, operator: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    executable = device.compile(model(operator, a.shape, b.shape))
    feeds = {"a": a} if operator == "Conv" else {"a": a, "b": b}
    try:
        (y,) = executable.run(feeds).values()
        return np.asarray(y)
    finally:
        executable.release()


@functools.lru_cache
def model(operator: str, a: tuple[int, ...], b: tuple[int, ...]) -> bytes:
    """`operator` of float32 graph inputs "a" and "b" of these shapes, serialised; the weights of Conv are constant, as many
    compilers want them."""
    from onnx import TensorProto, helper, numpy_helper

    y = {"Conv": [1, 2, 2, 2], "Mul": list(a), "MatMul": [*a[:-1], b[-1]]}[operator]
    shapes = {"a": a, "b": b, "y": y}
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(
        [helper.make_node(operator, ["a", "b"], ["y"], name=operator)],
        f"probe_{operator}",
        [values["a"]] if operator == "Conv" else [values["a"], values["b"]],
        [values["y"]],
        [numpy_helper.from_array(CONV_W, "b")] if operator == "Conv" else [],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="npu-cts")
    proto.ir_version = IR_VERSION
    return bytes(proto.SerializeToString(deterministic=True))
