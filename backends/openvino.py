"""Intel OpenVINO through its own Python API: CPU, GPU and NPU plugins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from backends import machine, options, ovlayout, registry
from backends.elements import memory as array_at
from backends.host import CompletedFence, HostBuffer, ImportedBuffer, check_names
from backends.interface import (
    Backend,
    BackendError,
    Binding,
    Buffer,
    Capabilities,
    CompileError,
    Device,
    DeviceInfo,
    Executable,
    ExternalMemory,
    Fence,
    MemoryKind,
    NodePlacement,
    Options,
    OutOfMemory,
    Phase,
    Queue,
    RunError,
    TensorSpec,
    Unsupported,
)
from backends.ovtensor import element_of, unwrap, wrap

PINNED = ("CPU", "GPU")
"""Devices whose float32 arithmetic is otherwise lowered by default: bfloat16 on CPUs that have it, float16 on GPUs
(docs.openvino.ai, precision control)."""

NO_CONVERSION = ("No conversion rule found for operations", "Unsupported data type")
"""How the ONNX frontend says that it has no translation for an operator or an element type."""

NOT_SUPPORTED = ("is not supported", "Unsupported padding mode")
"""How it declines an attribute's value, together with the code OpConversionFailure."""

CODE = re.compile(r"FrontEnd API failed with (\w+)|^(NotImplemented|ParameterMismatch|GeneralError|NotFound)\b", re.MULTILINE)


def translate(error: Exception, phase: Phase, *, accepted: bool = False) -> BackendError:
    """The interface's error for one of OpenVINO, which raises RuntimeError for everything; its text verbatim."""
    text = str(error)
    match = CODE.search(text)
    code = next(filter(None, match.groups())) if match else type(error).__name__
    if isinstance(error, MemoryError) or any(words in text for words in ("bad_alloc", "Failed to allocate", "OUT_OF_MEMORY")):
        return OutOfMemory(text, phase=phase, code=code)
    if phase == "compile":
        return CompileError(text, code=code, accepted=accepted)
    return RunError(text, phase=phase, code=code)


FEATURES = frozenset({"allocate", "bind-outputs", "compile-cache", "view"})
ON_CPU = frozenset({"import", "threads"})
"""Features of all plugins, and of the CPU's beside those: others may move the memory behind the tensor. `run` makes an infer
request of its own for each call, as docs.openvino.ai asks of threads."""

RUNGS = {"f32": "fp32", "bf16": "bf16-in", "f16": "fp16-faithful"}
"""Inference precision → rung of float32 models (docs/numerics.md)."""


class OpenVinoBackend(Backend):
    """OpenVINO's plugins. Float32 is pinned to float32 arithmetic unless the option precision says otherwise."""

    name = "openvino"
    needs = "OpenVINO"
    extra = "openvino"
    known_options: ClassVar[Mapping[str, str]] = {
        "precision": "arithmetic of float32 models: f32 (default on CPU and GPU), f16 or bf16",
        "threads": "threads of an inference on the CPU; 0, the default, leaves it to OpenVINO",
    }

    def unavailable(self) -> str | None:
        return registry.missing("openvino", "OpenVINO", self.extra)

    def shares(self, device: str | None, options: Options) -> bool:
        return device in (None, "CPU")

    def discover(self) -> list[DeviceInfo]:
        import openvino

        core = openvino.Core()
        names = sorted(core.available_devices, key=lambda name: (name != "CPU", name))
        return [self._info(core, name) for name in names]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        import openvino

        core = openvino.Core()
        if info.name not in core.available_devices:
            raise ValueError(f"OpenVINO has no device {info.name!r} here; it has {', '.join(core.available_devices)}")
        return OpenVinoDevice(self, core, self._info(core, info.name), options)

    def config(self, core: Any, device: str, given: Options) -> dict[str, str]:
        """Options as OpenVINO properties. `config.NAME` sets any writable property of the plugin. Raises ValueError."""
        checked = options.check(given, self.known_options, self.name, ("config.",))
        writable = [key for key, mode in core.get_property(device, "SUPPORTED_PROPERTIES").items() if mode == "RW"]
        config: dict[str, str] = {}
        if device.partition(".")[0] in PINNED or "precision" in checked:
            config["INFERENCE_PRECISION_HINT"] = options.choice(checked, "precision", ("f32", "f16", "bf16"), "f32")
        if threads := options.integer(checked, "threads", 0):
            config["INFERENCE_NUM_THREADS"] = str(threads)
        for key, value in checked.items():
            if key.startswith("config."):
                name = key.removeprefix("config.")
                if name not in writable:
                    raise ValueError(f"option {key}: {device} has no writable property {name}{options.nearest(name, writable)}")
                config[name] = value
        return config

    def _info(self, core: Any, device: str) -> DeviceInfo:
        import openvino

        readable = core.get_property(device, "SUPPORTED_PROPERTIES")
        text = {
            key: str(core.get_property(device, key))
            for key in ("FULL_DEVICE_NAME", "DEVICE_ARCHITECTURE", "NPU_DRIVER_VERSION", "NPU_COMPILER_VERSION")
            if key in readable
        }
        plugin = core.get_versions(device)[device].build_number
        return DeviceInfo(
            backend=self.name,
            name=device,
            kind="hardware",
            vendor="Intel" if device != "CPU" else "",
            soc=text.get("FULL_DEVICE_NAME", ""),
            driver=text.get("NPU_DRIVER_VERSION", ""),
            runtime=f"openvino {openvino.get_version()}",
            compiler=text.get("NPU_COMPILER_VERSION", f"{device.partition('.')[0]} plugin {plugin}"),
            host=machine.host(),
            versions={
                **machine.versions(["openvino", "numpy", "onnx", "ml_dtypes"]),
                "plugin": plugin,
                "architecture": text.get("DEVICE_ARCHITECTURE", ""),
            },
        )


class OpenVinoDevice(Device):
    """One plugin's device. `config` are the properties every model is compiled with."""

    def __init__(self, backend: OpenVinoBackend, core: Any, info: DeviceInfo, options: Options) -> None:
        self.backend = backend
        self.core = core
        self.info = info
        self.options = dict(options)
        self.config = backend.config(core, info.name, options)

    def capabilities(self) -> Capabilities:
        """Only what the pinned precision says; plugins list no operators, they answer `query_model` for one model."""
        rung = RUNGS.get(self.config.get("INFERENCE_PRECISION_HINT", ""))
        return Capabilities(
            precision={"float32": rung} if rung else None,
            layouts=frozenset(ovlayout.MODEL_LAYOUTS),
            memory_kinds=frozenset({"host"}),
            features=FEATURES | (ON_CPU if self.info.name == "CPU" else frozenset()),
        )

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        layouts, others = ovlayout.split(options or {})
        cache = {"CACHE_DIR": others.pop("cache")} if "cache" in others else {}
        config = self.backend.config(self.core, self.info.name, {**self.options, **others}) if others else self.config
        try:
            graph = self.core.read_model(model)
        except Exception as error:
            translated = translate(error, "compile")
            words = NO_CONVERSION + (NOT_SUPPORTED if translated.code == "OpConversionFailure" else ())
            if any(part in translated.text for part in words):
                raise Unsupported(translated.text, code=translated.code) from error
            raise translated from error
        try:
            if layouts:
                graph = ovlayout.laid_out(graph, layouts)
            supported = self.core.query_model(graph, self.info.name, config)
        except BackendError:
            raise
        except Exception as error:
            raise translate(error, "compile") from error
        declined = [
            f"{node.get_friendly_name()} ({node.get_type_name()})"
            for node in graph.get_ops()
            if node.get_type_name() not in ("Parameter", "Result", "Constant") and node.get_friendly_name() not in supported
        ]
        if declined:
            raise Unsupported(f"query_model: {self.info.name} does not support {', '.join(declined)}", code="query_model")
        try:
            compiled = self.core.compile_model(graph, self.info.name, {**config, **cache})
        except Exception as error:
            raise translate(error, "compile", accepted=True) from error
        return OpenVinoExecutable(self, compiled, model)

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Host memory as raw bytes, which `bind` lays out as the tensor; its owner keeps it alive."""
        if memory.kind != "host":
            return super().import_(memory)
        if memory.strides is not None:
            raise Unsupported("this adapter makes contiguous tensors only", phase="allocate")
        return ImportedBuffer(array_at(memory.handle + memory.offset, memory.nbytes))


class OpenVinoExecutable(Executable):
    """A compiled model. Ports are called as the ONNX model calls them: OpenVINO may give one port several names."""

    def __init__(self, device: OpenVinoDevice, compiled: Any, model: bytes) -> None:
        import onnx

        self.device = device
        self.compiled = compiled
        self.graph = onnx.load_from_string(model).graph
        self.input_ports = _named(compiled.inputs, [value.name for value in self.graph.input])
        self.output_ports = _named(compiled.outputs, [value.name for value in self.graph.output])
        self._inputs = [_spec(name, port) for name, port in self.input_ports.items()]
        self._outputs = [_spec(name, port) for name, port in self.output_ports.items()]

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self._inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self._outputs

    def placement(self) -> Sequence[NodePlacement] | None:
        """From the runtime model: which layer, with which primitive, absorbed each node (`originalLayersNames`).

        A node that the compiler folded away or replaced under new names is absent. None if the plugin has no such
        model.
        """
        try:
            layers = self.compiled.get_runtime_model().get_ordered_ops()
            devices = [str(name) for name in self.compiled.get_property("EXECUTION_DEVICES")]
        except Exception:  # the NPU plugin raises: its blob is opaque
            return None
        absorbed: dict[str, str] = {}
        for executed in layers:
            info = executed.get_rt_info()
            engine = " ".join(str(info[key].value) for key in ("layerType", "primitiveType") if key in info)
            if "originalLayersNames" in info:
                for name in str(info["originalLayersNames"].value).split(","):
                    absorbed.setdefault(name, engine)
        device = self.device.info.name
        where = devices[0] if devices else device
        placed = []
        for node in self.graph.node:
            layer = next((absorbed[name] for name in (*node.output, node.name) if name and name in absorbed), None)
            if layer is not None:
                label = node.name or next(filter(None, node.output), "")
                placed.append(NodePlacement(label, node.op_type, where, where == device, engine=layer))
        return placed

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        spec = next((s for s in (*self._inputs, *self._outputs) if s.name == name), None)
        if spec is None:
            raise RunError(f"the model has no input or output {name}", phase="allocate", code="unknown_name")
        element = element_of({**self.input_ports, **self.output_ports}[name])
        if kind != "host" or spec.nbytes is None:
            why = f"{kind} memory" if kind != "host" else f"memory for {spec.dtype}{list(spec.shape)}"
            raise Unsupported(
                f"this adapter allocates host memory for tensors of fixed shape only, not {why}", phase="allocate"
            )
        try:
            return HostBuffer(np.zeros([d or 0 for d in spec.shape], element.numpy))
        except (MemoryError, ValueError) as error:  # NumPy's for sizes that no address can hold
            raise OutOfMemory(f"{spec.nbytes} bytes for {name}: {error}", code=type(error).__name__) from error

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> Binding:
        check_names(self, inputs, outputs)
        return OpenVinoBinding(self, inputs, outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        missing = [name for name in self.input_ports if name not in feeds]
        if missing:  # OpenVINO would compute with what its own tensors hold
            raise RunError(f"no value for input {', '.join(missing)}", phase="load", code="missing_input")
        try:
            request = self.compiled.create_infer_request()
            for name, array in feeds.items():
                request.set_tensor(self.input_ports[name], wrap(array, self.input_ports[name]))
            request.infer()
            # A copy: the tensor is a live view that the next inference overwrites.
            return {name: np.array(unwrap(request.get_tensor(port))) for name, port in self.output_ports.items()}
        except Exception as error:
            raise translate(error, "run") from error

    def export(self) -> bytes:
        """The blob that `Core.import_model` reads."""
        try:
            blob = self.compiled.export_model()
        except Exception as error:
            raise translate(error, "compile", accepted=True) from error
        return blob.getvalue() if hasattr(blob, "getvalue") else bytes(blob)

    def release(self) -> None:
        self.compiled = None


class OpenVinoBinding(Binding):
    """An inference request over the caller's memory. Packed types are copied; so are outputs of dynamic shape."""

    def __init__(
        self, executable: OpenVinoExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None
    ) -> None:
        self._executable = executable
        self._inputs = dict(inputs)
        self._copied: set[str] = set()
        self._held: list[np.ndarray] = []  # OpenVINO leaves it to the caller to keep shared memory alive
        try:
            self._request = executable.compiled.create_infer_request()
            for name, buffer in inputs.items():
                self._set(name, executable.input_ports[name], buffer)
            self.outputs = {spec.name: self._output(spec, outputs) for spec in executable.outputs}
        except BackendError:
            raise
        except Exception as error:
            raise translate(error, "load") from error

    def _output(self, spec: TensorSpec, outputs: Mapping[str, Buffer] | None) -> Buffer:
        port = self._executable.output_ports[spec.name]
        if outputs is None and spec.nbytes is None:
            self._copied.add(spec.name)
            return HostBuffer(np.empty([0] * max(1, len(spec.shape)), element_of(port).numpy))
        buffer = self._executable.allocate(spec.name) if outputs is None else outputs[spec.name]
        self._set(spec.name, port, buffer)
        return buffer

    def _set(self, name: str, port: Any, buffer: Buffer) -> None:
        """Lay the port's tensor over the buffer. Raw bytes, as of `import_`, take its shape and type."""
        element = element_of(port)
        if not isinstance(buffer, HostBuffer):
            raise Unsupported(f"{type(buffer).__name__} cannot be bound to {name}: it is not host memory", phase="load")
        array = buffer.array
        if element.bits < 8 or element.name == "str" or not array.flags.c_contiguous:
            self._copied.add(name)
            return
        if port.get_partial_shape().is_static and array.nbytes == element.nbytes(list(port.get_shape())):
            if isinstance(buffer, ImportedBuffer):
                array = array.reshape(-1).view(element.numpy)
            array = array.reshape(list(port.get_shape()))
        self._held.append(array)
        self._request.set_tensor(port, wrap(array, port))

    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> Fence:
        for fence in after:
            fence.wait()
        try:
            for name in self._copied & self._inputs.keys():
                port, buffer = self._executable.input_ports[name], self._inputs[name]
                with buffer.map("r") as array:
                    self._request.set_tensor(port, wrap(array, port))
            self._request.infer()
            for name in self._copied & self.outputs.keys():
                buffer = self.outputs[name]
                array = np.array(unwrap(self._request.get_tensor(self._executable.output_ports[name])))
                if isinstance(buffer, HostBuffer) and buffer.array.shape != array.shape:
                    buffer.array = array
                else:
                    with buffer.map("w") as target:
                        target[...] = array
        except Exception as error:
            raise translate(error, "run") from error
        return CompletedFence()

    def adopted(self, name: str) -> bool | None:
        """Whether the request's tensor has the buffer's address. Plugins of other devices move it there anyway."""
        if self._executable.device.info.name != "CPU":
            return None
        if name in self._copied:
            return False
        port = {**self._executable.input_ports, **self._executable.output_ports}[name]
        buffer = {**self._inputs, **self.outputs}[name]
        return int(self._request.get_tensor(port).data.ctypes.data) == buffer.address


def _named(ports: Sequence[Any], names: list[str]) -> dict[str, Any]:
    """ONNX name → port, in the order of the ports. An Identity that was removed leaves two names at one port."""
    remaining = list(names)
    found = {}
    for port in ports:
        name = next((n for n in remaining if n in port.get_names()), port.get_any_name())
        if name in remaining:
            remaining.remove(name)
        found[name] = port
    return found


def _spec(name: str, port: Any) -> TensorSpec:
    element = element_of(port)
    partial = port.get_partial_shape()
    rank = partial.rank
    dims = [None if d.is_dynamic else int(d.get_length()) for d in partial] if rank.is_static else []
    static = partial.is_static and element.name != "str"
    nbytes = element.nbytes([d or 0 for d in dims]) if static else None
    return TensorSpec(name, tuple(dims), element.name, nbytes=nbytes)
