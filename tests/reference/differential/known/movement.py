"""Known disagreements of the family `families.movement`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import onnx
from onnx import helper

from ..samples import Sample, call
from . import Disagreement

INT64 = np.int64
LAST = (2**31 - 1, 2**63 - 1)
"""What an end may be to mean the end of an axis."""


def _axes_empty(sample: Sample) -> bool:
    axes = sample.attribute("axes", sample.input(1))
    return axes is not None and len(axes) == 0 and 1 in sample.input(0).shape


def _inserted_in_turn(sample: Sample) -> bool:
    axes = sample.attribute("axes")
    return bool(axes) and (list(axes) != sorted(axes) or min(axes) < 0)


def _sliced(sample: Sample) -> list[tuple[int, int, int, int]]:
    """Length, start, end and step of each sliced axis."""
    x, starts, ends = sample.input(0), sample.input(1), sample.input(2)
    if starts is None:
        return []
    axes = range(len(starts)) if sample.input(3) is None else sample.input(3)
    steps = [1] * len(starts) if sample.input(4) is None else sample.input(4)
    return [(x.shape[a], int(s), int(e), int(d)) for a, s, e, d in zip(axes, starts, ends, steps, strict=True)]


def _starts_before_the_first(sample: Sample) -> bool:
    return any(step < 0 and start < -length for length, start, _, step in _sliced(sample))


def _backwards_to_the_last(sample: Sample) -> bool:
    return any(step < 0 and end in LAST for _, _, end, step in _sliced(sample))


def _counts_in_its_type(sample: Sample) -> bool:
    start, limit, delta = (sample.input(i) for i in range(3))
    if start.dtype.kind in "iu":
        return False
    exact = (Fraction(float(limit)) - Fraction(float(start))) / Fraction(float(delta))
    wide = np.float64 if start.dtype == np.float64 else np.float32
    near = (limit.astype(wide) - start.astype(wide)) / delta.astype(wide)
    coarse = (limit - start) / delta
    return any(np.ceil(float(v)) != -(-exact // 1) for v in (near, coarse))


def _text_without_value(sample: Sample) -> bool:
    x = sample.input(0)
    return x.dtype == object and sample.input(2) is None and sample.attribute("mode", "constant") == "constant"


def _text(sample: Sample) -> bool:
    return bool(sample.input(0).dtype == object)


def _ends_before_the_first(sample: Sample) -> bool:
    return bool(sample.attribute("end", 0) < -sample.input(0).ndim)


def _sparse(sample: Sample) -> bool:
    return sample.attribute("sparse_value") is not None


def _sparse_tensor() -> onnx.SparseTensorProto:
    values = helper.make_tensor("values", onnx.TensorProto.FLOAT, [1], [2.0])
    return helper.make_sparse_tensor(values, helper.make_tensor("indices", onnx.TensorProto.INT64, [1], [1]), [1, 3])


THREE = np.array([1, 2, 3], INT64)
ROW = np.zeros((1, 2), np.float32)
TEXT = np.array([["a", "b"], ["c", "d"]], object)


def _ints(*values: int) -> np.ndarray:
    return np.array(values, INT64)


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Squeeze",),
        "drops every axis of length 1 where axes are given, but empty",
        "only axes that are not provided mean all of them",
        _axes_empty,
        lambda: call("Squeeze", [ROW, _ints()], version=13),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Squeeze",),
        "before version 13 drops every axis of length 1 where axes are given, but empty",
        "only axes that are not provided mean all of them",
        lambda s: s.version < 13 and _axes_empty(s),
        lambda: call("Squeeze", [ROW], version=11, axes=[]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Unsqueeze",),
        "before version 13 inserts one axis after the other, so that their order matters",
        "axes number the output's axes, in any order",
        _inserted_in_turn,
        lambda: call("Unsqueeze", [ROW], version=11, axes=[2, 0]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Slice",),
        "nothing for a negative step from a start that lies before the first element",
        "for negative stepping the start is clamped to [0, dims - 1], so the first element remains",
        _starts_before_the_first,
        lambda: call("Slice", [THREE, _ints(-9), _ints(-9), None, _ints(-1)], version=13),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Slice",),
        "takes an end of INT_MAX as the first element where the step is negative",
        "an end beyond the axis is its length, clamped to [-1, dims - 1]; INT_MIN is what ends backward slices"
        " (https://github.com/microsoft/onnxruntime/issues/11107)",
        _backwards_to_the_last,
        lambda: call("Slice", [THREE, _ints(1), _ints(2**63 - 1), None, _ints(-1)], version=13),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Shape",),
        "counts an end below -rank once more from the end",
        "bounds out of range are clamped to [0, r]",
        _ends_before_the_first,
        lambda: call("Shape", [np.zeros((1, 2, 3), np.float32)], version=15, end=-5),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("CenterCropPad", "Trilu"),
        "0 among strings",
        "an element of a string tensor is a string; Pad says that its zero is the empty one",
        _text,
        lambda: call("Trilu", [TEXT], version=14),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Pad",),
        "0 among strings",
        "constant_value is by default 0, empty string or False",
        _text_without_value,
        lambda: call("Pad", [TEXT, _ints(1, 1, 0, 0)], version=13),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Constant",),
        "a sparse tensor for sparse_value, where the output is the graph's",
        "the output is a tensor, which the attribute gives in sparse format",
        _sparse,
        lambda: call("Constant", [], version=13, sparse_value=_sparse_tensor()),
    ),
    *(
        Disagreement(
            peer,
            version,
            ("Range",),
            "computes the number of elements in the tensors' type, so that 0.2 to 2.2 by 0.2 has 10",
            "ceil((limit - start) / delta) of the numbers that were given: the float64 2.2 lies above 11 times 0.2",
            _counts_in_its_type,
            lambda: call("Range", [np.array(v, np.float64) for v in (0.2, 2.2, 0.2)], version=11),
        )
        for peer, version in (("onnx.reference", "1.23.2"), ("ONNX Runtime", "1.32.0"))
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
