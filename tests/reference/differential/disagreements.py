"""Where a peer gives something else than the reference, and why the reference is right. docs/reference.md lists them.

`python -m tests.reference.differential.disagreements` writes the list into the documentation.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from . import known
from .known import Declines, Disagreement
from .samples import Sample

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference.md"
BEGIN, END = "<!-- disagreements: written by tests/reference/differential/disagreements.py -->", "<!-- end of disagreements -->"

FAMILIES = [importlib.import_module(f"{known.__name__}.{m.name}") for m in pkgutil.iter_modules(known.__path__)]

DISAGREEMENTS: list[Disagreement] = [entry for family in FAMILIES for entry in family.KNOWN]

DECLINED: Declines = {
    peer: {operator: why for family in FAMILIES for operator, why in family.DECLINED.get(peer, {}).items()}
    for peer in ("onnx.reference", "ONNX Runtime")
}
"""Peer → operator → why it never runs what the sweep draws."""


def expected_of(peer: str, sample: Sample) -> bool:
    """Whether a known disagreement covers the sample."""
    return any(d.peer == peer and sample.operator in d.operators and d.when(sample) for d in DISAGREEMENTS)


def listed() -> str:
    """The disagreements and what no peer runs, as the documentation shows them."""
    lines = []
    for peer in DECLINED:
        entries = sorted((d for d in DISAGREEMENTS if d.peer == peer), key=lambda d: (d.operators, d.what))
        versions = ", ".join(sorted({d.version for d in entries}))
        lines += [f"### {peer} {versions}", ""]
        for d in entries:
            why = d.why[0].upper() + d.why[1:].rstrip(".")
            lines.append(f"- **{', '.join(d.operators)}**: {d.what.rstrip('.')}. {why}.")
        lines += ["", f"{peer} does not run what the sweeps draw for these, so that they have no second opinion from it:", ""]
        reasons: dict[str, list[str]] = {}
        for operator, why in sorted(DECLINED[peer].items()):
            reasons.setdefault(why, []).append(operator)
        lines += [f"- {why}: {', '.join(operators)}." for why, operators in sorted(reasons.items())]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def documentation(text: str) -> str:
    """The documentation with its list replaced by the present one."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{listed()}\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(documentation(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
