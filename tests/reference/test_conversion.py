"""Casts of the reference: ties, overflow of each format, truncation, low bits, double rounding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from reference import dtypes
from reference.evaluator import apply

INF, NAN = np.inf, np.nan
BEYOND = (2 - 2**-8) * 2.0**127  # halfway from the largest bfloat16 to 2^128: goes up, to the even side


def cast(x: Any, to: str, **attributes: Any) -> NDArray[Any]:
    (result,) = apply("Cast", 25, [np.asarray(x)], {"to": dtypes.ONNX[to], **attributes})
    return result


def assert_same(got: NDArray[Any], expected: Any) -> None:
    """Equal, NaN to NaN, signs of zeros included."""
    expected = np.asarray(expected, np.float64)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize(
    ("to", "x", "expected"),
    [
        ("float16", [1 + 2**-11, 1 + 3 * 2**-11, 65519.0, 65520.0, -65520.0], [1, 1 + 2**-9, 65504, INF, -INF]),
        ("float16", [2**-25, 1.5 * 2**-25, -(2**-26), NAN, -0.0], [0.0, 2**-24, -0.0, NAN, -0.0]),
        ("bfloat16", [1 + 2**-8, 1 + 3 * 2**-8, BEYOND, 0.999 * BEYOND], [1, 1 + 2**-6, INF, (2 - 2**-7) * 2.0**127]),
        ("float32", [1 + 2**-24, 1 + 3 * 2**-24, 2**-150, 1e39], [1, 1 + 2**-22, 0.0, INF]),
        ("float64", [0.1, INF, NAN], [0.1, INF, NAN]),
        ("float4_e2m1fn", [0.25, 0.75, 2.5, 3.5, 5.0, 100.0, -INF, NAN], [0, 1, 2, 4, 4, 6, -6, 0]),
    ],
)
def test_rounding_to_floats(to: str, x: list[float], expected: list[float]) -> None:
    assert_same(cast(x, to), expected)


# Each format's largest value, the tie above it, and just beyond the tie.
FLOAT8 = {
    "float8_e4m3fn": (448.0, 464.0, 465.0),
    "float8_e4m3fnuz": (240.0, 247.0, 248.0),
    "float8_e5m2": (57344.0, 61439.0, 61440.0),
    "float8_e5m2fnuz": (57344.0, 61439.0, 61440.0),
}


@pytest.mark.parametrize("to", FLOAT8)
def test_overflow_of_float8(to: str) -> None:
    largest, below, beyond = FLOAT8[to]
    x = [below, beyond, -beyond, INF, -INF, NAN]
    assert_same(cast(x, to), [largest, largest, -largest, largest, -largest, NAN])
    lost = INF if to == "float8_e5m2" else NAN
    assert_same(cast(x, to, saturate=0), [largest, lost, -lost, lost, -lost, NAN])
    assert_same(cast([-0.0], to), [0.0 if to.endswith("uz") else -0.0])


@pytest.mark.parametrize("to", [*FLOAT8, "float16", "bfloat16", "float4_e2m1fn"])
def test_every_value_of_a_narrow_format_survives(to: str) -> None:
    dtype = dtypes.numpy_dtype(to)
    bits = 4 if to.startswith("float4") else dtype.itemsize * 8
    codes = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):  # signalling NaN among the codes
        values = codes.view(dtype).astype(np.float64)
    values = values[np.isfinite(values)]
    assert_same(cast(values, to), values)


def test_reals_truncate_toward_zero() -> None:
    x = [0.99, -0.99, 1.5, -1.5, 126.999, -128.0]
    got = cast(x, "int8")
    assert got.dtype == np.int8
    assert got.tolist() == [0, 0, 1, -1, 126, -128]
    assert cast([2.0**63, 2.0**64 - 2048, 255.5], "uint64").tolist() == [2**63, 2**64 - 2048, 255]
    assert cast([-(2.0**63), 2.0**63 - 1024], "int64").tolist() == [-(2**63), 2**63 - 1024]


def test_reals_round_to_nearest_even_in_four_bits() -> None:
    got = cast([1.5, 2.5, -0.6, 7.4, -8.5], "int4")
    assert got.dtype == ml_dtypes.int4
    assert got.astype(int).tolist() == [2, 2, -1, 7, -8]


def test_what_onnx_leaves_open_is_deterministic() -> None:
    assert cast([NAN, INF, -INF, 200.0, -129.0], "int8").tolist() == [0, 127, -128, -56, 127]
    assert cast([NAN, INF, -INF, 1e300], "uint64").tolist() == [0, 2**64 - 1, 0, 2**64 - 1]
    assert cast([INF, -INF, 1e19], "int64").tolist() == [2**63 - 1, -(2**63), 2**63 - 1]


def test_integers_keep_their_low_bits() -> None:
    assert cast(np.array([200, -200, 256], np.int16), "int8").tolist() == [-56, 56, 0]
    assert cast(np.array([-1], np.int8), "uint64").tolist() == [2**64 - 1]
    assert cast(np.array([2**64 - 1, 2**63], np.uint64), "int64").tolist() == [-1, -(2**63)]
    assert cast(np.array([2**64 - 2], np.uint64), "int32").tolist() == [-2]
    assert cast(np.array([8, -9, 23, -1], np.int32), "int4").astype(int).tolist() == [-8, 7, 7, -1]
    assert cast(np.array([16, -1, 31], np.int32), "uint4").astype(int).tolist() == [0, 15, 15]
    assert cast(np.array([-8, 7], ml_dtypes.int4), "uint8").tolist() == [248, 7]
    assert_same(cast(np.array([-8, 7], ml_dtypes.int4), "float32"), [-8, 7])


def test_bool() -> None:
    got = cast([0.0, -0.0, 0.3, NAN, -INF], "bool")
    assert got.dtype == bool
    assert got.tolist() == [False, False, True, True, True]
    assert cast(np.array([0, 256, -1], np.int16), "bool").tolist() == [False, True, True]
    assert cast(np.array([0, 3], ml_dtypes.uint4), "bool").tolist() == [False, True]
    assert_same(cast(np.array([True, False]), "float16"), [1, 0])
    assert cast(np.array([True, False]), "int8").tolist() == [1, 0]


def test_large_integers_round_once() -> None:
    # Just above a tie of bfloat16 and of float32: rounding to float64 first would land on the tie and then go down.
    x = np.array([2**62 + 2**54 + 1, -(2**62 + 2**54 + 1), 2**62 + 2**54, 2**62 + 2**54 - 1], np.int64)
    assert_same(cast(x, "bfloat16"), [2.0**62 + 2.0**55, -(2.0**62 + 2.0**55), 2.0**62, 2.0**62])
    x = np.array([2**63 + 2**39 + 1, 2**63 + 2**39, 2**64 - 1], np.uint64)
    assert_same(cast(x, "float32"), [2.0**63 + 2.0**40, 2.0**63, 2.0**64])
    assert_same(cast(np.array([2**53 + 1, 2**53 + 3], np.int64), "float64"), [2.0**53, 2.0**53 + 4])
    assert_same(cast(np.array([-(2**63), 70000], np.int64), "float16"), [-INF, INF])
    assert_same(cast(np.array([10**6], np.int64), "float8_e4m3fn"), [448.0])


def test_chains_are_exact() -> None:
    halves = cast(cast([2049.0, 0.1], "float16"), "float32")
    assert_same(halves, [2048.0, float(np.float16(0.1))])


def test_cast_like_reads_only_the_type() -> None:
    (got,) = apply("CastLike", 19, [np.array([1e9, 1.0625]), np.zeros((0, 3))], {}, types=("float32", "float8_e4m3fn"))
    assert_same(got, [448.0, 1.0])
    (got,) = apply("CastLike", 15, [np.array([[-1.5]]), np.array(7, np.int16)], {})
    assert got.dtype == np.int16
    assert got.tolist() == [[-1]]
    (got,) = apply("CastLike", 19, [np.array([1e9]), np.zeros(1)], {"saturate": 0}, types=("float32", "float8_e5m2"))
    assert_same(got, [INF])


def test_shapes_and_refusals() -> None:
    assert cast(np.zeros((2, 0)), "int4").shape == (2, 0)
    assert cast(np.array(3.7), "int32").shape == ()
    (got,) = apply("Cast", 1, [np.array([2.5])], {"to": "INT32"})
    assert got.tolist() == [2]
    for code in (TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.FLOAT8E8M0):
        with pytest.raises(ValueError, match="is not in the reference"):
            apply("Cast", 25, [np.array([1.0])], {"to": code})
    with pytest.raises(ValueError, match="Cast from float8_e8m0fnu"):
        cast(np.array([0.5], ml_dtypes.float8_e8m0fnu), "float32")
