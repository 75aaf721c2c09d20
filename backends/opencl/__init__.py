"""Any OpenCL 1.2 device as a target for models of about thirty operators; on an ordinary PC, PoCL is one.

`operators` says how each is lowered to launches of `kernels`, `memory` shares memory with the host, `execute` runs.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from backends import machine, options, registry
from backends.interface import (
    LAYOUTS,
    Backend,
    Buffer,
    Capabilities,
    Device,
    DeviceInfo,
    Executable,
    ExternalMemory,
    Options,
    Unsupported,
)
from backends.opencl.compiler import compile_model
from backends.opencl.elements import NUMBERS
from backends.opencl.errors import translated
from backends.opencl.execute import OpenClExecutable, OpenClQueue
from backends.opencl.memory import Allocation, adopt
from backends.opencl.operators import declared
from backends.opencl.program import Target

WHERE = "__kernel void run(__global const uchar *p, __global ulong *address) { address[0] = (ulong)p; }"
"""The address under which a kernel sees a memory object."""

GROUP = 64
"""Work items of a group: a multiple of what any GPU runs in step. Always the same, since some runtimes compile for each."""


FEATURES = frozenset({"allocate", "bind-outputs", "in-place", "export", "async", "queues", "copies", "deterministic"})
SHARED = frozenset({"import", "strided-import", "view", "dlpack"})
"""What needs memory that host and device share: others import, too, but work on a copy, as `adopted` says."""


class OpenClBackend(Backend):
    """OpenCL through pyopencl: GPUs first, then accelerators, then CPUs."""

    name = "opencl"
    needs = "pyopencl and an OpenCL 1.2 driver, e.g. PoCL"
    extra = "opencl"
    known_options: ClassVar[Mapping[str, str]] = {}

    def unavailable(self) -> str | None:
        return registry.missing("pyopencl", "pyopencl and an OpenCL driver", self.extra)

    def discover(self) -> list[DeviceInfo]:
        return [self._info(name, device) for name, device in _devices().items()]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        _check(options)
        found = _devices()
        if info.name not in found:
            raise ValueError(f"OpenCL has no device {info.name!r} here; it has {', '.join(found) or 'none'}")
        return OpenClDevice(self._info(info.name, found[info.name]), found[info.name])

    def _info(self, name: str, device: Any) -> DeviceInfo:
        versions = machine.versions(["pyopencl", "pocl-binary-distribution", "numpy", "onnx", "ml_dtypes"])
        platform = f"{device.platform.name.strip()} {device.platform.version.strip()}"
        return DeviceInfo(
            backend=self.name,
            name=name,
            kind="hardware",
            vendor=device.vendor.strip(),
            soc=device.name.strip(),
            driver=device.driver_version.strip(),
            runtime=f"pyopencl {versions.get('pyopencl', '')}, {platform}",
            compiler=device.opencl_c_version.strip(),
            host=machine.host(),
            versions={**versions, "platform": platform, "device": device.version.strip()},
        )


def _check(given: Options) -> None:
    options.check(given, OpenClBackend.known_options, OpenClBackend.name)


def _devices() -> dict[str, Any]:
    """GPU, GPU.1, ACCELERATOR, CPU, …: every device that is there, has a compiler and is little-endian."""
    import pyopencl as cl

    try:
        platforms = cl.get_platforms()
    except cl.LogicError:  # CL_PLATFORM_NOT_FOUND_KHR: no driver is installed
        platforms = []
    found: dict[str, Any] = {}
    for kind in ("GPU", "ACCELERATOR", "CPU"):
        for platform in platforms:
            with contextlib.suppress(cl.RuntimeError, cl.LogicError):  # CL_DEVICE_NOT_FOUND: the platform has none of the kind
                for device in platform.get_devices(getattr(cl.device_type, kind)):
                    if device.available and device.compiler_available and device.endian_little:
                        count = sum(name.partition(".")[0] == kind for name in found)
                        found[f"{kind}.{count}" if count else kind] = device
    return found


class OpenClDevice(Device):
    """A context of one device, its default queue, and the kernels built so far."""

    def __init__(self, info: DeviceInfo, device: Any) -> None:
        import pyopencl as cl

        self.info = info
        self.cl_device = device
        with translated("discover"):
            self.context = cl.Context([device])
            self.commands = cl.CommandQueue(self.context)
        self.live: weakref.WeakSet[Allocation] = weakref.WeakSet()
        self.unified = bool(device.host_unified_memory)
        self.group = min(GROUP, device.max_work_group_size)
        on_cpu = bool(device.type & cl.device_type.CPU)
        natural = max(1, device.mem_base_addr_align // 8)
        # A GPU shares whole pages and cache lines; Intel's copies whatever is not aligned to both.
        self.alignment = natural if on_cpu else max(natural, mmap.PAGESIZE)
        self.size_multiple = 1 if on_cpu or not self.unified else 64
        config = device.single_fp_config
        self._config: dict[str, bool] = {
            "nearest": bool(config & cl.device_fp_config.ROUND_TO_NEAREST),
            "subnormals": bool(config & cl.device_fp_config.DENORM),
            "divides": bool(config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        }
        doubles = "cl_khr_fp64" in device.extensions.split()
        computed = NUMBERS | {"bool"} if doubles else NUMBERS - {"float64"} | {"bool"}
        self.target = Target(frozenset(computed), self._config["divides"])
        self._built: dict[str, Any] = {}
        self._copies = 0

    def capabilities(self) -> Capabilities:
        rung: dict[str, Any] = {"rung": "fp32" if self._config["nearest"] else "fp32-faithful"}
        if not self._config["subnormals"]:
            rung["flushes"] = True
        if self.cl_device.profile == "EMBEDDED_PROFILE":
            rung["functions"] = "embedded"
        precision: dict[str, Any] = dict.fromkeys(("float32", "float16", "bfloat16"), rung)
        if "float64" in self.target.computed:
            precision["float64"] = "fp64"
        shared = SHARED if self.unified else frozenset()
        return Capabilities(
            operators=declared(self.target),
            precision=precision,
            layouts=frozenset(LAYOUTS),
            alignment=self.alignment,
            size_multiple=self.size_multiple,
            memory_kinds=frozenset({"host", "cl_mem"}),
            dynamic_shapes=False,
            features=frozenset(
                {"allocate", "bind-outputs", "in-place", "export", "async", "queues", "copies", "deterministic", *shared}
            ),
        )

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        """Options `layout.TENSOR` = a name of `LAYOUTS`."""
        given = dict(options or {})
        layouts = {key.removeprefix("layout."): given.pop(key) for key in list(given) if key.startswith("layout.")}
        if "cache" in given:
            raise Unsupported("compiled models are not kept", code="opencl.cache")
        _check(given)
        program = compile_model(model, self.target)
        return OpenClExecutable(self, program, layouts)

    def kernel(self, source: str) -> Any:
        """The kernel `run` of a source text, built once. No option that loosens arithmetic is ever given."""
        import pyopencl as cl

        if source not in self._built:
            flags = ["-cl-fp32-correctly-rounded-divide-sqrt"] if self._config["divides"] else []
            with translated("compile"):
                program = cl.Program(self.context, source).build(flags, cache_dir=False)
                self._built[source] = cl.Kernel(program, "run")
        return self._built[source]

    def address_in_kernel(self, mem: Any) -> int:
        """Where a kernel sees a memory object."""
        import pyopencl as cl

        seen = np.zeros(1, np.uint64)
        target = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, seen.nbytes)
        kernel = self.kernel(WHERE)
        kernel.set_args(mem, target)
        cl.enqueue_nd_range_kernel(self.commands, kernel, (1,), (1,))
        cl.enqueue_copy(self.commands, seen, target)
        return int(seen[0])

    def queue(self) -> OpenClQueue:
        import pyopencl as cl

        with translated("load"):
            return OpenClQueue(cl.CommandQueue(self.context))

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Host memory, or a cl_mem of this device's context, as raw bytes that `bind` lays out as the tensor."""
        if memory.kind not in ("host", "cl_mem"):
            return super().import_(memory)
        return adopt(self, memory)

    def copied(self) -> None:
        """A command copied a tensor."""
        self._copies += 1

    def copies(self) -> int:
        return self._copies

    def close(self) -> None:
        """Waits for the default queue. The context goes when the last buffer or view does."""
        with translated("run"):
            self.commands.finish()
        self._built.clear()
