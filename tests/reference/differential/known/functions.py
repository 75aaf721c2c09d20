"""Known disagreements of the family `families.functions`."""

from __future__ import annotations

from collections.abc import Mapping

from . import Disagreement

KNOWN: list[Disagreement] = []

DECLINED: Mapping[str, Mapping[str, str]] = {}
