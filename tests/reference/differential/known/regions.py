"""Known disagreements of the family `families.regions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..samples import Sample, call
from . import Disagreement

PEERS = (("onnx.reference", "1.23.2"), ("ONNX Runtime", "1.32.0"))


def _roi_align(version: int, region: tuple[float, ...], **attributes: Any) -> Sample:
    """One region of the image 0 1 / 2 3."""
    image, rois = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), np.array([region], np.float32)
    return call("RoiAlign", [image, rois, np.array([0])], version=version, **attributes)


def _at_threshold(sample: Sample) -> bool:
    scores, threshold = sample.input(1), sample.input(4)
    return threshold is not None and bool((scores == threshold).any())


KNOWN: list[Disagreement] = [
    *(
        Disagreement(
            peer,
            version,
            ("RoiAlign",),
            "with mode max the largest of all products of an element and its weight",
            "Each point is interpolated, and pooling takes the largest of them.",
            lambda s: s.attribute("mode") == "max",
            lambda: _roi_align(16, (0.5, 0.5, 1.5, 1.5), mode="max", sampling_ratio=1),
        )
        for peer, version in PEERS
    ),
    *(
        Disagreement(
            peer,
            version,
            ("NonMaxSuppression",),
            "no box whose score is score_threshold",
            "Boxes with a score less than score_threshold are removed.",
            _at_threshold,
            lambda: call(
                "NonMaxSuppression",
                [
                    np.array([[[0, 0, 1, 1]]], np.float32),
                    np.array([[[0.5]]], np.float32),
                    np.array([1]),
                    np.array([0.5], np.float32),
                    np.array([0.5], np.float32),
                ],
                version=11,
            ),
        )
        for peer, version in PEERS
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RoiAlign",),
        "in version 10 regions that are half an element off",
        "Version 10 has no shift; output_half_pixel of version 16 keeps it.",
        lambda s: s.version < 16,
        lambda: _roi_align(10, (0, 0, 1, 1), sampling_ratio=1),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {"onnx.reference": {"MaxRoiPool": "it has no MaxRoiPool"}}
