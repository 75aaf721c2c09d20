"""The ONNX Runtime adapter on its CPU execution provider."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from backends import registry
from backends.host import HostBuffer
from backends.interface import CompileError, ExternalMemory, OutOfMemory, RunError, Unsupported

from . import models

pytest.importorskip("onnxruntime")

from backends import onnxruntime as adapter


@pytest.fixture(scope="module")
def device():
    backend = registry.load("onnxruntime")
    return backend.open(backend.discover()[0], {})


def test_device_information_is_complete(device):
    info = device.info
    assert (info.backend, info.name, info.kind) == ("onnxruntime", "CPU", "hardware")
    assert info.runtime.startswith("onnxruntime 1.")
    assert info.host
    assert info.soc
    assert {"python", "numpy", "onnx"} <= info.versions.keys()


def test_inputs_and_outputs_in_the_model_s_order(device):
    executable = device.compile(models.conv_relu_sigmoid())
    assert [(s.name, s.shape, s.dtype, s.nbytes) for s in executable.inputs] == [
        ("x", (1, 3, 8, 8), "float32", 768),
        ("w", (4, 3, 3, 3), "float32", 432),
    ]
    assert [s.name for s in executable.outputs] == ["z", "y"]
    dynamic = device.compile(models.add(["n", 4])).inputs[0]
    assert (dynamic.shape, dynamic.nbytes) == ((None, 4), None)


def test_placement_names_every_node(device):
    placed = device.compile(models.conv_relu_sigmoid()).placement()
    assert [(p.node, p.operator, p.device, p.on_device) for p in placed] == [
        ("conv", "Conv", "CPUExecutionProvider", True),
        ("y", "Relu", "CPUExecutionProvider", True),
        ("sigmoid", "Sigmoid", "CPUExecutionProvider", True),
    ]


def test_renamed_nodes_get_their_names_back():
    placed = [("Transpose", "Transpose"), ("_token_2", "Relu"), ("sigmoid", "Sigmoid"), ("conv", "Conv")]
    assert adapter.original_names(models.conv_relu_sigmoid(), placed) == ["Transpose", "y", "sigmoid", "conv"]


def test_bound_memory_is_used_in_place(device):
    executable = device.compile(models.add([4]))
    x, y = HostBuffer(np.ones(4, np.float32)), HostBuffer(np.zeros(4, np.float32))
    binding = executable.bind({"x": x}, {"y": y})
    binding.submit().wait()
    assert (binding.adopted("x"), binding.adopted("y")) == (True, True)
    assert y.array.tolist() == [2, 2, 2, 2]
    x.array[:] = [1, 2, 3, 4]
    binding.submit().wait()
    assert y.array.tolist() == [2, 4, 6, 8]
    assert binding.outputs["y"].address == y.address


def test_copies_are_not_called_adopted(device):
    strided = HostBuffer(np.arange(8, dtype=np.float32)[::2])
    binding = device.compile(models.add([4])).bind({"x": strided})
    binding.submit().wait()
    assert binding.adopted("x") is False
    with binding.outputs["y"].map("r") as y:
        assert y.tolist() == [0, 4, 8, 12]


def test_outputs_of_dynamic_shape_follow_the_input(device):
    executable = device.compile(models.add(["n"]))
    for size in (3, 5, 0):
        binding = executable.bind({"x": HostBuffer(np.ones(size, np.float32))})
        binding.submit().wait()
        binding.submit().wait()
        with binding.outputs["y"].map("r") as y:
            assert y.tolist() == [2.0] * size
    view = binding.outputs["y"].view()
    assert not view.flags.writeable


def test_imported_host_memory(device):
    memory = np.zeros(64, np.uint8)
    memory[3:19] = np.array([1, 2, 3, 4], np.float32).view(np.uint8)
    buffer = device.import_(ExternalMemory("host", int(memory.ctypes.data), 3, 16))
    binding = device.compile(models.add([4])).bind({"x": buffer})
    binding.submit().wait()
    assert binding.adopted("x") is True
    with binding.outputs["y"].map("r") as y:
        assert y.tolist() == [2, 4, 6, 8]
    with pytest.raises(Unsupported):
        device.import_(ExternalMemory("dmabuf", 3, 0, 16))


@pytest.mark.parametrize(
    ("code", "name", "values"),
    [
        (TensorProto.FLOAT16, "float16", [[-1.5, 2], [0, 65504], [1, 3]]),
        (TensorProto.BFLOAT16, "bfloat16", [[-1.5, 2], [0, 300], [1, 3]]),
        (TensorProto.FLOAT8E4M3FN, "float8_e4m3fn", [[-1.5, 2], [0, 448], [1, 3]]),
        (TensorProto.FLOAT8E4M3FNUZ, "float8_e4m3fnuz", [[-1.5, 2], [0, 240], [1, 3]]),
        (TensorProto.FLOAT8E5M2, "float8_e5m2", [[-1.5, 2], [0, 320], [1, 3]]),
        (TensorProto.FLOAT8E5M2FNUZ, "float8_e5m2fnuz", [[-1.5, 2], [0, 320], [1, 3]]),
        (TensorProto.INT4, "int4", [[-8, 7], [0, -1], [3, 2]]),
        (TensorProto.UINT4, "uint4", [[15, 7], [0, 1], [3, 2]]),
        (TensorProto.BOOL, "bool", [[True, False], [False, False], [True, True]]),
        (TensorProto.UINT64, "uint64", [[2**64 - 1, 0], [1, 2], [3, 4]]),
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_every_element_type_travels(device, code, name, values, bound):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.array(values, object).astype(dtype)
    executable = device.compile(models.graph(
        [helper.make_node("Transpose", ["x"], ["y"])], [("x", code, [3, 2])], [("y", code, [2, 3])]
    ))  # fmt: skip
    assert executable.inputs[0].dtype == name
    if bound:
        buffer = executable.allocate("x")
        with buffer.map("w") as target:
            target[...] = x
        binding = executable.bind({"x": buffer})
        binding.submit().wait()
        assert binding.adopted("x") is True
        assert binding.adopted("y") is True
        with binding.outputs["y"].map("r") as mapped:
            y = np.array(mapped)
    else:
        y = executable.run({"x": x})["y"]
    assert y.dtype == dtype
    assert y.shape == (2, 3)
    assert (y == x.T).all()


def test_strings(device):
    executable = device.compile(models.single("Identity", [TensorProto.STRING], [[2]], TensorProto.STRING))
    y = executable.run({"x0": np.array(["a", "bé"], object)})["y"]
    assert y.dtype == object
    assert y.tolist() == ["a", "bé"]


def test_errors_are_mapped_with_status_and_text(device):
    with pytest.raises(Unsupported) as unsupported:
        device.compile(models.single("Add", [TensorProto.BFLOAT16] * 2, [[2]] * 2, TensorProto.BFLOAT16))
    assert unsupported.value.code == "NOT_IMPLEMENTED"
    assert "Could not find an implementation for Add" in unsupported.value.text
    with pytest.raises(CompileError) as invalid:
        device.compile(b"no model")
    assert (invalid.value.code, invalid.value.accepted) == ("INVALID_PROTOBUF", False)
    with pytest.raises(CompileError) as unknown:
        device.compile(models.single("NoSuchOperator", [TensorProto.FLOAT], [[2]], TensorProto.FLOAT))
    assert unknown.value.code == "INVALID_GRAPH"
    with pytest.raises(RunError) as run:
        device.compile(models.add([4])).run({"x": np.zeros(4)})
    assert (run.value.code, run.value.phase) == ("INVALID_ARGUMENT", "run")
    reshape = device.compile(models.single("ConstantOfShape", [TensorProto.INT64], [[2]], TensorProto.FLOAT))
    with pytest.raises(OutOfMemory) as memory:
        reshape.run({"x0": np.array([2**23, 2**23])})
    assert memory.value.phase == "run"


def test_fallback_is_refused_or_seen():
    text = (
        "[ONNXRuntimeError] : 1 : FAIL : This session contains graph nodes that are assigned to the default CPU EP, "
        "but fallback to CPU EP has been explicitly disabled by the user."
    )
    refused = adapter.translate(RuntimeError(text), "compile")
    assert isinstance(refused, Unsupported)
    assert (refused.code, refused.text) == ("FAIL", text)
    claimed = adapter.translate(RuntimeError("[ONNXRuntimeError] : 11 : EP_FAIL : Failed to finalize"), "compile")
    assert isinstance(claimed, CompileError)
    assert claimed.accepted


def test_python_retry_on_cpu_is_off(device):
    assert device.compile(models.add([4])).session._enable_fallback is False


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"thread": "1"}, ["'thread'", "threads"]),
        ({"ep": "CUDA"}, ["ep=CUDA", "CPUExecutionProvider"]),
        ({"threads": "many"}, ["threads=many"]),
        ({"graph_optimization_level": "al"}, ["all"]),
    ],
)
def test_unknown_options(options, words):
    backend = registry.load("onnxruntime")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        backend.open(backend.discover()[0], options)
    for word in words:
        assert word in str(caught.value)
