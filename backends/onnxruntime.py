"""ONNX Runtime: the CPU execution provider, any other provider of the installed wheel, the base of adapters for more.

Two things of its Python API would hide a fault and are switched off: InferenceSession silently builds and runs again on
the CPU when a provider fails (`enable_fallback`), and nodes that a provider declines are silently given to the CPU
(`session.disable_cpu_ep_fallback`). Where the user allows the second, `placement` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from backends import machine, options, ortvalue, registry
from backends.elements import Element
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

CPU = "CPUExecutionProvider"
LEVELS = {"disable": 0, "basic": 1, "extended": 2, "layout": 3, "all": 99}
"""Option graph_optimization_level → onnxruntime.GraphOptimizationLevel."""

STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
OPTIMIZATIONS = ("disable", "basic", "extended", "all")
"""What the compile option `optimization` takes; "layout" is "all" on processors without blocked layouts."""

NOT_ASSIGNED = "fallback to CPU EP has been explicitly disabled"
"""Of the error when the provider's own partitioner left nodes to the CPU (inference_session.cc)."""

CLAIMED = "format as requested by"
"""Of the error when a provider asked for its layout of a node and then did not take it (graph_partitioner.cc)."""

NO_TYPE = "is not currently registered or supported"
"""Of the error when it has no element type of the model's (MLDataType, data_types.cc): complex numbers."""

OUT_OF_MEMORY = ("Failed to allocate memory", "bad_alloc", "out of memory")


def translate(error: Exception, phase: Phase) -> BackendError:
    """The interface's error for one of ONNX Runtime; `code` is its status name, `text` its message, verbatim.

    NOT_IMPLEMENTED while creating a session means that no kernel is registered for a node (onnxruntime_c_api.h).
    EP_FAIL means that a provider had claimed the graph when it failed on it; so does the error about nodes that were
    inserted for a provider's layout and then not taken by it.
    """
    text = str(error)
    match = STATUS.search(text)
    code = match.group(1) if match else type(error).__name__
    if any(words in text for words in OUT_OF_MEMORY):
        return OutOfMemory(text, phase=phase, code=code)
    if phase != "compile":
        return RunError(text, phase=phase, code=code)
    if code == "NOT_IMPLEMENTED" or NOT_ASSIGNED in text or NO_TYPE in text:
        return Unsupported(text, code=code)
    return CompileError(text, code=code, accepted=code == "EP_FAIL" or CLAIMED in text)


class OnnxRuntimeBackend(Backend):
    """An execution provider of ONNX Runtime. Subclasses set `name` and `provider` and override `session_arguments`."""

    name = "onnxruntime"
    needs = "ONNX Runtime"
    extra = "cpu"
    provider: ClassVar[str] = CPU
    distributions: ClassVar[tuple[str, ...]] = ()
    known_options: ClassVar[Mapping[str, str]] = {
        "ep": "execution provider instead of the device's own, e.g. CUDAExecutionProvider",
        "graph_optimization_level": "disable, basic, extended, layout or all (default)",
        "threads": "threads within an operator; 0, the default, leaves it to ONNX Runtime",
        "cpu_fallback": "1 lets ONNX Runtime run on the CPU what the provider declines; 0 is the default",
        "log_severity": "0 verbose to 4 fatal; default 3, errors",
    }
    option_prefixes: ClassVar[tuple[str, ...]] = ("ep.",)  # ep.KEY=VALUE is a provider option

    def unavailable(self) -> str | None:
        return registry.missing("onnxruntime", "ONNX Runtime", self.extra)

    def shares(self, device: str | None, options: Options) -> bool:
        return options.get("ep", self.provider) == CPU and device in (None, _device_name(CPU))

    def discover(self) -> list[DeviceInfo]:
        """The CPU first, then every other provider of this wheel that computes here (Azure calls a remote service)."""
        import onnxruntime

        others = [p for p in onnxruntime.get_available_providers() if p not in (CPU, "AzureExecutionProvider")]
        return [self._info(provider) for provider in [CPU, *others]]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        checked = self.check_options(options)
        provider = next((p for p in self._providers() if _device_name(p) == info.name), None)
        if "ep" in checked:
            provider = checked["ep"]
            if provider not in self._providers():
                raise ValueError(
                    f"option ep={provider}: this onnxruntime has {', '.join(self._providers())}; install the wheel "
                    "with that provider (onnxruntime-gpu, onnxruntime-directml, onnxruntime-openvino, ...)"
                )
            default = self.discover()[0].name
            if info.name not in (default, _device_name(provider)):
                raise ValueError(f"option ep={provider} is not device {info.name!r}: give one of --ep and --device")
        if provider is None:
            raise ValueError(f"backend {self.name} has no device {info.name!r}")
        return OnnxRuntimeDevice(self, self._info(provider), provider, checked)

    def check_options(self, given: Options) -> dict[str, str]:
        """The options, validated by name and, for this class's own, by value. Raises ValueError."""
        checked = options.check(given, self.known_options, self.name, self.option_prefixes)
        options.choice(checked, "graph_optimization_level", LEVELS, "all")
        options.choice(checked, "cpu_fallback", "01", "0")
        options.choice(checked, "log_severity", "01234", "3")
        options.integer(checked, "threads", 0)
        return checked

    def session_arguments(self, provider: str, given: Options, session_options: Any) -> dict[str, Any]:
        """Keyword arguments of InferenceSession that select the provider; may add to `session_options` instead."""
        prefix = "ep."
        provider_options = {key[len(prefix) :]: value for key, value in given.items() if key.startswith(prefix)}
        return {"providers": [(provider, provider_options)]}

    @staticmethod
    def _providers() -> Sequence[str]:
        import onnxruntime

        available: Sequence[str] = onnxruntime.get_available_providers()
        return available

    def _info(self, provider: str) -> DeviceInfo:
        import onnxruntime

        wheels = registry.providers("onnxruntime")
        return DeviceInfo(
            backend=self.name,
            name=_device_name(provider),
            kind="hardware",
            vendor="",
            soc=machine.cpu() if provider == CPU else "",
            runtime=f"onnxruntime {onnxruntime.__version__}",
            compiler=f"onnxruntime {onnxruntime.__version__} {provider}",
            host=machine.host(),
            versions=machine.versions([*wheels, *self.distributions, "numpy", "onnx", "ml_dtypes"]),
        )


def _device_name(provider: str) -> str:
    return provider.removesuffix("ExecutionProvider")


class OnnxRuntimeDevice(Device):
    """One execution provider. Sessions share nothing here; providers may share state behind it."""

    def __init__(self, backend: OnnxRuntimeBackend, info: DeviceInfo, provider: str, given: Options) -> None:
        self.backend = backend
        self.info = info
        self.provider = provider
        self.options = given

    def capabilities(self) -> Capabilities:
        """Operators stay undeclared: the registry of kernels is no list of what runs.

        ONNX Runtime expands operators that ONNX defines as functions and wraps float16 nodes without kernels in casts,
        so that more runs than is registered; other providers register no kernels but claim subgraphs.
        """
        on_cpu = self.provider == CPU
        return Capabilities(
            precision={"float32": "fp32"} if on_cpu else None,
            memory_kinds=frozenset({"host"}),
            dynamic_shapes=True if on_cpu else None,
            features=features(on_cpu),
            optimizations=OPTIMIZATIONS,
        )

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        given = dict(options or {})
        if "optimization" in given:
            given["graph_optimization_level"] = given.pop("optimization")
        merged = self.backend.check_options({**self.options, **given})
        return OnnxRuntimeExecutable(self, create_session(self.backend, self.provider, model, merged), model)

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Host memory as raw bytes, which `bind` lays out as the tensor; its owner keeps it alive."""
        if memory.kind != "host":
            return super().import_(memory)
        if memory.strides is not None:
            raise Unsupported("ONNX Runtime's tensors are contiguous", phase="allocate")
        return ImportedBuffer(array_at(memory.handle + memory.offset, memory.nbytes))


def features(on_cpu: bool) -> frozenset[str]:
    """What this adapter offers of `backends.interface.FEATURES`. Only of the CPU is it known that memory is used in place; of
    `InferenceSession` that its `run` may be called from several threads (onnxruntime.ai, Python API)."""
    import onnxruntime

    found = {"allocate", "bind-outputs", "view"} | ({"import", "threads"} if on_cpu else set())
    return frozenset(found | ({"dlpack"} if hasattr(onnxruntime.OrtValue, "__dlpack__") else set()))


def create_session(
    backend: OnnxRuntimeBackend, provider: str, model: bytes, given: Options, entries: Mapping[str, str] | None = None
) -> Any:
    """A session for a serialised model. `entries` are further session configuration entries. Raises BackendError."""
    import onnxruntime

    session_options = onnxruntime.SessionOptions()
    session_options.log_severity_level = int(given.get("log_severity", "3"))
    session_options.intra_op_num_threads = int(given.get("threads", "0"))
    level = LEVELS[given.get("graph_optimization_level", "all")]
    session_options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(level)
    session_options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if provider != CPU and given.get("cpu_fallback", "0") == "0":
        session_options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for key, value in (entries or {}).items():
        session_options.add_session_config_entry(key, value)
    try:
        arguments = backend.session_arguments(provider, given, session_options)
        session = onnxruntime.InferenceSession(model, session_options, enable_fallback=0, **arguments)
        session.disable_fallback()
    except Exception as error:
        raise translate(error, "compile") from error
    return session


class OnnxRuntimeExecutable(Executable):
    """A session."""

    def __init__(self, device: OnnxRuntimeDevice, session: Any, model: bytes) -> None:
        self.device = device
        self.provider = device.provider
        self.session = session
        self.model = model
        self.elements: dict[str, Element | None] = {}
        self._inputs = [self._spec(node) for node in session.get_inputs()]
        self._outputs = [self._spec(node) for node in session.get_outputs()]

    def _spec(self, node: Any) -> TensorSpec:
        element = ortvalue.element_of(node.type)
        self.elements[node.name] = element
        shape = tuple(d if isinstance(d, int) and d >= 0 else None for d in node.shape or ())
        if element is None:
            return TensorSpec(node.name, shape, node.type)  # "seq(tensor(float))", as ONNX Runtime writes it
        fixed = [d for d in shape if d is not None]
        nbytes = element.nbytes(fixed) if len(fixed) == len(shape) and element.name != "str" else None
        return TensorSpec(node.name, shape, element.name, nbytes=nbytes)

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self._inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self._outputs

    def placement(self) -> Sequence[NodePlacement] | None:
        """From the graph partitioner's record, None before ONNX Runtime 1.24. Nodes folded before it are absent."""
        if not hasattr(self.session, "get_provider_graph_assignment_info"):
            return None
        found: list[tuple[Any, str, bool, int | None]] = []
        for index, subgraph in enumerate(self.session.get_provider_graph_assignment_info()):
            on_device = subgraph.ep_name == self.provider
            partition = index if on_device and self.provider != CPU else None
            found.extend((node, subgraph.ep_name, on_device, partition) for node in subgraph.get_nodes())
        names = original_names(self.model, [(node.name, node.op_type) for node, *_ in found])
        return [
            NodePlacement(name, node.op_type, provider, on_device, partition)
            for name, (node, provider, on_device, partition) in zip(names, found, strict=True)
        ]

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        spec = next((s for s in (*self._inputs, *self._outputs) if s.name == name), None)
        if spec is None:
            raise RunError(f"the model has no input or output {name}", phase="allocate", code="unknown_name")
        element = self.elements[name]
        if kind != "host" or element is None or spec.nbytes is None:
            why = f"{kind} memory" if kind != "host" else f"memory for {spec.dtype}{list(spec.shape)}"
            raise Unsupported(
                f"this adapter allocates host memory for tensors of fixed shape only, not {why}", phase="allocate"
            )
        shape = [d or 0 for d in spec.shape]
        try:
            return ortvalue.PackedBuffer(shape, element) if element.bits < 8 else ortvalue.ValueBuffer(shape, element)
        except MemoryError as error:
            raise OutOfMemory(f"{spec.nbytes} bytes for {name}: {error}", code="MemoryError") from error

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> Binding:
        check_names(self, inputs, outputs)
        return OnnxRuntimeBinding(self, inputs, outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            return ortvalue.run(self.session, self.elements, feeds)
        except Exception as error:
            raise translate(error, "run") from error

    def release(self) -> None:
        self.session = None


def original_names(model: bytes, placed: Iterable[tuple[str, str]]) -> list[str]:
    """Names of placed nodes (name, operator) as the model has them.

    A node without a name is called by its first output. ONNX Runtime renames nodes that it replaces (layout
    transformation makes "_token_2" of a nameless node); such a one is taken for the first node of its operator that is
    still unplaced, and keeps its own name where there is none, as an inserted Transpose.
    """
    import onnx

    graph = onnx.load_from_string(model).graph
    placed = list(placed)
    named = {node.name for node in graph.node if node.name}
    taken = {name for name, _ in placed if name in named}
    free: dict[str, list[str]] = {}
    for node in graph.node:
        if node.name not in taken:
            label = node.name or next((output for output in node.output if output), "")
            free.setdefault(node.op_type, []).append(label)
    names = []
    for name, operator in placed:
        if name not in named and free.get(operator):
            name = free[operator].pop(0)
        names.append(name)
    return names


class OnnxRuntimeBinding(Binding):
    """IO binding by pointer: ONNX Runtime reads and writes the bound host memory itself.

    Output buffers are those given, or ours where the shape is fixed; others are ONNX Runtime's, new after each run.
    """

    def __init__(
        self, executable: OnnxRuntimeExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None
    ) -> None:
        self._executable = executable
        self._values: dict[str, Any] = {}
        self._buffers: dict[str, Buffer] = dict(inputs)
        self._dynamic: dict[str, HostBuffer] = {}
        try:
            self._io = executable.session.io_binding()
            for spec in executable.inputs:
                if spec.name in inputs:
                    self._values[spec.name] = self._value(spec, inputs[spec.name])
                    self._io.bind_ortvalue_input(spec.name, self._values[spec.name])
            self.outputs = {spec.name: self._bind_output(spec, outputs) for spec in executable.outputs}
        except BackendError:
            raise
        except Exception as error:
            raise translate(error, "load") from error
        self._buffers.update(self.outputs)

    def _bind_output(self, spec: TensorSpec, outputs: Mapping[str, Buffer] | None) -> Buffer:
        element = self._executable.elements[spec.name]
        if outputs is None and spec.nbytes is None and element is not None:
            buffer = HostBuffer(np.empty([0] * max(1, len(spec.shape)), element.numpy))
            self._dynamic[spec.name] = buffer
            self._io.bind_output(spec.name)
            return buffer
        given = self._executable.allocate(spec.name) if outputs is None else outputs[spec.name]
        self._values[spec.name] = self._value(spec, given)
        self._io.bind_ortvalue_output(spec.name, self._values[spec.name])
        return given

    def _value(self, spec: TensorSpec, buffer: Buffer) -> Any:
        """An OrtValue over the buffer. Raw bytes, as `import_` gives them, take the shape and type of the tensor."""
        element = self._executable.elements[spec.name]
        if isinstance(buffer, ortvalue.PackedBuffer):
            return buffer.value
        if not isinstance(buffer, HostBuffer) or element is None or element.name == "str" or element.bits < 8:
            raise Unsupported(f"{type(buffer).__name__} cannot be bound to {spec.dtype} tensor {spec.name}", phase="load")
        array = buffer.array
        if isinstance(buffer, ImportedBuffer) and spec.nbytes == array.nbytes:
            array = array.view(element.numpy)
        if array.dtype == element.numpy and spec.nbytes == array.nbytes:
            array = array.reshape([d or 0 for d in spec.shape])
        return ortvalue.wrap(array, element)

    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> Fence:
        for fence in after:
            fence.wait()
        try:
            for name in self._dynamic:  # otherwise the next run would be forced into the shape of the last
                self._io.bind_output(name)
            self._executable.session.run_with_iobinding(self._io)
            if self._dynamic:
                values = dict(zip(self.outputs, self._io.get_outputs(), strict=True))
                for name, buffer in self._dynamic.items():
                    buffer.array = ortvalue.unwrap(values[name])
        except Exception as error:
            raise translate(error, "run") from error
        return CompletedFence()

    def adopted(self, name: str) -> bool | None:
        """By address: of the value that was bound, for outputs of the value that the last run left.

        Other providers than the CPU may stage the memory behind ONNX Runtime's back: an equal address proves nothing,
        and neither does that of an empty tensor.
        """
        if name in self._dynamic or self._executable.provider != CPU:
            return None
        if self._values[name].tensor_size_in_bytes() == 0:
            return None
        bound = self._values[name].data_ptr()
        if name in self.outputs:
            bound = dict(zip(self.outputs, self._io.get_outputs(), strict=True))[name].data_ptr()
        return bool(bound == self._buffers[name].address)
