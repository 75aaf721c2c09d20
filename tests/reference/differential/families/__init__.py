"""One module per family of operators: how to draw a valid model of each."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from ..samples import Sample

Draw = Callable[[st.DrawFn], Sample]

FAMILIES = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]

ALL: Mapping[str, Draw] = {operator: draw for family in FAMILIES for operator, draw in family.DRAW.items()}
"""Operator (those of com.microsoft after "com.microsoft:") → what draws a sample."""
