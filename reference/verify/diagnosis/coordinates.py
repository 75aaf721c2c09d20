"""Sampling positions computed by another rule: Resize, Upsample, GridSample, RoiAlign, AffineGrid."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from reference.node import Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question, changed
from reference.verify.diagnosis.parameters import instead, position, substituted, value

CAUSE = "coordinates"

RULES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn")
"""Of Resize; the last one belongs to opset 11 only."""

NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    if node.operator in ("Resize", "Upsample"):
        yield from _resize(question)
    elif node.operator in ("GridSample", "AffineGrid"):
        given = int(node.attributes.get("align_corners", 0))
        yield from question.of_attributes(CAUSE, instead("align_corners", 1 - given, given), align_corners=1 - given)
        yield from _grid(question)
    elif node.operator == "RoiAlign":
        yield from _roi_align(question)
    elif node.operator == "MaxRoiPool" and len(node.inputs) > 1:
        scale = node.attributes.get("spatial_scale", 1.0)
        yield from question.of_attributes(CAUSE, instead("spatial_scale", 1.0, scale), spatial_scale=1.0)


def _resize(question: Question) -> Iterator[Hypothesis]:
    node = _as_resize(question.node)
    if node is None:
        return
    rule = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    nearest = node.attributes.get("nearest_mode", "round_prefer_floor")
    nearests = NEAREST if node.attributes.get("mode", "nearest") == "nearest" else (nearest,)
    for other in RULES:
        if other != rule:
            yield from _with(
                question, node, instead("coordinate_transformation_mode", other, rule), coordinate_transformation_mode=other
            )
    for other in nearests:
        if other != nearest:
            yield from _with(question, node, instead("nearest_mode", other, nearest), nearest_mode=other)
    for first, second in itertools.product(RULES, nearests):
        if first != rule and second != nearest:
            text = f"the reference computed with coordinate_transformation_mode {first} and nearest_mode {second}"
            yield from _with(question, node, text, coordinate_transformation_mode=first, nearest_mode=second)
    yield from _cubic(question, node)
    yield from _by_extents(question, node)


def _with(question: Question, node: Node, text: str, **attributes: Any) -> Iterator[Hypothesis]:
    return question.of_node(CAUSE, text, lambda: changed(node, node.inputs, **attributes))


def _cubic(question: Question, node: Node) -> Iterator[Hypothesis]:
    if node.attributes.get("mode") != "cubic":
        return
    given = node.attributes.get("cubic_coeff_a", -0.75)
    for other in (-0.5, -0.75, -1.0):
        if other != given:
            yield from _with(question, node, instead("cubic_coeff_a", other, given), cubic_coeff_a=other)
    outside = int(node.attributes.get("exclude_outside", 0))
    cause = "attribute-default" if outside else "attribute-value"
    text = instead("exclude_outside", 1 - outside, outside)
    yield from question.of_node(cause, text, lambda: changed(node, node.inputs, exclude_outside=1 - outside))


def _by_extents(question: Question, node: Node) -> Iterator[Hypothesis]:
    """Scales that are the quotients of the extents, not those given. They make align_corners the same to everybody."""
    x = node.inputs[0]
    if x is None or "axes" in node.attributes or question.reference.ndim != x.ndim:
        return
    given = list(node.inputs[1:2]) or [None]
    inputs = (x, *given, None, np.array(question.reference.shape, np.int64))
    types = (*node.types[:2], *[None] * (3 - len(node.types[:2])), "int64")
    other = dataclasses.replace(node, inputs=inputs, types=types)
    rule = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    for new in (rule, *(r for r in RULES if r != rule)):
        text = f"the reference computed with {new} coordinates and the quotients of the extents as scales"
        yield from _with(question, other, text, coordinate_transformation_mode=new)


def _as_resize(node: Node) -> Node | None:
    """The same as a Resize that has a rule of coordinates: Upsample and Resize-10 have the asymmetric one."""
    if node.operator == "Resize" and node.version >= 11:
        return node
    scales = value(node, "scales")
    if scales is None or not node.inputs or node.inputs[0] is None:
        return None
    attributes = {
        "mode": node.attributes.get("mode", "nearest"),
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    return dataclasses.replace(
        node,
        operator="Resize",
        domain="",
        version=11,
        inputs=(node.inputs[0], None, np.array(scales, np.float64)),
        types=(node.types[0], None, "float32"),
        attributes=attributes,
    )


def _grid(question: Question) -> Iterator[Hypothesis]:
    """The coordinates of the grid in reverse order: y before x."""
    node = question.node
    at = position(node, "grid")
    if at is not None and (grid := node.inputs[at]) is not None and grid.ndim:
        yield from question.of_inputs(
            CAUSE, "the reference with y before x in the grid", substituted(node, {at: grid[..., ::-1]})
        )


def _roi_align(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    given = "half_pixel" if node.version >= 16 else "output_half_pixel"
    given = node.attributes.get("coordinate_transformation_mode", given)
    newer = node if node.version >= 16 else dataclasses.replace(node, version=16)
    for other in ("half_pixel", "output_half_pixel"):
        if other != given:
            text = instead("coordinate_transformation_mode", other, given)
            yield from _with(question, newer, text, coordinate_transformation_mode=other)
    scale = node.attributes.get("spatial_scale", 1.0)
    yield from question.of_attributes(CAUSE, instead("spatial_scale", 1.0, scale), spatial_scale=1.0)
    at = position(node, "rois")
    rois = node.inputs[at] if at is not None else None
    if rois is not None and rois.ndim == 2 and rois.shape[1] == 4:
        inputs = substituted(node, {at or 0: rois[:, [1, 0, 3, 2]]})
        yield from question.of_inputs(CAUSE, "the reference with y before x in the corners of rois", inputs)
