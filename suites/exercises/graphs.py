"""Graphs as they stand, and with every intermediate tensor as an output, which keeps nodes from being made one."""

from __future__ import annotations

from typing import Any

from backends.interface import BackendError, Device, DeviceLost
from suites.exercises.evidence import Arrays, Evidence


def together_and_apart(device: Device, model: bytes, feeds: Arrays, everything: bytes) -> dict[str, Any]:
    """Runs the graph, then the same with all its tensors as outputs; both must give what the model says."""
    evidence = Evidence()
    executable = device.compile(model)
    together = executable.run(feeds)
    executable.release()
    evidence.ran("together", feeds, together)
    try:
        executable = device.compile(everything)
        apart = executable.run(feeds)
        executable.release()
    except DeviceLost:
        raise
    except BackendError as error:
        evidence.notes.append(f"with every tensor as an output: {error.text}"[:200])
    else:
        evidence.ran("apart", feeds, {name: apart[name] for name in together if name in apart})
    return evidence.plain()
