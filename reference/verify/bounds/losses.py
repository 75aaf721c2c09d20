"""EXPLICIT bounds of losses over classes: a chosen logarithm of a probability, its weight, and the sum over all targets."""

from __future__ import annotations

import dataclasses

import numpy as np

from reference import evaluator
from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.bounds import softmax
from reference.verify.bounds.functions import ulps
from reference.verify.setting import Setting


def negative_log_likelihood(node: Node, setting: Setting) -> list[Array]:
    """NegativeLogLikelihoodLoss: each chosen element once more rounded by its weight."""
    x = node.real(0)
    return [_loss(node, np.abs(x), setting.u_in * np.abs(x) + setting.eta_in, setting)]


def softmax_cross_entropy(node: Node, setting: Setting) -> list[Array]:
    """SoftmaxCrossEntropyLoss: the loss of the logarithm of the softmax over axis 1, which may be stored on the way."""
    scores = node.real(0)
    logarithm = dataclasses.replace(
        node,
        operator="LogSoftmax",
        version=13,
        inputs=(scores,),
        types=node.types[:1],
        attributes={"axis": 1},
        output_types=node.output_types[:1],
        results=evaluator.apply("LogSoftmax", 13, [scores], {"axis": 1}, types=node.types[:1], n_outputs=1)[:1],
        output_names=("",),
    )
    (inner,), size = softmax.softmax(logarithm, setting), np.abs(logarithm.results[0])
    stored = FLOATS[setting.dtype].unit_roundoff
    between = stored * size if stored > setting.u else 0.0
    return [_loss(node, size, inner + between, setting), inner][: len(node.results)]


def _loss(node: Node, size: Array, error: Array, setting: Setting) -> Array:
    """Bound of the loss of values of that size with that error: their weighted sum, and the mean's division by the sum of the
    weights; infinite where a sum may overflow, and where that of the weights may be 0."""
    target, u = node.inputs[1], setting.u
    weight = node.real(2) if node.given(2) else None
    heavy = None if weight is None else np.abs(weight) * (1 + setting.u_in)
    ignored = node.attribute("ignore_index", None)
    reduction = node.attribute("reduction", "mean")

    def total(values: Array, weights: Array | None) -> Array:
        attributes = {"reduction": "none" if reduction == "none" else "sum"}
        attributes |= {} if ignored is None else {"ignore_index": ignored}
        inputs = [-np.where(np.isfinite(values), values, 0.0), target, weights]
        return np.asarray(evaluator.apply("NegativeLogLikelihoodLoss", 13, inputs, attributes, n_outputs=1)[0])

    weighing = 0.0 if weight is None else u + setting.u_in
    whole = total(size, heavy)
    if reduction == "none":
        return np.asarray(total(error, heavy) + weighing * whole + (setting.eta if weighing else 0.0))
    terms = target.size if target is not None else 0
    bound = total(error, heavy) + (setting.gamma(max(terms - 1, 0)) + weighing) * whole
    bound = bound + (terms * setting.eta if weighing else 0.0)
    overflows = whole > FLOATS[setting.arithmetic.compute].largest
    if reduction == "mean":
        ones = np.ones_like(size)
        weights = total(ones, heavy)
        signed = np.abs(total(ones, weight))
        y = np.where(np.isfinite(node.results[0]), np.abs(node.results[0]), 0.0)
        counted = setting.gamma(terms) * weights if weight is not None else u * weights  # a whole number, rounded once
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = (bound + y * (counted + setting.u_in * weights)) / (signed - counted)
            # each term may be divided before they are added up
            bound = bound + 2 * ulps("Div", setting) * u * (y + whole / signed)
        overflows |= (signed <= 2 * counted) & np.isfinite(node.results[0])
    return np.asarray(np.where(overflows, np.inf, bound))
