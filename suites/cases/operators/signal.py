"""Windows, Fourier transforms and the mel scale."""

from __future__ import annotations

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_WINDOWS = "HannWindow-17 HammingWindow-17 BlackmanWindow-17"
_SIZES = (1, 2, 3, 4, 7, 8, 16, 17, 33, 64, 65)

WINDOWS = (
    Row(_WINDOWS, "i64", "", " ".join(f"size:{n}{end}" for n in _SIZES for end in ("", ".periodic:0", ".periodic:1"))),
    Row(_WINDOWS, "i32", "", "size:9 size:9.periodic:0 size:128"),
    Row(_WINDOWS, "i64", "", " ".join(f"size:9.output_datatype:{kind}.periodic:0" for kind in ("f16", "bf16", "f32"))),
    Row("HannWindow-17", "i64", "", "size:9.output_datatype:f64 size:16.output_datatype:f64"),
    # whole numbers: what is below the peak of 1 is cut to 0
    Row(_WINDOWS, "i64", "", "size:8.output_datatype:i32 size:8.output_datatype:u8 size:9.output_datatype:i64"),
    Row(_WINDOWS, "i64", "", "size:9.feed:size size:16.periodic:0.feed:size"),
)


def _transform(shape: str, axis: int | None, length: int | None, kind: str, feed: bool, attribute: bool = False) -> str | None:
    """DFT of a real ("r") or complex ("c") signal, its inverse ("i"), and halves of spectra ("h" of real ones, "b" back).

    attribute: the axis is one, as before version 20.
    """
    rank = shape.count("x") + 2
    place = (1 if attribute else -2) if axis is None else axis
    if not -rank <= place < rank or place % rank == rank - 1:
        return None
    fed = "dft_length" if feed else ""
    if feed and length is None:
        return None
    where = "" if axis is None else f"axis:{axis}"
    return joined(
        f"input:{shape}x{1 if kind in 'rh' else 2}",
        "" if length is None else f"dft_length:{length}",
        where,
        "inverse:1" if kind in "ib" else "",
        "onesided:1" if kind in "hb" else "",
        fed and f"feed:{fed}",
    )


def _old_transform(shape: str, axis: int | None, length: int | None, kind: str, feed: bool) -> str | None:
    return _transform(shape, axis, length, kind, feed, True)


_SIGNALS = ("1x8", "2x5", "1x16x3", "2x7x4", "3x1", "1x17", "2x32", "1x3x5x4", "1x97")
"""Lengths that are powers of two, odd, prime, one."""

_TRANSFORMS = {
    "kind": ("r", "c", "i", "h"),
    "shape": _SIGNALS,
    "axis": (None, 1, -2, 0, 2),
    "length": (None, 8, 5, 1, 16, 12),  # cut, padded with zeros, neither a power of two
    "feed": (False, True),
}

TRANSFORMS = (
    Sweep("DFT-20", "f32", "normal", _transform, _TRANSFORMS),
    Sweep("DFT-17", "f32", "normal", _old_transform, _TRANSFORMS, one_in=2),
    # back to a real signal from half of its spectrum: the number of values decides whether the length is even
    Row("DFT-20", "f32", "normal", " ".join(f"input:2x{n}x2.inverse:1.onesided:1" for n in (2, 3, 5, 9))),
    Row(
        "DFT-20", "f32", "normal", "input:2x5x2.dft_length:8.inverse:1.onesided:1 input:2x5x2.dft_length:9.inverse:1.onesided:1"
    ),
    Row("DFT-20 DFT-17", "f64", "normal", "input:2x7x1 input:2x8x2 input:2x8x2.inverse:1 input:2x9x1.onesided:1"),
    Row("DFT-20 DFT-17", "f16 bf16", "normal", "input:2x8x1 input:2x7x2"),
    Row("DFT-20", "f32", "grid zero lattice index", "input:2x8x1 input:2x7x2"),
    Row("DFT-20", "f32", "normal", "input:2x8x1.dft_length:8:i32 input:1x257x1 input:1x256x2 input:8x1 input:5x2"),
)


def _short(signal: str, window: bool, frame: int, step: int, given: bool, onesided: int, kind: int) -> str | None:
    """STFT of real (kind 1) or complex (2) signals, in frames of the window's length or the one given.

    onesided is always there: onnx 1.23 infers another shape than that of its default."""
    batch, length = signal.split("x")
    if frame > int(length) or not (window or given) or (kind == 2 and onesided != 0):
        return None
    return joined(
        f"signal:{batch}x{length}x{kind}",
        f"window:{frame}" if window else "",
        f"frame_step:{step}",
        f"frame_length:{frame}" if given else "",
        f"onesided:{onesided}",
    )


_SHORT = {
    "signal": ("1x16", "2x17", "1x33", "2x8", "3x64"),
    "frame": (8, 5, 16, 7, 1),
    "step": (4, 1, 3, 8, 16),
    "window": (True, False),
    "given": (True, False),
    "onesided": (1, 0),
    "kind": (1, 2),
}

FRAMES = (
    Sweep("STFT-17", "f32", "normal", _short, _SHORT),
    Sweep("STFT-17", "f64", "normal", _short, {**_SHORT, "signal": ("1x16", "2x17"), "step": (4, 3)}),
    Row(
        "STFT-17",
        "f32",
        "grid zero",
        "signal:1x16x1.window:8.frame_step:4.onesided:1 signal:1x16x1.window:8.frame_step:4.onesided:1.const:window",
    ),
    Row("STFT-17", "f16", "normal", "signal:1x16x1.window:8.frame_step:4.onesided:1"),
)


def _mel(bands: int, length: int, rate: int, low: str, high: str, kind: str) -> str:
    return joined(
        f"num_mel_bins:{bands}.dft_length:{length}.sample_rate:{rate}.lower_edge_hertz:{low}:f32.upper_edge_hertz:{high}:f32",
        kind and f"output_datatype:{kind}",
    )


MEL = (
    Sweep(
        "MelWeightMatrix-17",
        "i64 i32",
        "",
        _mel,
        {
            "bands": (8, 1, 5, 20),
            "length": (16, 64, 33, 128),
            "rate": (8192, 16000, 44100),
            "low": ("0", "2e1", "125e-1", "3e2"),
            "high": ("4e3", "38e2", "4096"),
            "kind": ("", "f64", "f16"),
        },
    ),
)

CASES = (*WINDOWS, *TRANSFORMS, *FRAMES, *MEL)
