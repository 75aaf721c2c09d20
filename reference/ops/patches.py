"""Col2Im: patches put back into an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.windows import axes_of

Array = NDArray[Any]


def col2im(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Col2Im-18: x (N, C·elements of a block, blocks) → (N, C, image_shape): blocks added up where they overlap.

    Blocks lie as the windows of a convolution of that kernel over the padded image, in lexicographic order; what falls
    into the padding is dropped. Open in ONNX: what overlapping bools add up to; here true where one is. Raises ValueError
    for strings, a block that does not fit, and other numbers of rows or blocks than that.
    """
    sizes, kernel = [int(n) for n in image_shape], [int(n) for n in block_shape]
    if x.ndim != 3 or len(sizes) != len(kernel):
        raise ValueError(f"input of rank {x.ndim}, image of rank {len(sizes)}, block of rank {len(kernel)}")
    n = len(kernel)
    for name, given, entries in (("strides", strides, n), ("dilations", dilations, n), ("pads", pads, 2 * n)):
        if given is not None and len(given) != entries:
            raise ValueError(f"{name} has {len(given)} entries, expected {entries}")
    if x.dtype == object:
        raise ValueError("strings cannot be added")
    if min([*kernel, *(strides or []), *(dilations or [])]) < 1 or min([*sizes, *(pads or [])]) < 0:
        raise ValueError("lengths and pads below 0, or a block, stride or dilation below 1")
    axes = axes_of(sizes, kernel, strides=strides, dilations=dilations, pads=pads)
    elements, outputs = math.prod(kernel), [a.outputs for a in axes]
    if x.shape[1] % elements or x.shape[2] != math.prod(outputs):
        raise ValueError(f"shape {x.shape} does not hold {outputs} blocks of {kernel}")
    blocks = x.reshape(x.shape[0], x.shape[1] // elements, *kernel, *outputs)
    canvas = np.zeros((*blocks.shape[:2], *[a.begin + a.size + a.end for a in axes]), x.dtype)
    for tap in np.ndindex(*kernel):
        starts = [t * a.dilation for t, a in zip(tap, axes, strict=True)]
        place: list[Any] = [
            slice(start, start + (a.outputs - 1) * a.stride + 1, a.stride) for start, a in zip(starts, axes, strict=True)
        ]
        canvas[(..., *place)] += blocks[(slice(None), slice(None), *tap)]
    image: list[Any] = [slice(a.begin, a.begin + a.size) for a in axes]
    return np.ascontiguousarray(canvas[(..., *image)])


def col2im_open(x: Array, image_shape: Array, block_shape: Array, **layout: Any) -> Array:
    """Mask of `col2im`'s open elements: bools of several blocks at one place."""
    if x.dtype.kind != "b":
        return np.zeros((), bool)
    return col2im(np.ones(x.shape, np.int64), image_shape, block_shape, **layout) > 1
