"""Faults of the interface. The modules named here say what each does."""

from __future__ import annotations

from backends.sim.faults import bound, state  # noqa: F401  # each registers its own
