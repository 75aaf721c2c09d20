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
        ("float6_e2m3fn", [1 / 16, 3 / 16, 1.0625, 7.75, -INF, NAN], [0, 0.25, 1, 7.5, -7.5, 0]),
        ("float6_e3m2fn", [1 / 32, 3 / 32, 1.125, 30.0, INF, -0.0], [0, 0.125, 1, 28, 28, -0.0]),
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


def test_infinities_of_float8_fnuz_saturate_from_24_on() -> None:
    for version, expected in ((19, [NAN, NAN, 240]), (23, [NAN, NAN, 240]), (24, [240, -240, 240])):
        (got,) = apply("Cast", version, [np.array([INF, -INF, 1e9])], {"to": dtypes.ONNX["float8_e4m3fnuz"]})
        assert_same(got, expected)
        kinds = ("float64", "float8_e4m3fnuz")
        (got,) = apply("CastLike", version, [np.array([INF, -INF, 1e9]), np.zeros(0)], {}, types=kinds)
        assert_same(got, expected)
    (got,) = apply("Cast", 19, [np.array([INF, -INF])], {"to": dtypes.ONNX["float8_e4m3fn"]})
    assert_same(got, [448, -448])


# Powers of two from 2^-127 to 2^127; 5 = 1.25·4, 6 = 1.5·4 and 7 = 1.75·4.
@pytest.mark.parametrize(
    ("mode", "expected"), [("up", [4, 8, 8, 8, 0.5]), ("down", [4, 4, 4, 4, 0.25]), ("nearest", [4, 4, 8, 8, 0.5])]
)
def test_scales_round_to_powers_of_two(mode: str, expected: list[float]) -> None:
    for saturate in (0, 1):
        x = [4.0, 5.0, 6.0, 7.0, 0.4]
        assert_same(cast(x, "float8_e8m0fnu", round_mode=mode, saturate=saturate), expected)
        assert_same(cast([2.0**-127, 2.0**127, NAN], "float8_e8m0fnu", round_mode=mode), [2.0**-127, 2.0**127, NAN])


def test_scales_at_the_ends_of_their_range() -> None:
    x = [0.0, 2.0**-128, 1.25 * 2.0**127, 2.0**128, INF, NAN, -1.0]
    low, high = 2.0**-127, 2.0**127
    assert_same(cast(x, "float8_e8m0fnu"), [low, low, high, high, high, NAN, NAN])
    assert_same(cast(x, "float8_e8m0fnu", saturate=0, round_mode="nearest"), [NAN] * 7)
    # just above 2^62: float64 holds no difference, rounding up sees one
    assert_same(cast(np.array([2**62, 2**62 + 1], np.int64), "float8_e8m0fnu"), [2.0**62, 2.0**63])
    assert cast(np.array([1.0, NAN]), "bool").tolist() == [True, True]
    with pytest.raises(ValueError, match="up, down or nearest"):
        cast([1.0], "float8_e8m0fnu", round_mode="odd")


NARROW = [*FLOAT8, "float16", "bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu"]


@pytest.mark.parametrize("to", NARROW)
def test_every_value_of_a_narrow_format_survives(to: str) -> None:
    dtype = dtypes.numpy_dtype(to)
    bits = int(to[5]) if to.startswith(("float4", "float6")) else dtype.itemsize * 8
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
    with pytest.raises(ValueError, match="no cast from float64 to complex64"):
        apply("Cast", 25, [np.array([1.0])], {"to": TensorProto.COMPLEX64})
    with pytest.raises(ValueError, match="no cast from complex128"):
        cast(np.array([1j]), "float32")
    with pytest.raises(ValueError, match="no tensor type"):
        apply("Cast", 25, [np.array([1.0])], {"to": 99})


def text(*values: str) -> NDArray[Any]:
    return np.array(values, object)


def test_strings_to_reals() -> None:
    x = text("3.14", "1e-5", "1E8", "+INF", "-inf", "Inf", "nAn", "-0", ".5", "7.", "-1.5e+2")
    expected = [3.14, 1e-5, 1e8, INF, -INF, INF, NAN, -0.0, 0.5, 7, -150]
    assert_same(cast(x, "float64"), expected)
    assert_same(cast(x, "float32"), np.array(expected, np.float32).astype(float))
    assert_same(cast(text("1e9", "-1e-9"), "float16"), [INF, -0.0])
    assert_same(cast(text("1e9", "INF"), "float8_e4m3fn"), [448, 448])
    assert_same(cast(text("1e400", "-1e400", "1e-400", "1e999999999"), "float64"), [INF, -INF, 0, INF])
    (got,) = apply("CastLike", 15, [text("2.5"), np.zeros(1, np.float32)], {})
    assert_same(got, [2.5])


def test_strings_round_once() -> None:
    # a tie of float16 and what is above it by less than half an ulp of float64
    tie = "1.00048828125"
    assert_same(cast(text(tie, tie + "0" * 20 + "1"), "float16"), [1, 1 + 2.0**-10])
    assert_same(cast(text("0.1" + "0" * 20 + "1"), "float64"), [0.1])


def test_strings_to_integers_and_bool() -> None:
    assert cast(text("100.5", "-2.9", "1e3", "9223372036854775807"), "int64").tolist() == [100, -2, 1000, 2**63 - 1]
    assert cast(text("18446744073709551615", "-1", "300"), "uint64").tolist() == [2**64 - 1, 2**64 - 1, 300]
    assert cast(text("300", "-129"), "int8").tolist() == [44, 127]
    assert cast(text("2.5", "3.5", "-9"), "int4").astype(int).tolist() == [2, 4, 7]
    assert cast(text("INF", "nan", "7"), "int8").tolist() == [127, 0, 7]
    assert cast(text("0", "-0.0", "1", "0.1", "NaN"), "bool").tolist() == [False, False, True, True, True]
    assert cast(text("", "Hello"), "str").tolist() == ["", "Hello"]


@pytest.mark.parametrize("bad", ["Hello World!", "", " 1", "0x10", "1_000", "infinity", "1e", "."])
def test_strings_that_are_no_number(bad: str) -> None:
    for to in ("float32", "int64", "bool"):
        with pytest.raises(ValueError, match="is no number"):
            cast(text("1", bad), to)


def test_numbers_to_strings() -> None:
    got = cast([0.1, 100.0, 1e20, 1e-7, -0.0, 314.15926, NAN, INF, -INF], "str")
    assert got.dtype == object
    plain = ["0.1", "100.0", "100000000000000000000.0", "0.0000001", "-0.0", "314.15926", "NaN", "INF", "-INF"]
    assert got.tolist() == plain
    assert cast(np.array([-128, 127], np.int8), "str").tolist() == ["-128", "127"]
    assert cast(np.array([2**64 - 1], np.uint64), "str").tolist() == ["18446744073709551615"]
    assert cast(np.array([-8, 7], ml_dtypes.int4), "str").tolist() == ["-8", "7"]
    assert cast(np.array([True, False]), "str").tolist() == ["1", "0"]
    assert cast(np.zeros((2, 0)), "str").shape == (2, 0)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn"])
def test_strings_tell_every_value(kind: str) -> None:
    x = dtypes.round_to(np.array([0.1, 1 / 3, -5.5, 2.0**-14, 1e4, 0.0]), kind)
    (written,) = apply("Cast", 25, [x], {"to": TensorProto.STRING}, types=(kind,))
    assert_same(cast(written, kind), x)
    shortest = {"float32": "0.33333334", "float16": "0.3333", "bfloat16": "0.334", "float8_e5m2": "0.3"}
    assert written[1] == shortest.get(kind, written[1])


def bit_cast(x: Any, source: str, target: str) -> NDArray[Any]:
    (result,) = apply("BitCast", 26, [np.asarray(x)], {"to": dtypes.ONNX[target]}, types=(source,))
    return result


@pytest.mark.parametrize(
    ("source", "reals", "target", "integers"),
    [
        ("float64", [1.0, -0.0], "uint64", [0x3FF0 << 48, 1 << 63]),
        ("float32", [1.0, -2.0, INF, 2.0**-149], "uint32", [0x3F800000, 0xC0000000, 0x7F800000, 1]),
        ("float32", [-0.0], "int32", [-(2**31)]),
        ("float16", [1.0, 65504.0, -INF], "uint16", [0x3C00, 0x7BFF, 0xFC00]),
        ("bfloat16", [1.0, -1.5], "int16", [0x3F80, 0xBFC0 - 0x10000]),
        ("float8_e4m3fn", [1.0, -448.0], "uint8", [0x38, 0xFE]),
        ("float8_e5m2", [1.0, INF], "int8", [0x3C, 0x7C]),
        ("float8_e8m0fnu", [1.0, 2.0**-127], "uint8", [0x7F, 0]),
        ("float4_e2m1fn", [0.5, -6.0, -0.0], "uint4", [1, 15, 8]),
        ("float4_e2m1fn", [0.5, -6.0, -0.0], "int4", [1, -1, -8]),
        ("float16", [1.0], "bfloat16", [2.0**-7]),
    ],
)
def test_bits_of_reals(source: str, reals: list[float], target: str, integers: list[int]) -> None:
    got = bit_cast(reals, source, target)
    if dtypes.is_float(target):
        assert_same(got, integers)
    else:
        assert got.dtype == dtypes.numpy_dtype(target)
        assert got.astype(object).tolist() == integers
        assert_same(bit_cast(got, target, source), reals)


def test_bits_of_integers_and_bools() -> None:
    assert bit_cast(np.array([-1, 1, -2], ml_dtypes.int2), "int2", "uint2").astype(int).tolist() == [3, 1, 2]
    assert bit_cast(np.array([7, 8, 15], ml_dtypes.uint4), "uint4", "int4").astype(int).tolist() == [7, -8, -1]
    assert bit_cast(np.array([[-1]], np.int64), "int64", "uint64").tolist() == [[2**64 - 1]]
    assert bit_cast([True, False], "bool", "int8").tolist() == [1, 0]
    assert bit_cast(np.array([0, 1, 2], np.uint8), "uint8", "bool").tolist() == [False, True, True]
    # the real part 1.0 is the low half, the imaginary part -0.0 the high one
    assert bit_cast(np.array([complex(1, -0.0)], np.complex64), "complex64", "uint64").tolist() == [(1 << 63) + 0x3F800000]
    assert bit_cast(1.0, "float32", "int32").shape == ()


def test_bit_cast_refuses_other_widths_and_strings() -> None:
    for source, target in (("float32", "int16"), ("uint4", "uint8"), ("bool", "uint2"), ("str", "uint8"), ("uint8", "str")):
        with pytest.raises(ValueError, match=f"BitCast from {source} to {target}: both must have as many bits"):
            bit_cast([1], source, target)
    with pytest.raises(ValueError, match="the type of the input of BitCast is not known"):
        apply("BitCast", 26, [np.array([1.0])], {"to": TensorProto.INT32}, types=(None,))
