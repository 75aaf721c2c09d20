"""GridSample, AffineGrid and DeformConv: values between elements, inside of the tensor, at its edges and far outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, array, call, kinds_of, length, shapes, version_of

FLAG = st.sampled_from([None, 0, 1])

MODES = {16: ("bilinear", "nearest", "bicubic"), 20: ("linear", "nearest", "cubic"), 22: ("linear", "nearest", "cubic")}
"""Version → names of the interpolations."""


def _locations(draw: st.DrawFn, shape: tuple[int, ...], kind: str) -> Array:
    """Normalized coordinates inside, or outside too, and now and then none that are numbers."""
    reach = draw(st.sampled_from([0.9, 1.0, 1.5, 6.0]))
    return array(draw, shape, kind, -reach, reach, specials=draw(st.integers(0, 9)) == 9)


def _grid_sample(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "GridSample")
    mode = draw(st.sampled_from([None, *MODES[version]]))
    numbers = [kind for kind in kinds_of("GridSample", version) if kind not in ("str", "bool")]
    kinds = numbers if mode != "nearest" else kinds_of("GridSample", version)
    spatial = draw(shapes(2, 2, 1, 6) if version == 16 else shapes(2, 2, 1, 6) | shapes(1, 3, 1, 4))
    outputs = (*draw(shapes(len(spatial) - 1, len(spatial) - 1, 1, 4)), length(draw, 4))
    batch, channels = length(draw, 2), length(draw, 2)
    kind = draw(st.sampled_from(["float32"] * 5 + kinds))
    return call(
        "GridSample",
        [
            array(draw, (batch, channels, *spatial), kind, -9, 9, specials=mode == "nearest", extremes=mode == "nearest"),
            _locations(draw, (batch, *outputs, len(spatial)), draw(st.sampled_from(kinds_of("GridSample", version, 1)))),
        ],
        version=version,
        mode=mode,
        padding_mode=draw(st.sampled_from([None, "zeros", "border", "reflection"])),
        align_corners=draw(FLAG),
    )


def _affine_grid(draw: st.DrawFn) -> Sample:
    rank, batch = draw(st.integers(2, 3)), length(draw, 3)
    theta = array(draw, (batch, rank, rank + 1), draw(st.sampled_from(kinds_of("AffineGrid", 20))), -2, 2)
    size = np.array([batch, draw(st.integers(1, 3)), *draw(shapes(rank, rank, 1, 5))])
    return call("AffineGrid", [theta, size], version=20, align_corners=draw(FLAG))


def _deform_conv(draw: st.DrawFn) -> Sample:
    """Images more often than lines and volumes, which fewer kernels can do."""
    version = version_of(draw, "DeformConv")
    kind = draw(st.sampled_from(["float32", *kinds_of("DeformConv", version)]))
    rank = draw(st.sampled_from([2, 2, 2, 1, 3]))
    kernel, spatial = draw(shapes(rank, rank, 1, 3)), draw(shapes(rank, rank, 1, 6 if rank == 2 else 4))
    strides, dilations = (draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank)) for _ in range(2))
    pads = draw(st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank))
    room = [
        n + pads[i] + pads[rank + i] - (k - 1) * d - 1
        for i, (n, k, d) in enumerate(zip(spatial, kernel, dilations, strict=True))
    ]
    pads[rank:] = [end - min(n, 0) for end, n in zip(pads[rank:], room, strict=True)]
    outputs = tuple(max(n, 0) // s + 1 for n, s in zip(room, strides, strict=True))
    group, offset_group = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    batch, channels, features = length(draw, 2), 2 * draw(st.integers(1, 2)), group * draw(st.integers(1, 2))
    taps = offset_group * int(np.prod(kernel))
    whole = draw(st.booleans())
    offset = array(draw, (batch, taps * rank, *outputs), kind, -1.5, 1.5)
    return call(
        "DeformConv",
        [
            array(draw, (batch, channels, *spatial), kind),
            array(draw, (features, channels // group, *kernel), kind),
            np.rint(offset).astype(offset.dtype) if whole else offset,
            array(draw, (features,), kind) if draw(st.booleans()) else None,
            array(draw, (batch, taps, *outputs), kind, 0, 1) if draw(st.booleans()) else None,
        ],
        version=version,
        kernel_shape=list(kernel) if draw(st.booleans()) else None,
        strides=strides if draw(st.booleans()) or max(strides) > 1 else None,
        dilations=dilations if draw(st.booleans()) or max(dilations) > 1 else None,
        pads=pads if draw(st.booleans()) or max(pads) else None,
        group=group if group > 1 or draw(st.booleans()) else None,
        offset_group=offset_group if offset_group > 1 or draw(st.booleans()) else None,
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "GridSample": _grid_sample,
    "AffineGrid": _affine_grid,
    "DeformConv": _deform_conv,
}
