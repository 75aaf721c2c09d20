"""Memory, queues and clock of the simulated device: what host and device see, and when."""

from __future__ import annotations

import dataclasses
import gc
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from backends import registry
from backends.interface import ExternalMemory, OutOfMemory, RunError, Unsupported
from backends.sim.device import SimDevice

from . import models

pytest.importorskip("onnxruntime")


def opened(name="generic"):
    backend = registry.load("sim")
    return backend.open(next(info for info in backend.discover() if info.name == name), {})


@pytest.fixture
def device():
    with_memory = opened()
    yield with_memory
    with_memory.close()


def bound(device, shape=(4,), values=(1, 2, 3, 4)):
    """y = x + x, bound to memory of the device's own that holds `values`."""
    executable = device.compile(models.add(list(shape)))
    x, y = executable.allocate("x"), executable.allocate("y")
    with x.map("w") as array:
        array[...] = np.reshape(values, shape)
    return executable, x, y, executable.bind({"x": x}, {"y": y})


def at(array, device, **more):
    """An array's memory, imported."""
    return device.import_(ExternalMemory("host", int(array.ctypes.data), 0, array.nbytes, **more))


def test_read_without_the_fence_is_stale_and_the_fence_cures_it(device):
    _, x, y, binding = bound(device)
    view = y.view()
    before = view.copy()
    fence = binding.submit()
    while not fence.done():
        time.sleep(0.001)
    assert view.tobytes() == before.tobytes()  # complete on the device, yet not seen by the host
    fence.wait()
    assert view.tolist() == [2, 4, 6, 8]
    with x.map("w") as array:
        array[...] = 5
    fence = binding.submit()
    fence.block()
    assert view.tolist() == [2, 4, 6, 8]
    with y.map("r") as array:  # mapping waits and makes visible, too
        assert array.tolist() == [10] * 4
    assert view.tolist() == [10] * 4


def test_coherent_memory_needs_no_fence():
    device = opened()
    device.memory.rules = dataclasses.replace(device.memory.rules, coherent=True)
    _, _, y, binding = bound(device)
    view = y.view()
    binding.submit().block()
    assert view.tolist() == [2, 4, 6, 8]


def test_imported_memory_is_seen_by_the_next_run(device):
    memory, result = np.zeros(4, np.float32), np.full(4, -1, np.float32)
    binding = device.compile(models.add([4])).bind({"x": at(memory, device)}, {"y": at(result, device)})
    memory[:] = [1, 2, 3, 4]
    fence = binding.submit()
    fence.block()
    assert result.tolist() == [-1] * 4
    fence.wait()
    assert result.tolist() == [2, 4, 6, 8]
    assert (binding.adopted("x"), binding.adopted("y"), device.copies()) == (True, True, 0)


def test_unaligned_memory_is_copied_and_counted():
    device = opened("hexagon-htp")
    block = np.zeros(3 * 4096, np.uint8)
    start = -block.ctypes.data % 4096
    aligned, unaligned = (block[start + shift : start + shift + 128].view(np.float32) for shift in (0, 4))
    binding = device.compile(models.add([32])).bind({"x": at(aligned, device)})
    binding.submit().wait()
    assert (binding.adopted("x"), device.copies()) == (True, 0)
    binding = device.compile(models.add([32])).bind({"x": at(unaligned, device)})
    unaligned[...] = 3
    before = device.clock()
    binding.submit().wait()
    assert (binding.adopted("x"), device.copies()) == (False, 1)
    assert device.clock() - before > device.profile.clock.transfer_latency
    with binding.outputs["y"].map("r") as y:
        assert y.tolist() == [6] * 32


def test_discrete_memory_copies_on_mapping_alone():
    device = opened("mapped-discrete")
    _, _, y, binding = bound(device)
    uploaded = device.copies()
    assert uploaded == 1
    view = y.view()
    binding.submit().wait()
    assert (view.tolist(), device.copies()) == ([2, 4, 6, 8], uploaded)
    assert y.address is None
    assert not view.flags.writeable
    with y.map("r"):
        assert device.copies() == uploaded + 1
    with pytest.raises(Unsupported):
        at(np.zeros(64, np.float32), device)


def test_rows_lie_as_the_profile_says():
    device = opened("ascend-310p")
    executable, x, y, binding = bound(device, (3, 5), range(15))
    spec = executable.inputs[0]
    assert spec.strides[0] % device.profile.memory.pitch_multiple == 0
    assert spec.strides[1] == 2 or spec.strides[1] == 4
    assert spec.nbytes >= 3 * spec.strides[0]
    binding.submit().wait()
    with x.map("r") as array, y.map("r") as result:
        assert array.strides == spec.strides
        assert result.tolist() == (np.arange(15).reshape(3, 5) * 2).tolist()


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4)])
def test_strides_of_imported_memory(device, shape):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wide = np.full((*shape[:-1], 2 * shape[-1]), -7, np.float32)
    wide[..., ::2] = values
    executable = device.compile(models.add(list(shape)))
    every_other = at(wide, device, strides=wide[..., ::2].strides)
    reversed_ = np.ascontiguousarray(values[::-1])
    backwards = reversed_[::-1]
    first = backwards.ctypes.data - reversed_.ctypes.data
    for buffer in (every_other, at(reversed_, device, strides=backwards.strides, first=first)):
        binding = executable.bind({"x": buffer})
        binding.submit().wait()
        with binding.outputs["y"].map("r") as y:
            assert y.tolist() == (values * 2).tolist()
    target = np.full_like(wide, -7)
    executable.bind({"x": every_other}, {"y": at(target, device, strides=wide[..., ::2].strides)}).submit().wait()
    assert (target[..., ::2] == values * 2).all()
    assert (target[..., 1::2] == -7).all()


@pytest.mark.parametrize(("strides", "first"), [((20,), 0), ((40, 8), 0), ((20, 4), 4), ((-20, 4), 0)])
def test_strides_that_leave_the_memory_are_refused(device, strides, first):
    buffer = at(np.zeros(15, np.float32), device, strides=strides, first=first)
    with pytest.raises(RunError, match="do not fit") as refused:
        device.compile(models.add([3, 5])).bind({"x": buffer})
    assert refused.value.phase == "load"


def test_what_does_not_fit_is_refused(device):
    executable = device.compile(models.add([4]))
    other = device.compile(models.add([5])).allocate("x")
    x, y = executable.allocate("x"), executable.allocate("y")
    for inputs, outputs, text in (
        ({"x": other}, None, "float32\\[5\\] bound to x, which is float32\\[4\\]"),
        ({"x": at(np.zeros(3, np.float32), device)}, None, "12 bytes bound to x, which needs 16"),
        ({}, None, "nothing is bound to x"),
        ({"x": x}, {}, "nothing is bound to y"),
    ):
        with pytest.raises(RunError, match=text):
            executable.bind(inputs, outputs)
    x.release()
    with pytest.raises(RunError, match="released"):
        executable.bind({"x": x}, {"y": y})
    with pytest.raises(RunError, match="the model has no input z"):
        executable.bind({"x": y, "z": y})


def test_overlapping_outputs_are_refused_and_in_place_is_right(device):
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    code = TensorProto.FLOAT
    executable = device.compile(models.graph(nodes, [("x", code, [4])], [("y", code, [4]), ("z", code, [4])]))
    memory = np.arange(8, dtype=np.float32)
    x, y, z = (at(memory[slice(*part)], device) for part in ((0, 4), (0, 4), (3, 7)))
    with pytest.raises(RunError, match="overlap"):
        executable.bind({"x": x}, {"y": y, "z": z})
    executable.bind({"x": x}, {"y": y, "z": executable.allocate("z")}).submit().wait()
    assert memory.tolist() == [0, 2, 4, 6, 4, 5, 6, 7]


def test_views_keep_memory_and_its_bytes_are_not_used_again(device):
    executable, _, y, binding = bound(device)
    binding.submit().wait()
    view = y.view()
    y.release()
    y.release()
    del binding
    executable.release()
    others = [executable.allocate("y") for _ in range(8)]
    for other in others:
        with other.map("w") as array:
            array[...] = 9
    assert view.tolist() == [2, 4, 6, 8]
    with pytest.raises(RunError, match="released"), y.map("r"):
        pass
    in_use = device.allocated()
    del view
    gc.collect()
    assert device.allocated() == in_use - 16


def test_memory_given_back_is_poisoned_and_used_again(device):
    executable, x, y, binding = bound(device)
    binding.submit().wait()
    region = y.region
    del binding
    y.release()
    gc.collect()
    assert bytes(region.device) == bytes([0xDD]) * 16
    again = executable.allocate("y")
    assert again.region.block is region.block
    with again.map("r") as array:
        assert array.tobytes() == bytes([0xA5]) * 16
    x.release()
    again.release()
    gc.collect()
    assert device.allocated() == 0


def test_writing_beside_a_region_is_found(device):
    _, _, y, binding = bound(device)
    y.region.block[y.region.device.ctypes.data - y.region.block.ctypes.data + 16] = 0
    with pytest.raises(RunError, match="beside a region of 16 bytes"):
        binding.submit().wait()


def test_memory_can_be_exhausted_and_recovers(device):
    capacity = device.profile.memory.capacity
    executable = device.compile(models.add([capacity // 16]))
    held = [executable.allocate("x") for _ in range(4)]  # a quarter each
    with pytest.raises(OutOfMemory) as full:
        executable.allocate("x")
    assert full.value.phase == "allocate"
    for buffer in held:
        buffer.release()
    assert device.allocated() == 0
    executable.allocate("x").release()


def test_work_waits_for_its_fences_across_queues(device, monkeypatch):
    gate, order = threading.Event(), []
    compute = device.compute

    def slow(program, engine, inputs):
        if not order:
            assert gate.wait(10)
        order.append(float(inputs["x"][0]))
        return compute(program, engine, inputs)

    monkeypatch.setattr(device, "compute", slow)
    executable, _, middle, first = bound(device)
    last = executable.allocate("y")
    second = executable.bind({"x": middle}, {"y": last})
    one, other = device.queue(), device.queue()
    assert one is not other
    fence = first.submit(one)
    after = second.submit(other, [fence])
    assert not fence.done()
    with pytest.raises(TimeoutError):
        fence.wait(0.01)
    gate.set()
    after.wait()
    assert order == [1.0, 2.0]
    with last.map("r") as y:
        assert y.tolist() == [4, 8, 12, 16]


def test_errors_of_a_run_reach_whoever_waits(device, monkeypatch):
    _, _, _, binding = bound(device)

    def fails(program, engine, inputs):
        raise RunError("it broke")

    monkeypatch.setattr(device, "compute", fails)
    fence = binding.submit()
    with pytest.raises(RunError, match="it broke"):
        fence.wait()
    monkeypatch.undo()
    binding.submit().wait()


def test_clock_is_the_same_every_time_and_grows_with_the_work():
    def spent(n):
        device = opened("hexagon-htp")
        executable = device.compile(models.add([n]))
        buffers = executable.allocate("x"), executable.allocate("y")
        before = device.clock()
        executable.bind({"x": buffers[0]}, {"y": buffers[1]}).submit().wait()
        return device.clock() - before

    assert spent(1000) == spent(1000)
    assert spent(4_000_000) > 2 * spent(1000)


def test_packed_types_share_bytes(device):
    code = TensorProto.INT4
    executable = device.compile(
        models.graph([helper.make_node("Identity", ["x"], ["y"])], [("x", code, [5])], [("y", code, [5])])
    )
    assert executable.inputs[0].nbytes == 3
    memory = np.array([0x21, 0xF8, 0x07], np.uint8)  # 1, 2, -8, -1, 7
    binding = executable.bind({"x": at(memory, device)})
    binding.submit().wait()
    with binding.outputs["y"].map("r") as y:
        assert y.dtype == ml_dtypes.int4
        assert y.astype(int).tolist() == [1, 2, -8, -1, 7]


def test_nothing_runs_on_a_closed_device(device):
    _, _, _, binding = bound(device)
    device.close()
    device.close()
    with pytest.raises(RunError, match="closed"):
        binding.submit()


def test_options_and_devices_are_checked_by_name():
    backend = registry.load("sim")
    info = backend.discover()[0]
    for options, text in (({"fault": "no-such"}, "no fault 'no-such'"), ({"cpu_fallback": "2"}, "must be one of 0, 1")):
        with pytest.raises(ValueError, match=text):
            backend.open(info, options)
    faulty = backend.open(info, {"fault": "no-invalidate"})
    assert isinstance(faulty, SimDevice)
    assert "fault no-invalidate" in faulty.info.soc


def test_a_failed_run_leaves_its_buffers_usable(device, monkeypatch):
    _, x, y, binding = bound(device)

    def fails(program, engine, inputs):
        raise ValueError("a bad index")

    monkeypatch.setattr(device, "compute", fails)
    fence = binding.submit()
    with x.map("w") as array:  # to correct what was wrong
        array[...] = 3
    with pytest.raises(ValueError, match="bad index"):
        fence.wait()
    monkeypatch.undo()
    binding.submit().wait()
    with y.map("r") as array:
        assert array.tolist() == [6] * 4


def test_closing_while_others_submit_refuses_or_completes(device):
    _, x, _, binding = bound(device)
    refused, fences = [], []

    def submit():
        for _ in range(200):
            try:
                fences.append(binding.submit())
            except RunError as error:
                refused.append(error.code)
                return

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    device.close()
    for thread in threads:
        thread.join()
    for fence in fences:
        fence.wait(10)
    assert set(refused) <= {"sim.closed"}
    with x.map("r") as array:  # a refused submission holds nothing
        assert array.tolist() == [1, 2, 3, 4]
    with pytest.raises(RunError, match="closed"):
        device.compile(models.add([4]))


def test_forgotten_buffers_and_runs_give_their_memory_back(device):
    executable, x, y, binding = bound(device)
    before = device.allocated()
    binding.submit()
    kept = executable.allocate("x")
    with pytest.raises(RunError):
        executable.run({"x": np.zeros(5, np.float32)})
    del kept
    device.queue().close()
    binding.submit().wait()
    gc.collect()
    assert device.allocated() == before
    del x, y, binding
    gc.collect()
    assert device.allocated() == 0


def test_outputs_that_do_not_all_fit_take_nothing(device):
    capacity = device.profile.memory.capacity
    code, shape = TensorProto.FLOAT, [capacity * 3 // 5 // 4]
    nodes = [
        helper.make_node("Constant", [], ["s"], value_ints=shape),
        *(helper.make_node("Expand", ["x", "s"], [name]) for name in "yz"),
    ]
    executable = device.compile(models.graph(nodes, [("x", code, [1])], [("y", code, shape), ("z", code, shape)]))
    x = executable.allocate("x")
    with pytest.raises(OutOfMemory):
        executable.bind({"x": x})
    assert device.allocated() == 4


@pytest.mark.parametrize("nbytes", [-4, 1 << 62])
def test_imports_of_impossible_sizes_are_refused(device, nbytes):
    with pytest.raises(Unsupported):
        device.import_(ExternalMemory("host", 4096, 0, nbytes))
