"""Elements that ONNX leaves open in data movement, strings and scans; see `reference.marks`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.node import Array, Node

Mask = Array | None


def scattered(node: Node) -> Mask:
    """ScatterElements and ScatterND with min or max: where NaN is among the candidates, ONNX does not say which one stays."""
    x, indices, updates = node.inputs
    if node.attribute("reduction", "none") not in ("min", "max") or x is None or updates is None or x.dtype.kind != "f":
        return None
    marked = [np.where(np.isnan(v), 1.0, 0.0) for v in (x, updates)]
    return np.asarray(node.again([marked[0], indices, marked[1]], reduction="max")[0] == 1.0)


def unique(node: Node) -> Mask:
    """Unique: whether NaN equals NaN and where it belongs in the order, and the order of complex numbers."""
    x = node.inputs[0]
    assert x is not None
    ordered = x.dtype.kind == "c" and bool(node.attribute("sorted", 1))
    return np.asarray(ordered or (x.dtype.kind in "fc" and bool(np.isnan(x).any())))


def nonzero(node: Node) -> Mask:
    """NonZero: which string is zero."""
    x = node.inputs[0]
    return np.asarray(x is not None and x.dtype == object)


def shared_coordinate(node: Node) -> Mask:
    """TfIdfVectorizer: what several n-grams of one coordinate give together."""
    return np.asarray(np.bincount(node.attribute("ngram_indexes", [])) > 1)


def letters(node: Node) -> Mask:
    """StringNormalizer: how the case of letters beyond ASCII is told and changed, which is up to the locale."""
    x = node.inputs[0]
    assert x is not None
    stopped = node.attribute("stopwords", [])
    told = stopped and not node.attribute("is_case_sensitive", 0)
    changed = node.attribute("case_change_action", "NONE") != "NONE"
    return np.asarray(bool((told or changed) and not all(text.isascii() for text in (*x.ravel(), *stopped))))


def white_space(node: Node) -> Mask:
    """StringSplit without a delimiter: which characters beyond ASCII are white space."""
    x = node.inputs[0]
    assert x is not None
    wide = any(character.isspace() and not character.isascii() for text in x.ravel() for character in text)
    return np.asarray(wide and not node.attribute("delimiter", ""))


def behind_sequences(node: Node) -> Sequence[Mask]:
    """Scan before version 9: scan outputs behind the last step of a batch entry."""
    lengths = node.inputs[0]
    if node.version >= 9 or lengths is None:
        return [None for _ in node.results]
    states = len(node.inputs) - 1 - int(node.attribute("num_scan_inputs", 0))
    masks: list[Mask] = []
    for i, y in enumerate(node.results):
        behind = None if i < states else np.arange(y.shape[1]) >= lengths[:, None]
        masks.append(None if behind is None else behind.reshape(behind.shape + (1,) * (y.ndim - 2)))
    return masks
