"""Bounds of transforms, windows and the mel scale: right for every algorithm, too narrow for what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reference import dtypes
from tests.verification import formulas, transforms
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(20)
LENGTHS = {"direct": (1, 2, 5, 16, 33), "reversed": (7, 24), "recursive": (4, 12, 64, 128), "bluestein": (3, 13, 30)}
RECIPES = ("normal", "positive", "tone", "wide", "impulse")


def line(recipe, shape, rng):
    n = shape[-2]
    if recipe == "tone":
        return np.cos(2 * np.pi * 3 * np.arange(n) / n + rng.normal())[:, None] * np.ones(shape)
    if recipe == "impulse":
        return np.where(np.arange(n)[:, None] == n - 1, 3.14, 0.0) * np.ones(shape)
    x = rng.normal(size=shape)
    return np.abs(x) + 1 if recipe == "positive" else x * 2.0 ** rng.integers(-6, 7, shape) if recipe == "wide" else x


def complex_of(x):
    return x[..., 0] + 1j * x[..., 1]


def pairs(z):
    return np.stack([z.real, z.imag], axis=-1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", list(LENGTHS))
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_algorithm_of_a_transform_stays_within_the_bound(name, recipe, dtype):
    if dtype == "float16" and name == "bluestein":
        return check_bluestein_is_left_to_wide_units()
    largest = 0.0
    for seed in SEEDS:
        n = LENGTHS[name][seed % len(LENGTHS[name])]
        rng = np.random.default_rng(seed)
        x = stored(line(recipe, (2, n, 2), rng), dtype)
        unit = formulas.Unit(dtype, formulas.ERRORS[seed % 4], seed)
        node = node_of("DFT", [x], (dtype,), 17, axis=1)
        got = pairs(transforms.ALGORITHMS[name](unit, complex_of(x.astype(np.float64))))
        largest = max(largest, ratio(node, got, dtype))
        if recipe in ("normal", "positive"):
            largest = max(largest, ratio(node, got, dtype, random=True))
    assert 0 <= largest <= 1


def check_bluestein_is_left_to_wide_units():
    x = stored(np.ones((1, 7, 2)), "float16")
    node = node_of("DFT", [x], ("float16",), 17, axis=1)
    assert ratio(node, node.results[0] + 0.1, "float16") > ratio(node, node.results[0] + 0.05, "float16") > 0


@pytest.mark.parametrize("n", [4, 6, 16, 31])
def test_inverse_transforms_stay_within_the_bound(n):
    for seed in SEEDS:
        x = stored(np.random.default_rng(seed).normal(size=(2, n, 2)), "float32")
        unit = formulas.Unit("float32", "random", seed)
        node = node_of("DFT", [x], ("float32",), 17, axis=1, inverse=1)
        z = complex_of(x.astype(np.float64))
        late = transforms.rounded(unit, transforms.recursive(unit, z, 1) / n)
        early = transforms.direct(unit, transforms.rounded(unit, z / n), 1)
        product = transforms.product(unit, transforms.recursive(unit, z, 1), np.asarray(unit.rounded(1 / n) + 0j))
        for got in (late, early, product):
            assert ratio(node, pairs(got), "float32") <= 1


@pytest.mark.parametrize("n", [8, 9])
def test_half_spectra_are_judged_both_ways(n):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = stored(rng.normal(size=(3, n, 1)), "float32")
        unit = formulas.Unit("float32", "up", seed)
        node = node_of("DFT", [x, None, np.array(1)], ("float32",), 20, onesided=1)
        got = pairs(transforms.recursive(unit, x[..., 0].astype(complex)))[:, : n // 2 + 1]
        assert ratio(node, got, "float32") <= 1
        half = stored(got, "float32")
        half[:, 0, 1] = 0
        if n % 2 == 0:
            half[:, -1, 1] = 0
        back = node_of("DFT", [half, np.array(n), np.array(1)], ("float32",), 20, onesided=1, inverse=1)
        z = complex_of(half.astype(np.float64))
        whole = np.concatenate([z, z[:, 1 : n - n // 2][:, ::-1].conj()], axis=1)
        got = transforms.rounded(unit, transforms.recursive(unit, whole, 1) / n).real[..., None]
        assert ratio(back, got, "float32") <= 1


def wrong_spectra(x):
    z = np.fft.fft(complex_of(x.astype(np.float64)), axis=1)
    return {
        "conjugated twiddles": np.fft.ifft(complex_of(x.astype(np.float64)), axis=1) * x.shape[1],
        "scaled": z / x.shape[1],
        "shifted": np.roll(z, 1, axis=1),
        "last term dropped": np.fft.fft(complex_of(np.where(np.arange(x.shape[1])[:, None] < x.shape[1] - 1, x, 0.0)), axis=1),
        "imaginary part negated": np.conj(z),
        "orthonormal": z / np.sqrt(x.shape[1]),
        "bfloat16 inputs": np.fft.fft(complex_of(stored(x, "bfloat16").astype(np.float64)), axis=1),
    }


@pytest.mark.parametrize("n", [5, 16, 64, 100])
@pytest.mark.parametrize("fault", list(wrong_spectra(np.zeros((1, 2, 2)))))
def test_faults_of_a_transform_fail(n, fault):
    x = stored(np.random.default_rng(n).normal(size=(2, n, 2)), "float32")
    got = stored(pairs(wrong_spectra(x)[fault]), "float32")
    assert judged("DFT", [x], got, 17, axis=1).status == "mismatch"


def test_an_inverse_without_division_fails():
    x = stored(np.random.default_rng(1).normal(size=(2, 8, 2)), "float32")
    got = stored(pairs(np.fft.ifft(complex_of(x), axis=1) * 8), "float32")
    assert judged("DFT", [x], got, 17, axis=1, inverse=1).status == "mismatch"


@pytest.mark.parametrize("n", [256, 1024])
def test_sixteen_bit_inputs_of_long_random_lines_fail(n):
    x = stored(np.random.default_rng(n).normal(size=(2, n, 2)), "float32")
    for narrow in ("bfloat16", "float16"):
        got = stored(pairs(np.fft.fft(complex_of(stored(x, narrow).astype(np.float64)), axis=1)), "float32")
        assert judged("DFT", [x], got, 17, axis=1, random=True).status == "mismatch"


def test_a_transform_that_may_overflow_on_the_way_is_left_open():
    x = stored(np.array([40000.0, -40000.0, 1.0, 1.0]).reshape(1, 4, 1), "float16")
    node = node_of("DFT", [x], ("float16",), 17, axis=1)
    assert ratio(node, np.full((1, 4, 2), np.inf), "float16") == 0


def frames(x, step, window):
    return np.lib.stride_tricks.sliding_window_view(x, len(window), axis=1)[:, ::step] * window


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("algorithm", ["direct", "recursive", "bluestein"])
def test_short_time_transforms_stay_within_the_bound(onesided, algorithm):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x, window = stored(rng.normal(size=(2, 40, 1)), "float32"), stored(np.abs(rng.normal(size=12)), "float32")
        unit = formulas.Unit("float32", "random", seed)
        node = node_of("STFT", [x, np.array(5), window], ("float32",), 17, onesided=onesided)
        cut = unit.rounded(frames(x[..., 0].astype(np.float64), 5, window.astype(np.float64)))
        got = pairs(transforms.ALGORITHMS[algorithm](unit, cut.astype(complex)))
        got = got[:, :, :7] if onesided else got
        assert ratio(node, got, "float32") <= 1
        assert ratio(node, got, "float32", random=True) <= 1


@pytest.mark.parametrize("fault", ["no window", "periodic window", "later frames", "conjugated", "bfloat16"])
def test_faults_of_a_short_time_transform_fail(fault):
    rng = np.random.default_rng(4)
    x, window = rng.normal(size=(1, 64)).astype(np.float32), np.hanning(16).astype(np.float32)
    periodic = np.hanning(17)[:16]
    wrong = {"no window": np.ones(16), "periodic window": periodic}.get(fault, window)
    data = np.roll(x, -1, axis=1) if fault == "later frames" else stored(x, "bfloat16") if fault == "bfloat16" else x
    z = np.fft.rfft(frames(np.asarray(data, np.float64), 8, np.asarray(wrong, np.float64)))
    got = stored(pairs(z.conj() if fault == "conjugated" else z), "float32")
    assert judged("STFT", [x[..., None], np.array(8), window], got, 17).status == "mismatch"


COSINES = {"HannWindow": (0.5, 0.5), "HammingWindow": (25 / 46, 21 / 46), "BlackmanWindow": (0.42, 0.5, 0.08)}


def by_cosines(unit, operator, n, period):
    angle = unit.div(unit.mul(unit.const(2 * np.pi), unit.rounded(np.arange(n))), unit.rounded(float(period)))
    first, second, *third = (unit.const(c) for c in COSINES[operator])
    y = unit.add(first, -unit.mul(second, unit.function("Cos", np.cos(angle))))
    return unit.add(y, unit.mul(third[0], unit.function("Cos", np.cos(2 * angle)))) if third else y


def by_steps(unit, operator, n, period):
    """As ONNX's function bodies: the index times 2π/N."""
    angle = unit.mul(unit.rounded(np.arange(n)), unit.div(unit.const(2 * np.pi), unit.rounded(float(period))))
    first, second, *third = (unit.const(c) for c in COSINES[operator])
    y = unit.add(first, unit.mul(-second, unit.function("Cos", np.cos(angle))))
    return unit.add(y, unit.mul(third[0], unit.function("Cos", np.cos(unit.mul(2.0, angle))))) if third else y


def by_sines(unit, operator, n, period):
    angle = unit.div(unit.mul(unit.const(np.pi), unit.rounded(np.arange(n))), unit.rounded(float(period)))
    s = unit.function("Sin", np.sin(angle))
    return unit.mul(s, s) if operator == "HannWindow" else by_cosines(unit, operator, n, period)


@pytest.mark.parametrize("operator", list(COSINES))
@pytest.mark.parametrize("dtype", formulas.FORMATS)
def test_every_formula_of_a_window_stays_within_the_bound(operator, dtype):
    code = dtypes.ONNX[dtype]
    for n in (2, 3, 16, 31, 100, 255, 256, 2000, 4097):
        for error in formulas.ERRORS:
            for periodic in (0, 1) if n < 300 else (1,):
                unit = formulas.Unit(dtype, error, n)
                attributes = {"periodic": periodic, "output_datatype": code}
                node = node_of(operator, [np.array(n)], (dtype,), 17, **attributes)
                for formula in (by_cosines, by_steps, by_sines):
                    assert ratio(node, formula(unit, operator, n, n if periodic else n - 1), dtype) <= 1


@pytest.mark.parametrize("operator", list(COSINES))
@pytest.mark.parametrize("n", [8, 64, 255])
def test_the_other_kind_of_window_fails(operator, n):
    exact = node_of(operator, [np.array(n)], ("float32",), 17, periodic=1).results[0]
    assert judged(operator, [np.array(n)], stored(exact, "float32"), 17, periodic=1).status == "pass"
    assert judged(operator, [np.array(n)], stored(exact, "float32"), 17, periodic=0).status == "mismatch"
    assert judged(operator, [np.array(n)], stored(stored(exact, "bfloat16"), "float32"), 17).status == "mismatch"


def test_rounded_coefficients_of_the_hamming_window_fail():
    got = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(32) / 32)
    assert judged("HammingWindow", [np.array(32)], stored(got, "float32"), 17).status == "mismatch"


def mel(bands, length, rate, low, high):
    return [np.array(bands), np.array(length), np.array(rate), np.array(low, np.float32), np.array(high, np.float32)]


def test_the_mel_scale_is_judged_and_its_ties_are_open():
    inputs = mel(8, 256, 8000, 0, 3000)
    node = node_of("MelWeightMatrix", inputs, ("float32",), 17)
    y = node.results[0]
    reciprocal = np.where(y > 0, y.astype(np.float32) * np.float32(1 + 2.0**-23), 0)
    assert judged("MelWeightMatrix", inputs, stored(y, "float32"), 17).status == "pass"
    assert ratio(node, reciprocal, "float32") <= 1
    for wrong in (np.roll(y, 1, axis=0), y * 2, stored(y, "bfloat16").astype(np.float64)):
        assert judged("MelWeightMatrix", inputs, stored(wrong, "float32"), 17).status == "mismatch"


def test_columns_of_the_mel_scale_whose_edge_is_a_whole_bin_are_open():
    inputs = mel(6, 31, 11200, 0, 700 * 255)  # 1 + f/700 is a power of two at every edge: bins are 2·(2^i − 1)
    node = node_of("MelWeightMatrix", inputs, ("float32",), 17)
    assert ratio(node, node.results[0] + 1, "float32") == 0
