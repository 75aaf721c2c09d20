"""Tensors between NumPy and ONNX Runtime, for every element type that ONNX Runtime has, including those NumPy lacks.

ONNX Runtime's Python API converts only NumPy's own types. For the others (bfloat16, float8*, 4 and 2 bits) an OrtValue
is laid over the bytes of the array, and read back through its address.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from backends.elements import Element, memory, pack, unpack
from backends.host import HostBuffer
from backends.interface import Buffer, MapMode, Unsupported

ELEMENTS: dict[str, Element] = {
    "float": Element("float32", 1, 32),
    "uint8": Element("uint8", 2, 8),
    "int8": Element("int8", 3, 8),
    "uint16": Element("uint16", 4, 16),
    "int16": Element("int16", 5, 16),
    "int32": Element("int32", 6, 32),
    "int64": Element("int64", 7, 64),
    "string": Element("str", 8, 64),
    "bool": Element("bool", 9, 8),
    "float16": Element("float16", 10, 16),
    "double": Element("float64", 11, 64),
    "uint32": Element("uint32", 12, 32),
    "uint64": Element("uint64", 13, 64),
    "bfloat16": Element("bfloat16", 16, 16),
    "float8e4m3fn": Element("float8_e4m3fn", 17, 8),
    "float8e4m3fnuz": Element("float8_e4m3fnuz", 18, 8),
    "float8e5m2": Element("float8_e5m2", 19, 8),
    "float8e5m2fnuz": Element("float8_e5m2fnuz", 20, 8),
    "uint4": Element("uint4", 21, 4),
    "int4": Element("int4", 22, 4),
    "float4e2m1": Element("float4_e2m1fn", 23, 4),
    "float8e8m0": Element("float8_e8m0fnu", 24, 8),
    "uint2": Element("uint2", 25, 2),
    "int2": Element("int2", 26, 2),
}
"""The word between the brackets of ONNX Runtime's `tensor(...)` → element type."""


def converted(element: Element) -> bool:
    """Whether ONNX Runtime's Python API converts this type from and to NumPy by itself (strings by `run` alone)."""
    return element.onnx <= 13 and element.name != "str"


def element_of(type_text: str) -> Element | None:
    """The element type of "tensor(float)"; None for sequences, optionals, maps and types without an array type."""
    if not (type_text.startswith("tensor(") and type_text.endswith(")")):
        return None
    return ELEMENTS.get(type_text[len("tensor(") : -1])


def wrap(array: np.ndarray, element: Element) -> Any:
    """An OrtValue over the memory of `array`; a copy where the type is packed or the array is not contiguous."""
    import onnxruntime

    array = np.asarray(array, order="C")
    if converted(element) and array.dtype == element.numpy:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    if array.dtype != element.numpy:
        raise TypeError(f"array of {array.dtype} where {element.name} is expected")
    if element.bits < 8:
        value = allocate(array.shape, element)
        view(value, element)[...] = pack(array, element.bits)
        return value
    if array.size == 0:  # an empty array cannot be viewed as another type
        return allocate(array.shape, element)
    raw = array.view(f"u{element.bits // 8}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, element.onnx)


def allocate(shape: Sequence[int], element: Element) -> Any:
    """An OrtValue in memory of ONNX Runtime's own."""
    import onnxruntime

    return onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(shape), element.onnx)


def view(value: Any, element: Element) -> np.ndarray:
    """The bytes of an OrtValue in host memory, as a live uint8 array that keeps the OrtValue alive."""
    return memory(value.data_ptr(), element.nbytes(value.shape()), value)


def unwrap(value: Any) -> np.ndarray:
    """The array of an OrtValue: live, over its memory, except for packed types and strings, which are copies."""
    element = element_of(value.data_type())
    if element is None:
        raise TypeError(f"no array type for {value.data_type()}")
    if element.name == "str":
        return np.asarray(value.numpy(), dtype=object)
    shape = tuple(value.shape())
    if element.bits < 8:
        return unpack(view(value, element), shape, element.numpy, element.bits)
    return view(value, element).view(element.numpy).reshape(shape)


def run(session: Any, elements: Mapping[str, Element | None], feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One inference: arrays by input name → arrays by output name, owned by the caller. Raises what the runtime raises.

    `elements`: the element type of every input and output, None for sequences and the like.
    """
    names = [node.name for node in session.get_outputs()]
    if all(e is None or converted(e) or e.name == "str" for e in elements.values()):
        arrays = {name: value if isinstance(value, list) else np.asarray(value) for name, value in feeds.items()}
        return dict(zip(names, session.run(names, arrays), strict=True))
    io = session.io_binding()
    for name, array in feeds.items():
        element = elements[name]
        if element is None or element.name == "str":
            io.bind_cpu_input(name, array)
        else:
            io.bind_ortvalue_input(name, wrap(array, element))
    for name in names:
        io.bind_output(name)
    session.run_with_iobinding(io)
    return {name: np.array(unwrap(value)) for name, value in zip(names, io.get_outputs(), strict=True)}


class ValueBuffer(HostBuffer):
    """A tensor in ONNX Runtime's own memory, zeroed. Not for packed types."""

    def __init__(self, shape: Sequence[int], element: Element) -> None:
        self._value = allocate(shape, element)
        super().__init__(unwrap(self._value))
        self.array[...] = np.zeros((), element.numpy)

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self._exported().__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        place: tuple[int, int] = self._exported().__dlpack_device__()
        return place

    def _exported(self) -> Any:
        """The OrtValue, which has DLPack since ONNX Runtime 1.24. Raises Unsupported, and RunError after release."""
        _ = self.array
        if not hasattr(self._value, "__dlpack__"):
            raise Unsupported("this version of ONNX Runtime has no DLPack", phase="read")
        return self._value

    def release(self) -> None:
        super().release()
        self._value = None


class PackedBuffer(Buffer):
    """A tensor of a type smaller than a byte, packed in ONNX Runtime's memory; mapped arrays take a byte an element."""

    def __init__(self, shape: Sequence[int], element: Element) -> None:
        self.value = allocate(shape, element)
        self.element = element

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        array = unwrap(self.value)
        array.flags.writeable = mode != "r"
        yield array
        if mode != "r":
            view(self.value, self.element)[...] = pack(array, self.element.bits)

    @property
    def address(self) -> int | None:
        return int(self.value.data_ptr())
