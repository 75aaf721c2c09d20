"""Everything that passes between the processes comes back as it was, through execnet's own serialiser."""

from __future__ import annotations

import execnet
import ml_dtypes
import numpy as np
import pytest

from backends.interface import Capabilities, DeviceInfo, NodePlacement, TensorSpec
from backends.worker.codec import decode, encode

DTYPES = [
    *(
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
    ),
    *("complex64", "complex128", ">f4", "S3", "U4"),
]
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4"]


def through(value):
    return decode(execnet.loads(execnet.dumps(encode(value))))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", [*DTYPES, *NARROW])
def test_arrays(dtype, shape):
    dtype = np.dtype(getattr(ml_dtypes, dtype)) if dtype in NARROW else np.dtype(dtype)
    size = int(np.prod(shape))
    array = np.arange(size).astype(np.int8).astype(dtype).reshape(shape)
    result = through(array)
    assert (result.dtype, result.shape) == (array.dtype, array.shape)
    assert result.tobytes() == array.tobytes()
    assert result.flags.writeable
    assert result.flags.c_contiguous


def test_bits_of_nan_and_zero_survive():
    array = np.array([0x7FC00001, 0xFFC00000, 0x80000000, 0x7F800001], np.uint32).view(np.float32)
    np.testing.assert_array_equal(through(array).view(np.uint32), array.view(np.uint32))


def test_strided_arrays():
    array = np.arange(24, dtype=np.int16).reshape(4, 6)[::2, ::-3]
    np.testing.assert_array_equal(through(array), array)
    np.testing.assert_array_equal(through(np.asfortranarray(array)), array)


@pytest.mark.parametrize("shape", [(), (0,), (2, 2)])
def test_string_arrays(shape):
    array = np.array(["a", "é", b"\xff", ""][: int(np.prod(shape))], dtype=object).reshape(shape)
    result = through(array)
    assert (result.dtype, result.shape, result.tolist()) == (array.dtype, array.shape, array.tolist())


@pytest.mark.parametrize(
    "value",
    [
        None, True, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**200, -(2**200), 1.5, float("inf"), 1 + 2j, "é",
        b"\x00", (), (1, (2,)), [], [None, [()]], {}, {"a": (1,)}, {1: 2, (1, 2): "x", None: 0}, frozenset({"a", 1}),
    ],
)  # fmt: skip
def test_builtins(value):
    result = through(value)
    assert result == value
    assert type(result) is type(value)


def test_scalars_keep_their_type():
    for scalar in (np.float32(1.5), np.int64(-(2**40)), np.bool_(True), ml_dtypes.bfloat16(2)):
        assert type(through(scalar)) is type(scalar)
        assert through(scalar) == scalar


def test_lone_surrogates_are_escaped():
    assert through({"\udc80": "a\udcff"}) == {"\\udc80": "a\\udcff"}


def test_records():
    for record in (
        DeviceInfo("qnn", "HTP", "emulated", versions={"qnn": "2.51"}),
        Capabilities(operators={"Conv": frozenset({"float32", "int8"})}, layouts=frozenset(), dynamic_shapes=False),
        NodePlacement("n", "Conv", "NPU", True, partition=3, engine="HMX"),
        TensorSpec("x", (1, None), "bfloat16", strides=(4, 2), memory_kinds=frozenset({"host", "dmabuf"})),
    ):
        assert through(record) == record


@pytest.mark.parametrize("value", [object(), [lambda: None], {"a": NodePlacement}, np.zeros(2, "i4,i4"), np.datetime64(0, "s")])
def test_what_cannot_be_sent_is_named(value):
    with pytest.raises(TypeError, match="cannot be sent between processes"):
        encode(value)
