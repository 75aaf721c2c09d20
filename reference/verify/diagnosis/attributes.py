"""Attributes ignored, so that ONNX's default is used, and attributes with another value than the model gives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from reference.node import Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import default, instead, names, shown

PAIRS = 15
"""Pairs of attributes that are supposed to be ignored together, or to be swapped, at most."""

FLAGS = frozenset(
    [
        *("align_corners", "allowzero", "antialias", "causal", "center_point_box", "channels_last", "detect_negative"),
        *("detect_positive", "do_rotary", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "inverse"),
        *("is_causal", "is_case_sensitive", "keepdims", "largest", "layout", "linear_before_reset", "new_axis"),
        *("noop_with_empty_axes", "onesided", "periodic", "reverse", "rotary_interleaved", "saturate", "select_last_index"),
        *("sorted", "stash_type", "storage_order", "training_mode", "transA", "transB", "transBatchA", "transBatchB"),
        *("unidirectional", "upper"),
    ]
)
"""Attributes that are 0 or 1."""

ENUMERATIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "approximate"): ("none", "tanh"),
    ("", "auto_pad"): ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    ("", "case_change_action"): ("NONE", "LOWER", "UPPER"),
    ("", "direction"): ("forward", "reverse", "bidirectional", "LEFT", "RIGHT"),
    ("", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("", "padding_mode"): ("zeros", "border", "reflection"),
    ("", "pixel_format"): ("RGB", "BGR", "Grayscale"),
    ("", "reduction"): ("none", "add", "mul", "max", "min", "mean", "sum"),
    ("", "round_mode"): ("up", "down", "nearest"),
    ("", "update_rule"): ("linear", "gated", "delta", "gated_delta"),
    ("CausalConvWithState", "activation"): ("none", "silu", "swish"),
    ("DepthToSpace", "mode"): ("DCR", "CRD"),
    ("FusedConv", "activation"): ("", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"),
    ("GridSample", "mode"): ("linear", "bilinear", "nearest", "cubic", "bicubic"),
    ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"),
    ("Resize", "mode"): ("nearest", "linear", "cubic"),
    ("RoiAlign", "mode"): ("avg", "max"),
    ("SpaceToDepth", "mode"): ("DCR", "CRD"),
    ("TensorScatter", "mode"): ("linear", "circular"),
    ("TfIdfVectorizer", "mode"): ("TF", "IDF", "TFIDF"),
    ("Upsample", "mode"): ("nearest", "linear", "bilinear"),
}
"""(operator, or "" for any, attribute) → the values that it may have."""

NUMBERS: Mapping[str, tuple[float, ...]] = {
    "alpha": (1.0, 0.0, 0.01, 0.2, 0.1, 0.5, 1.702, 1.67326319217681884765625),
    "batch_dims": (0, 1, 2),
    "beta": (1.0, 0.0, 0.5, 0.75),
    "bias": (0.0, 1.0),
    "epsilon": (0.0, 1e-5, 1e-6, 1e-3, 1e-12, 1e-4, 1e-8),
    "gamma": (1.0, 1.05070102214813232421875),
    "group": (1,),
    "k": (0, 1, -1),
    "lambd": (0.5, 0.0),
    "left_window_size": (-1,),
    "local_window_size": (-1,),
    "mask_filter_value": (-10000.0, -math.inf, 0.0),
    "momentum": (0.9, 0.99, 0.1),
    "p": (2, 1, 3),
    "qk_matmul_output_mode": (0, 1, 2, 3),
    "qk_output": (0, 1, 2),
    "right_window_size": (-1,),
    "sampling_ratio": (0, 1, 2),
    "scale": (1.0,),
    "softcap": (0.0,),
}
"""Numeric attributes → values that implementations are known to put in their place."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Defaults first, then values by name, then attributes that stand in each other's place."""
    yield from _defaults(question)
    yield from _enumerated(question)
    yield from _numeric(question)
    yield from _swapped(question)


def _defaults(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    given = [name for name, v in node.attributes.items() if _differs(v, default(node, name))]
    for name in given:
        text = _without(node, name)
        yield from question.of_attributes("attribute-default", text, **{name: None})
    pairs = list(itertools.islice(itertools.combinations(given, 2), PAIRS))
    for both in [*pairs, given] if len(given) > 2 else pairs:
        text = f"the reference computed with {' and '.join(both)} ignored"
        yield from question.of_attributes("attribute-default", text, **dict.fromkeys(both))


def _without(node: Node, name: str) -> str:
    implied, given = default(node, name), node.attributes[name]
    if implied is None or not _plain(given):
        return f"the reference computed with {name} ignored"
    return f"the reference computed with the default {name} {shown(implied)} instead of {shown(given)}"


def _plain(value: Any) -> bool:
    """Whether a sentence can hold it: no tensor, no graph."""
    return isinstance(value, int | float | str) or (isinstance(value, list | tuple) and all(_plain(v) for v in value))


def _differs(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return b is None or list(a) != list(b)
    return not (_plain(a) and _plain(b) and a == b)


def _enumerated(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for name in names(node):
        given = node.attributes.get(name, default(node, name))
        values: tuple[Any, ...] = ENUMERATIONS.get((node.operator, name), ENUMERATIONS.get(("", name), ()))
        if name in FLAGS:
            given = 0 if given is None else given
            values = (0, 1)
        for other in values:
            if other != given:
                text = instead(name, other, given)
                yield from question.of_attributes("attribute-value", text, **{name: other})


def _numeric(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for name in names(node):
        given = node.attributes.get(name, default(node, name))
        for other in (*_derived(node, name, given), *NUMBERS.get(name, ())):
            if other != given:
                text = instead(name, other, "1/√d" if given is None and name == "scale" else given)
                yield from question.of_attributes("attribute-value", text, **{name: other})


def _derived(node: Node, name: str, given: Any) -> Iterator[float]:
    """Values that follow from the one given or from the shapes."""
    if name == "scale":
        yield from _attention_scales(node)
    if not isinstance(given, int | float) or isinstance(given, bool):
        return
    if name == "alpha" and node.operator == "LRN":
        yield given * node.attributes.get("size", 1)
        yield given / max(node.attributes.get("size", 1), 1)
    if name == "momentum":
        yield 1 - given
    if name in ("alpha", "beta", "gamma", "lambd", "bias"):
        yield -given
    if name in ("alpha", "gamma", "scale", "spatial_scale") and given:
        yield 1 / given
    if name in ("size", "left_window_size", "right_window_size", "local_window_size", "max_gram_length"):
        yield from (given - 1, given + 1)
    if name == "k":
        yield -given


def _attention_scales(node: Node) -> Iterator[float]:
    """1/√d, 1/d and 1/√(all heads) of heads of d elements."""
    query = node.inputs[0] if node.inputs else None
    if not isinstance(query, np.ndarray) or query.ndim < 3 or not query.shape[-1]:
        return
    heads = node.attributes.get("q_num_heads") or node.attributes.get("num_heads") or 1
    size = query.shape[-1] if query.ndim == 4 else query.shape[-1] // max(int(heads), 1)
    for length in (size, size * heads if query.ndim == 3 else size * query.shape[1]):
        if length > 0:
            yield from (1 / math.sqrt(length), 1 / length)


def _swapped(question: Question) -> Iterator[Hypothesis]:
    """Two numbers, or two lists of equal length, in each other's place."""
    node = question.node
    values = {name: node.attributes.get(name, default(node, name)) for name in names(node) if name not in FLAGS}
    kinds = {n: (type(v), len(v) if isinstance(v, list | tuple) else 0) for n, v in values.items() if not isinstance(v, str)}
    alike = [(a, b) for a, b in itertools.combinations(kinds, 2) if kinds[a] == kinds[b] and _differs(values[a], values[b])]
    for a, b in alike[:PAIRS]:
        if _plain(values[a]) and _plain(values[b]):
            text = f"the reference computed with {a} {shown(values[b])} and {b} {shown(values[a])} swapped"
            yield from question.of_attributes("attribute-value", text, **{a: values[b], b: values[a]})
    for name, v in node.attributes.items():
        if isinstance(v, list | tuple) and list(v) != list(v)[::-1]:
            yield from question.of_attributes("attribute-value", instead(name, list(v)[::-1], v), **{name: list(v)[::-1]})
