"""Known disagreements of the family `families.convolution`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _row(*values: float, shape: tuple[int, ...] = (1, 1, -1), kind: str = "float32") -> Any:
    return np.array(values, kind).reshape(shape)


def _dilated(sample: Sample) -> bool:
    return any(d > 1 < k for d, k in zip(sample.attribute("dilations", []), sample.input(1).shape[2:], strict=False))


def _same(sample: Sample) -> bool:
    return str(sample.attribute("auto_pad", "NOTSET")).startswith("SAME")


def _short(sample: Sample) -> bool:
    """Whether taps and output_padding reach less far than a stride along some axis."""
    kernel = sample.input(1).shape[2:]
    ones, none = [1] * len(kernel), [0] * len(kernel)
    each = zip(
        kernel,
        sample.attribute("dilations", ones),
        sample.attribute("strides", ones),
        sample.attribute("output_padding", none),
        strict=True,
    )
    return any((k - 1) * d + 1 + extra < s for k, d, s, extra in each)


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Conv", "ConvInteger"),
        "NaN where a dilated kernel passes over NaN or an infinity without touching it",
        "A dilated kernel has no taps in between; zeros there meet the infinity.",
        lambda s: _dilated(s) and s.input(0).dtype.kind not in "iu" and not np.isfinite(s.input(0)).all(),
        lambda: call("Conv", [_row(1, np.inf, 1), _row(1, 1)], version=11, dilations=[2]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("ConvTranspose",),
        "the bias of the first output channels in every group",
        "B has one value for each of the M output channels.",
        lambda s: s.attribute("group", 1) > 1 and s.input(2) is not None,
        lambda: call(
            "ConvTranspose",
            [_row(1, 1, shape=(1, 2, 1)), _row(1, 1, shape=(2, 1, 1)), _row(1, 2, shape=(2,))],
            version=11,
            group=2,
        ),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("ConvTranspose",),
        "the first output_shape elements of the result unless auto_pad is SAME_UPPER or SAME_LOWER",
        "What is too long is cut at both ends, as pads would: pads[start] = total - total/2.",
        lambda s: s.attribute("output_shape") is not None and not _same(s),
        lambda: call("ConvTranspose", [_row(1, 2, 3), _row(1)], version=11, output_shape=[1]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("ConvInteger",),
        "zero points of w by input channel or spatial position",
        "w_zero_point has one value for each output channel, axis 0 of w.",
        lambda s: s.input(3) is not None and s.input(3).size > 1 and s.input(1).ndim != 4,
        lambda: call(
            "ConvInteger",
            [_row(1, 1, kind="uint8"), _row(1, 1, shape=(2, 1, 1), kind="uint8"), None, _row(1, 2, shape=(2,), kind="uint8")],
            version=10,
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("ConvTranspose",),
        "with SAME_UPPER or SAME_LOWER, shorter outputs where the taps do not reach a stride's length",
        "output_shape[i] = input_shape[i]·strides[i].",
        lambda s: _same(s) and s.attribute("output_shape") is None and _short(s),
        lambda: call("ConvTranspose", [_row(1, 2), _row(1)], version=11, auto_pad="SAME_LOWER", strides=[2]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("ConvInteger",),
        "whatever the memory held before, for no input channels",
        "A sum of no products is 0.",
        lambda s: s.input(1).shape[1] == 0,
        lambda: call("ConvInteger", [np.zeros((1, 0, 99), np.uint8), np.zeros((9, 0, 1), np.uint8)], version=10),
        by_chance=True,
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
