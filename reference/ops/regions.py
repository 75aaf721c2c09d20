"""RoiAlign, MaxRoiPool, NonMaxSuppression, MaxUnpool: regions of images, their overlaps, and maxima put back into place.

Counts, roundings and thresholds are decided in exact fractions of the inputs; float64 serves where it cannot be wrong. Loops
run over regions and over selected boxes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.arguments import single

Array = NDArray[Any]

MOVE = Fraction(1, 2**20)
"""Ties are what a relative move of the coordinates by this much would decide otherwise."""

HALF = Fraction(1, 2)


@dataclasses.dataclass(frozen=True)
class Side:
    """One axis of a region of RoiAlign, from `begin` to `end` in elements of an axis of x that has `length` of them.

    It has `outputs` bins of `ratio` points each, or as many as fit (0), and every point is in the middle of its step.
    """

    begin: Fraction
    end: Fraction
    length: int
    outputs: int
    ratio: int
    half_pixel: bool

    def extent(self, move: Fraction = Fraction(0)) -> Fraction:
        """From begin to end if these move apart by `move`; at least 1 with output_half_pixel."""
        extent = self.end - self.begin + move
        return extent if self.half_pixel else max(extent, Fraction(1))

    def counted(self, move: Fraction = Fraction(0)) -> int:
        """Points in a bin if begin and end move apart by `move`."""
        return self.ratio if self.ratio > 0 else max(math.ceil(self.extent(move) / self.outputs), 0)

    @functools.cached_property
    def count(self) -> int:
        """Points in a bin."""
        return self.counted()

    @functools.cached_property
    def step(self) -> Fraction:
        """From point to point."""
        return self.extent() / (self.outputs * max(self.count, 1))

    @property
    def start(self) -> Fraction:
        """Where the first step begins, as a coordinate of which 0 is the middle of the first element of x."""
        return self.begin - HALF if self.half_pixel else self.begin

    def points(self) -> Array:
        """Coordinates of the points, bin after bin, as float64."""
        return float(self.start) + (np.arange(self.outputs * self.count) + 0.5) * float(self.step)

    def inside(self) -> Array:
        """Mask of the points from -1 to length, both included."""
        points = np.arange(self.outputs * self.count)
        if self.step == 0:
            return np.full(len(points), -1 <= self.start <= self.length)
        ends = sorted(((-1 - self.start) / self.step, (self.length - self.start) / self.step))
        first, last = math.ceil(ends[0] - HALF), math.floor(ends[1] - HALF)
        return np.asarray((points >= max(first, 0)) & (points <= min(last, len(points))))

    def weights(self) -> tuple[slice, Array]:
        """The elements that the points lie between, and each point's weights (points, elements): of one outside all are 0."""
        place, inside = np.clip(self.points(), 0, self.length - 1), self.inside()
        if not inside.any():
            return slice(0, 1), np.zeros((len(place), 1))
        first, last = int(place[inside].min()), min(int(place[inside].max()) + 1, self.length - 1)
        distance = np.abs(place[:, None] - np.arange(first, last + 1))
        return slice(first, last + 1), np.where(inside[:, None], np.maximum(1 - distance, 0), 0.0)

    def ties(self) -> Array:
        """Mask of the bins (outputs) that a move of begin and end by MOVE gives other points, or a point another side of -1
        or length."""
        move = MOVE * max(abs(self.begin), abs(self.end))
        if self.counted(-2 * move) != self.counted(2 * move):
            return np.ones(self.outputs, bool)
        points, distance = self.points(), float(move + MOVE)
        near = (np.abs(points + 1) <= distance) | (np.abs(points - self.length) <= distance)
        return np.asarray(near.reshape(self.outputs, self.count).any(axis=1))


def _sides(
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> list[tuple[Side, Side]]:
    """Height and width of every region, for the inputs and attributes of RoiAlign. Raises ValueError."""
    if mode not in ("avg", "max") or coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise ValueError(f"unknown mode {mode!r} or coordinate_transformation_mode {coordinate_transformation_mode!r}")
    if rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1] or not np.isfinite(rois).all():
        raise ValueError(f"finite rois (n, 4) and batch_indices (n) were expected, not {rois.shape} and {batch_indices.shape}")
    if ((batch_indices < 0) | (batch_indices >= x.shape[0])).any():
        raise ValueError(f"batch_indices {batch_indices.tolist()} in a batch of {x.shape[0]}")
    half_pixel, scale = coordinate_transformation_mode == "half_pixel", Fraction(spatial_scale)
    sides = []
    for roi in rois.tolist():
        x1, y1, x2, y2 = (Fraction(v) * scale for v in roi)
        height = Side(y1, y2, x.shape[2], output_height, sampling_ratio, half_pixel)
        sides.append((height, Side(x1, x2, x.shape[3], output_width, sampling_ratio, half_pixel)))
    return sides


def _weighted(rows: Array, image: Array, columns: Array) -> Array:
    """rows @ image @ columnsᵀ for weights that are not negative; one of 0 adds nothing, whatever the image holds there."""
    if np.isfinite(image).all():
        return np.asarray(rows @ image @ columns.T)
    y = rows @ np.where(np.isfinite(image), image, 0.0) @ columns.T
    for value, there in ((np.inf, image == np.inf), (-np.inf, image == -np.inf), (np.nan, np.isnan(image))):
        with np.errstate(invalid="ignore"):
            y = y + np.where(rows @ there.astype(np.float64) @ columns.T > 0, value, 0.0)
    return np.asarray(y)


def _bin_means(side: Side, weights: Array) -> Array:
    return np.asarray(weights.reshape(side.outputs, side.count, -1).mean(axis=1))


def roi_align(
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """RoiAlign-22 (16 alike): x (N, C, H, W), rois (n, 4) as x1 y1 x2 y2, batch_indices (n) → (n, C, output_height,
    output_width). max is the largest interpolated value of a bin.

    Where the text is silent, as in ONNX's cases: points more than 1 outside the elements are 0, others outside move to the
    end elements; output_half_pixel makes regions at least 1 long; a region without points gives 0. Raises ValueError.
    """
    sides = _sides(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode=coordinate_transformation_mode,
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )
    y = np.zeros((len(sides), x.shape[1], output_height, output_width))
    for result, (height, width), image in zip(y, sides, batch_indices, strict=True):
        if not height.count or not width.count:
            continue
        (down, rows), (across, columns) = height.weights(), width.weights()
        part = x[image, :, down, across]
        if mode == "avg":
            result[:] = _weighted(_bin_means(height, rows), part, _bin_means(width, columns))
        else:
            points = _weighted(rows, part, columns)
            result[:] = points.reshape(-1, output_height, height.count, output_width, width.count).max(axis=(2, 4))
    return y


def roi_align_ties(x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Array:
    """Mask of `roi_align`'s ties, broadcastable to its result: regions whose adaptive count of points, and bins one of whose
    points outside or not, a move of the coordinates decides otherwise."""
    sides = _sides(x, rois, batch_indices, **attributes)
    ties = np.zeros((len(sides), 1, attributes.get("output_height", 1), attributes.get("output_width", 1)), bool)
    for result, (height, width) in zip(ties, sides, strict=True):
        result[0] = height.ties()[:, None] | width.ties()
    return ties


def roi_align_open(x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Array:
    """Mask of the elements that ONNX leaves open, broadcastable to the result: regions without points, and with
    output_half_pixel those shorter than 1."""
    sides = _sides(x, rois, batch_indices, **attributes)
    marked = [any(not side.count or side.extent() > side.end - side.begin for side in both) for both in sides]
    return np.array(marked, bool).reshape(-1, 1, 1, 1)


LEGACY: dict[str, Any] = {"coordinate_transformation_mode": "output_half_pixel"}
"""What version 10 of RoiAlign does, by version 16's words."""


def roi_align_10(x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Array:
    """RoiAlign-10: as version 16 with output_half_pixel."""
    return roi_align(x, rois, batch_indices, **LEGACY, **attributes)


def roi_align_10_ties(x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Array:
    """Mask of `roi_align_10`'s ties, as `roi_align_ties`."""
    return roi_align_ties(x, rois, batch_indices, **LEGACY, **attributes)


def roi_align_10_open(x: Array, rois: Array, batch_indices: Array, **attributes: Any) -> Array:
    """Mask of what version 10 leaves open, as `roi_align_open`."""
    return roi_align_open(x, rois, batch_indices, **LEGACY, **attributes)


def _half_away(value: Fraction) -> int:
    """The nearest whole number, half-ways away from zero, as C's round."""
    whole = math.floor(abs(value) + HALF)
    return whole if value >= 0 else -whole


def _bins(first: int, last: int, outputs: int, length: int) -> tuple[Array, Array]:
    """Begin and end, within the axis, of the bins of a region of the elements first to last: at least one long, and bins
    overlap where its length is no multiple of `outputs`."""
    extent, bins = max(last - first + 1, 1), np.arange(outputs)
    begin, end = first + bins * extent // outputs, first - (-(bins + 1) * extent // outputs)
    return np.clip(begin, 0, length), np.clip(end, 0, length)


def _largest(x: Array, begin: Array, end: Array) -> Array:
    """Maxima of x (..., length) over each [begin, end) → (..., bins); an empty one takes some element."""
    reach = max(int((end - begin).max(initial=1)), 1)
    index = np.clip(np.minimum(begin[:, None] + np.arange(reach), end[:, None] - 1), 0, x.shape[-1] - 1)
    return np.asarray(x[..., index].max(axis=-1))


def _pooled_regions(x: Array, rois: Array, spatial_scale: float) -> list[tuple[int, list[Fraction]]]:
    """Image and scaled corners x1 y1 x2 y2 of every region. Raises ValueError."""
    if rois.ndim != 2 or rois.shape[1] != 5 or not (np.abs(rois) < 2.0**40).all():
        raise ValueError(f"rois (n, 5) with coordinates below 2^40 were expected, not {rois.shape}")
    images = rois[:, 0]
    if ((images < 0) | (images >= x.shape[0]) | (images != np.rint(images))).any():
        raise ValueError(f"batch numbers {images.tolist()} in a batch of {x.shape[0]}")
    return [(int(image), [Fraction(v) * Fraction(spatial_scale) for v in roi]) for image, *roi in rois.tolist()]


def max_roi_pool(x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """MaxRoiPool-22 (1 alike): x (N, C, H, W), rois (n, 5) as image x1 y1 x2 y2 → (n, C, pooled_shape).

    The text says nothing about coordinates: they are those of Fast R-CNN (Girshick, 2015), as everywhere. Corners are
    rounded, half-ways away from zero, and belong to the region, which is at least 1 long; bins reach from the element that
    their begin lies in to the one that their end lies in; a bin without elements gives 0. Raises ValueError.
    """
    rows, columns = pooled_shape
    y = np.zeros((len(rois), x.shape[1], rows, columns))
    for result, (image, corners) in zip(y, _pooled_regions(x, rois, spatial_scale), strict=True):
        x1, y1, x2, y2 = map(_half_away, corners)
        top, bottom = _bins(y1, y2, rows, x.shape[2])
        left, right = _bins(x1, x2, columns, x.shape[3])
        tall = _largest(x[image].swapaxes(1, 2), top, bottom).swapaxes(1, 2)
        result[:] = np.where((bottom > top)[:, None] & (right > left), _largest(tall, left, right), 0.0)
    return y


def max_roi_pool_ties(x: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """Mask of `max_roi_pool`'s ties, broadcastable to its result: regions with a corner that a move rounds otherwise, and bins
    that begin or end between elements although their length is rounded in binary, as 10/6 is."""
    ties = np.zeros((len(rois), 1, *pooled_shape), bool)
    for result, (_, corners) in zip(ties, _pooled_regions(x, rois, spatial_scale), strict=True):
        x1, y1, x2, y2 = map(_half_away, corners)
        down, across = (
            _edge_ties(max(last - first + 1, 1), outputs)
            for first, last, outputs in ((y1, y2, pooled_shape[0]), (x1, x2, pooled_shape[1]))
        )
        moved = any(_half_away(c * (1 - MOVE)) != _half_away(c * (1 + MOVE)) for c in corners)
        result[0] = moved | down[:, None] | across
    return ties


def _edge_ties(extent: int, outputs: int) -> Array:
    """Mask of the bins (outputs) of extent/outputs elements with an end at a whole number, if that quotient is rounded."""
    divisor = Fraction(extent, outputs).denominator
    edges = (np.arange(outputs + 1) * extent % outputs == 0) & bool(divisor & (divisor - 1))
    edges[0] = False
    return np.asarray(edges[:-1] | edges[1:])


def _corners(boxes: Array, center_point_box: int) -> tuple[Array, Array]:
    """Lower and upper corner (n, 2) of boxes (n, 4): float64, or exact for an array of fractions."""
    a, b = boxes[:, :2], boxes[:, 2:]
    return (a - b / 2, a + b / 2) if center_point_box else (np.minimum(a, b), np.maximum(a, b))


def _excess(one: Array, boxes: Array, threshold: Any, center_point_box: int) -> tuple[Array, Array, Array]:
    """Intersection - threshold·union of a box (1, 4) with each of the boxes (n, 4); the sides of what they have in common,
    negative for a gap; the sum of both boxes' sides."""
    (low, high), (lower, upper) = _corners(one, center_point_box), _corners(boxes, center_point_box)
    common = np.minimum(high, upper) - np.maximum(low, lower)
    sides, others = np.maximum(high - low, 0), np.maximum(upper - lower, 0)
    intersection = np.maximum(common, 0).prod(axis=1)
    union = sides.prod(axis=1) + others.prod(axis=1) - intersection
    return intersection - threshold * union, common, sides + others


def _suppressed(one: Array, boxes: Array, threshold: float, center_point_box: int) -> tuple[Array, Array]:
    """Masks (n): which of the boxes (n, 4) overlap the box (1, 4) beyond the threshold, and which a move would decide
    otherwise. Two boxes without area do not overlap."""
    excess, common, sides = _excess(one, boxes, threshold, center_point_box)
    reach = np.maximum(np.abs(boxes[:, :2]), np.abs(boxes[:, 2:]))
    reach = np.maximum(reach, np.maximum(np.abs(one[:, :2]), np.abs(one[:, 2:])))
    # what an error of 1 in every coordinate, relative to the largest, makes of an area
    effect = (reach * sides[:, ::-1]).sum(axis=1)

    def within(error: float) -> Array:
        meet = (common >= -4 * error * reach).all(axis=1)
        return np.asarray((np.abs(excess) <= 4 * error * effect) & meet & np.isfinite(effect))

    beyond = excess > 0
    for i in np.flatnonzero(within(2.0**-50)):
        a, b = (np.array([[Fraction(v) for v in box]], object) for box in (one[0].tolist(), boxes[i].tolist()))
        beyond[i] = _excess(a, b, Fraction(threshold), center_point_box)[0][0] > 0
    return beyond, within(float(MOVE))


def _widened(boxes: Array, center_point_box: int) -> tuple[Array, Array]:
    """Lower and upper sides (2, n) of boxes (n, 4), so far outside that those which do not meet have nothing in common
    whichever way a move goes."""
    slack = 4 * float(MOVE) * np.abs(boxes).max(initial=0.0, where=np.isfinite(boxes))
    low, high = _corners(boxes, center_point_box)
    return np.ascontiguousarray(low.T) - slack, np.ascontiguousarray(high.T) + slack


def _chosen(boxes: Array, most: float, threshold: float, center_point_box: int) -> tuple[list[int], bool]:
    """Numbers of the boxes (n, 4), best first, that are selected, and whether a move would select others."""
    low, high = _widened(boxes, center_point_box)
    chosen: list[int] = []
    left, unsure = np.ones(len(boxes), bool), False
    for i in range(len(boxes)):
        if len(chosen) >= most:
            break
        if left[i]:
            chosen.append(i)
            meet = (low[:, i + 1 :] <= high[:, i, None]) & (high[:, i + 1 :] >= low[:, i, None])
            others = i + 1 + np.flatnonzero(left[i + 1 :] & meet[0] & meet[1])
            beyond, near = _suppressed(boxes[i : i + 1], boxes[others], threshold, center_point_box)
            left[others[beyond]] = False
            unsure = unsure or bool(near.any())
    return chosen, unsure


def _selections(
    boxes: Array, scores: Array, limits: Sequence[Array | None], center_point_box: int
) -> Iterator[tuple[int, int, list[int], bool]]:
    """Image, class, the boxes selected there, best first, and whether a move would select others; `limits` are the optional
    inputs. Raises ValueError."""
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3 or scores.shape[::2] != boxes.shape[:2]:
        raise ValueError(f"boxes (batches, n, 4) and scores (batches, classes, n) expected, not {boxes.shape}, {scores.shape}")
    names = {"max_output_boxes_per_class": 0, "iou_threshold": 0.0, "score_threshold": -np.inf}
    given = zip_longest(names.items(), limits)
    most, threshold, least = (default if x is None else single(x, name).item() for (name, default), x in given)
    if not 0 <= threshold <= 1:
        raise ValueError(f"iou_threshold {threshold} is not in [0, 1]")
    for image, kind in np.ndindex(*scores.shape[:2]):
        order = np.argsort(-scores[image, kind], kind="stable")
        order = order[~(scores[image, kind, order] < least)]
        chosen, unsure = _chosen(boxes[image, order], most, threshold, center_point_box)
        yield image, kind, order[chosen].tolist(), unsure


def non_max_suppression(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int = 0,
) -> Array:
    """NonMaxSuppression-11 (10 alike): boxes (batches, n, 4), scores (batches, classes, n) → int64 (selected, 3): batch, class,
    box; by batch, then class, then falling score.

    A score equal to its threshold stays: the text removes those that are less. Open in ONNX: the order of equal scores (here
    by number) and of the rows. Raises ValueError.
    """
    limits = max_output_boxes_per_class, iou_threshold, score_threshold
    found = _selections(boxes, scores, limits, center_point_box)
    rows = [(image, kind, box) for image, kind, chosen, _ in found for box in chosen]
    return np.array(rows, np.int64).reshape(-1, 3)


def non_max_suppression_ties(boxes: Array, scores: Array, *limits: Array | None, center_point_box: int = 0) -> Array:
    """Whether a move of the coordinates takes an overlap to the other side of the threshold, (1, 1): one box more or less
    shifts all rows behind it, so all are marked."""
    return np.array([[any([unsure for *_, unsure in _selections(boxes, scores, limits, center_point_box)])]])


def non_max_suppression_open(boxes: Array, scores: Array, *limits: Array | None, center_point_box: int = 0) -> Array:
    """Whether scores that are not below their threshold are equal or NaN, which ONNX does not order, (1, 1)."""
    least = limits[2] if len(limits) > 2 else None
    kept = scores if least is None else np.where(scores < single(least, "score_threshold"), -np.inf, scores)
    ordered = np.sort(kept, axis=-1)
    return np.array(
        [[bool(((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] > -np.inf)).any() or np.isnan(kept).any())]]
    )


def max_unpool(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """MaxUnpool-22 (9, 11 alike): x (N, C, spatial) at the `indices` of a tensor (N, C, outputs) of zeros, flattened.

    That tensor has `output_shape`, else the shape that kernel, strides and pads give. Open in ONNX: different values with one
    index (the last stays here). Raises ValueError.
    """
    rank = x.ndim - 2
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    shape: tuple[int, ...] = (*x.shape[:2],)
    if output_shape is None:
        layout = zip(x.shape[2:], strides, kernel_shape, pads[:rank], pads[rank:], strict=True)
        shape += tuple((n - 1) * stride + kernel - begin - end for n, stride, kernel, begin, end in layout)
    elif len(output_shape) != x.ndim or tuple(output_shape[:2]) != x.shape[:2]:
        raise ValueError(f"output_shape {output_shape.tolist()} for x of shape {x.shape}")
    else:
        shape += tuple(int(n) for n in output_shape[2:])
    y = np.zeros(math.prod(shape), x.dtype)
    if indices.shape != x.shape or ((indices < 0) | (indices >= y.size)).any():
        raise ValueError(f"indices of shape {indices.shape} for x of shape {x.shape} are expected within {shape}, flattened")
    y[indices.reshape(-1)] = x.reshape(-1)
    return y.reshape(shape)


def max_unpool_open(x: Array, indices: Array, output_shape: Array | None = None, **attributes: Any) -> Array:
    """Mask of the elements of `max_unpool` that get different values."""
    marked = max_unpool(np.zeros_like(x), indices, output_shape, **attributes).astype(bool)
    order = np.argsort(indices, axis=None, kind="stable")
    where, value = indices.reshape(-1)[order], x.reshape(-1)[order]
    marked.reshape(-1)[where[1:][(where[1:] == where[:-1]) & (value[1:] != value[:-1])]] = True
    return marked
