"""Regions of images, and boxes that overlap: RoiAlign, MaxRoiPool, NonMaxSuppression."""

from __future__ import annotations

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Row
from suites.cases.operators.windows import swept


def _aligned(x: str, count: int, rule: str, mode: str, size: tuple[str, str], ratio: str, scale: str) -> str:
    """RoiAlign of `count` regions; size: of the output; "" leaves attributes out."""
    fields = {
        "coordinate_transformation_mode": rule,
        "mode": mode,
        "output_height": size[0],
        "output_width": size[1],
        "sampling_ratio": ratio,
        "spatial_scale": scale,
    }
    tensors = f"x:{x}.rois:{count}x4.batch_indices:{count}"
    return joined(tensors, *(f"{name}:{value}" for name, value in fields.items() if value))


_IMAGES = ("2x3x6x7", "1x1x5x5", "3x2x9x4", "1x4x1x8", "1x2x16x17")
_ALIGNED = {
    "x": _IMAGES,
    "count": (3, 1, 5),
    "rule": ("", "half_pixel", "output_half_pixel"),
    "mode": ("", "avg"),
    "size": (("2", "3"), ("", ""), ("3", "1"), ("1", "4"), ("7", "7")),
    "ratio": ("", "1", "2", "3", "0"),
    "scale": ("", "5e-1", "25e-2", "7e-1", "2"),
}
_BY_RULES = swept(_aligned, _ALIGNED)
_WITHOUT_RULES = swept(_aligned, {**_ALIGNED, "rule": ("",)})
_MAXIMA = swept(_aligned, {**_ALIGNED, "mode": ("max",), "ratio": ("1", "2", "3")})


def _pooled(x: str, count: int, size: str, scale: str) -> str:
    return joined(f"x:{x}.rois:{count}x5", f"pooled_shape:{size}", f"spatial_scale:{scale}" if scale else "")


_POOLED = swept(
    _pooled,
    {
        "x": _IMAGES,
        "count": (3, 1, 5),
        "size": ("2_3", "1_1", "3_1", "1_5", "7_7"),
        "scale": ("", "5e-1", "25e-2", "7e-1", "2"),
    },
)


def _suppressed(sizes: tuple[int, int, int], most: str, overlap: str, least: str, centre: str) -> str:
    """NonMaxSuppression; sizes: images, classes, boxes; "" leaves inputs out, the last ones first."""
    images, classes, count = sizes
    limits = {"max_output_boxes_per_class": most, "iou_threshold": overlap, "score_threshold": least}
    return joined(
        f"boxes:{images}x{count}x4.scores:{images}x{classes}x{count}",
        *(f"{name}:{value}" for name, value in limits.items() if value),
        f"center_point_box:{centre}" if centre else "",
    )


_SUPPRESSED = swept(
    _suppressed,
    {
        "sizes": ((1, 1, 8), (2, 1, 5), (1, 3, 7), (2, 2, 16), (1, 1, 1), (1, 1, 33)),
        "most": ("3", "1", "100", "0", ""),
        "overlap": ("5e-1", "0", "25e-2", "75e-2", "1", ""),
        "least": ("", "3e-1", "95e-2", "-1"),
        "centre": ("", "1", "0"),
    },
)
_MANY_BOXES = " ".join(
    f"boxes:1x{n}x4.scores:1x2x{n}.max_output_boxes_per_class:20.iou_threshold:5e-1.score_threshold:25e-2.center_point_box:{centre}"
    for n in (64, 127, 128, 129, 255, 257)
    for centre in (0, 1)
)
_FED = "boxes:1x9x4.scores:1x1x9.max_output_boxes_per_class:3.iou_threshold:5e-1.feed:max_output_boxes_per_class"

_HUGE = "x:1x1x1024x1031.rois:2x5.pooled_shape:2_3.spatial_scale:625e-4"

CASES = (
    Row("RoiAlign-16", "f32", "normal grid", _BY_RULES),
    Row("RoiAlign-16", "f16", "normal", " ".join([middle for middle in _BY_RULES.split() if "x17." not in middle][:9])),
    Row("RoiAlign-16", "f64", "normal", _BY_RULES, one_in=4),
    Row("RoiAlign-22", "f32 bf16", "normal", " ".join(_BY_RULES.split()[:12])),
    Row("RoiAlign-10", "f32", "normal", _WITHOUT_RULES, one_in=3),
    Row("RoiAlign-16", "f32", "normal", " ".join(_MAXIMA.split()[:12])),
    Row("MaxRoiPool-1", "f32 f16", "index", _POOLED),
    Row("MaxRoiPool-22", "f32 bf16", "index", " ".join(_POOLED.split()[:6])),
    Row("MaxRoiPool-1", "f32", "index", _HUGE),
    Row("NonMaxSuppression-11", "f32", "normal", f"{_SUPPRESSED} {_MANY_BOXES} {_FED}"),
    Row("NonMaxSuppression-10", "f32", "normal", _SUPPRESSED, one_in=3),
)
