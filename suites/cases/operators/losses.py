"""Losses over classes, and Dropout."""

from __future__ import annotations

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_SCORES = ("3x5", "1x2", "2x3x7", "2x5x3x4", "1x4x2x3x2", "17x3", "4x1", "2x33")
"""(N, C, ...): matrices, lines, planes and volumes; a single class."""


def _loss(
    names: tuple[str, str, str],
    scores: str,
    weight: bool,
    reduction: str,
    ignored: int | None,
    kind: str,
    logged: bool,
    const: bool,
) -> str | None:
    """A loss of scores and labels; `names` are those of the three inputs."""
    data, target, weights = names
    n, c, *rest = scores.split("x")
    if ignored is not None and ignored >= int(c) and c == "1":
        return None
    return joined(
        f"{data}:{scores}",
        f"{target}:{'x'.join((n, *rest))}{kind}",
        f"{weights}:{c}" if weight else "",
        "" if ignored is None else f"ignore_index:{ignored}",
        reduction and f"reduction:{reduction}",
        "outputs:2" if logged else "",
        f"const:{weights}" if const and weight else "",
    )


def _likelihood(scores: str, weight: bool, reduction: str, ignored: int | None, kind: str, const: bool) -> str | None:
    return _loss(("input", "target", "weight"), scores, weight, reduction, ignored, kind, False, const)


def _entropy(
    scores: str, weight: bool, reduction: str, ignored: int | None, kind: str, logged: bool, const: bool
) -> str | None:
    return _loss(("scores", "labels", "weights"), scores, weight, reduction, ignored, kind, logged, const)


_LOSSES = {
    "scores": _SCORES,
    "reduction": ("", "none", "sum", "mean"),
    "weight": (False, True),
    "ignored": (None, 0, -1, 1, 255, -100),  # a class, and numbers that are none
    "kind": ("", ":i32"),
    "const": (True, False),
}

LOSSES = (
    Sweep("NegativeLogLikelihoodLoss-13", "f32", "normal", _likelihood, _LOSSES),
    Sweep(
        "NegativeLogLikelihoodLoss-12 NegativeLogLikelihoodLoss-22",
        "f32",
        "normal",
        _likelihood,
        {**_LOSSES, "scores": _SCORES[:4]},
    ),
    Sweep(
        "NegativeLogLikelihoodLoss-13",
        "f64 f16",
        "normal",
        _likelihood,
        {**_LOSSES, "scores": ("3x5", "2x3x7"), "ignored": (None, 0)},
    ),
    Row("NegativeLogLikelihoodLoss-22", "bf16", "normal", "input:3x5.target:3 input:3x5.target:3.reduction:none"),
    Row(
        "NegativeLogLikelihoodLoss-13",
        "f32",
        "special grid zero wide",
        "input:5x7.target:5.reduction:none input:5x7.target:5.weight:7",
    ),
    Sweep("SoftmaxCrossEntropyLoss-13", "f32", "normal", _entropy, {**_LOSSES, "logged": (False, True)}),
    Sweep(
        "SoftmaxCrossEntropyLoss-12",
        "f32",
        "normal",
        _entropy,
        {**_LOSSES, "scores": _SCORES[:4], "logged": (False, True)},
        one_in=3,
    ),
    Sweep(
        "SoftmaxCrossEntropyLoss-13",
        "f64 f16",
        "normal",
        _entropy,
        {**_LOSSES, "scores": ("3x5", "2x3x7"), "ignored": (None, 0), "logged": (False, True)},
    ),
    Row("SoftmaxCrossEntropyLoss-13", "bf16", "normal", "scores:3x5.labels:3 scores:3x5.labels:3.reduction:none.outputs:2"),
    # scores far apart: exponentials alone would overflow
    Row(
        "SoftmaxCrossEntropyLoss-13",
        "f32",
        "wide extreme grid zero",
        "scores:5x7.labels:5.reduction:none.outputs:2 scores:5x7.labels:5",
    ),
)

_DATA = ("data:2x3x5x7", "data:17", "data:scalar", "data:3x5", "data:0x3", "data:257")


def _dropout(tensor: str, ratio: str, training: str, feed: str, outputs: str) -> str | None:
    """No element is dropped: nothing is trained, or the ratio is 0."""
    if (training == "1" and ratio != "0") or (feed and not (ratio and training)):
        return None
    return joined(
        f"data:{tensor}",
        ratio and f"ratio:{ratio}",
        training and f"training_mode:{training}",
        outputs and f"outputs:{outputs}",
        feed and f"feed:{feed}",
    )


DROPOUT = (
    # nothing is dropped unless it trains; the ratio is then without effect
    Row("Dropout-13 Dropout-22", "f32", "normal special", " ".join(f"{x}.outputs:2 {x}" for x in _DATA)),
    Row(
        "Dropout-12 Dropout-13 Dropout-22",
        "f32",
        "normal",
        " ".join(
            f"{x}.ratio:{r}.training_mode:0.outputs:2" for x in _DATA[:4] for r in ("5e-1:f32", "0:f32", "9e-1:f64")
        ).replace(":f32.", ".")
        + " data:3x5.ratio:0.training_mode:1.outputs:2 data:3x5.ratio:0.training_mode:1 "
        "data:3x5.ratio:25e-2 data:3x5.ratio:25e-2.feed:ratio",
    ),
    Row("Dropout-13 Dropout-22", "f16 bf16 f64", "normal", "data:2x3x5 data:2x3x5.ratio:5e-1:f32.training_mode:0.outputs:2"),
    Row(
        "Dropout-7 Dropout-10",
        "f32 f16 f64",
        "normal",
        "data:2x3x5 data:2x3x5.ratio:0 data:2x3x5.ratio:9e-1 data:scalar data:0x3",
    ),
    Row("Dropout-10", "f32", "normal", "data:2x3x5.outputs:2 data:17.ratio:2e-1.outputs:2"),
    # what is random is judged by its properties
    Row(
        "Dropout-13 Dropout-22",
        "f32",
        "normal",
        "data:17x31.ratio:5e-1.training_mode:1.outputs:2 data:17x31.ratio:1e-1.training_mode:1.seed:7.outputs:2 "
        "data:17x31.ratio:75e-2.training_mode:1 data:17x31.training_mode:1.outputs:2",
    ),
    # neither trains nor drops: parameters left out, stored and fed; NaN and infinities pass
    Sweep(
        "Dropout-22",
        "f32 f16",
        "special",
        _dropout,
        {
            "tensor": ("17", "2x3x5x7", "scalar", "0x3", "257", "2x1x3x1x2x1x2x3"),
            "ratio": ("", "5e-1", "0", "9e-1"),
            "training": ("", "0", "1"),
            "feed": ("", "ratio", "training_mode", "ratio_training_mode"),
            "outputs": ("", "2"),
        },
    ),
    Row("Dropout-22", "bf16 f8e4m3fn f8e5m2", "special", "data:33 data:2x3x5x7.outputs:2"),
    Row(
        "Dropout-12",
        "f32 f16 f64",
        "special",
        "data:33 data:2x3x5x7.ratio:9e-1.outputs:2 data:65.ratio:0.training_mode:1.outputs:2",
    ),
    Row("Dropout-7 Dropout-10", "f32 f16 f64", "special", "data:33 data:2x3x5x7.ratio:9e-1"),
)

CASES = (*LOSSES, *DROPOUT)
