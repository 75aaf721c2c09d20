"""Known disagreements of the family `families.signal`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Disagreement

WINDOWS = ("HannWindow", "HammingWindow", "BlackmanWindow")
DOUBLE = 11


def _mel(bands: int, length: int, rate: int, low: float, high: float, kind: str = "float32") -> Sample:
    counts = [np.array(n) for n in (bands, length, rate)]
    return call("MelWeightMatrix", [*counts, *(np.array(f, dtypes.numpy_dtype(kind)) for f in (low, high))], version=17)


def _inverse(sample: Sample) -> tuple[int, int] | None:
    """Length of the axis and N of an inverse transform."""
    if not sample.attribute("inverse", 0):
        return None
    axis = sample.attribute("axis", 1) if sample.version < 20 else -2 if sample.input(2) is None else int(sample.input(2))
    length = sample.input(0).shape[axis]
    default = 2 * (length - 1) if sample.attribute("onesided", 0) else length
    return length, default if sample.input(1) is None else int(sample.input(1))


def _scaled_in_float32(sample: Sample) -> bool:
    lengths = _inverse(sample)
    return lengths is not None and sample.input(0).dtype == np.float64 and lengths[1].bit_count() != 1


def _uneven_spectrum(sample: Sample) -> bool:
    lengths = _inverse(sample)
    return lengths is not None and sample.attribute("onesided", 0) == 1 and lengths[0] != lengths[1] // 2 + 1


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("DFT",),
        "an end of the process in version 20 if an empty name stands for axis",
        "An empty name says that an optional input is left out.",
        lambda s: s.version >= 20 and len(s.node.input) > 2 and not s.node.input[2],
        lambda: call("DFT", [np.ones((2, 1), np.float32), None, None], version=20),
        crashes=True,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("DFT",),
        "float64 results of the inverse times 1/N in float32",
        "The inverse divides by N.",
        _scaled_in_float32,
        lambda: call("DFT", [np.ones((3, 1))], version=17, axis=0, inverse=1),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("DFT",),
        "another signal from a half spectrum of more or fewer than floor(N/2) + 1 values",
        "The axis is cut or padded with zeros to what dft_length asks for.",
        _uneven_spectrum,
        lambda: call(
            "DFT", [np.array([[1, 0], [1, 1], [2, 0]], np.float32), np.array(8)], version=17, axis=0, inverse=1, onesided=1
        ),
    ),
    *(
        Disagreement(
            peer,
            version,
            ("STFT",),
            "half spectra of a complex signal with onesided=1, which is the default",
            "If the input is complex, onesided output is not possible: an error.",
            lambda s: s.attribute("onesided", 1) == 1 and s.input(0).shape[-1] == 2,
            lambda: call("STFT", [np.ones((1, 4, 2), np.float32), np.array(2), np.ones(4, np.float32)], version=17),
        )
        for peer, version in (("ONNX Runtime", "1.32.0"), ("onnx.reference", "1.23.2"))
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("DFT",),
        "half a spectrum of a complex signal with onesided=1",
        "If the input is complex, onesided output is not possible: an error.",
        lambda s: _inverse(s) is None and s.attribute("onesided", 0) == 1 and s.input(0).shape[-1] == 2,
        lambda: call("DFT", [np.ones((4, 2), np.float32)], version=17, axis=0, onesided=1),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        WINDOWS,
        "float64 values with the error of float32",
        "Each value is a real number, which float64 holds to 16 digits.",
        lambda s: s.attribute("output_datatype") == DOUBLE,
        lambda: call("HammingWindow", [np.array(6)], version=17, output_datatype=DOUBLE),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MelWeightMatrix",),
        "edges computed in float16 or bfloat16 if the limits are of that type",
        "The limits are exact numbers, and the edges between them are rounded down once, to whole bins.",
        lambda s: s.input(3).dtype.itemsize == 2,
        lambda: _mel(10, 33, 8000, 700, 720, "bfloat16"),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
