"""Faults of memory. The modules named here say what each does."""

from __future__ import annotations

from backends.sim.faults import extents, lifetime, visibility  # noqa: F401  # each registers its own
