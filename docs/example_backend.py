"""A complete backend outside the tree: NumPy as a device that computes four operators on float32 and declines the rest.

pytest suites --backend=docs/example_backend.py:ExampleBackend --ops Add,Mul,MatMul,Relu,Conv
"""

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from backends import interface as cts

OPERATORS = {"Add": np.add, "Mul": np.multiply, "MatMul": np.matmul, "Relu": lambda x: np.maximum(x, np.float32(0))}


class ExampleBackend(cts.Backend):
    name = "example"  # also what the journal is called

    def discover(self):
        # DEV-001 asks for backend, name, kind and runtime. Only real silicon is "hardware".
        return [cts.DeviceInfo(self.name, "numpy", "simulated", runtime=f"numpy {np.__version__}")]

    def open(self, info, options):
        if options:  # --backend-option key=value; a ValueError becomes a usage error of one line
            raise ValueError(f"backend {self.name} has no option {min(options)!r}; it has none")
        return ExampleDevice(info)


class ExampleDevice(cts.Device):
    def __init__(self, info):
        self.info = info

    def capabilities(self):
        # A promise: declining what is declared here is an overclaim, and float32 is held to rung fp32.
        return cts.Capabilities(operators={name: frozenset({"float32"}) for name in OPERATORS}, precision={"float32": "fp32"})

    def compile(self, model, options=None):
        if options:  # the suite asks for layouts and caches; what a stack does not have it declines
            raise cts.Unsupported(f"no compile option {min(options)}")
        try:
            proto = onnx.load_model_from_string(model)
            onnx.checker.check_model(proto)
        except (DecodeError, onnx.checker.ValidationError) as error:
            # Tried and failed, which is not the same as declined. A vendor's stack adds code="…", its own error code.
            raise cts.CompileError(str(error)) from error
        # Declining is Unsupported, before anything is tried: operator sets, operators, then types.
        for opset in proto.opset_import:
            if opset.domain in ("", "ai.onnx") and opset.version > onnx.defs.onnx_opset_version():
                raise cts.Unsupported(f"no operator set {opset.version}")
        for node in proto.graph.node:
            if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
                raise cts.Unsupported(f"no operator {node.op_type} of domain {node.domain or 'ai.onnx'}")
            if node.attribute:  # old versions of these four have some (Add-6: broadcast), those since opset 7 none
                raise cts.Unsupported(f"no attribute {node.attribute[0].name} of {node.op_type}")
        types = {value.name: value.type.tensor_type.elem_type for value in (*proto.graph.input, *proto.graph.output)}
        types |= {constant.name: constant.data_type for constant in proto.graph.initializer}
        for name, code in types.items():
            if code != onnx.TensorProto.FLOAT:
                raise cts.Unsupported(f"{name} is {onnx.TensorProto.DataType.Name(code)}, not FLOAT")
        try:
            onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
        except onnx.shape_inference.InferenceError as error:
            raise cts.CompileError(str(error)) from error
        return ExampleExecutable(self, proto.graph)


class ExampleExecutable(cts.Executable):
    def __init__(self, device, graph):
        self.device = device
        self.graph = graph
        self.constants = {constant.name: onnx.numpy_helper.to_array(constant) for constant in graph.initializer}

    @property
    def inputs(self):  # what has to be fed: an initialiser listed among the graph's inputs has its value
        return [_spec(value) for value in self.graph.input if value.name not in self.constants]

    @property
    def outputs(self):
        return [_spec(value) for value in self.graph.output]

    def run(self, feeds):
        if self.graph is None:
            raise cts.RunError("this executable was released")
        for spec in self.inputs:  # a device would read past the end of what is too small
            array = feeds.get(spec.name)
            fits = array is not None and array.dtype == spec.dtype and len(array.shape) == len(spec.shape)
            if not fits or any(want not in (None, have) for want, have in zip(spec.shape, array.shape, strict=True)):
                found = "nothing" if array is None else f"{array.dtype}{list(array.shape)}"
                raise cts.RunError(f"input {spec.name} is {found}, not {spec.dtype}{list(spec.shape)}")
        values = {**self.constants, **feeds}
        try:
            with np.errstate(all="ignore"):  # infinities and NaN are results, no reason for warnings in the log
                for node in self.graph.node:  # in topological order, as ONNX demands
                    values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input))
        except MemoryError as error:
            raise cts.OutOfMemory(str(error), phase="run") from error
        except ValueError as error:  # how NumPy says that shapes do not match
            raise cts.RunError(str(error)) from error
        # A copy belongs to the caller, whatever the device does next; np.array also makes a 0-d array of a NumPy scalar.
        return {value.name: np.array(values[value.name]) for value in self.graph.output}

    def release(self):
        self.graph = None


def _spec(value):
    """Name, shape and type of a graph input or output; a dimension without a number is dynamic."""
    dimensions = value.type.tensor_type.shape.dim
    return cts.TensorSpec(value.name, tuple(d.dim_value if d.HasField("dim_value") else None for d in dimensions), "float32")
