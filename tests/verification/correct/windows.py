"""Sliding windows of two spatial axes, gathered by index: im2col."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reference.node import Array, Node


class Columns(NamedTuple):
    """values (N, C, taps, outputs), and of the padded places inside (taps, outputs): which hold data, which count as padding
    that the attributes ask for (what ceil_mode adds does not); extents of the output."""

    values: Array
    data: Array
    padded: Array
    extents: tuple[int, int]


def columns(node: Node, x: Array, kernel: tuple[int, ...], fill: float = 0.0) -> Columns:
    """x (N, C, H, W) under a kernel as the node's strides, dilations, pads and ceil_mode lay it out."""
    strides, dilations = node.attribute("strides", [1, 1]), node.attribute("dilations", [1, 1])
    pads = node.attribute("pads", [0, 0, 0, 0])
    places, inside, counted, extents = [], [], [], []
    for i in range(2):
        size, reach = x.shape[2 + i], (kernel[i] - 1) * dilations[i] + 1
        free = size + pads[i] + pads[2 + i] - reach
        outputs = free // strides[i] + 1
        if node.attribute("ceil_mode", 0) and free % strides[i] and outputs * strides[i] < size + pads[i]:
            outputs += 1
        place = np.arange(kernel[i])[:, None] * dilations[i] + np.arange(outputs) * strides[i] - pads[i]
        places.append(np.clip(place, 0, size - 1))
        inside.append((place >= 0) & (place < size))
        counted.append(place < size + pads[2 + i])
        extents.append(outputs)

    def both(rows: Array, across: Array) -> Array:
        """(taps of H, H), (taps of W, W) → (taps, outputs)."""
        met = rows[:, None, :, None] & across[None, :, None, :]
        return met.reshape(kernel[0] * kernel[1], -1)

    gathered = x[:, :, places[0][:, None, :, None], places[1][None, :, None, :]]
    data = both(*inside)
    values = gathered.reshape(*x.shape[:2], *data.shape)
    return Columns(np.where(data, values, fill), data, both(*counted), (extents[0], extents[1]))
