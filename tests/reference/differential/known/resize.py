"""Known disagreements of the family `families.resize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reference.evaluator import evaluate

from ..samples import Array, Sample, call
from . import Disagreement

OPERATORS = ("Resize", "Upsample")


def _example(x: Any, scales: Any = None, sizes: Any = None, roi: Any = None, version: int = 19, **attributes: Any) -> Sample:
    """Resize of x by float32 scales or to sizes."""
    given = (None if p is None else np.array(p, np.float32) for p in (roi, scales))
    return call(
        "Resize", [np.asarray(x), *given, None if sizes is None else np.array(sizes, np.int64)], version=version, **attributes
    )


def _line(n: int) -> Array:
    return np.arange(1, n + 1, dtype=np.float32)


def _coordinates(sample: Sample) -> str:
    return str(sample.attribute("coordinate_transformation_mode", "half_pixel")) if sample.version > 10 else "asymmetric"


def _cropped(sample: Sample) -> bool:
    return _coordinates(sample) == "tf_crop_and_resize"


def _scales(sample: Sample) -> Array | None:
    """The scales that are given, as an attribute or an input."""
    if sample.operator == "Upsample" and sample.version < 9:
        sides = [sample.attribute(f"{side}_scale", 1.0) for side in ("height", "width")]
        return np.array(sample.attribute("scales", [1.0, 1.0, *sides]))
    scales = sample.input(1 if sample.version <= 10 else 2)
    return None if scales is None or scales.size == 0 else scales


def _shape(sample: Sample) -> tuple[int, ...]:
    return tuple(evaluate(sample.model, sample.feeds)["y0"].shape)


def _regions(sample: Sample) -> list[tuple[int, float, float]]:
    """Axis, start and end of each region of a crop."""
    if not _cropped(sample):
        return []
    axes, roi = sample.attribute("axes", range(sample.input(0).ndim)), sample.input(1)
    return list(zip(axes, roi[: len(axes)].tolist(), roi[len(axes) :].tolist(), strict=True))


def _moved_copy(sample: Sample) -> bool:
    """Whether a result of the input's shape is no copy."""
    scales = _scales(sample)
    resized = _cropped(sample) or scales is None or (scales != 1).any()
    return bool(resized) and _shape(sample) == sample.input(0).shape


def _region_of_whole_axis(sample: Sample) -> bool:
    """Whether an axis that keeps its length has a region."""
    scales, shape = _scales(sample), sample.input(0).shape
    found = [
        (start, end) != (0, 1) and (scales[i] == 1 if scales is not None else shape[axis] == _shape(sample)[axis])
        for i, (axis, start, end) in enumerate(_regions(sample))
    ]
    return any(found)


def _widths(sample: Sample) -> list[float]:
    """length · scale of each axis before it is rounded."""
    scales, shape = _scales(sample), sample.input(0).shape
    axes = sample.attribute("axes", range(len(shape)))
    if scales is not None:
        return [shape[axis] * scale for axis, scale in zip(axes, scales.tolist(), strict=True)]
    policy, sizes = sample.attribute("keep_aspect_ratio_policy", "stretch"), sample.input(3).tolist()
    if policy == "stretch":
        return [float(n) for n in sizes]
    ratios = [n / shape[axis] for axis, n in zip(axes, sizes, strict=True)]
    return [shape[axis] * (min(ratios) if policy == "not_larger" else max(ratios)) for axis in axes]


def _nearly_whole(sample: Sample) -> bool:
    """Whether a coordinate of a region is next to a whole number in float64."""
    shape, result = sample.input(0).shape, _shape(sample)
    for axis, start, end in _regions(sample):
        last, steps = shape[axis] - 1, max(result[axis] - 1, 1)
        x = np.arange(result[axis]) * (end - start) * last / steps + start * last
        if ((x != np.rint(x)) & (np.abs(x - np.rint(x)) < 1e-9)).any():
            return True
    return False


def _leaves(sample: Sample) -> bool:
    """Whether a region reaches outside."""
    return any(start < 0 or end > 1 for _, start, end in _regions(sample))


def _smooths(sample: Sample) -> bool:
    return _interpolates(sample) and sample.attribute("antialias", 0) == 1


def _channels_last(sample: Sample, mode: str) -> bool:
    """Whether that mode resizes the second of four axes."""
    rank = sample.input(0).ndim
    axes = [axis % rank for axis in sample.attribute("axes", range(rank))]
    scaled = 1 in axes and _widths(sample)[axes.index(1)] != sample.input(0).shape[1]
    return bool(sample.attribute("mode") == mode and rank == 4 and scaled)


def _stays(sample: Sample) -> bool:
    """Whether an axis keeps its length although it is scaled."""
    shape, axes = sample.input(0).shape, sample.attribute("axes", range(sample.input(0).ndim))
    return any(w != shape[axis] == _shape(sample)[axis] for axis, w in zip(axes, _widths(sample), strict=True))


def _interpolates(sample: Sample) -> bool:
    return sample.attribute("mode", "nearest") != "nearest"


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        OPERATORS,
        "a copy of an input whose shape the result has, also for scales other than 1",
        "The scale 1.18 moves the fourth of five elements to (3 + 0.5)/1.18 - 0.5 = 2.47.",
        _moved_copy,
        lambda: _example(_line(5), [1.18]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "with antialias, or by cubic of an image whose channels come last, an axis as it was if it keeps its length",
        "The scale 1.18 moves the fourth of five elements to (3 + 0.5)/1.18 - 0.5 = 2.47.",
        lambda s: (_smooths(s) or _channels_last(s, "cubic")) and _stays(s),
        lambda: _example(_line(10).reshape(1, 1, 2, 5), [1, 1, 2, 1.18], mode="linear", antialias=1),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "the whole of an axis of scale 1 in place of its region",
        "tf_crop_and_resize spreads the region of each axis over the result.",
        _region_of_whole_axis,
        lambda: _example(
            _line(5)[None], sizes=[2, 5], roi=[0, 0.25, 1, 0.75], coordinate_transformation_mode="tf_crop_and_resize"
        ),
    ),
    *(
        Disagreement(
            peer,
            version,
            ("Resize",),
            "floor(length · scale) elements of a region",
            "The length is floor(length · (roi_end - roi_start) · scale).",
            lambda s: _scales(s) is not None and any(end - start != 1 for _, start, end in _regions(s)),
            lambda: _example(_line(8), [0.5], roi=[0.25, 0.75], coordinate_transformation_mode="tf_crop_and_resize"),
        )
        for peer, version in (("ONNX Runtime", "1.32.0"), ("onnx.reference", "1.23.2"))
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "extrapolation_value at other elements by cubic of an image whose channels come last",
        "The value is the output where the coordinate is outside.",
        lambda s: _channels_last(s, "cubic") and _leaves(s) and s.input(0).shape[3] > 1,
        lambda: _example(
            _line(8).reshape(1, 2, 2, 2),
            sizes=[1, 4, 3, 2],
            roi=[0, 0, 0, 0, 1, 1, 1.5, 1],
            version=13,
            mode="cubic",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "the input's length along a negative axis if keep_aspect_ratio_policy is not stretch",
        "A negative axis counts from the back.",
        lambda s: s.attribute("keep_aspect_ratio_policy", "stretch") != "stretch" and min(s.attribute("axes", [0])) < 0,
        lambda: _example(_line(3), sizes=[6], axes=[-1], keep_aspect_ratio_policy="not_larger"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "integers rounded after each axis by cubic or with antialias: 2 for 0.997",
        "Open is how the result is rounded, not what it is computed from.",
        lambda s: (
            s.input(0).dtype.kind in "iu"
            and (s.attribute("mode") == "cubic" or _smooths(s))
            and sum(n != m for n, m in zip(s.input(0).shape, _shape(s), strict=True)) > 1
        ),
        lambda: _example(
            np.array([[5, 0], [0, 2], [0, 6], [3, 7], [2, 5], [1, 3]], np.uint8)[None, ..., None],
            [1, 1.5, 2.3, 1],
            version=13,
            mode="cubic",
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        OPERATORS,
        "8-bit integers weighed in steps of 2^-10 by linear of an image whose channels come last: 4 for 5.02",
        "Open is how the result is rounded, not what it is computed from.",
        lambda s: _channels_last(s, "linear") and s.input(0).dtype in (np.uint8, np.int8),
        lambda: _example(np.array([0, 33], np.uint8).reshape(1, 2, 1, 1), [1, 2.3, 2.3, 1], mode="linear"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Resize",),
        "0 for negative int8 with antialias, or by cubic of an image whose channels come last",
        "int8 goes down to -128.",
        lambda s: (_smooths(s) or _channels_last(s, "cubic")) and s.input(0).dtype == np.int8,
        lambda: _example(np.array([[[[-4, -8, -6, 2]]]], np.int8), [1, 1, 1, 0.5], mode="linear", antialias=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        OPERATORS,
        "the real parts of complex numbers",
        "Nearest copies elements.",
        lambda s: s.input(0).dtype.kind == "c",
        lambda: _example(np.array([1 + 2j], np.complex64), [1.0]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        OPERATORS,
        "integers beyond 2^53 rounded to float64",
        "Nearest copies elements.",
        lambda s: s.input(0).dtype in (np.int64, np.uint64) and bool((np.abs(s.input(0).astype(float)) >= 2.0**53).any()),
        lambda: _example(np.array([2**53 + 1, 0]), [2.0]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        OPERATORS,
        "NaN around infinities and NaN, and the largest finite number for an infinity",
        "Nearest copies elements, and what has no weight adds nothing.",
        lambda s: s.input(0).dtype.kind in "fV" and not np.isfinite(s.input(0).astype(np.float64)).all(),
        lambda: _example(np.array([1, np.inf, 2, 3], np.float32), [0.5]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Resize",),
        "tf_crop_and_resize, and align_corners with a common ratio, by length · scale that is no whole number",
        "length_resized is the length of the resized tensor.",
        lambda s: _coordinates(s) in ("align_corners", "tf_crop_and_resize") and any(w % 1 for w in _widths(s)),
        lambda: _example(_line(4), [1.4], roi=[0, 1], mode="linear", coordinate_transformation_mode="tf_crop_and_resize"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Resize",),
        "the element before a coordinate that is whole but for float64's rounding",
        "For 9 elements and a scale of 0.5 half_pixel_symmetric begins at 1.",
        lambda s: _nearly_whole(s) or (_coordinates(s) == "half_pixel_symmetric" and any(w % 1 for w in _widths(s))),
        lambda: _example(_line(9), [0.5], mode="linear", coordinate_transformation_mode="half_pixel_symmetric"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Resize",),
        "pytorch_half_pixel at -0.5 for a length of 1",
        "x_original = length_resized > 1 ? (x_resized + 0.5) / scale - 0.5 : 0.",
        lambda s: _coordinates(s) == "pytorch_half_pixel" and 1 in _shape(s),
        lambda: _example(_line(4), sizes=[1], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
