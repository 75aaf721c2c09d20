"""The backend that docs/writing-a-backend.md refers to runs, and its errors end as the page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from backends import registry
from backends.interface import CompileError, RunError, Unsupported
from results import journal
from results.verdict import Verdict

ROOT = Path(__file__).resolve().parents[1]
SPEC = "docs/example_backend.py:ExampleBackend"
OWN = ("Add", "Mul", "MatMul", "Relu")
CASES = (
    "Add-14.f32.a:2x3x5x7.b:3x1x7.in:normal",
    "Add-14.f32.a:scalar.b:scalar.in:normal",
    "Add-14.f32.a:0x3.b:3.in:normal",
    "Add-14.f16.a:2x3x5x7.b:3x1x7.in:normal",
    "Mul-14.f32.a:2x3x5x7.b:1x3x1x1.const:b.in:normal",
    "MatMul-13.f32.a:7.b:7.in:normal",
    "Relu-14.f32.x:2x3x5x7.in:special",
    "Conv-22.f32.x:1x3x8x9.w:5x3x3x3.pads:1_1_1_1.in:normal",
)


def suites(results, *arguments):
    """`pytest suites` on the example in a process of its own."""
    command = [sys.executable, "-m", "pytest", "suites", f"--backend={SPEC}", f"--results={results}", "-p", "no:cacheprovider"]
    return subprocess.run([*command, "-q", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def only_journal(folder):
    """The journal that the run left, which must be valid."""
    (path,) = folder.glob("*.jsonl")
    assert list(journal.validate(path)) == []
    return journal.read(path)


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """The journal of a smoke run: a few cases of each operator."""
    folder = tmp_path_factory.mktemp("example")
    done = suites(folder, *(word for case_id in CASES for word in ("--case", case_id)))
    assert done.returncode == 0, done.stdout + done.stderr
    return only_journal(folder)


def test_its_operators_pass_and_all_else_is_declined(read):
    verdicts = {record.id: record.verdict for record in read.records}
    assert verdicts.keys() == set(CASES)
    for case_id, verdict in verdicts.items():
        own = case_id.startswith(tuple(f"{name}-" for name in OWN)) and ".f32." in case_id
        assert verdict is (Verdict.PASS if own else Verdict.UNSUPPORTED), case_id
    assert {record.operator for record in read.records if record.verdict is Verdict.PASS} == set(OWN)
    assert "Conv" in {record.operator for record in read.records if record.verdict is Verdict.UNSUPPORTED}


def test_the_device_says_what_it_is(tmp_path):
    done = suites(tmp_path, "-k", "test_identity or test_exact_convolution or test_declared_precision")
    assert done.returncode == 0, done.stdout + done.stderr
    recorded = only_journal(tmp_path)
    verdicts = {record.id: record.verdict for record in recorded.records}
    assert verdicts["test_identity"] is verdicts["test_declared_precision"] is Verdict.PASS
    assert recorded.header["device"]["kind"] == "simulated"
    assert recorded.header["device"]["runtime"].startswith("numpy ")
    assert recorded.header["fingerprint"]["conv"] is None
    assert recorded.header["fingerprint"]["mul_1p2m12"] == 1 + 2.0**-12


def test_an_unknown_option_is_a_usage_error(tmp_path):
    done = suites(tmp_path, "--backend-option", "colour=red", "--case", CASES[0])
    assert done.returncode == 4
    assert "colour" in done.stderr + done.stdout


@pytest.fixture
def device():
    backend = registry.load(str(ROOT / SPEC))
    return backend.open(backend.discover()[0], {})


def model(nodes, inputs, outputs, constants=()):
    """A model of float32 tensors; shapes by name."""
    values = [
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in group.items()]
        for group in (inputs, outputs)
    ]
    graph = onnx.helper.make_graph(nodes, "graph", *values, list(constants))
    imports = [onnx.helper.make_opsetid("", 13), onnx.helper.make_opsetid("com.example", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def test_outputs_are_arrays_that_the_caller_owns(device):
    constant = onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["y"]),
        onnx.helper.make_node("Relu", ["y"], ["z"]),
    ]
    executable = device.compile(model(nodes, {"x": [3]}, {"z": [], "w": [3]}, [constant]))
    assert [(spec.name, spec.shape, spec.dtype) for spec in executable.inputs] == [("x", (3,), "float32")]
    for _ in range(2):
        outputs = executable.run({"x": np.full(3, 2, np.float32)})
        assert isinstance(outputs["z"], np.ndarray)
        assert outputs["z"].shape == ()
        assert outputs["z"].dtype == np.float32
        assert outputs["z"] == 6
        assert outputs["w"].tolist() == [1, 1, 1]
        outputs["w"][...] = 0  # must not reach the device's own copy


@pytest.mark.parametrize(("operator", "domain"), [("Neg", ""), ("Relu", "com.example")])
def test_other_operators_are_declined(device, operator, domain):
    with pytest.raises(Unsupported, match=operator):
        device.compile(model([onnx.helper.make_node(operator, ["x"], ["y"], domain=domain)], {"x": [3]}, {"y": [3]}))


def test_a_broken_model_is_a_compile_error(device):
    with pytest.raises(CompileError):
        device.compile(b"\xff\xff\xff")
    with pytest.raises(CompileError):
        device.compile(model([], {"x": [3]}, {"nowhere": [3]}))


def test_shapes_that_do_not_match_are_a_run_error(device):
    executable = device.compile(model([onnx.helper.make_node("Add", ["x", "x2"], ["y"])], {"x": [3], "x2": [3]}, {"y": [3]}))
    with pytest.raises(RunError):
        executable.run({"x": np.ones(3, np.float32), "x2": np.ones(2, np.float32)})
