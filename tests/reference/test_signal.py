"""Fourier transforms, windows and the mel scale against values worked out by hand, and against the defining sum."""

import itertools

import numpy as np
import pytest

from reference.ops import signal
from reference.ops.signal import dft, dft_17, mel_weight_matrix, stft


def real(*values):
    return np.array(values, np.float64)[None, :, None]


def complex_(*values):
    z = np.array(values, np.complex128)
    return np.stack([z.real, z.imag], -1)[None]


def scalar(value):
    return np.array(value, np.int64)


def by_definition(x, axis, n, inverse):
    """The sum of DFT-20's text, on the signal cut or padded to n."""
    z = np.moveaxis(x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0), axis, 0)[:n]
    turn = np.outer(np.arange(n), np.arange(len(z))) % n / n
    matrix = np.exp((2j if inverse else -2j) * np.pi * turn) / (n if inverse else 1)
    y = np.moveaxis(np.tensordot(matrix, z, 1), 0, axis)
    return np.stack([y.real, y.imag], -1)


def assert_close(got, wanted):
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-13 * max(1, np.abs(wanted).max(initial=0)))


def test_four_points():
    # 1 2 3 4: sum 10, (1-3) + (4-2)j, 1-2+3-4, conjugate
    assert_close(dft(real(1, 2, 3, 4)), complex_(10, -2 + 2j, -2, -2 - 2j))
    assert_close(dft(real(1, 2, 3, 4), onesided=1), complex_(10, -2 + 2j, -2))
    assert_close(dft(complex_(1j, 2j)), complex_(3j, -1j))


def test_the_inverse_divides_by_the_length():
    assert_close(dft(complex_(10, -2 + 2j, -2, -2 - 2j), inverse=1), complex_(1, 2, 3, 4))
    assert_close(dft(complex_(6, 0), scalar(3), inverse=1), complex_(2, 2, 2))
    assert_close(dft(real(1, 1), inverse=1), complex_(1, 0))


def test_length_cuts_or_pads():
    assert_close(dft(real(1, 2, 9, 9), scalar(2)), complex_(3, -1))
    assert_close(dft(real(1, 2), scalar(4)), complex_(3, 1 - 2j, -1, 1 + 2j))
    assert_close(dft(real(1, 2), scalar(4), onesided=1), complex_(3, 1 - 2j, -1))
    assert_close(dft(real(7, 8, 9), scalar(1)), complex_(7))
    assert_close(dft(real(7, 8, 9), scalar(1), onesided=1), complex_(7))


def test_real_signals_from_half_a_spectrum():
    spectrum = complex_(10, -2 + 2j, -2)
    assert_close(dft(spectrum, inverse=1, onesided=1), real(1, 2, 3, 4))
    # two values are cut out for length 3: (10 + 2·Re((-2 + 2j)·w^n))/3, w a third of a turn
    thirds = [(10 - 4) / 3, (10 + 2 - 2 * 3**0.5) / 3, (10 + 2 + 2 * 3**0.5) / 3]
    assert_close(dft(spectrum, scalar(3), inverse=1, onesided=1), real(*thirds))
    # length 6 takes four values, of which the last is padding
    padded = dft(np.concatenate([spectrum, np.zeros((1, 1, 2))], 1), inverse=1, onesided=1)
    assert_close(dft(spectrum, scalar(6), inverse=1, onesided=1), padded)
    assert padded.shape == (1, 6, 1)


def test_imaginary_parts_that_no_real_signal_has_are_ignored():
    assert_close(dft(complex_(10 + 5j, -2 + 2j, -2 - 7j), inverse=1, onesided=1), real(1, 2, 3, 4))


@pytest.mark.parametrize(("axis", "parts", "inverse"), [*itertools.product((0, 1, 2, -2, -3, -4), (1, 2), (0, 1))])
def test_every_axis_equals_the_definition(axis, parts, inverse):
    x = np.random.default_rng(3).standard_normal((3, 4, 5, parts))
    place = axis % 4
    for n in (1, 3, 4, 7):
        wanted = by_definition(x, place, n, inverse)
        assert_close(dft(x, scalar(n), scalar(axis), inverse=inverse), wanted)
        assert_close(dft_17(x, scalar(n), axis=axis, inverse=inverse), wanted)
        if parts == 1 and not inverse:
            half = wanted.take(range(n // 2 + 1), place)
            assert_close(dft(x, scalar(n), scalar(axis), onesided=1), half)
            cut = x.take(range(min(n, x.shape[place])), place)
            padding = [(0, n - cut.shape[place] if i == place else 0) for i in range(4)]
            assert_close(dft(half, scalar(n), scalar(axis), inverse=1, onesided=1), np.pad(cut, padding))


def test_default_axes_differ():
    x = np.zeros((2, 3, 5, 1))
    assert dft(x, scalar(7)).shape == (2, 3, 7, 2)
    assert dft_17(x, scalar(7)).shape == (2, 7, 5, 2)


def test_empty_tensors():
    assert dft(np.zeros((0, 4, 1))).shape == (0, 4, 2)
    assert dft(np.zeros((2, 0, 1))).shape == (2, 0, 2)
    assert dft(np.zeros((2, 0, 2)), scalar(3), inverse=1).tolist() == np.zeros((2, 3, 2)).tolist()
    assert dft(np.zeros((2, 0, 1)), onesided=1).tolist() == [[[0, 0]]] * 2  # one value, a sum of nothing
    assert dft(np.zeros((2, 1, 2)), inverse=1, onesided=1).shape == (2, 0, 1)


@pytest.mark.parametrize("axis", [-1, 2, 3, -4])
def test_axes_that_are_no_signal_are_refused(axis):
    with pytest.raises(ValueError, match="out of"):
        dft(np.zeros((2, 3, 1)), None, scalar(axis))


def test_transforms_refuse():
    with pytest.raises(ValueError, match="onesided"):
        dft(complex_(1, 2), onesided=1)
    with pytest.raises(ValueError, match="onesided"):
        dft(real(1, 2), onesided=1, inverse=1)
    with pytest.raises(ValueError, match="dft_length"):
        dft(real(1, 2), scalar(-1))
    with pytest.raises(ValueError, match="last axis"):
        dft(np.zeros((2, 3)))


def test_frames():
    x = np.arange(1.0, 8).reshape(1, 7, 1)
    # frames of 3 every 3: 1 2 3 and 4 5 6; 7 is left over
    y = stft(x, scalar(3), None, scalar(3), onesided=0)
    assert_close(y[0], np.concatenate([dft(real(1, 2, 3)), dft(real(4, 5, 6))]))
    assert stft(x, scalar(3), None, scalar(3)).shape == (1, 2, 2, 2)
    assert stft(x, scalar(2), None, scalar(3)).shape == (1, 3, 2, 2)
    assert stft(x, scalar(1)).shape == (1, 1, 4, 2)  # one frame, the whole signal
    assert stft(x, scalar(1), None, scalar(8)).shape == (1, 0, 5, 2)  # floor(-1/1) + 1 frames
    assert stft(np.zeros((0, 7, 1)), scalar(2), None, scalar(4)).shape == (0, 2, 3, 2)


def test_frames_times_window_of_every_batch_entry():
    window = np.array([1.0, 0, -1, 2])
    x = np.stack([complex_(1, 2j, 3, 4, 5, 6)[0], complex_(6, 5, 4, 3j, 2, 1)[0]])
    y = stft(x, scalar(2), window, onesided=0)
    assert y.shape == (2, 2, 4, 2)
    assert_close(y[0, :1], dft(complex_(1, 0, -3, 8)))
    assert_close(y[1, 1:], dft(complex_(4, 0, -2, 2)))
    assert_close(y, stft(x, scalar(2), window, scalar(4), onesided=0))


def test_frames_refuse():
    x = np.zeros((1, 4, 1))
    with pytest.raises(ValueError, match="onesided"):
        stft(np.zeros((1, 4, 2)), scalar(1), None, scalar(2))
    with pytest.raises(ValueError, match="window of 3"):
        stft(x, scalar(1), np.ones(3), scalar(2))
    with pytest.raises(ValueError, match="frame_step"):
        stft(x, scalar(0), np.ones(3))
    with pytest.raises(ValueError, match="no transform"):
        stft(x, scalar(1), np.ones(0))
    with pytest.raises(ValueError, match="do not fit"):
        stft(x, scalar(1), np.ones(6))
    with pytest.raises(ValueError, match="rank"):
        stft(np.zeros((4, 1)), scalar(1))
    with pytest.raises(ValueError, match="rank"):
        stft(x, scalar(1), np.ones((4, 1)))


HANN, HAMMING, BLACKMAN = signal.hann_window, signal.hamming_window, signal.blackman_window


@pytest.mark.parametrize(
    ("window", "edge", "quarter"),
    [(HANN, 0, 1 / 2), (HAMMING, 4 / 46, 25 / 46), (BLACKMAN, 0, 0.42 - 0.08)],
)
def test_windows(window, edge, quarter):
    symmetric = window(scalar(5), periodic=0)
    np.testing.assert_allclose(symmetric, [edge, quarter, 1, quarter, edge], rtol=1e-15)
    assert (symmetric[2], symmetric[0], symmetric[4]) == (1, edge, edge)  # without rounding
    np.testing.assert_array_equal(window(scalar(4)), symmetric[:4])
    assert window(scalar(0)).shape == window(scalar(0), periodic=0).shape == (0,)
    assert window(scalar(1)).tolist() == [edge]  # the first point of the symmetric window of two
    assert np.isnan(window(scalar(1), periodic=0)).tolist() == [True]
    assert window(scalar(5), periodic=0, output_datatype=7).tolist() == [0, 0, 1, 0, 0]
    assert window(scalar(5), output_datatype=2).dtype == np.uint8
    assert window(scalar(5), output_datatype=16).dtype == np.float64
    with pytest.raises(ValueError, match="size is -1"):
        window(scalar(-1))
    with pytest.raises(ValueError, match="output_datatype 0"):
        window(scalar(1), output_datatype=0)


def test_windows_equal_their_formulas_of_cosines():
    angle = 2 * np.pi * np.arange(9) / 9
    np.testing.assert_allclose(HANN(scalar(9)), 0.5 - 0.5 * np.cos(angle), atol=1e-15)
    np.testing.assert_allclose(HAMMING(scalar(9)), 25 / 46 - 21 / 46 * np.cos(angle), atol=1e-15)
    np.testing.assert_allclose(BLACKMAN(scalar(9)), 0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle), atol=1e-15)


def test_windows_keep_their_digits_near_zero():
    # sin²(t) = t² - t⁴/3 + …; 1 - cos would leave six digits
    t = np.pi / 1e6
    assert HANN(scalar(10**6))[1] == pytest.approx(t * t - t**4 / 3, rel=1e-15)
    assert BLACKMAN(scalar(10**6))[1] == pytest.approx(0.36 * t * t, rel=1e-10)


def mel(bands, length, rate, lower, upper, **attributes):
    edges = np.array(lower, np.float64), np.array(upper, np.float64)
    return mel_weight_matrix(scalar(bands), scalar(length), scalar(rate), *edges, **attributes)


def test_mel_triangles():
    # one band, three edges at 0, 1/3, 2/3 of the way to 1 + f/700 = 27 = 3³: f = 0, 1400, 5600; bins of 200 Hz: 0 7 28
    y = mel(1, 59, 12000, 0, 26 * 700)
    assert y.shape == (30, 1)
    np.testing.assert_allclose(y[:, 0], [j / 7 for j in range(7)] + [(28 - j) / 21 for j in range(7, 28)] + [0, 0])


def test_mel_edges_are_floors_of_exact_numbers():
    # 1 + f/700 = 4^(i/4): f = 0, 289.9, 700, 1279.9; 16·f/11200 = 0, 0.41, 1, 1.83, the third exactly
    assert mel(2, 15, 11200, 0, 2100).tolist() == [[1, 0], [0, 1]] + [[0, 0]] * 6
    # all edges at 1000 Hz, which is bin 16·1000/16000 = 1 exactly
    assert mel(2, 15, 16000, 1000, 1000).tolist() == [[0, 0], [1, 1]] + [[0, 0]] * 6
    below = np.nextafter(1000, 0)
    assert mel(2, 15, 16000, below, below).tolist() == [[1, 1]] + [[0, 0]] * 7


def test_mel_beyond_the_spectrogram_is_cut():
    # edges at 0, 1400, 5600 Hz as above, bins of 200 Hz: 0 7 28, of which 0 … 4 are there
    np.testing.assert_allclose(mel(1, 9, 2000, 0, 26 * 700)[:, 0], [j / 7 for j in range(5)])
    assert mel(0, 8, 8000, 0, 4000).shape == (5, 0)
    assert mel(3, 0, 8000, 0, 4000).tolist() == [[1, 1, 1]]  # bins floor(f/8000) are all 0


def test_mel_integers_are_truncated():
    y = mel(1, 59, 12000, 0, 26 * 700, output_datatype=6)
    assert y.dtype == np.int32
    assert np.flatnonzero(y).tolist() == [7]


@pytest.mark.parametrize(("lower", "upper"), [(-1, 10), (20, 10), (0, np.inf), (np.nan, 1)])
def test_mel_refuses_edges(lower, upper):
    with pytest.raises(ValueError, match="lower <= upper"):
        mel(1, 8, 8000, lower, upper)
