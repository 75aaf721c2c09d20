"""Known disagreements of the family `families.indexing`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..samples import Array, Sample, call
from . import Disagreement


def _rows_of_strings(sample: Sample) -> bool:
    x = sample.input(0)
    return x.dtype == object and math.prod(x.shape[sample.attribute("axis", 0) % x.ndim + 1 :]) > 1


def _one_hot_range(sample: Sample) -> tuple[Array, int]:
    """The indices as integers, and the depth."""
    indices, depth = sample.input(0), int(sample.input(1).reshape(()))
    return np.trunc(indices.astype(np.float64)), depth


def _from_the_end(sample: Sample) -> bool:
    indices, depth = _one_hot_range(sample)
    return sample.version < 11 and bool(((indices < 0) & (indices >= -depth)).any())


def _not_whole(sample: Sample) -> bool:
    return bool((_one_hot_range(sample)[0] != sample.input(0).astype(np.float64)).any())


def _inexact_difference(sample: Sample) -> bool:
    """Whether off + hit · (on − off) in the type of the values is not off and on."""
    values = sample.input(2)
    if values.dtype.kind in "biuO":
        return False
    off, on = values
    with np.errstate(all="ignore"):
        found = np.array([0, 1], values.dtype) * (on - off) + off
    return bool((found != values).any())


def _slices(sample: Sample) -> tuple[Array, int | None]:
    return sample.input(0), sample.attribute("axis")


def _empty_slices(sample: Sample) -> bool:
    x, axis = _slices(sample)
    return axis is not None and x.shape[axis] > 0 and 0 in x.shape[axis % x.ndim + 1 :]


def _unsorted(sample: Sample) -> bool:
    x, axis = _slices(sample)
    first = x.ndim == 1 if axis is None else axis % x.ndim == 0
    return not sample.attribute("sorted", 1) and (len(sample.node.output) == 1 or not first)


def _floats(*values: float) -> Array:
    return np.array(values, np.float32)


NAMES = np.array([["a", "b"], ["c", "d"]], object)

KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Gather",),
        "of strings only the first one of each gathered slice, the others are empty",
        "output[indices..., rest] = data[index, rest]",
        _rows_of_strings,
        lambda: call("Gather", [NAMES, np.array([1])], version=13),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("NonZero",),
        "shape (1, N) for a scalar",
        "for scalar input, NonZero produces output shape (0, N) instead of (1, N)"
        " (https://github.com/microsoft/onnxruntime/issues/11232)",
        lambda s: s.input(0).ndim == 0,
        lambda: call("NonZero", [np.array(1.0, np.float32)], version=13),
    ),
    *(
        Disagreement(
            peer,
            version,
            ("OneHot",),
            "version 9 counts negative indices from the end",
            "values outside the range [0, depth) give off values; version 11 changed that",
            _from_the_end,
            lambda: call("OneHot", [np.array([-1]), np.array(3), np.array([0, 1])], version=9),
        )
        for peer, version in (("onnx.reference", "1.23.2"), ("ONNX Runtime", "1.32.0"))
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("OneHot",),
        "off values for indices that are not whole",
        "in case indices is of non-integer type, the values will be cast to int64 before use",
        _not_whole,
        lambda: call("OneHot", [_floats(1.5), np.array(3), np.array([0, 1])], version=11),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("OneHot",),
        "computes off + (on - off), so that infinities give NaN and reals an error",
        "the elements are the two values themselves",
        _inexact_difference,
        lambda: call("OneHot", [np.array([1]), np.array(3), _floats(np.inf, 1)], version=11),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Unique",),
        "ends the process for slices without elements along an axis before an axis of length 0",
        "slices of no elements are all equal, so that one of them is unique",
        _empty_slices,
        lambda: call("Unique", [np.zeros((2, 0), np.float32)], version=11, axis=0),
        crashes=True,
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Unique",),
        "with sorted=0 the first output still in ascending order if it is the only one, otherwise taken along axis 0",
        "unique elements, or slices along the axis, in the order of their first occurrence",
        _unsorted,
        lambda: call("Unique", [np.array([[1, 0]])], version=11, axis=1, sorted=0),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {"onnx.reference": {"Scatter": "no implementation"}}
