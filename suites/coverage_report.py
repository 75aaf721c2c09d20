"""What `npu-cts coverage` found, as text for a terminal and as one page for a browser that needs nothing else."""

from __future__ import annotations

import html as markup
import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from onnx import defs
from tabulate import tabulate

from results.header import suite
from suites.coverage import ASPECTS, RECIPES_OF, Aspect, Coverage, total
from suites.coverage import data as additions

WIDTH = 110
LEAST = 15
"""Operators that the summary names for what they lack."""


def share(aspects: Iterable[Aspect]) -> float:
    """The part that has cases, 1 where nothing is admitted."""
    parts = list(aspects)
    everything = sum(part.total for part in parts)
    return sum(len(part.covered) for part in parts) / everything if everything else 1.0


def sentence(found: Mapping[str, Coverage]) -> str:
    """How many operators there are and have cases."""
    numbers = {word: len(those) for word, those in _by_state(found).items()}
    return (
        f"Of {len(found)} operators of ONNX's opsets 7 to {defs.onnx_opset_version()} and of ONNX Runtime's additions that the "
        f"reference knows, {numbers['cases']} have cases, {numbers['graphs']} more are tested within graphs, "
        f"{numbers['out of scope']} are out of scope, {numbers['none']} have nothing."
    )


def _by_state(found: Mapping[str, Coverage]) -> dict[str, list[Coverage]]:
    states: dict[str, list[Coverage]] = {"cases": [], "graphs": [], "out of scope": [], "none": []}
    for each in found.values():
        states[state(each)].append(each)
    return states


def state(each: Coverage) -> str:
    """In one word, whether an operator is tested."""
    return "cases" if each.cases else "graphs" if each.graphs else "out of scope" if each.reason else "none"


def _totals(found: Mapping[str, Coverage]) -> list[tuple[str, int, int, str]]:
    """Aspect, covered, admitted and share, over the operators that are in scope."""
    in_scope = [each for each in found.values() if not each.reason]
    parts = {aspect: total(in_scope, aspect) for aspect in ASPECTS}
    return [(aspect, len(part.covered), part.total, f"{share([part]):.1%}") for aspect, part in parts.items()]


def summary(found: Mapping[str, Coverage]) -> str:
    """What a terminal shows without --ops."""
    states = _by_state(found)
    tested = sorted(states["cases"], key=lambda each: (share(each.aspects[a] for a in ASPECTS), each.operator))
    rows = [(each.operator, each.cases, *(str(each.aspects[a]) for a in ASPECTS)) for each in tested[:LEAST]]
    blocks = [
        textwrap.fill(sentence(found), WIDTH),
        tabulate(_totals(found), ["", "with cases", "admitted", "share"], tablefmt="simple"),
        "Least covered (with cases/admitted):\n"
        + tabulate(rows, ["operator", "cases", *ASPECTS], tablefmt="simple", disable_numparse=True),
        _list("Within graphs only", (f"{each.operator} ({each.graphs})" for each in states["graphs"])),
        "\n".join(["Out of scope:", *(f"  {each.operator}: {each.reason}" for each in states["out of scope"])]),
        "\n".join(["Domains out of scope:", *(f"  {name}: {reason}" for name, reason in additions()["domains"].items())]),
        _list("Nothing, and no reason", (each.operator for each in states["none"])),
        "npu-cts coverage --ops A,B shows all of an operator; --html FILE and --json FILE write everything.",
    ]
    return "\n\n".join(block for block in blocks if block)


def _list(title: str, words: Iterable[str]) -> str:
    text = ", ".join(words)
    return textwrap.fill(f"{title}: {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False) if text else ""


def detail(each: Coverage) -> str:
    """All that is known of one operator."""
    lines = [f"{each.operator} ({each.family}): {each.cases} cases, in {each.graphs} graphs"]
    lines += [f"  {each.reason}"] if each.reason else []
    for aspect in (*ASPECTS, RECIPES_OF):
        part = each.aspects[aspect]
        covered = [f"{item} {count}" for item, count in part.covered.items()]
        for title, items in ((f"{aspect} {part}", covered), ("missing" if aspect != RECIPES_OF else "not used", part.missing)):
            lines += [_list(f"    {title}" if items is part.missing else f"  {title}", items)] if items else []
    return "\n".join(lines)


def html(found: Mapping[str, Coverage]) -> str:
    """The whole page."""
    page = string.Template(resources.files("suites").joinpath("templates", "coverage.html").read_text(encoding="utf-8"))
    columns = ("operator", "family", "tested by", "cases", "graphs", "share", *ASPECTS)
    return page.substitute(
        sentence=_text(sentence(found)),
        suite=_text(suite()["version"]),
        opset=defs.onnx_opset_version(),
        totals="\n".join(_row(map(_cell, row)) for row in _totals(found)),
        columns="".join(
            f'<th scope="col" aria-sort="none"><button type="button">{_text(column)}</button></th>' for column in columns
        ),
        operators="\n".join(map(_operator, found.values())),
        domains="".join(f"<li><b>{_text(n)}</b>: {_text(r)}</li>" for n, r in additions()["domains"].items()),
    )


def _text(value: object) -> str:
    return markup.escape(str(value))


def _cell(value: object) -> str:
    return f"<td>{_text(value)}</td>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _operator(each: Coverage) -> str:
    """A row of the large table; its name opens what has cases and what has none."""
    inner = "".join(_part(aspect, each.aspects[aspect]) for aspect in (*ASPECTS, RECIPES_OF))
    reason = f"<p>{_text(each.reason)}</p>" if each.reason else ""
    name = f'<th scope="row"><details><summary>{_text(each.operator)}</summary>{reason}<dl>{inner}</dl></details></th>'
    numbers = [share([each.aspects[a]]) if each.aspects[a].total else None for a in ASPECTS]
    whole = share(each.aspects[a] for a in ASPECTS)
    counted = "".join(
        f'<td data-value="{-1 if part is None else part:.4f}"{_class(part)}>{_text(each.aspects[a])}</td>'
        for a, part in zip(ASPECTS, numbers, strict=True)
    )
    cells = (_cell(each.family), _cell(state(each)), _cell(each.cases), _cell(each.graphs))
    return _row([name, *cells, f'<td data-value="{whole:.4f}"{_class(whole)}>{whole:.0%}</td>', counted])


def _class(part: float | None) -> str:
    return "" if part is None else ' class="whole"' if part == 1 else ' class="none"' if not part else ' class="part"'


def _part(aspect: str, part: Aspect) -> str:
    if not part.total:
        return ""
    return f"<dt>{_text(aspect)} {_text(part)}</dt>{_items('with cases', _counted(part))}{_items('without', part.missing)}"


def _counted(part: Aspect) -> Sequence[str]:
    return [f"{item} ({count})" for item, count in part.covered.items()]


def _items(title: str, items: Sequence[str]) -> str:
    return f"<dd><b>{title}:</b> {_text(', '.join(items))}</dd>" if items else ""
