"""Qualcomm's HTP (Hexagon) through ONNX Runtime's QNN plugin; on x86-64 the wheel runs Qualcomm's HTP emulator.

What surprises (onnxruntime-qnn 2.3 to 2.7): provider options stick to the process, so a worker serves one set of
options; a float32 graph computes in float16 as soon as soc_model is given; values of options are not validated by the
provider; a backend library or soc_model that does not exist makes the partitioner decline every node, which `open`
tells from a model that is unsupported by compiling one Relu.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from backends import machine, options, registry
from backends.interface import BackendError, Capabilities, Device, DeviceInfo, DeviceLost, Executable, Options
from backends.onnxruntime import OnnxRuntimeBackend, OnnxRuntimeDevice, OnnxRuntimeExecutable, create_session, features

PROVIDER_OPTIONS = (
    "device_id",
    "enable_htp_fp16_precision",
    "enable_htp_shared_memory_allocator",
    "enable_htp_spill_fill_buffer",
    "extended_udma",
    "htp_arch",
    "htp_bf16_enable",
    "htp_graph_finalization_optimization_mode",
    "htp_performance_mode",
    "offload_graph_io_quantization",
    "profiling_file_path",
    "profiling_level",
    "qnn_context_priority",
    "rpc_control_latency",
    "skip_qnn_version_check",
    "soc_model",
    "vtcm_mb",
)
"""Provider options that change what the HTP computes, how fast or what it records (onnxruntime.ai, QNN provider)."""

FLAGS = (
    "enable_htp_fp16_precision",
    "enable_htp_shared_memory_allocator",
    "enable_htp_spill_fill_buffer",
    "htp_bf16_enable",
)
PERFORMANCE_MODES = (
    "default",
    "burst",
    "balanced",
    "extreme_power_saver",
    "high_performance",
    "high_power_saver",
    "low_balanced",
    "low_power_saver",
    "power_saver",
    "sustained_high_performance",
)


class QnnBackend(OnnxRuntimeBackend):
    """Qualcomm HTP through ONNX Runtime's QNN execution provider; the x86-64 wheel runs Qualcomm's HTP emulator."""

    name = "qnn"
    needs = "ONNX Runtime and onnxruntime-qnn 2"
    extra = "qnn"
    provider = "QNNExecutionProvider"
    distributions = ("onnxruntime-qnn",)
    known_options: ClassVar[Mapping[str, str]] = {
        **{key: text for key, text in OnnxRuntimeBackend.known_options.items() if key != "ep"},
        "backend_path": "QNN backend library; the wheel's own libQnnHtp by default",
        **dict.fromkeys(PROVIDER_OPTIONS, "provider option"),
    }
    option_prefixes: ClassVar[tuple[str, ...]] = ()

    def unavailable(self) -> str | None:
        missing = registry.missing("onnxruntime", "ONNX Runtime", self.extra)
        return missing or registry.missing("onnxruntime_qnn", "Qualcomm's QNN plugin", self.extra)

    def check_options(self, given: Options) -> dict[str, str]:
        checked = super().check_options(given)
        options.choice(checked, "htp_performance_mode", PERFORMANCE_MODES, "default")
        for flag in FLAGS:
            options.choice(checked, flag, "01", "0")
        for number in ("soc_model", "htp_arch", "device_id", "vtcm_mb"):
            options.integer(checked, number, 0)
        return checked

    def discover(self) -> list[DeviceInfo]:
        """One device, HTP: hardware if ONNX Runtime found an NPU for the plugin, emulated if it was given a CPU."""
        import onnxruntime
        import onnxruntime_qnn

        devices = self._devices()
        if not devices:
            return []
        hardware = [d for d in devices if d.device.type == onnxruntime.OrtHardwareDeviceType.NPU]
        package = onnxruntime_qnn.build_and_package_info
        sdk = str(getattr(package, "qnn_version", ""))
        versions = machine.versions(["onnxruntime", "onnxruntime-qnn", "numpy", "onnx", "ml_dtypes"])
        info = DeviceInfo(
            backend=self.name,
            name="HTP",
            kind="hardware" if hardware else "emulated",
            vendor="Qualcomm",
            soc=str(dict(hardware[0].device.metadata).get("Description", "")) if hardware else "HTP emulator",
            driver=str(dict((hardware or devices)[0].ep_metadata).get("version", "")),
            runtime=f"onnxruntime {onnxruntime.__version__}, onnxruntime-qnn {versions.get('onnxruntime-qnn', '')}",
            compiler=f"QNN SDK {sdk}".rstrip(),
            host=machine.host(),
            versions={**versions, "qnn-sdk": sdk} if sdk else versions,
        )
        return [info]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        checked = self.check_options(options)
        found = self.discover()
        if not found:
            raise DeviceLost(f"onnxruntime_qnn offers no QNN device on this {platform.machine()} machine", phase="discover")
        device = QnnDevice(self, found[0], self.provider, checked)
        try:
            device.compile(one_relu())
        except BackendError as error:
            raise DeviceLost(f"the HTP refuses even one Relu: {error.text}", phase="discover", code=error.code) from error
        return device

    def session_arguments(self, provider: str, given: Options, session_options: Any) -> dict[str, Any]:
        import onnxruntime
        import onnxruntime_qnn

        devices = self._devices()
        hardware = [d for d in devices if d.device.type == onnxruntime.OrtHardwareDeviceType.NPU]
        provider_options = {"backend_path": onnxruntime_qnn.get_qnn_htp_path()}
        provider_options.update({key: given[key] for key in ("backend_path", *PROVIDER_OPTIONS) if key in given})
        session_options.add_provider_for_devices(hardware or devices, provider_options)
        return {}

    def _devices(self) -> list[Any]:
        """ONNX Runtime's devices of the plugin, which is registered once a process."""
        import onnxruntime
        import onnxruntime_qnn

        def offered() -> list[Any]:
            return [device for device in onnxruntime.get_ep_devices() if device.ep_name == self.provider]

        if not offered():
            onnxruntime.register_execution_provider_library(self.provider, onnxruntime_qnn.get_library_path())
        return offered()


def one_relu() -> bytes:
    """The smallest model that any healthy HTP runs: float32 Relu of [1, 4]."""
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "relu", [x], [y])
    opset = helper.make_opsetid("", 21)
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString())


class QnnDevice(OnnxRuntimeDevice):
    """The HTP. It declares nothing about itself: precision depends on soc_model, the partitioner answers per model."""

    def capabilities(self) -> Capabilities:
        """Host memory can be bound, but whether the HTP uses it in place nobody says: real ones copy what is not registered."""
        return Capabilities(memory_kinds=frozenset({"host"}), features=features(on_cpu=False))

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        merged = self.backend.check_options({**self.options, **(options or {})})
        return QnnExecutable(self, create_session(self.backend, self.provider, model, merged), model, merged)


class QnnExecutable(OnnxRuntimeExecutable):
    """A session whose graphs were composed and finalised by QNN."""

    def __init__(self, device: OnnxRuntimeDevice, session: Any, model: bytes, given: Options) -> None:
        super().__init__(device, session, model)
        self._options = given

    def export(self) -> bytes:
        """An ONNX model with the QNN context binary embedded (EPContext node), from a second compilation."""
        device = self.device
        assert isinstance(device, OnnxRuntimeDevice)
        with tempfile.TemporaryDirectory(prefix="npu-cts-") as folder:
            path = Path(folder) / "context.onnx"
            entries = {"ep.context_enable": "1", "ep.context_embed_mode": "1", "ep.context_file_path": str(path)}
            create_session(device.backend, self.provider, self.model, self._options, entries)
            return path.read_bytes()
