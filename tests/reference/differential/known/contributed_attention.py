"""Known disagreements of the family `families.contributed_attention`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..families.contributed_attention import DOMAIN, DRAW
from ..samples import Sample, call
from . import Disagreement

MULTI_HEAD, GROUP_QUERY, _ = DRAW


def _floats(*values: float, shape: tuple[int, ...] = (1, -1, 1)) -> Any:
    return np.array(values, np.float32).reshape(shape)


def _forgotten_past(sample: Sample, past: int) -> bool:
    """Whether there is a past, and no output for the present."""
    return sample.input(past) is not None and len(sample.node.output) < 3


def _one_way(outputs: int) -> Sample:
    """Two keys for a query that may see the first."""
    sample = call(
        "MultiHeadAttention",
        [_floats(1.0), _floats(1.0, 2.0), _floats(1.0, 3.0)],
        version=1,
        domain=DOMAIN,
        outputs=outputs,
        num_heads=1,
        unidirectional=1,
    )
    for output in sample.model.graph.output[3:]:
        output.type.tensor_type.elem_type = 1
    return sample


def _columns(sample: Sample) -> tuple[int, int]:
    """MultiHeadAttention's query rows and new keys."""
    query, key = sample.input(0), sample.input(1)
    if key is None:
        return query.shape[1], query.shape[1]
    return query.shape[1], key.shape[2] if key.ndim == 4 else key.shape[1]


def _uncached_multi_head() -> Sample:
    x, past = _floats(1.0), (_floats(2.0, shape=(1, 1, 1, 1)), _floats(5.0, shape=(1, 1, 1, 1)))
    return call("MultiHeadAttention", [x, x, x, None, None, None, *past], version=1, domain=DOMAIN, num_heads=1)


def _uncached_group() -> Sample:
    x, past = np.ones((1, 1, 8), np.float32), np.full((1, 1, 1, 8), 2, np.float32)
    inputs = [x, x, x, past, past, np.array([1], np.int32), np.array([2], np.int32)]
    return call("GroupQueryAttention", inputs, version=1, domain=DOMAIN, num_heads=1, kv_num_heads=1)


def _beams() -> Sample:
    """Two beams with opposite biases, for a query that sees one past key and its own."""
    x, past = _floats(1, 1, shape=(2, 1, 1)), _floats(0, 0, 0, 0, shape=(2, 1, 2, 1))
    bias = _floats(0, 9, 9, 0, shape=(2, 1, 1, 2))
    inputs = [x, x, x, None, None, bias, past, past, np.array([1], np.int32), np.zeros((1, 2, 2), np.int32)]
    return call("MultiHeadAttention", inputs, version=1, domain=DOMAIN, outputs=3, num_heads=1)


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (MULTI_HEAD,),
        "an output without the past if present_key and present_value are not requested",
        "Which outputs a node names does not change what they are.",
        lambda s: _forgotten_past(s, 6),
        _uncached_multi_head,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (GROUP_QUERY,),
        "an output from memory that holds no past if present_key and present_value are not requested",
        "Which outputs a node names does not change what they are.",
        lambda s: _forgotten_past(s, 3),
        _uncached_group,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (MULTI_HEAD,),
        "with unidirectional=1 and more keys than queries, all keys for the last query",
        "Every token can only attend to previous tokens.",
        lambda s: s.attribute("unidirectional", 0) == 1 and _columns(s)[1] > _columns(s)[0],
        lambda: _one_way(1),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (MULTI_HEAD,),
        "the lowest finite number as the score of a later key with unidirectional=1",
        "A token cannot attend to later ones, whatever the scores are: -inf.",
        lambda s: s.attribute("unidirectional", 0) == 1 and len(s.node.output) > 3,
        lambda: _one_way(4),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        (MULTI_HEAD,),
        "with cache_indirection the attention_bias of batch entry b // beams for entry b",
        "attention_bias has one entry for each of the query's batch, or one for all.",
        lambda s: s.input(9) is not None and s.input(5) is not None and s.input(5).shape[0] > 1,
        _beams,
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {
    "onnx.reference": {operator: "it has no operators of com.microsoft" for operator in DRAW}
}
