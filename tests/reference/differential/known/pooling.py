"""Known disagreements of the family `families.pooling`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reference.ops.windows import Axis, axes_of

from ..samples import Sample, call
from . import Disagreement

AVERAGES = ("AveragePool", "LpPool")
POOLS = (*AVERAGES, "MaxPool")


def _row(*values: float, shape: tuple[int, ...] = (1, 1, -1)) -> Any:
    return np.array(values, np.float32).reshape(shape)


def _dilated(sample: Sample) -> bool:
    return any(d > 1 < k for d, k in zip(sample.attribute("dilations", []), sample.attribute("kernel_shape"), strict=False))


def _padded_as(sample: Sample, *names: str) -> bool:
    return sample.attribute("auto_pad", "NOTSET") in names


def _axes(sample: Sample) -> list[Axis]:
    names = ("strides", "dilations", "pads", "auto_pad", "ceil_mode")
    layout = {name: sample.attribute(name) for name in names if sample.attribute(name) is not None}
    return axes_of(sample.input(0).shape[2:], sample.attribute("kernel_shape"), **layout)


def _nan(sample: Sample) -> bool:
    x = sample.input(0)
    return x.dtype.kind not in "iu" and bool(np.isnan(x).any())


def _overhang(sample: Sample) -> int:
    """How many elements of the last windows lie beyond the padded tensor, along the worst axis."""
    return max(a.reach - a.begin - a.size - a.end for a in _axes(sample))


def _dense(sample: Sample) -> bool:
    """Whether strides and dilations are 1."""
    return all(n == 1 for name in ("strides", "dilations") for n in sample.attribute(name, []))


def _misread_pads(sample: Sample) -> bool:
    """Whether pads mean something else as [begin, end] of each axis of two, and nothing for other ranks."""
    pads = sample.attribute("pads", [])
    return _dense(sample) and any(pads) and (len(pads) != 4 or pads[1] != pads[2])


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        POOLS,
        "with SAME_UPPER or SAME_LOWER, padding without regard to dilations",
        "pad_shape = (outputs - 1)·stride + (kernel - 1)·dilation + 1 - input.",
        lambda s: _padded_as(s, "SAME_UPPER", "SAME_LOWER") and _dilated(s),
        lambda: call("MaxPool", [_row(1, 2, 3)], version=11, kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("GlobalMaxPool", "MaxPool"),
        "-3.4028235e38 for a window of -inf alone",
        "The maximum of -inf is -inf.",
        lambda s: bool((s.input(0) == -np.inf).any()) and s.input(0).dtype.kind not in "iu",
        lambda: call("GlobalMaxPool", [_row(-np.inf)], version=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        AVERAGES,
        "with auto_pad, padding and outputs without regard to dilations",
        "pad_shape = (outputs - 1)·stride + (kernel - 1)·dilation + 1 - input.",
        lambda s: _padded_as(s, "SAME_UPPER", "SAME_LOWER", "VALID") and _dilated(s),
        lambda: call("AveragePool", [_row(1, 2, 3)], version=19, kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        AVERAGES,
        "NaN taken for padding",
        "A sum with NaN is NaN.",
        _nan,
        lambda: call("AveragePool", [_row(1, np.nan)], version=19, kernel_shape=[2]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        AVERAGES,
        "with ceil_mode, windows that begin earlier, by half of what the last one lacks",
        "Windows begin where pads says; ceil_mode adds to the end.",
        lambda s: _overhang(s) > 1,
        lambda: call("AveragePool", [_row(1, 2, 3, 4)], version=19, kernel_shape=[3], strides=[3], ceil_mode=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("AveragePool",),
        "before version 7, averages that count padding",
        "Version 1 divides by the number of elements and excludes padding.",
        lambda s: s.version < 7 and any(a.begin or a.end for a in _axes(s)),
        lambda: call("AveragePool", [_row(1, 2)], version=1, kernel_shape=[2], pads=[1, 0]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LpPool",),
        "for windows that reach beyond the padded tensor, the whole kernel's share of their mean",
        "The norm of the elements in the window is no mean of them.",
        lambda s: _overhang(s) > 0,
        lambda: call("LpPool", [_row(1, 2, 3)], version=18, kernel_shape=[2], strides=[2], ceil_mode=1, p=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MaxPool",),
        "with strides and dilations of 1, pads read as [begin, end] of each of two axes, and not at all for other ranks",
        "pads is [begin of every axis, end of every axis].",
        _misread_pads,
        lambda: call("MaxPool", [_row(1, 2, 3, 4, shape=(1, 1, 2, 2))], version=12, kernel_shape=[2, 2], pads=[0, 1, 0, 1]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MaxPool",),
        "with strides and dilations of 1, indices of other elements",
        "Indices count the elements of x.",
        lambda s: _dense(s) and len(s.node.output) > 1,
        lambda: call("MaxPool", [_row(1, 2, 3, 4, shape=(1, 1, 2, 2))], version=12, outputs=2, kernel_shape=[2, 2]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MaxPool",),
        "with strides or dilations, SAME_LOWER as floor(input/stride) windows and with odd padding at the end",
        "output_shape[i] = ceil(input_shape[i]/strides[i]), an odd padding's extra element at the beginning.",
        lambda s: _padded_as(s, "SAME_LOWER") and not _dense(s),
        lambda: call("MaxPool", [_row(1, 2, 3)], version=12, kernel_shape=[2], strides=[2], auto_pad="SAME_LOWER"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MaxPool",),
        "with auto_pad=VALID, as many windows with ceil_mode as without",
        "ONNX infers shapes by rounding up; its text's formula rounds up after adding 1, which contradicts that"
        " (https://github.com/microsoft/onnxruntime/issues/10083).",
        lambda s: _padded_as(s, "VALID") and _overhang(s) > 0,
        lambda: call("MaxPool", [_row(1, 2, 3)], version=12, kernel_shape=[2], strides=[2], auto_pad="VALID", ceil_mode=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LpPool",),
        "float64 results with 1/p in float32, in version 1",
        "p = 3 asks for the cube root.",
        lambda s: s.version == 1 and s.input(0).dtype == np.float64 and 1 / s.attribute("p", 2.0) % 2**-20 > 0,
        lambda: call("LpPool", [np.full((1, 1, 2), 3.0)], version=1, kernel_shape=[2], p=3.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("MaxUnpool",),
        "indices into the tensor that kernel, strides and pads make, copied into the corner of output_shape",
        "Indices count the elements of the output; ONNX's node case maxunpool_export_with_output_shape is wrong too"
        " (https://github.com/onnx/onnx/issues/2404).",
        lambda s: len(s.feeds) == 3,
        lambda: call("MaxUnpool", [_row(1, 2), np.array([[[0, 2]]]), np.array([1, 1, 3])], version=11, kernel_shape=[1]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("GlobalMaxPool",),
        "for other ranks than 4, the maximum over the two axes after as many as are spatial, of another shape",
        "The maximum over all axes but the first two, which stay with length 1.",
        lambda s: s.input(0).ndim != 4,
        lambda: call("GlobalMaxPool", [_row(1, 2)], version=1),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {"onnx.reference": {"GlobalLpPool": "no implementation"}}
