"""Convolutions, and the layout of their windows, which pooling has too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from hypothesis import strategies as st

from ..samples import Array, Sample, array, call, common_kind, length, version_of


def one_each(draw: st.DrawFn, rank: int, most: int) -> list[int] | None:
    """One number for each axis, from 1 on; or nothing."""
    return draw(st.none() | st.lists(st.integers(1, most), min_size=rank, max_size=rank))


def windows(draw: st.DrawFn, rank: int, names: Collection[str] = ("dilations",)) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Lengths of spatial axes, and attributes that lay out at least one window of a kernel_shape that is always named:
    auto_pad, pads, strides, and of dilations and ceil_mode those in `names`."""
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    layout: dict[str, Any] = {"kernel_shape": kernel, "strides": one_each(draw, rank, 3)}
    layout["dilations"] = one_each(draw, rank, 3) if "dilations" in names else None
    layout["ceil_mode"] = draw(st.sampled_from([None, 0, 1, 1])) if "ceil_mode" in names else None
    layout["auto_pad"] = draw(st.sampled_from([None, None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    explicit = layout["auto_pad"] in (None, "NOTSET")
    pads = draw(st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank)) if explicit and draw(st.booleans()) else None
    sizes = []
    for i in range(rank):
        least = 1 if explicit or layout["auto_pad"] == "VALID" else 0
        if least:
            least = (kernel[i] - 1) * (layout["dilations"][i] if layout["dilations"] else 1) + 1
            least -= pads[i] + pads[rank + i] if pads else 0
            least -= layout["strides"][i] - 1 if layout["ceil_mode"] and layout["strides"] else 0
        least = max(least, 0 if draw(st.integers(0, 9)) == 9 else 1)
        sizes.append(draw(st.integers(least, least + 5)))
    return tuple(sizes), {"pads": pads, **{name: value for name, value in layout.items() if value is not None}}


def _operands(draw: st.DrawFn, kinds: tuple[str, str], *, transposed: bool = False) -> tuple[Array, Array, int, dict[str, Any]]:
    """x, w, the number of output channels and the attributes."""
    rank = draw(st.sampled_from([1, 2, 2, 3]))
    sizes, attributes = windows(draw, rank)
    kernel = attributes["kernel_shape"]
    group = draw(st.sampled_from([1, 1, 2, 3]))
    inside, outside = length(draw, 3), draw(st.integers(1, 3))
    channels = (inside * group, outside) if transposed else (outside * group, inside)
    attributes["group"] = group if group > 1 or draw(st.booleans()) else None
    if draw(st.booleans()):
        del attributes["kernel_shape"]
    x = array(draw, (length(draw, 2), inside * group, *sizes), kinds[0], specials=draw(st.integers(0, 4)) == 4, extremes=True)
    return x, array(draw, (*channels, *kernel), kinds[1], extremes=True), outside * group, attributes


def _conv(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Conv")
    kind = common_kind(draw, "Conv", version)
    x, w, outputs, attributes = _operands(draw, (kind, kind))
    bias = array(draw, (outputs,), kind) if draw(st.booleans()) else None
    return call("Conv", [x, w, bias], version=version, **attributes)


def _conv_transpose(draw: st.DrawFn) -> Sample:
    """Lengths by pads, or by output_shape, which may ask for more than the taps reach."""
    version = version_of(draw, "ConvTranspose")
    kind = common_kind(draw, "ConvTranspose", version)
    x, w, outputs, attributes = _operands(draw, (kind, kind), transposed=True)
    rank = x.ndim - 2
    bias = array(draw, (outputs,), kind) if draw(st.booleans()) else None
    strides, dilations = (attributes.get(name, [1] * rank) for name in ("strides", "dilations"))
    extra = [draw(st.integers(0, max(s, d) - 1)) for s, d in zip(strides, dilations, strict=True)]
    attributes["output_padding"] = extra if draw(st.booleans()) else None
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, k, s, d, e in zip(
            x.shape[2:], w.shape[2:], strides, dilations, attributes["output_padding"] or [0] * rank, strict=True
        )
    ]
    if draw(st.integers(0, 3)) == 3:
        attributes["output_shape"] = [draw(st.integers(max(1, n - 3), max(1, n + 2))) for n in full]
    if attributes["pads"]:
        attributes["pads"] = [min(p, (full[i % rank] - 1) // 2) for i, p in enumerate(attributes["pads"])]
    return call("ConvTranspose", [x, w, bias], version=version, **attributes)


def _conv_integer(draw: st.DrawFn) -> Sample:
    """Zero points of both, one for each output channel of w or one for all."""
    kinds = (draw(st.sampled_from(["uint8", "int8"])), draw(st.sampled_from(["uint8", "int8"])))
    x, w, outputs, attributes = _operands(draw, kinds)
    zero_points = [
        array(draw, (), kinds[0], -9, 9) if draw(st.booleans()) else None,
        array(draw, draw(st.sampled_from([(), (1,), (outputs,)])), kinds[1], -9, 9) if draw(st.booleans()) else None,
    ]
    return call("ConvInteger", [x, w, *zero_points], version=10, **attributes)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "ConvInteger": _conv_integer,
}
