"""Regions of images, and their overlaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, array, call, kinds_of, length, shapes, version_of


def _corners(draw: st.DrawFn, count: int, sides: tuple[int, ...], kind: str) -> Array:
    """Regions x1 y1 x2 y2 around an image of that height and width: most of them inside and not empty."""
    low, high = (-2, 2) if draw(st.booleans()) else (0, 0)
    ends = [array(draw, (count, 2), "float32", low, n + high) for n in reversed(sides)]
    if draw(st.integers(0, 4)):
        ends = [np.sort(pair, axis=1) for pair in ends]
    return np.stack(ends, axis=2).reshape(count, 4).astype(kind)


def _images(draw: st.DrawFn, kind: str) -> Array:
    return array(draw, (draw(st.integers(1, 3)), length(draw, 3), *draw(shapes(2, 2, 1, 6))), kind)


def _roi_align(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "RoiAlign")
    kind = draw(st.sampled_from(["float32", *kinds_of("RoiAlign", version)]))
    x = _images(draw, kind)
    count, scale = draw(st.integers(0, 3)), draw(st.sampled_from([None, 1.0, 0.5, 0.7]))
    rois = _corners(draw, count, tuple(int(n / (scale or 1)) for n in x.shape[2:]), kind)
    mode = draw(st.sampled_from([None, "half_pixel", "output_half_pixel"])) if version >= 16 else None
    height, width, ratio = (draw(st.sampled_from([None, *values])) for values in ((1, 2, 3), (1, 2, 3), (0, 1, 2, 3)))
    return call(
        "RoiAlign",
        [x, rois, array(draw, (count,), "int64", 0, x.shape[0] - 1)],
        version=version,
        mode=draw(st.sampled_from([None, "avg", "max"])),
        coordinate_transformation_mode=mode,
        output_height=height,
        output_width=width,
        sampling_ratio=ratio,
        spatial_scale=scale,
    )


def _max_roi_pool(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "MaxRoiPool")
    kind = draw(st.sampled_from(["float32", *kinds_of("MaxRoiPool", version)]))
    x = _images(draw, kind)
    count, scale = draw(st.integers(0, 3)), draw(st.sampled_from([None, 1.0, 0.5, 0.7]))
    corners = _corners(draw, count, tuple(int(n / (scale or 1)) for n in x.shape[2:]), kind)
    images = array(draw, (count, 1), "int64", 0, x.shape[0] - 1).astype(kind)
    return call(
        "MaxRoiPool",
        [x, np.concatenate([images, corners], axis=1)],
        version=version,
        pooled_shape=[draw(st.integers(1, 3)), draw(st.integers(1, 3))],
        spatial_scale=scale,
    )


def _non_max_suppression(draw: st.DrawFn) -> Sample:
    """Boxes on a coarse grid, so that some of them are equal, and scores of which some are equal."""
    batches, classes, count = (length(draw, n) for n in (2, 3, 8))
    center = draw(st.sampled_from([None, 0, 1]))
    boxes = np.rint(array(draw, (batches, count, 4), "float32", -6, 6)) / draw(st.sampled_from([1, 4]))
    if center:
        boxes[..., 2:] = np.abs(boxes[..., 2:])
    if draw(st.booleans()):
        boxes = array(draw, boxes.shape, "float32", 0, 3)
    inputs = [
        boxes.astype(np.float32),
        array(draw, (batches, classes, count), "float32", -1, 1),
        np.array(draw(st.sampled_from([0, 1, 2, 5, 20])), np.int64),
        np.array(draw(st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0])), np.float32),
        np.array(draw(st.sampled_from([-0.5, 0.0, 0.25])), np.float32),
    ]
    plain = draw(st.booleans())  # what onnx.reference takes
    kept = 5 if plain else draw(st.integers(2, 5))
    inputs = [
        x.reshape((1,) if plain else draw(st.sampled_from([(), (1,)]))) if i > 1 else x for i, x in enumerate(inputs[:kept])
    ]
    if kept > 3 and not plain and draw(st.booleans()):
        inputs[3] = None
    return call("NonMaxSuppression", inputs, version=version_of(draw, "NonMaxSuppression"), center_point_box=center)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
    "NonMaxSuppression": _non_max_suppression,
}
