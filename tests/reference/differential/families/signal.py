"""Fourier transforms, their windows and the mel scale."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference import dtypes

from ..samples import INTEGERS, Array, Sample, any_shape, array, call, kinds_of, version_of

INDEX = ("int64", "int32")


def _number(draw: st.DrawFn, value: int) -> Array:
    return np.array(value, draw(st.sampled_from(INDEX)))


def _half_spectrum(x: Array, place: int, length: int) -> Array:
    """x without the imaginary parts that no real signal of that length has."""
    real = [k for k in ([0] if length % 2 else [0, length // 2]) if 0 <= k < x.shape[place]]
    y = np.moveaxis(x.copy(), place, 0)
    y[real, ..., 1] = 0
    return np.moveaxis(y, 0, place)


def _dft(draw: st.DrawFn) -> Sample:
    """The four transforms, of a signal that is cut or padded with zeros, along any axis; none of no half spectrum at all, of
    which onnx.reference makes whatever is in memory."""
    version = version_of(draw, "DFT")
    kind = draw(st.sampled_from(kinds_of("DFT", version)))
    shape = any_shape(draw, 1, 4, 7)
    inverse, onesided = (draw(st.sampled_from([None, 0, 1])) for _ in range(2))
    parts = (2 if inverse else 1) if onesided else draw(st.sampled_from([1, 2]))
    x = array(draw, (*shape, parts), kind, specials=True)
    length = draw(st.sampled_from([*range(1, 10), 16, 31])) if draw(st.booleans()) else None
    place = draw(st.integers(0, len(shape) - 1))
    default = draw(st.booleans()) and (version >= 20 or len(shape) > 1)
    if default:
        place = len(shape) - 1 if version >= 20 else 1
    if inverse and onesided and shape[place] == 0:
        onesided = 0
    if inverse and onesided and draw(st.integers(0, 3)):
        x = _half_spectrum(x, place, length or 2 * (shape[place] - 1))
    axis = None if default else place - draw(st.sampled_from([0, x.ndim]))
    inputs: list[Array | None] = [x, *([] if length is None else [_number(draw, length)])]
    attributes: dict[str, Any] = {"inverse": inverse, "onesided": onesided}
    if version < 20:
        return call("DFT", inputs, version=version, axis=axis, **attributes)
    if axis is not None or draw(st.integers(0, 4)) == 4:
        inputs = [x, None if length is None else _number(draw, length), None if axis is None else np.array(axis)]
    return call("DFT", inputs, version=version, **attributes)


def _stft(draw: st.DrawFn) -> Sample:
    kind, index = draw(st.sampled_from(kinds_of("STFT", 17))), draw(st.sampled_from(INDEX))
    parts = draw(st.sampled_from([1, 2]))
    frame = draw(st.integers(1, 8))
    batch, length = draw(st.sampled_from([1, 2, 3, 0])), frame + draw(st.integers(0, 9))
    given = draw(st.sampled_from(["window", "frame_length", "both", "neither"]))
    return call(
        "STFT",
        [
            array(draw, (batch, length, parts), kind),
            np.array(draw(st.integers(1, 4)), index),
            array(draw, (frame,), kind) if given in ("window", "both") else None,
            np.array(frame, index) if given in ("frame_length", "both") else None,
        ],
        version=17,
        onesided=0 if parts == 2 else draw(st.sampled_from([None, 0, 1])),
    )


def _output_type(draw: st.DrawFn) -> int | None:
    name = draw(st.sampled_from([None, "float32", "float64", "float16", "bfloat16", *INTEGERS]))
    return None if name is None else dtypes.ONNX[name]


def _window(operator: str, draw: st.DrawFn) -> Sample:
    size = _number(draw, draw(st.integers(0, 40)))
    periodic = draw(st.sampled_from([None, 0, 1]))
    return call(operator, [size], version=17, periodic=periodic, output_datatype=_output_type(draw))


def _mel_weight_matrix(draw: st.DrawFn) -> Sample:
    """Bands that lie inside the spectrogram."""
    kind = draw(st.sampled_from(["float32", "float32", "float64", "float16", "bfloat16"]))
    rate, index = draw(st.sampled_from([8000, 8192, 11200, 44100])), draw(st.sampled_from(INDEX))
    low = draw(st.sampled_from([0, 1, 20, 125.5, 700]))
    high = low + draw(st.integers(1, (rate // 2 - 800))) / draw(st.sampled_from([1, 1, 2]))
    counts = draw(st.integers(1, 12)), draw(st.integers(0, 64)), rate
    return call(
        "MelWeightMatrix",
        [*(np.array(n, index) for n in counts), *(np.asarray(dtypes.cast(np.array(f), kind)) for f in (low, high))],
        version=17,
        output_datatype=_output_type(draw),
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "DFT": _dft,
    "STFT": _stft,
    **{name: functools.partial(_window, name) for name in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    "MelWeightMatrix": _mel_weight_matrix,
}
