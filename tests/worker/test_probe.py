"""The fingerprint tells precisions apart, on a device that computes by NumPy with a given one."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest

from backends import probe
from backends.interface import CompileError, Device, DeviceInfo, DeviceLost, Executable, TensorSpec, Unsupported
from backends.probe import differences, fingerprint

EXACT = {
    "conv": True, "mul_1p2m12": 1 + 2.0**-12, "mul_rounding": 1 + 2.0**-10 + 2.0**-22, "mul_subnormal": 2.0**-127,
    "mul_1p2m9": 1 + 2.0**-9, "matmul_1p2m12": 1 + 2.0**-12, "matmul_1p2m9": 1 + 2.0**-9, "matmul_sum": 128000.0,
}  # fmt: skip


class NumPyExecutable(Executable):
    def __init__(self, operator, dtype):
        self.operator = operator
        self.dtype = dtype

    inputs = outputs = (TensorSpec("y", (), "float32"),)

    def run(self, feeds):
        a, b = (array.astype(self.dtype) for array in (feeds["a"], feeds.get("b", probe.CONV_W)))
        with np.errstate(over="ignore"):
            if self.operator == "Conv":
                windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), axis=(2, 3))
                y = (windows[:, None] * b[None, :, :, None, None]).sum(axis=(2, 5, 6), dtype=self.dtype)
            else:
                y = a * b if self.operator == "Mul" else a @ b
        return {"y": y.astype(np.float32)}


class NumPyDevice(Device):
    """Computes in `dtype`; operators in `failures` raise what they are mapped to instead."""

    info = DeviceInfo("numpy", "numpy", "simulated")

    def __init__(self, dtype=np.float32, failures=()):
        self.dtype = dtype
        self.failures = dict(failures)

    def compile(self, model, options=None):
        proto = onnx.load_from_string(model)
        onnx.checker.check_model(proto, full_check=True)
        operator = proto.graph.node[0].op_type
        if operator in self.failures:
            raise self.failures[operator]
        return NumPyExecutable(operator, self.dtype)


def test_float32():
    assert NumPyDevice().probe() == EXACT


def test_float16_is_told_apart():
    result = fingerprint(NumPyDevice(np.float16))
    assert result["conv"] is True
    assert result["mul_1p2m12"] == result["matmul_1p2m12"] == 1.0
    assert result["mul_subnormal"] == 0.0
    assert math.isinf(result["matmul_sum"])
    kept = ("conv", "mul_1p2m9", "matmul_1p2m9")
    assert [text.split()[0] for text in differences(EXACT, result)] == [name for name in EXACT if name not in kept]


def test_operators_that_are_declined_or_fail_give_none():
    result = fingerprint(NumPyDevice(failures={"Mul": Unsupported("no"), "MatMul": CompileError("no")}))
    assert result == {name: (True if name == "conv" else None) for name in EXACT}
    assert fingerprint(NumPyDevice(failures={"Conv": Unsupported("no")}))["conv"] is None
    assert fingerprint(NumPyDevice(failures={"Conv": CompileError("no")}))["conv"] is False


@pytest.mark.parametrize("error", [DeviceLost("gone"), ZeroDivisionError("adapter")])
@pytest.mark.parametrize("operator", ["Conv", "Mul", "MatMul"])
def test_a_lost_device_and_a_broken_adapter_are_no_fingerprint(operator, error):
    with pytest.raises(type(error)):
        fingerprint(NumPyDevice(failures={operator: error}))


def test_a_wrong_convolution_is_unhealthy(monkeypatch):
    monkeypatch.setattr(NumPyExecutable, "run", lambda self, feeds: {"y": np.zeros((1, 2, 2, 2), np.float32)})
    assert fingerprint(NumPyDevice())["conv"] is False


def test_the_data_of_the_convolution_is_exact_in_every_format_down_to_bfloat16():
    products = np.abs(probe.CONV_X).max() * np.abs(probe.CONV_W).max() * probe.CONV_W[0].size
    assert products <= 256
    assert np.any(probe.convolved())


def test_models_are_deterministic():
    first = probe.model("Conv", (1, 2, 4, 4), (2, 2, 3, 3))
    probe.model.cache_clear()
    assert probe.model("Conv", (1, 2, 4, 4), (2, 2, 3, 3)) == first


def test_differences():
    assert differences(EXACT, dict(EXACT)) == []
    assert differences({"x": math.nan}, {"x": math.nan}) == []
    assert differences({"matmul_sum": 128000.0}, {"matmul_sum": 127500.0}) == []
    assert differences({"matmul_sum": 128000.0}, {"matmul_sum": 65536.01}) == ["matmul_sum was 128000.0, is 65536.01"]
    assert differences({"a": 1.0}, {"a": 1.0 + 2.0**-52}) == ["a was 1.0, is 1.0000000000000002"]
    assert differences({"a": None}, {"b": 1.0}) == ["b was None, is 1.0"]
    assert differences({"conv": True}, {"conv": None}) == ["conv was True, is None"]
