"""Known disagreements of the family `families.attention`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..samples import Sample, call
from . import Disagreement


def _example(q: Any, k: Any, v: Any, *others: Any, version: int, outputs: int = 1, **attributes: Any) -> Sample:
    """One batch entry and one head of the given rows."""
    inputs = [np.array(x, np.float32)[None, None] for x in (q, k, v)]
    return call("Attention", [*inputs, *others], version=version, outputs=outputs, **attributes)


def _fed(sample: Sample, *positions: int) -> list[Any]:
    return [x for i in positions if (x := sample.input(i)) is not None]


def _mode(sample: Sample) -> int | None:
    """What the fourth output shows; None if the node does not name it."""
    return int(sample.attribute("qk_matmul_output_mode", 0)) if len(sample.node.output) > 3 else None


def _lengths(sample: Sample) -> tuple[int, int, int]:
    """Query rows, new keys, past keys."""
    q, k, past = (sample.input(i) for i in (0, 1, 4))
    return (
        q.shape[-2] if q.ndim == 4 else q.shape[1],
        k.shape[-2] if k.ndim == 4 else k.shape[1],
        0 if past is None else past.shape[2],
    )


def _hides(sample: Sample) -> bool:
    """Whether some key may be hidden from a query."""
    windows = (sample.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    return bool(_fed(sample, 3, 6)) or sample.attribute("is_causal", 0) == 1 or max(windows) >= 0


def _one_row_mask(sample: Sample) -> bool:
    mask, rows = sample.input(3), _lengths(sample)[0]
    return sample.attribute("is_causal", 0) == 1 and mask is not None and mask.ndim > 1 and mask.shape[-2] == 1 and rows > 1


def _short_mask(sample: Sample) -> bool:
    mask, (_, new, past) = sample.input(3), _lengths(sample)
    return mask is not None and mask.ndim > 0 and mask.shape[-1] == 1 and past + new > 1


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Attention",),
        "with is_causal and a mask of one row, the causal mask of the first query row for all rows",
        "The mask broadcasts to all query rows, and each of them has its own causal frontier.",
        _one_row_mask,
        lambda: _example([[1], [1]], [[1], [1]], [[1], [2]], np.zeros((1, 2), np.float32), version=23, is_causal=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Attention",),
        "scores after the softcap with qk_matmul_output_mode=0",
        "Mode 0 shows the raw product, mode 1 what the softcap makes of it.",
        lambda s: _mode(s) == 0 and s.attribute("softcap", 0.0) > 0,
        lambda: _example([[1]], [[3]], [[1]], version=23, outputs=4, softcap=1.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Attention",),
        "in version 23 a mask whose last axis of length 1 closes all keys but the first",
        "The mask broadcasts; only from version 24 on a short one is padded with -inf.",
        lambda s: s.version == 23 and _short_mask(s),
        lambda: _example([[1]], [[1], [1]], [[1], [2]], np.zeros((1, 1), np.float32), version=23),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Attention",),
        "0 for a row whose scores are all -inf without a mask",
        "Only a row that the mask closes gives 0; softmax of -inf alone is 0/0.",
        lambda s: not all(np.isfinite(x).all() for x in _fed(s, 0, 1, 4)),
        lambda: _example([[1]], [[-np.inf]], [[1]], version=23),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Attention",),
        "scores without a softcap for a negative one",
        "softcap·tanh(x/softcap) is the same for both signs; 0 alone means none.",
        lambda s: s.attribute("softcap", 0.0) < 0,
        lambda: _example([[1]], [[3], [1]], [[1], [2]], version=24, softcap=-1.0),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Attention",),
        "scores without a softcap for a negative one",
        "softcap·tanh(x/softcap) is the same for both signs; 0 alone means none.",
        lambda s: s.attribute("softcap", 0.0) < 0,
        lambda: _example([[1]], [[3], [1]], [[1], [2]], version=24, softcap=-1.0),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Attention",),
        "with is_causal, one query row and a past, all of several new keys",
        "Query i attends key j iff j <= i + past length: here the first new key is the last one.",
        lambda s: s.attribute("is_causal", 0) == 1 and _lengths(s)[0] == 1 and _lengths(s)[1] > 1 and _lengths(s)[2] > 0,
        lambda: _example(
            [[1]], [[1], [1]], [[1], [2]], None, *[np.ones((1, 1, 1, 1), np.float32)] * 2, version=23, outputs=3, is_causal=1
        ),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Attention",),
        "large finite scores of hidden keys with qk_matmul_output_mode=2",
        "A key that may not be attended has -inf added to its score.",
        lambda s: _mode(s) == 2 and _hides(s),
        lambda: _example([[1]], [[1], [1]], [[1], [2]], version=23, outputs=4, is_causal=1, qk_matmul_output_mode=2),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
