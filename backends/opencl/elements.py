"""Element types as OpenCL C has them: how a kernel stores, loads and computes each.

Moving data needs no arithmetic of a type, only its width: float16, bfloat16 and float8 move on every device. Float16 and
bfloat16 are computed in float32, for which OpenCL C has `vload_half` and `vstore_half_rte` without any extension.
"""

from __future__ import annotations

from typing import NamedTuple

from backends.elements import Element


class Scalar(NamedTuple):
    """An element type. `stored` is its type in memory, `computed` that of arithmetic, `wraps` the one in which overflow is
    defined: integers wrap in ONNX, which C promises of unsigned types alone. "" for types that are only moved."""

    element: Element
    stored: str
    computed: str = ""
    wraps: str = ""


SCALARS: dict[str, Scalar] = {
    scalar.element.name: scalar
    for scalar in (
        Scalar(Element("float32", 1, 32), "float", "float", "float"),
        Scalar(Element("uint8", 2, 8), "uchar", "uchar", "uint"),
        Scalar(Element("int8", 3, 8), "char", "char", "uint"),
        Scalar(Element("uint16", 4, 16), "ushort", "ushort", "uint"),
        Scalar(Element("int16", 5, 16), "short", "short", "uint"),
        Scalar(Element("int32", 6, 32), "int", "int", "uint"),
        Scalar(Element("int64", 7, 64), "long", "long", "ulong"),
        Scalar(Element("bool", 9, 8), "uchar", "uchar", "uint"),
        Scalar(Element("float16", 10, 16), "half", "float", "float"),
        Scalar(Element("float64", 11, 64), "double", "double", "double"),
        Scalar(Element("uint32", 12, 32), "uint", "uint", "uint"),
        Scalar(Element("uint64", 13, 64), "ulong", "ulong", "ulong"),
        Scalar(Element("complex64", 14, 64), "ulong"),
        Scalar(Element("bfloat16", 16, 16), "ushort", "float", "float"),
        Scalar(Element("float8_e4m3fn", 17, 8), "uchar"),
        Scalar(Element("float8_e4m3fnuz", 18, 8), "uchar"),
        Scalar(Element("float8_e5m2", 19, 8), "uchar"),
        Scalar(Element("float8_e5m2fnuz", 20, 8), "uchar"),
    )
}
"""Type as NumPy names it → how kernels see it."""

NAMES = {scalar.element.onnx: name for name, scalar in SCALARS.items()}
"""TensorProto.DataType → type."""

BITS = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
"""Width → the type that moves it bit for bit."""

REALS = frozenset({"float32", "float64", "float16", "bfloat16"})
SIGNED = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
INTEGERS = SIGNED | UNSIGNED
NUMBERS = REALS | INTEGERS
EVERY = frozenset(SCALARS)

LOADS = {
    "bool": "({p}[{i}] != 0)",  # any other byte than 0 is true, also where the host wrote 2
    "float16": "vload_half({i}, {p})",
    "bfloat16": "as_float((uint){p}[{i}] << 16)",
}
STORES = {
    "float16": "vstore_half_rte({v}, {i}, {p})",
    "bfloat16": "{p}[{i}] = to_bfloat16({v})",
    "bool": "{p}[{i}] = ({v}) != 0",
}


def load(dtype: str, pointer: str, index: str) -> str:
    """The expression that reads one element."""
    return LOADS.get(dtype, "{p}[{i}]").format(p=pointer, i=index)


def store(dtype: str, pointer: str, index: str, value: str) -> str:
    """The statement that writes one element."""
    plain = f"{{p}}[{{i}}] = ({SCALARS[dtype].stored})({{v}})"
    return STORES.get(dtype, plain).format(p=pointer, i=index, v=value) + ";"
