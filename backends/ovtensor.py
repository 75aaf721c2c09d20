"""Tensors between NumPy and OpenVINO, for every element type that both ONNX and OpenVINO have."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.elements import Element, pack, unpack
from backends.interface import Unsupported

ELEMENTS: dict[str, Element] = {
    "f64": Element("float64", 11, 64),
    "f32": Element("float32", 1, 32),
    "f16": Element("float16", 10, 16),
    "bf16": Element("bfloat16", 16, 16),
    "f8e4m3": Element("float8_e4m3fn", 17, 8),
    "f8e5m2": Element("float8_e5m2", 19, 8),
    "f8e8m0": Element("float8_e8m0fnu", 24, 8),
    "f4e2m1": Element("float4_e2m1fn", 23, 4),
    "i64": Element("int64", 7, 64),
    "i32": Element("int32", 6, 32),
    "i16": Element("int16", 5, 16),
    "i8": Element("int8", 3, 8),
    "i4": Element("int4", 22, 4),
    "u64": Element("uint64", 13, 64),
    "u32": Element("uint32", 12, 32),
    "u16": Element("uint16", 4, 16),
    "u8": Element("uint8", 2, 8),
    "u4": Element("uint4", 21, 4),
    "boolean": Element("bool", 9, 8),
    "string": Element("str", 8, 256),
}
"""openvino.Type's name → element type."""


def element_of(port: Any) -> Element:
    """The element type of a port. Raises Unsupported for those that NumPy and ml_dtypes lack."""
    name = port.get_element_type().get_type_name()
    if name not in ELEMENTS:
        raise Unsupported(f"no array type for OpenVINO's {name}", phase="load")
    return ELEMENTS[name]


def wrap(array: np.ndarray, port: Any) -> Any:
    """A tensor over the memory of `array`; a copy for packed types, strings and arrays that are not contiguous or read-only,
    which OpenVINO does not share."""
    import openvino

    element = element_of(port)
    if element.name == "str":
        return openvino.Tensor(np.asarray(array, dtype=str))
    if array.dtype != element.numpy:
        raise TypeError(f"array of {array.dtype} where {element.name} is expected")
    if element.bits < 8:
        return openvino.Tensor(pack(array, element.bits), list(array.shape), port.get_element_type())
    array = np.require(array, requirements=["C", "W"])
    if element.onnx <= 13:
        return openvino.Tensor(array, shared_memory=True)
    return openvino.Tensor(array.reshape(-1).view(np.uint8), list(array.shape), port.get_element_type())


def unwrap(tensor: Any) -> np.ndarray:
    """The array of a tensor: live, except for packed types and strings."""
    element = ELEMENTS[tensor.get_element_type().get_type_name()]
    if element.name == "str":
        return np.asarray(tensor.str_data, dtype=object)
    if element.bits < 8:
        return unpack(tensor.data.reshape(-1).view(np.uint8), tuple(tensor.get_shape()), element.numpy, element.bits)
    array: np.ndarray = tensor.data.view(element.numpy)
    return array
