"""Known disagreements of the family `families.random`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..samples import call
from . import Disagreement

KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("RandomNormal", "RandomNormalLike"),
        "an end of the process for a scale of 0",
        "Nothing excludes a standard deviation of 0, whose values are all the mean.",
        lambda s: s.attribute("scale") == 0,
        lambda: call("RandomNormal", [], version=1, shape=[3], scale=0.0),
        crashes=True,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Bernoulli",),
        "1 with probability 1 - p, as in the function body",
        "The input holds the probabilities of 1.",
        lambda s: bool((s.input(0) != 0.5).any()),
        lambda: call("Bernoulli", [np.zeros(3, np.float32)], version=15),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {"onnx.reference": {"Multinomial": "no implementation"}}
