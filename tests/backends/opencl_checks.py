"""The OpenCL adapter on the first device there is, which on an ordinary PC is PoCL on the CPU."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from backends import registry
from backends.host import HostBuffer
from backends.interface import CompileError, DeviceLost, ExternalMemory, OutOfMemory, RunError, Unsupported

from . import models

F32 = TensorProto.FLOAT
SHAPE = [64, 33]


def test_importing_loads_no_driver():
    code = "import sys, backends.opencl as b; b.OpenClBackend().unavailable(); print('pyopencl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def device():
    backend = registry.load("opencl")
    found = backend.discover()
    if not found:
        pytest.skip("there is no OpenCL device here")
    return backend.open(found[0], {})


@pytest.fixture
def unified(device):
    if not device.unified:
        pytest.skip("host and device have memory of their own")
    return device


def unary(operator: str, shape=tuple(SHAPE), code: int = F32, **attributes) -> bytes:
    return models.single(operator, [code], [list(shape)], code, **attributes)


def host(device, shape, dtype=np.float32, *, extra: int = 0) -> np.ndarray:
    """Zeroed host memory that the device's declared alignment suits; the array keeps the block alive."""
    alignment, multiple = device.alignment, device.size_multiple
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize + extra
    block = np.zeros(size + alignment + multiple, np.uint8)
    start = -block.ctypes.data % alignment
    return block[start : start + size - extra].view(dtype).reshape(shape)


def external(device, array: np.ndarray) -> ExternalMemory:
    size = -(-array.nbytes // device.size_multiple) * device.size_multiple
    return ExternalMemory("host", array.ctypes.data, 0, size)


def filled(executable, name: str, array: np.ndarray):
    buffer = executable.allocate(name)
    with buffer.map("w") as target:
        target[...] = array
    return buffer


def read(buffer) -> np.ndarray:
    with buffer.map("r") as mapped:
        return np.array(mapped)


def test_devices_are_named_once_and_described(device):
    backend = registry.load("opencl")
    names = [info.name for info in backend.discover()]
    assert len(set(names)) == len(names)
    info = device.info
    assert (info.backend, info.kind) == ("opencl", "hardware")
    assert all((info.vendor, info.soc, info.driver, info.runtime, info.host))
    with pytest.raises(ValueError, match="has no device 'TPU'"):
        backend.open(SimpleNamespace(name="TPU"), {})
    with pytest.raises(ValueError, match="'clock'"):
        backend.open(info, {"clock": "1"})


def test_the_fingerprint_fits_the_declared_arithmetic(device):
    found = device.probe()
    assert device.capabilities().precision["float32"]["rung"] == "fp32"
    assert found["conv"] is True
    assert (found["mul_1p2m12"], found["matmul_1p2m12"], found["matmul_sum"]) == (1 + 2**-12, 1 + 2**-12, 128000)


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20])
def test_every_type_moves_bit_for_bit(device, code):
    executable = device.compile(unary("Transpose", (5, 7), code))
    name = executable.outputs[0].dtype
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = (np.arange(35 * dtype.itemsize, dtype=np.uint8) * 37).view(dtype).reshape(5, 7)
    if name == "bool":
        x = (x.view(np.uint8) % 2).view(bool)
    y = executable.run({"x0": x})["y"]
    assert y.dtype == dtype
    assert np.array_equal(np.asarray(y).view(np.uint8), np.ascontiguousarray(x.T).view(np.uint8))


def test_any_byte_but_0_is_true(device):
    executable = device.compile(models.single("Cast", [TensorProto.BOOL], [[4]], TensorProto.UINT8, to=TensorProto.UINT8))
    assert executable.run({"x0": np.array([0, 1, 2, 255], np.uint8).view(bool)})["y"].tolist() == [0, 1, 1, 1]


def test_narrow_results_are_rounded_once(device):
    float64, bfloat16 = TensorProto.DOUBLE, TensorProto.BFLOAT16
    if "float64" not in device.target.computed:
        pytest.skip("no float64 arithmetic")
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1e300, -(2**-25) - 2**-60])
    y = device.compile(models.single("Cast", [float64], [[4]], 10, to=10)).run({"x0": x})["y"]
    assert y.tolist() == [1 + 2**-10, 1, np.inf, -(2**-24)]  # through float32 the first would be a tie, and 1
    wide = np.array([2**40 + 2**32 + 1, -(2**40) - 2**32 - 1])
    y = device.compile(models.single("Cast", [TensorProto.INT64], [[2]], bfloat16, to=bfloat16)).run({"x0": wide})["y"]
    assert y.astype(np.float64).tolist() == [2**40 + 2**33, -(2**40) - 2**33]


def test_imported_memory_is_used_where_it_lies(unified):
    x, y = host(unified, SHAPE), host(unified, SHAPE)
    x[...] = np.arange(x.size).reshape(SHAPE)
    executable = unified.compile(unary("Neg"))
    given = unified.import_(external(unified, x))
    binding = executable.bind({"x0": given}, {"y": unified.import_(external(unified, y))})
    assert given.address == x.ctypes.data
    assert binding.adopted("x0") is True
    assert binding.adopted("y") is True
    before = unified.copies()
    for factor in (1, 3):  # written after bind, through the host's own array
        x *= factor
        binding.submit().wait()
        assert np.array_equal(y, -x)
    assert unified.copies() == before


def test_a_kernel_that_sees_another_address_is_a_copy(device, monkeypatch):
    executable = device.compile(unary("Neg"))
    binding = executable.bind({"x0": executable.allocate("x0")})
    monkeypatch.setattr(device, "address_in_kernel", lambda mem: 64)
    assert binding.adopted("x0") is (None if device.unified else False)


def test_memory_of_its_own_is_copied_and_counted(unified, monkeypatch):
    monkeypatch.setattr(unified, "unified", False)
    monkeypatch.setattr(unified, "address_in_kernel", lambda mem: 64)
    x, y = host(unified, SHAPE), host(unified, SHAPE)
    executable = unified.compile(unary("Neg"))
    imported = [unified.import_(external(unified, array)) for array in (x, y)]
    binding = executable.bind({"x0": imported[0]}, {"y": imported[1]})
    before = unified.copies()
    x[...] = 5
    binding.submit().wait()
    assert (y == -5).all()
    assert unified.copies() == before + 4
    allocated = executable.allocate("x0")
    assert allocated.address is None
    for buffer in (allocated, imported[0]):
        with pytest.raises(Unsupported):
            buffer.view()
    assert not {"view", "import"} & unified.capabilities().features


def test_allocated_buffers_and_views(unified):
    backend = registry.load("opencl")
    device = backend.open(unified.info, {})
    executable = device.compile(unary("Neg"))
    x = filled(executable, "x0", np.ones(SHAPE, np.float32))
    binding = executable.bind({"x0": x})
    view = binding.outputs["y"].view()
    address = binding.outputs["y"].address
    for value in (1, 7):
        with x.map("rw") as target:
            target[...] = value
        binding.submit().wait()
        assert (view == -value).all()
    assert view.ctypes.data == address
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    binding.outputs["y"].release()
    binding.outputs["y"].release()
    executable.release()
    device.close()
    del binding, executable, device, x
    gc.collect()
    churn = [np.full(SHAPE, 3, np.float32) for _ in range(50)]
    assert (view == -7).all()
    assert len(churn) == 50


def test_dlpack_is_the_memory_itself(unified):
    executable = unified.compile(unary("Neg"))
    binding = executable.bind({"x0": filled(executable, "x0", np.ones(SHAPE, np.float32))})
    array = np.from_dlpack(binding.outputs["y"])
    address = binding.outputs["y"].address
    binding.submit().wait()
    binding.outputs["y"].release()
    del binding
    gc.collect()
    assert array.ctypes.data == address
    assert (array == -1).all()


def test_a_released_buffer_says_so(device):
    executable = device.compile(unary("Neg"))
    x = executable.allocate("x0")
    binding = executable.bind({"x0": x})
    x.release()
    for use in (lambda: binding.submit(), lambda: executable.bind({"x0": x}), lambda: x.map("r").__enter__()):
        with pytest.raises(RunError, match="released"):
            use()


@pytest.mark.parametrize(
    ("model", "result"),
    [
        (unary("Neg"), lambda x: -x),
        (unary("Relu"), lambda x: np.maximum(x, 0)),
        (models.add(SHAPE), lambda x: x + x),
    ],
)
def test_elementwise_in_place(device, model, result):
    executable = device.compile(model)
    name = executable.inputs[0].name
    x = np.linspace(-4, 4, 64 * 33, dtype=np.float32).reshape(SHAPE)
    buffer = filled(executable, name, x)
    executable.bind({name: buffer}, {"y": buffer}).submit().wait()
    assert np.array_equal(read(buffer), result(x))


def test_aliasing_that_earlier_steps_make_right(device):
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Transpose", ["n"], ["y"])]
    executable = device.compile(models.graph(nodes, [("x", F32, [8, 8])], [("y", F32, [8, 8])]))
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    buffer = filled(executable, "x", x)
    executable.bind({"x": buffer}, {"y": buffer}).submit().wait()
    assert np.array_equal(read(buffer), -x.T)


def test_one_buffer_for_input_and_output_is_right_for_every_operator(device):
    x = (np.arange(64, dtype=np.float32) * 37 % 101).reshape(8, 8)
    product = models.single("MatMul", [F32, F32], [[8, 8], [8, 8]], F32)
    for model in (unary("Transpose", (8, 8)), product, unary("Softmax", (8, 8), axis=0)):
        executable = device.compile(model)
        names = [spec.name for spec in executable.inputs]
        buffer = filled(executable, names[0], x)
        binding = executable.bind(dict.fromkeys(names, buffer), {"y": buffer})
        for _ in range(2):
            expected = executable.run(dict.fromkeys(names, read(buffer)))["y"]
            binding.submit().wait()
            assert np.array_equal(read(buffer), expected)


def test_overlaps_in_part_are_refused(unified):
    block = host(unified, [64, 64])
    executable = unified.compile(unary("Neg", (32, 64)))
    whole = unified.import_(external(unified, block))
    rows = [unified.import_(external(unified, block[n : n + 32])) for n in (0, 16, 32)]
    assert all(part.allocation is whole.allocation for part in rows)
    with pytest.raises(Unsupported, match="overlap"):
        executable.bind({"x0": rows[0]}, {"y": rows[1]})
    block[...] = 2
    executable.bind({"x0": rows[0]}, {"y": rows[2]}).submit().wait()
    assert (block[:32] == 2).all()
    assert (block[32:] == -2).all()
    two = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Abs", ["x"], ["b"])]
    square = unified.compile(unary("Neg", (8, 8))).allocate("x0")
    both = unified.compile(models.graph(two, [("x", F32, [8, 8])], [("a", F32, [8, 8]), ("b", F32, [8, 8])]))
    with pytest.raises(Unsupported, match="overlap"):
        both.bind({"x": both.allocate("x")}, {"a": square, "b": square})


def test_overlapping_objects_are_refused(unified):
    block = host(unified, [96, 64])
    executable = unified.compile(unary("Neg", (64, 64)))
    parts = [unified.import_(external(unified, block[n : n + 64])) for n in (0, 32)]
    with pytest.raises(Unsupported, match="undefined in OpenCL"):
        executable.bind({"x0": parts[0]}, {"y": parts[1]})


STRIDES = {
    "columns": lambda block: block[2:10, 1:13:2],
    "reversed": lambda block: block[9:1:-1, 12:0:-2],
    "transposed": lambda block: block[1:7, 3:11].T,
    "broadcast": lambda block: np.broadcast_to(block[3, :6], (8, 6)),
}


def strided(device, block: np.ndarray, part: np.ndarray):
    first = part.ctypes.data - block.ctypes.data
    return device.import_(ExternalMemory("host", block.ctypes.data, 0, block.nbytes, part.strides, first))


@pytest.mark.parametrize("kind", STRIDES)
@pytest.mark.parametrize("operator", ["Neg", "Softmax", "Transpose"])
def test_strided_inputs(unified, kind, operator):
    block = host(unified, [16, 16])
    block[...] = (np.arange(256) * 37 % 101).reshape(16, 16) / 64
    part = STRIDES[kind](block)
    executable = unified.compile(unary(operator, (8, 6)))
    binding = executable.bind({"x0": strided(unified, block, part)})
    binding.submit().wait()
    expected = executable.run({"x0": np.ascontiguousarray(part)})["y"]
    assert binding.adopted("x0") is True
    assert np.array_equal(read(binding.outputs["y"]), expected)


@pytest.mark.parametrize("kind", STRIDES)
def test_sums_of_strided_inputs(unified, kind):
    block, weights = host(unified, [16, 16]), host(unified, [16, 16])
    block[...] = (np.arange(256) * 37 % 101).reshape(16, 16)
    weights[...] = (np.arange(256) * 29 % 97).reshape(16, 16)
    a, b = STRIDES[kind](block), weights[15:3:-2, 3:12:2]
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["p"]),
        helper.make_node("Constant", [], ["axis"], value=helper.make_tensor("axis", 7, [1], [0])),
        helper.make_node("ReduceSum", ["a", "axis"], ["s"], keepdims=0),
    ]
    model = models.graph(nodes, [("a", F32, [8, 6]), ("b", F32, [6, 5])], [("p", F32, [8, 5]), ("s", F32, [6])])
    binding = unified.compile(model).bind({"a": strided(unified, block, a), "b": strided(unified, weights, b)})
    binding.submit().wait()
    assert np.array_equal(read(binding.outputs["p"]), a @ b)
    assert np.array_equal(read(binding.outputs["s"]), a.sum(0))


@pytest.mark.parametrize("kind", ["columns", "reversed", "transposed"])
def test_strided_outputs_leave_the_rest_alone(unified, kind):
    block, expected = host(unified, [16, 16]), np.full((16, 16), 9, np.float32)
    block[...] = 9
    x = np.arange(48, dtype=np.float32).reshape(8, 6)
    executable = unified.compile(unary("Neg", (8, 6)))
    output = strided(unified, block, STRIDES[kind](block))
    executable.bind({"x0": filled(executable, "x0", x)}, {"y": output}).submit().wait()
    STRIDES[kind](expected)[...] = -x
    assert np.array_equal(block, expected)


def test_strides_that_cannot_be_right(unified):
    block = host(unified, [16, 16])
    executable = unified.compile(unary("Neg", (8, 6)))
    memory = ExternalMemory("host", block.ctypes.data, 0, block.nbytes)
    x = executable.allocate("x0")
    cases = [
        ((62, 4), 0, Unsupported, "multiples"),
        ((64, 4), 2, Unsupported, "multiple"),
        ((0, 4), 0, Unsupported, "share places"),
        ((8, 4), 0, Unsupported, "share places"),
        ((-64, 4), 0, RunError, "reaches"),
        ((64, 512), 0, RunError, "reaches"),
        ((64, 4, 4), 0, RunError, "rank"),
    ]
    for strides, first, error, words in cases:
        given = ExternalMemory(memory.kind, memory.handle, 0, memory.nbytes, strides, first)
        with pytest.raises(error, match=words):
            executable.bind({"x0": x}, {"y": unified.import_(given)})


def test_imports_that_are_declined(device):
    block = host(device, [64, 64])
    declared = device.capabilities()
    address = block.ctypes.data
    refused = [
        ExternalMemory("host", address + 4, 0, 64 * device.size_multiple),
        ExternalMemory("host", address, 4, 64 * device.size_multiple),
        ExternalMemory("host", 0, 0, 64),
        ExternalMemory("cl_mem", 0, 0, 64),
        ExternalMemory("dmabuf", 3, 0, 64),
        ExternalMemory("host", address, 0, -1),
    ]
    for memory in refused:
        with pytest.raises(Unsupported):
            device.import_(memory)
    assert declared.alignment == device.alignment
    small = device.import_(ExternalMemory("host", address, 0, 64 * device.size_multiple))
    with pytest.raises(RunError, match="needs"):
        device.compile(unary("Neg", (64, 64))).bind({"x0": small})


def test_export_and_import_of_a_cl_mem(unified):
    executable = unified.compile(unary("Neg"))
    x = filled(executable, "x0", np.full(SHAPE, 4, np.float32))
    for kind in ("cl_mem", "host"):
        again = unified.import_(x.export(kind))
        binding = executable.bind({"x0": again})
        binding.submit().wait()
        assert (read(binding.outputs["y"]) == -4).all()
        assert again.address == x.address
    with pytest.raises(Unsupported):
        x.export("dmabuf")
    beyond = x.export("cl_mem")
    with pytest.raises(Unsupported, match="of a cl_mem of"):
        unified.import_(ExternalMemory("cl_mem", beyond.handle, 64, beyond.nbytes))
    other = registry.load("opencl").open(unified.info, {})
    with pytest.raises(Unsupported, match="another context"):
        other.import_(beyond)


def slow_product(device):
    """(size, executable, operand) of a product of ones that takes this device 50 ms or more."""
    n = 256
    while True:
        executable = device.compile(models.single("MatMul", [F32, F32], [[n, n], [n, n]], F32))
        ones = filled(executable, "x0", np.ones((n, n), np.float32))
        binding = executable.bind({"x0": ones, "x1": ones})
        binding.submit().wait()  # some runtimes compile once more at the first run
        start = time.perf_counter()
        binding.submit().wait()
        if time.perf_counter() - start > 0.05:
            return n, executable, ones
        n *= 2


def test_submission_returns_before_the_work_is_done_and_queues_keep_order(device):
    n, product, ones = slow_product(device)
    first = product.bind({"x0": ones, "x1": ones})
    negative = device.compile(unary("Neg", (n, n)))
    second = negative.bind({"x0": first.outputs["y"]})
    with ones.map("w") as target:
        target[...] = 2
    queues = [device.queue(), device.queue()]
    slow = first.submit(queues[0])
    assert not slow.done()
    with pytest.raises(TimeoutError):
        slow.wait(1e-4)
    fast = second.submit(queues[1], after=[slow])
    assert not fast.done()
    fast.wait(60)
    assert slow.done()
    assert (read(second.outputs["y"]) == -4 * n).all()


def test_after_holds_between_buffers_that_share_nothing(device):
    _, product, ones = slow_product(device)
    slow = product.bind({"x0": ones, "x1": ones})
    negative = device.compile(unary("Neg", (8, 8)))
    fast = negative.bind({"x0": filled(negative, "x0", np.ones((8, 8), np.float32))})
    pending = slow.submit(device.queue())
    fast.submit(device.queue(), after=[pending]).wait()
    assert pending.done()


def test_queues_that_share_an_input(device):
    negative, absolute = device.compile(unary("Neg")), device.compile(unary("Abs"))
    x = filled(negative, "x0", np.full(SHAPE, -3, np.float32))
    bindings = [negative.bind({"x0": x}), absolute.bind({"x0": x}), negative.bind({"x0": x})]
    fences = [binding.submit(device.queue()) for _ in range(20) for binding in bindings]
    for fence in fences:
        fence.wait(60)
    assert all((read(binding.outputs["y"]) == 3).all() for binding in bindings)


def test_layouts(device):
    x = np.arange(2 * 3 * 5 * 7, dtype=np.float32).reshape(2, 3, 5, 7)
    model = models.single("Concat", [F32, F32], [[2, 3, 5, 7], [2, 3, 5, 7]], F32, axis=1)
    executable = device.compile(model, {"layout.x0": "NHWC", "layout.y": "NHWC"})
    assert [spec.shape for spec in executable.inputs] == [(2, 5, 7, 3), (2, 3, 5, 7)]
    y = executable.run({"x0": np.ascontiguousarray(x.transpose(0, 2, 3, 1)), "x1": -x})["y"]
    assert np.array_equal(y, np.concatenate([x, -x], 1).transpose(0, 2, 3, 1))
    for options in ({"layout.x0": "NK"}, {"layout.z": "NHWC"}, {"layout.x0": "NC1HWC0"}, {"cache": "x"}):
        with pytest.raises(Unsupported):
            device.compile(model, options)
    with pytest.raises(ValueError, match="clock"):
        device.compile(model, {"clock": "1"})


def test_out_of_memory_is_told_and_survived(device):
    import pyopencl as cl

    largest = device.cl_device.get_info(cl.device_info.MAX_MEM_ALLOC_SIZE)
    executable = device.compile(unary("Neg", (largest // 4 + 1024,)))
    with pytest.raises(OutOfMemory) as caught:
        executable.allocate("x0")
    assert caught.value.phase == "allocate"
    assert caught.value.code.startswith("CL_")
    assert "failed" in caught.value.text
    small = device.compile(models.add([4]))
    assert small.run({"x": np.ones(4, np.float32)})["y"].tolist() == [2] * 4


def test_a_kernel_that_does_not_build_is_told(device):
    with pytest.raises(CompileError) as caught:
        device.kernel("__kernel void run(__global int *y) { y[0] = no_such_name; }")
    assert (caught.value.code, caught.value.accepted) == ("CL_BUILD_PROGRAM_FAILURE", True)
    assert "no_such_name" in caught.value.text


def test_codes_become_the_interface_s_errors():
    from backends.opencl.errors import translate

    def error(code: int) -> Exception:
        failure = RuntimeError(f"clEnqueueNDRangeKernel failed: CODE_{-code}")
        failure.code = code  # type: ignore[attr-defined]
        return failure

    kinds = {-4: OutOfMemory, -5: OutOfMemory, -6: OutOfMemory, -2: DeviceLost, -9999: DeviceLost, -54: RunError}
    for code, kind in kinds.items():
        found = translate(error(code), "run")
        assert type(found) is kind
        assert found.text == f"clEnqueueNDRangeKernel failed: CODE_{-code}"
        assert found.phase == "run"
    assert translate(error(-54), "run").code == "CL_CODE_54"


def test_what_is_declined_and_what_is_broken(device):
    declined = [
        models.single("Identity", [TensorProto.STRING], [[2]], TensorProto.STRING),
        models.single("Identity", [TensorProto.INT4], [[2]], TensorProto.INT4),
        models.single("Cast", [F32], [[2]], TensorProto.FLOAT8E5M2, to=TensorProto.FLOAT8E5M2),
        models.single("MaxPool", [F32], [[1, 1, 4, 4]], F32, kernel_shape=[2, 2]),
        models.single("Softmax", [F32], [[2, 3, 4]], F32, opset=11),
        models.add(["n", 4]),
    ]
    for model in declined:
        with pytest.raises(Unsupported):
            device.compile(model)
    for broken in (b"no model", models.single("Add", [F32, F32], [[2], [3]], F32)):
        with pytest.raises(CompileError):
            device.compile(broken)
    executable = device.compile(models.add([4]))
    for feeds in ({}, {"x": np.ones(5, np.float32)}, {"x": np.ones(4)}):
        with pytest.raises(RunError):
            executable.run(feeds)


def test_buffers_of_another_kind_type_or_device(device):
    executable = device.compile(models.add([4]))
    other = registry.load("opencl").open(device.info, {}).compile(models.add([4]))
    integers = device.compile(models.single("Neg", [TensorProto.INT32], [[4]], TensorProto.INT32))
    cases = [
        ({"x": HostBuffer(np.ones(4, np.float32))}, Unsupported),
        ({"x": other.allocate("x")}, Unsupported),
        ({"x": integers.allocate("x0")}, RunError),
        ({}, RunError),
    ]
    for buffers, error in cases:
        with pytest.raises(error):
            executable.bind(buffers)


def test_empty_tensors(device):
    executable = device.compile(unary("Neg", (0, 3)))
    assert executable.run({"x0": np.empty((0, 3), np.float32)})["y"].shape == (0, 3)
    binding = executable.bind({"x0": device.import_(ExternalMemory("host", 0, 0, 0))})
    binding.submit().wait()
    assert read(binding.outputs["y"]).shape == (0, 3)


def test_constants_and_values_inside_the_graph(device):
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Constant", [], ["one"], value=helper.make_tensor("one", F32, [], [1.0])),
        helper.make_node("Add", ["p", "one"], ["q"]),
        helper.make_node("Max", ["q", "p", "one"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "constants",
        [helper.make_tensor_value_info("x", F32, [2, 3])],
        [helper.make_tensor_value_info("y", F32, [2, 4])],
        [helper.make_tensor("w", F32, [3, 4], weights.ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    executable = device.compile(model)
    x = np.array([[1, -2, 1], [-3, 2, 0.5]], np.float32)
    assert np.array_equal(executable.run({"x": x})["y"], np.maximum(x @ weights + 1, 1))
    assert [placed.operator for placed in executable.placement()] == ["MatMul", "Add", "Max"]
