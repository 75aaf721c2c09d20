"""Known disagreements of the family `families.logical`; for broadcasting before opset 7 see `elementwise`."""

from __future__ import annotations

from . import Declines, Disagreement

KNOWN: list[Disagreement] = []

DECLINED: Declines = {}
