"""Faults of the compiler. The tables of the modules beside this one say what each does."""

from __future__ import annotations

from backends.sim.faults import SEEDS, attributes, fusing, placing, refusals

FAULTS = {**attributes.ATTRIBUTES, **attributes.EDITS, **placing.PLACES, **fusing.FUSIONS, **refusals.REFUSALS}
"""Fault → what seeds it."""

SEEDS.update(FAULTS)
