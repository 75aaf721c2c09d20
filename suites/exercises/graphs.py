"""Graphs as they stand, with every intermediate tensor as an output, which keeps nodes from being made one, and at every level
of optimisation that the device declares."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.interface import BackendError, Device, DeviceLost
from suites.exercises.evidence import Arrays, Evidence
from suites.exercises.inference import same

TOGETHER, APART = "together", "apart"
"""Labels of the graph as it stands, and of the one with all its tensors as outputs."""


def every_way(device: Device, model: bytes, feeds: Arrays, everything: bytes, levels: str) -> dict[str, Any]:
    """Runs the graph as it stands, with all its tensors as outputs unless `everything` is empty, and at every level of
    optimisation (names joined by commas); each must give what the model says. Results that are the same to the bit are told
    once."""
    evidence = Evidence()
    seen = [_run(device, model, feeds, {})]
    evidence.ran(TOGETHER, feeds, seen[0])
    ways: list[tuple[str, bytes, dict[str, str]]] = [(APART, everything, {})] if everything else []
    ways += [(f"optimization {level}", model, {"optimization": level}) for level in levels.split(",") if level]
    for label, variant, options in ways:
        try:
            results = _run(device, variant, feeds, options)
        except DeviceLost:
            raise
        except BackendError as error:
            text = f"{label}: {error.text}"[:300]
            if label == APART:
                evidence.notes.append(f"with every tensor as an output: {error.text}"[:200])
            else:
                evidence.find("optimization-fails", text)
            continue
        results = {name: results[name] for name in seen[0] if name in results}
        evidence.checks += 1
        if not any(same(results, other) for other in seen):
            seen.append(results)
            evidence.ran(label, feeds, results)
    return evidence.plain()


def _run(device: Device, model: bytes, feeds: Arrays, options: dict[str, str]) -> dict[str, np.ndarray]:
    executable = device.compile(model, options or None)
    try:
        return {name: np.array(array) for name, array in executable.run(feeds).items()}
    finally:
        executable.release()
