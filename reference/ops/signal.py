"""Fourier transforms, the windows cut out for them, and the mel scale.

Complex numbers are a last axis of 2, real ones of 1, as ONNX stores them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops.arguments import single
from reference.ops.conversion import convert
from reference.ops.movement import LARGEST_COUNT

Array = NDArray[Any]

MEL_MOVE = 2.0**-18
"""Ties of the mel scale are what a relative move of 1 + f/700 by this much would decide otherwise."""


def _integer(value: Array, name: str, least: int = 0) -> int:
    """A scalar input. Raises ValueError below `least`."""
    number = int(single(value, name))
    if number < least:
        raise ValueError(f"{name} is {number}, at least {least} was expected")
    return number


def _complex(x: Array) -> Array:
    """(..., 1) or (..., 2) → (...), real or complex."""
    if x.ndim == 0 or x.shape[-1] not in (1, 2):
        raise ValueError(f"shape {x.shape} has no last axis of 1 (real) or 2 (complex)")
    return x[..., 0] if x.shape[-1] == 1 else np.ascontiguousarray(x).view(np.complex128)[..., 0]


def _pairs(z: Array) -> Array:
    """(...) complex → (..., 2)."""
    return np.stack([z.real, z.imag], axis=-1)


def _as_type(x: Array, code: int) -> Array:
    """Real x as the type of an attribute `output_datatype`: truncated for integers, unrounded for real types."""
    name = types.NAMES.get(code)
    if name is None:
        raise ValueError(f"output_datatype {code} is no tensor type of the reference")
    return x if types.is_float(name) else convert(x, name)


def dft(x: Array, dft_length: Array | None = None, axis: Array | None = None, *, inverse: int = 0, onesided: int = 0) -> Array:
    """DFT-20: x (..., 1 or 2), `axis` cut or padded with zeros to `dft_length` N → (..., 2); the inverse divides by N.

    `onesided`: floor(N/2) + 1 values of the transform of a real x (the attribute's text counts one more, the output's
    does not), or with `inverse` the real signal (..., 1) of such values, N = 2·(length - 1) unless given; the imaginary
    parts that a real signal cannot have (of value 0, and N/2 for even N) are ignored. An axis of length 0 transforms to
    empty sums. Open in ONNX: those imaginary parts, infinities. Raises ValueError for the last axis or one out of range,
    a negative length, and `onesided` on complex input, or real with `inverse`.
    """
    rank, named = x.ndim, -2 if axis is None else int(single(axis, "axis"))
    signal = _complex(x)
    if not -rank <= named < rank or named in (-1, rank - 1):
        raise ValueError(f"axis {named} is out of [-{rank}, -2] and [0, {rank - 2}]")
    if onesided and (signal.dtype.kind == "c") != bool(inverse):
        raise ValueError("onesided takes real input, and complex input with inverse")
    place = named % rank
    default = 2 * max(x.shape[place] - 1, 0) if onesided and inverse else x.shape[place]
    n = default if dft_length is None else _integer(dft_length, "dft_length")
    if n == 0 or x.size == 0:
        values = n if inverse or not onesided else n // 2 + 1
        return np.zeros((*x.shape[:place], values, *x.shape[place + 1 : -1], 1 if onesided and inverse else 2))
    if onesided:
        return np.fft.irfft(signal, n, place)[..., None] if inverse else _pairs(np.fft.rfft(signal, n, place))
    return _pairs((np.fft.ifft if inverse else np.fft.fft)(signal, n, place))


def dft_open(
    x: Array, dft_length: Array | None = None, axis: Array | None = None, *, inverse: int = 0, onesided: int = 0
) -> Array:
    """Mask of `dft`'s open elements, broadcastable to its result: those of lines with NaN or infinities, and of half spectra
    with imaginary parts that a real signal cannot have."""
    place = (-2 if axis is None else int(single(axis, "axis"))) % x.ndim
    marked = np.asarray(~np.isfinite(x).all(axis=(place, -1), keepdims=True))
    if inverse and onesided:
        n = 2 * (x.shape[place] - 1) if dft_length is None else int(single(dft_length, "dft_length"))
        real = [k for k in ([0] if n % 2 else [0, n // 2]) if 0 <= k < x.shape[place]]
        marked = marked | (np.take(x, real, place)[..., 1:] != 0).any(axis=place, keepdims=True)
    return marked


def dft_17_open(x: Array, dft_length: Array | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Array:
    """`dft_open` of DFT-17."""
    return dft_open(x, dft_length, np.array(axis), inverse=inverse, onesided=onesided)


def dft_17(x: Array, dft_length: Array | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Array:
    """DFT-17: as DFT-20, with the axis an attribute."""
    return dft(x, dft_length, np.array(axis), inverse=inverse, onesided=onesided)


def stft(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int = 1,
) -> Array:
    """STFT-17: signal (batch, length, 1 or 2), window (F) → (batch, frames, F, 2), or floor(F/2) + 1 in place of F.

    F is `frame_length`, else the window's length, else the signal's; floor((length - F)/frame_step) + 1 frames, each
    times the window. Raises ValueError for a complex signal with `onesided`, which is the default, a window of another
    length than F, and a number of frames below 0.
    """
    if signal.ndim != 3:
        raise ValueError(f"signal has rank {signal.ndim}, 3 was expected")
    if window is not None and window.ndim != 1:
        raise ValueError(f"window has rank {window.ndim}, 1 was expected")
    values, step = _complex(signal), _integer(frame_step, "frame_step", 1)
    if onesided and values.dtype.kind == "c":
        raise ValueError("onesided takes a real signal")
    default = values.shape[1] if window is None else window.shape[0]
    length = default if frame_length is None else _integer(frame_length, "frame_length")
    if length < 1:
        raise ValueError(f"frames of {length} values have no transform")
    if window is not None and window.shape[0] != length:
        raise ValueError(f"a window of {window.shape[0]} does not fit frames of {length}")
    count = (values.shape[1] - length) // step + 1
    if count < 0:
        raise ValueError(f"frames of {length} do not fit a signal of {values.shape[1]}")
    if count == 0 or values.shape[0] == 0:
        return np.zeros((values.shape[0], count, length // 2 + 1 if onesided else length, 2))
    frames = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)[:, ::step]
    weighted = frames if window is None else frames * window
    return _pairs((np.fft.rfft if onesided else np.fft.fft)(weighted))


def _window(size: Array, periodic: int, output_datatype: int, formula: Callable[[Array], Array]) -> Array:
    """formula(sin²(π·n/N)) for n below `size`, N = size if `periodic`, else size - 1.

    In sin² each window is a sum of terms of one sign: no digit is lost where it is near 0. The angle is folded into the
    first quarter, so that 0 and 1 are exact.
    """
    n = _integer(size, "size")
    if n > LARGEST_COUNT:
        raise ValueError(f"a window of {n} elements")
    period = n if periodic else n - 1
    position = np.arange(n)
    folded = np.minimum(position, period - position)
    if n and not period:
        return _as_type(np.full(n, np.nan), output_datatype)
    return _as_type(formula(np.sin(np.pi * (folded / max(period, 1))) ** 2), output_datatype)


def window_open(size: Array, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    """Mask of the windows' open elements: the point of a symmetric window that has no other."""
    return np.full(_integer(size, "size"), not periodic and int(size) == 1)


def hann_window(size: Array, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    """HannWindow-17: 1/2 - cos(2πn/N)/2 for n < size, N = size if `periodic`, else size - 1 → (size).

    Open in ONNX: the symmetric window of one point, whose formula is cos(0/0): NaN.
    """
    return _window(size, periodic, output_datatype, lambda s: s)


def hamming_window(size: Array, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    """HammingWindow-17: 25/46 - 21/46·cos(2πn/N), as HannWindow. The function body gives 25/46, no text does."""
    return _window(size, periodic, output_datatype, lambda s: (4 + 42 * s) / 46)


def blackman_window(size: Array, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    """BlackmanWindow-17: 0.42 - 0.5·cos(2πn/N) + 0.08·cos(4πn/N), as HannWindow."""
    return _window(size, periodic, output_datatype, lambda s: (9 * s + 16 * s * s) / 25)


def _places(bands: int, dft_length: int, rate: int, lower: Fraction, upper: Fraction) -> Array:
    """(dft_length + 1)·f/rate for each of the bands + 2 edges f, equally spaced on the mel scale from `lower` on: edge i of m
    has 1 + f/700 = a^((m-i)/m)·b^(i/m) with a, b that of the limits."""
    share = np.arange(bands + 2) / (bands + 2)
    exponent = (1 - share) * np.log1p(float(lower) / 700) + share * np.log1p(float(upper) / 700)
    return np.asarray(float(Fraction(700 * (dft_length + 1), rate)) * np.expm1(exponent))


def _bins(bands: int, dft_length: int, rate: int, lower: Fraction, upper: Fraction) -> Array:
    """The places of the edges, rounded down. Where float64 is too close to an integer k to tell,
    (1 + k·rate/(700·(dft_length + 1)))^m ≤ a^(m-i)·b^i tells."""
    m, scale = bands + 2, Fraction(700 * (dft_length + 1), rate)
    a, b = 1 + lower / 700, 1 + upper / 700
    places = _places(bands, dft_length, rate, lower, upper)
    bins: Array = np.floor(places)
    nearest = np.rint(places)
    for i in np.flatnonzero(np.abs(places - nearest) <= 1e-9 * (1 + places)):
        k = int(nearest[i])
        reached = (1 + k / scale) ** m <= a ** (m - int(i)) * b ** int(i)
        bins[i] = k if reached else k - 1
    return bins


def mel_weight_matrix(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int = 1,
) -> Array:
    """MelWeightMatrix-17: (floor(dft_length/2) + 1, num_mel_bins), column i a triangle of peak 1 over the edges i … i+2.

    mel(f) = 2595·log10(1 + f/700). Open in ONNX: where the edges lie. As in its node case they are
    floor((dft_length + 1)·f_i/sample_rate), f_i = lower edge + i·(upper - lower)/(num_mel_bins + 2) in mel, so that the
    top of the highest band stays below the upper edge, whatever that input's text says. A triangle of no width keeps its
    peak, and what lies beyond the spectrogram is cut. Raises ValueError unless 0 <= lower <= upper edge.
    """
    bands, length = _integer(num_mel_bins, "num_mel_bins"), _integer(dft_length, "dft_length")
    rate = _integer(sample_rate, "sample_rate", 1)
    limits = [float(single(edge, "an edge")) for edge in (lower_edge_hertz, upper_edge_hertz)]
    if not 0 <= limits[0] <= limits[1] < np.inf:
        raise ValueError(f"edges of {limits[0]} and {limits[1]} Hz, 0 <= lower <= upper was expected")
    bins = _bins(bands, length, rate, Fraction(limits[0]), Fraction(limits[1]))
    left, centre, right = bins[:-2], bins[1:-1], bins[2:]
    row = np.arange(length // 2 + 1)[:, None]
    rising = np.where(left < centre, (row - left) / np.maximum(centre - left, 1), row >= centre)
    falling = np.where(centre < right, (right - row) / np.maximum(right - centre, 1), row <= centre)
    return _as_type(np.clip(np.minimum(rising, falling), 0, None), output_datatype)


def mel_ties(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int = 1,
    move: float = MEL_MOVE,
) -> Array:
    """Mask of `mel_weight_matrix`'s ties, (1, num_mel_bins): columns with an edge so close to an integer that a relative `move`
    of 1 + f/700 decides on which side it is."""
    bands, length, rate = (int(single(n, "a number")) for n in (num_mel_bins, dft_length, sample_rate))
    limits = [Fraction(float(single(edge, "an edge"))) for edge in (lower_edge_hertz, upper_edge_hertz)]
    places = _places(bands, length, rate, limits[0], limits[1])
    reach = (700 * (length + 1) / rate + places) * move
    near = (np.abs(places - np.rint(places)) <= reach) & (places != 0)
    return np.asarray(near[:-2] | near[1:-1] | near[2:])[None]
