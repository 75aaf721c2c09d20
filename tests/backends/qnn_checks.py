"""The QNN adapter on Qualcomm's HTP emulator. It prints, its options stick to the process, and it may crash: each test
runs the emulator in a process of its own and judges what that one printed as its last line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends import registry
from backends.worker import DeviceSession
from suites.cases.identifier import parse

pytest.importorskip("onnxruntime_qnn")

PROLOGUE = """
import json, sys
sys.path.insert(0, {root!r})
sys.path.insert(0, {here!r})
import numpy as np
from onnx import TensorProto, helper
import models
from backends import registry
from backends.host import HostBuffer
from backends.interface import BackendError
backend = registry.load("qnn")
def attempt(function):
    try:
        function()
    except BackendError as error:
        return [type(error).__name__, error.phase, error.code, getattr(error, "accepted", None), error.text]
    return ["ok"]
F = TensorProto.FLOAT
"""
HERE = Path(__file__).parent


def emulator(code: str) -> Any:
    """What the code leaves in `result`, from a process of its own."""
    program = PROLOGUE.format(root=str(HERE.parents[1]), here=str(HERE)) + code + "\nprint()\nprint(json.dumps(result))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_device_information():
    result = emulator("import dataclasses\nresult = [dataclasses.asdict(info) for info in backend.discover()]")
    assert len(result) == 1
    info = result[0]
    assert (info["backend"], info["name"], info["vendor"]) == ("qnn", "HTP", "Qualcomm")
    assert info["kind"] in ("emulated", "hardware")
    assert "onnxruntime-qnn 2" in info["runtime"]
    assert info["compiler"].startswith("QNN SDK 2")
    assert info["host"]
    assert {"onnxruntime", "onnxruntime-qnn", "numpy"} <= info["versions"].keys()


def test_values_placement_and_binding():
    result = emulator("""
device = backend.open(backend.discover()[0], {})
executable = device.compile(models.conv_relu_sigmoid())
x, w = np.full((1, 3, 8, 8), 0.25, np.float32), np.ones((4, 3, 3, 3), np.float32)
y = executable.run({"x": x, "w": w})
binding = device.compile(models.add([4])).bind({"x": (buffer := HostBuffer(np.ones(4, np.float32)))})
binding.submit().wait()
buffer.array[:] = [1, 2, 3, 4]
binding.submit().wait()
with binding.outputs["y"].map("r") as mapped:
    bound = mapped.tolist()
result = {
    "y": [float(y["y"].min()), float(y["y"].max())],
    "names": list(y),
    "placed": {p.node: [p.operator, p.device, p.on_device, p.partition] for p in executable.placement()},
    "bound": bound,
    "adopted": binding.adopted("x"),
}
""")
    assert result["names"] == ["z", "y"]
    assert result["y"] == pytest.approx([6.75, 6.75], rel=1e-3)
    for name, operator in (("conv", "Conv"), ("y", "Relu"), ("sigmoid", "Sigmoid")):
        assert result["placed"][name] == [operator, "QNNExecutionProvider", True, 0]
    assert result["bound"] == [2, 4, 6, 8]
    assert result["adopted"] is None


def test_declined_claimed_and_broken_models_differ():
    declined, mixed, claimed, broken = emulator("""
device = backend.open(backend.discover()[0], {})
det = models.single("Det", [F], [[4, 4]], F)
two = models.graph(
    [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("Det", ["a"], ["y"], name="det")],
    [("x", F, [4, 4])], [("y", F, [])])
gelu = models.single("Gelu", [F], [[2, 4]], F)
result = [attempt(lambda m=m: device.compile(m)) for m in (det, two, gelu, b"no model")]
""")
    for refused in (declined, mixed):
        assert refused[:3] == ["Unsupported", "compile", "FAIL"]
        assert "fallback to CPU EP has been explicitly disabled" in refused[4]
    assert claimed[:4] == ["CompileError", "compile", "EP_FAIL", True]
    assert "Failed to finalize QNN graph" in claimed[4]
    assert broken[:4] == ["CompileError", "compile", "INVALID_PROTOBUF", False]


def test_fallback_that_is_allowed_is_seen():
    result = emulator("""
device = backend.open(backend.discover()[0], {"cpu_fallback": "1"})
two = models.graph(
    [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("Det", ["a"], ["y"], name="det")],
    [("x", F, [4, 4])], [("y", F, [])])
result = {p.node: [p.device, p.on_device] for p in device.compile(two).placement()}
""")
    assert result["relu"] == ["QNNExecutionProvider", True]
    assert result["det"] == ["CPUExecutionProvider", False]


def test_a_device_that_declines_everything_is_no_device():
    result = emulator('result = attempt(lambda: backend.open(backend.discover()[0], {"soc_model": "9999"}))')
    assert result[:2] == ["DeviceLost", "discover"]
    assert "one Relu" in result[4]


def test_context_binary():
    result = emulator("""
import onnx
device = backend.open(backend.discover()[0], {})
exported = onnx.load_from_string(device.compile(models.add([4])).export())
result = [[node.domain, node.op_type] for node in exported.graph.node]
""")
    assert result == [["com.microsoft", "EPContext"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"soc_modell": "60"}, ["'soc_modell'", "soc_model"]),
        ({"htp_performance_mode": "brst"}, ["burst"]),
        ({"enable_htp_fp16_precision": "yes"}, ["0, 1"]),
        ({"soc_model": "v73"}, ["soc_model=v73"]),
        ({"ep": "CPUExecutionProvider"}, ["'ep'"]),
    ],
)
def test_options_are_validated_before_the_vendor_is_touched(options, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        registry.load("qnn").check_options(options)
    for word in words:
        assert word in str(caught.value)


# What makes device workers necessary, on the real emulator.


def test_options_that_stick_to_a_process_stay_in_their_worker():
    """soc_model switches every later float32 session of its process to float16; a session of other options has another."""
    with DeviceSession("qnn") as exact, DeviceSession("qnn", options={"soc_model": "60"}) as reduced:
        assert exact.fingerprint["mul_1p2m12"] == 1 + 2.0**-12
        assert reduced.fingerprint["matmul_sum"] < 70_000
        assert exact.probe() == exact.fingerprint


def test_a_segfault_of_the_emulator_costs_one_case():
    """Relu of rank 5 kills the process that runs it (docs/findings.md, QNN-010)."""
    deadly = parse("Relu-14.f32.x:2x3x2x5x3.in:uniform")
    harmless = parse("Relu-14.f32.x:11.in:uniform")
    with DeviceSession("qnn") as session:
        seen = session.observe(deadly.model_bytes, deadly.feeds)
        assert (seen.ended, seen.exit, seen.phase) == ("crash", "signal SIGSEGV", "run")
        after = session.observe(harmless.model_bytes, harmless.feeds)
        assert after.ended == "ran"
        np.testing.assert_array_equal(after.outputs["y"], np.maximum(harmless.feeds["x"], 0))
        assert after.worker == seen.worker + 1
