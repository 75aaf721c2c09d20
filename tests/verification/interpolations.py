"""Interpolation as kernels compute it, every operation rounded to the unit's format: locations, weights, and the weighted sum
or the sequence of linear steps."""

from __future__ import annotations

import itertools

import numpy as np


def location(unit, g, length, corners, variant):
    """A normalized coordinate as a location, by one of two formulas."""
    if corners:
        if variant == "sum":
            return unit.mul(unit.mul(unit.add(g, 1.0), 0.5), float(length - 1))
        return unit.add(unit.mul(g, (length - 1) / 2), (length - 1) / 2)
    if variant == "sum":
        return unit.mul(unit.add(unit.mul(unit.add(g, 1.0), float(length)), -1.0), 0.5)
    return unit.add(unit.mul(g, length / 2), (length - 1) / 2)


def reflected(unit, s, length, corners):
    """A location brought inside by reflection at the middles or outer edges of the end elements."""
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    if low == high:
        return np.full_like(s, low)
    span = high - low
    away = np.where(s < low, unit.add(low, -s), unit.add(s, -high))
    turns = np.floor(unit.div(away, span))
    rest = unit.add(away, -unit.mul(turns, span))
    even = turns % 2 == 0
    back = np.where(s < low, np.where(even, unit.add(low, rest), unit.add(high, -rest)), 0.0)
    back = np.where(s > high, np.where(even, unit.add(high, -rest), unit.add(low, rest)), back)
    return np.where((s < low) | (s > high), back, s)


def padded_location(unit, s, length, corners, padding):
    if padding == "reflection":
        return np.clip(reflected(unit, s, length, corners), 0, length - 1)
    return np.clip(s, 0, length - 1) if padding == "border" else s


def element(x, index):
    """Elements of x (C, spatial) at whole locations (points) of each axis; 0 outside."""
    inside = np.all([(i >= 0) & (i < n) for i, n in zip(index, x.shape[1:], strict=True)], axis=0)
    place = tuple(np.clip(i, 0, n - 1).astype(int) for i, n in zip(index, x.shape[1:], strict=True))
    return np.where(inside, x[(slice(None), *place)], 0.0)


def by_weights(unit, x, locations):
    """Σ over the corners of (product of weights)·element."""
    floors = [np.floor(s) for s in locations]
    above = [unit.add(s, -f) for s, f in zip(locations, floors, strict=True)]
    total = np.zeros((x.shape[0], locations[0].size))
    for corner in itertools.product((0, 1), repeat=len(locations)):
        weight = np.ones(locations[0].size)
        for c, t in zip(corner, above, strict=True):
            weight = unit.mul(weight, t if c else unit.add(1.0, -t))
        value = element(x, [f + c for f, c in zip(floors, corner, strict=True)])
        total = unit.add(total, unit.mul(weight, value))
    return total


def by_steps(unit, x, locations):
    """a + t·(b − a), one axis after the other."""
    floors = [np.floor(s) for s in locations]

    def along(axis, fixed):
        if axis == len(locations):
            return element(x, [f + c for f, c in zip(floors, fixed, strict=True)])
        a, b = (along(axis + 1, (*fixed, c)) for c in (0, 1))
        t = unit.add(locations[axis], -floors[axis])
        return unit.add(a, unit.mul(t, unit.add(b, -a)))

    return along(0, ())


def cubic_weights(unit, t, a=-0.75):
    def inner(d):
        return unit.add(unit.mul(unit.mul(unit.add(unit.mul(a + 2, d), -(a + 3)), d), d), 1.0)

    def outer(d):
        return unit.add(unit.mul(unit.add(unit.mul(unit.add(unit.mul(a, d), -5 * a), d), 8 * a), d), -4 * a)

    return [outer(unit.add(t, 1.0)), inner(t), inner(unit.add(1.0, -t)), outer(unit.add(2.0, -t))]


def cubic(unit, x, locations, place):
    """Rows first; `place` brings whole locations of an axis of some length inside, and says whether there is an element."""
    floors = [np.floor(s) for s in locations]
    weights = [cubic_weights(unit, unit.add(s, -f)) for s, f in zip(locations, floors, strict=True)]

    def along(axis, fixed):
        if axis == len(locations):
            return element(x, [place(f + c - 1, n) for f, c, n in zip(floors, fixed, x.shape[1:], strict=True)])
        total = np.zeros((x.shape[0], locations[0].size))
        for c in range(4):
            total = unit.add(total, unit.mul(weights[axis][c], along(axis + 1, (*fixed, c))))
        return total

    return along(0, ())
