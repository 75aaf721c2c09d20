"""Known disagreements of the family `families.recurrent`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reference.evaluator import evaluate

from ..families.recurrent import GATES, TAKES_ALPHA, TAKES_BETA
from ..samples import Sample, call
from . import Disagreement

LAYERS = tuple(GATES)


def _constant(shape: tuple[int, ...], *values: float) -> Any:
    """float32 values, repeated to fill the shape."""
    return np.resize(np.array(values, np.float32), shape)


def _example(operator: str, *x: float, inputs: tuple[Any, ...] = (), **attributes: Any) -> Sample:
    """A layer of one input and one unit without recurrence, in which every gate and candidate sees x, one value a step."""
    gates, directions = GATES[operator], 2 if attributes.get("direction") == "bidirectional" else 1
    tensors = [
        _constant((len(x), 1, 1), *x),
        _constant((directions, gates, 1), 1.0),
        _constant((directions, gates, 1), 0.0),
        None,
        *inputs,
    ]
    return call(operator, tensors, version=14, outputs=2, hidden_size=1, **attributes)


def _activations(sample: Sample) -> list[str]:
    return list(sample.attribute("activations", []))


def _without(sample: Sample, name: str, which: str) -> bool:
    """Whether activation `name` occurs and values of alpha or beta, whichever is named, are not there for all that take one."""
    takers = TAKES_ALPHA if which == "alpha" else TAKES_BETA
    names = _activations(sample)
    return name in names and len(sample.attribute(f"activation_{which}", [])) < sum(n in takers for n in names)


def _shorter(sample: Sample) -> bool:
    """Whether a sequence ends before the last step."""
    lengths = sample.input(4)
    return lengths is not None and bool((lengths < sample.input(0).shape[1 if sample.attribute("layout") else 0]).any())


def _large(sample: Sample) -> bool:
    """Whether an argument of an activation may be large: that of a first step, or with unbounded activations a later one."""
    steps = sample.input(0).shape[1 if sample.attribute("layout") else 0]
    unbounded = set(_activations(sample)) - {"Tanh", "Sigmoid", "HardSigmoid", "ScaledTanh", "Softsign"}
    grown = any(np.abs(x).max(initial=0) > 6 for name, x in sample.feeds.items() if name != "x4")
    return grown or (steps > 1 and bool(unbounded))


def _faint(sample: Sample) -> bool:
    """Whether all values of the first output are near 0."""
    return bool(np.abs(evaluate(sample.model, sample.feeds)["y0"]).max(initial=0.0) < 0.05)


def _clips_state(sample: Sample) -> bool:
    """Whether LSTM's C may leave [-clip, clip]: with gates in [0, 1] and candidates in [-1, 1] it grows by 1 in a step."""
    clip = sample.attribute("clip")
    if clip is None:
        return False
    start = 0.0 if sample.input(6) is None else float(np.abs(sample.input(6)).max(initial=0))
    steps = sample.input(0).shape[1 if sample.attribute("layout") else 0]
    return bool(_activations(sample)) or start + steps > clip


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        LAYERS,
        "all steps of sequences that sequence_lens ends earlier",
        "Each sequence has its own length, where its final state is taken and its reverse direction begins.",
        _shorter,
        lambda: _example("RNN", 1.0, 2.0, inputs=(np.array([1], np.int32),)),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        LAYERS,
        "the result without clip",
        "clip bounds the inputs of activations.",
        lambda s: s.attribute("clip") is not None,
        lambda: _example("RNN", 2.0, clip=0.5),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("GRU", "LSTM"),
        "Sigmoid and Tanh whatever the attribute activations says",
        "The attribute names the functions.",
        lambda s: bool(_activations(s)),
        lambda: _example("GRU", 1.0, activations=["HardSigmoid", "Relu"]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("LSTM",),
        "a forget gate of its own although input_forget is 1",
        "input_forget couples the gates: f = 1 - i.",
        lambda s: s.attribute("input_forget", 0) == 1,
        lambda: _example("LSTM", 1.0, 1.0, input_forget=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RNN",),
        "the first direction's activation for both directions",
        "activations has one function for each direction.",
        lambda s: len(set(_activations(s))) > 1,
        lambda: _example("RNN", 1.0, direction="bidirectional", activations=["Tanh", "Affine"]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("LSTM",),
        "h(C) of a C that is not clipped",
        "clip applies to the input of activations, and C is the input of h (https://github.com/microsoft/onnxruntime/issues/27224).",
        _clips_state,
        lambda: _example("LSTM", 0.5, inputs=(None, None, _constant((1, 1, 1), 4.0)), clip=0.5),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "a threshold of 0 for ThresholdedRelu without alpha",
        "Default values are the same as of the corresponding ONNX operators; ThresholdedRelu's alpha is 1.",
        lambda s: _without(s, "ThresholdedRelu", "alpha"),
        lambda: _example("RNN", 0.5, activations=["ThresholdedRelu"]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "0 for ThresholdedRelu(alpha)",
        "The layers define ThresholdedRelu as x if x >= alpha else 0, unlike the operator.",
        lambda s: "ThresholdedRelu" in _activations(s) and any(a % 0.25 == 0 for a in s.attribute("activation_alpha", [])),
        lambda: _example("RNN", 2.0, activations=["ThresholdedRelu"], activation_alpha=[2.0]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "0·x + 0 for Affine without alpha or beta",
        "Default values are the same as of the corresponding ONNX operators; Affine's alpha was 1.",
        lambda s: _without(s, "Affine", "alpha") or _without(s, "Affine", "beta"),
        lambda: _example("RNN", 1.0, activations=["Affine"]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "0 for ScaledTanh without alpha or beta",
        "ONNX has no operator ScaledTanh any more whose defaults could count: an error.",
        lambda s: _without(s, "ScaledTanh", "alpha") or _without(s, "ScaledTanh", "beta"),
        lambda: _example("RNN", 1.0, activations=["ScaledTanh"]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "the result without clip for a negative one",
        "A threshold bounds to [-threshold, threshold], which is nothing if it is negative: an error.",
        lambda s: s.attribute("clip", 0.0) < 0,
        lambda: _example("RNN", 1.0, clip=-1.0),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        LAYERS,
        "infinity for Softplus of 89 and more",
        "log(1 + exp(89)) is 89 and a rest far below float32's precision.",
        lambda s: "Softplus" in _activations(s) and _large(s),
        lambda: _example("RNN", 100.0, activations=["Softplus"]),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("CausalConvWithState",),
        "swish by a sigmoid with an absolute error of 1e-8 and more",
        "y/(1 + exp(-y)) of y = -14 has y's own precision.",
        lambda s: s.attribute("activation", "none") != "none" and _faint(s),
        lambda: call(
            "CausalConvWithState",
            [_constant((1, 1, 1), -15.0), _constant((1, 1, 1), 1.0)],
            version=27,
            outputs=2,
            activation="silu",
        ),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RNN",),
        "Python objects as final states of an empty batch for Affine without alpha or beta",
        "The states have the type of X.",
        lambda s: 0 in s.input(0).shape and (_without(s, "Affine", "alpha") or _without(s, "Affine", "beta")),
        lambda: call(
            "RNN",
            [_constant((1, 0, 1)), _constant((1, 1, 1), 1.0), _constant((1, 1, 1), 1.0)],
            version=14,
            outputs=2,
            activations=["Affine"],
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("GRU", "LSTM"),
        "an end of the process for an empty batch, for GRU also for no steps and no inputs",
        "Empty tensors give empty outputs, no steps the initial state, and no inputs the bias alone.",
        lambda s: 0 in s.input(0).shape,
        lambda: call(
            "LSTM", [_constant((1, 0, 1)), _constant((1, 4, 1), 1.0), _constant((1, 4, 1), 1.0)], version=14, hidden_size=1
        ),
        crashes=True,
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
