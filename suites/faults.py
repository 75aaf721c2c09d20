"""`npu-cts faults`: what can be wrong with the simulated device, and how much of it the suite finds."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest
from tabulate import tabulate

from backends import options
from backends.sim.faults import KINDS, Fault, Part, catalogue
from suites.detection import Health, Result, checks, healthy, score

COMMAND = "npu-cts faults --score --markdown docs/detection.md"

ABOUT = """\
The simulated device can be given a fault, one at a time, that imitates a public report about a real device, runtime or driver
(`npu-cts faults` lists them, `--fault=NAME` switches one on). A fault is **caught** if a test of the requirements that must
find it fails. It is **named** if the diagnosis that comes first in most of those failures is a right one; where a device
refuses, crashes or hangs, the verdict is the diagnosis. A failure on a device without a fault is a **false alarm**."""


def main(arguments: Sequence[str]) -> int:
    """Lists, shows or scores; 1 if a fault was missed or a healthy device failed, 4 for usage errors."""
    try:
        given = _parser().parse_args(arguments)
    except SystemExit as ended:
        return int(pytest.ExitCode.USAGE_ERROR) if ended.code else 0
    unknown = [name for name in given.names if name not in catalogue()]
    chosen = [
        fault
        for fault in catalogue().values()
        if fault.name in (given.names or catalogue()) and fault.part in given.part and fault.kind in given.kind
    ]
    wrong = (
        f"no fault {unknown[0][:80]!r}{options.nearest(unknown[0], catalogue())}" if unknown
        else "--markdown needs --score" if given.markdown and not given.score
        else f"--markdown: {given.markdown} cannot be written" if given.markdown and not _writable(given.markdown)
        else "no fault has that name, part and kind together" if not chosen
        else ""
    )  # fmt: skip
    if wrong:
        print(f"npu-cts faults: {wrong}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    if given.score:
        try:
            return _score(chosen, given.processes, given.markdown, whole=len(chosen) == len(catalogue()))
        except KeyboardInterrupt:
            print("npu-cts faults: interrupted", file=sys.stderr)
            return int(pytest.ExitCode.INTERRUPTED)
    width = shutil.get_terminal_size().columns
    print("\n\n".join(map(_described, chosen)) if given.names else _table(chosen, width))
    return 0


def _writable(path: Path) -> bool:
    """Whether the page can be written there, before half an hour is spent on it."""
    return os.access(path if path.exists() else path.parent, os.W_OK) and not path.is_dir()


def _positive(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="npu-cts faults", description="Faults that can be seeded into the simulated device.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="show these, or score only these")
    parser.add_argument("--part", choices=get_args(Part), nargs="+", default=get_args(Part), help="only faults of these parts")
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=KINDS, help="only faults of these kinds")
    parser.add_argument("--score", action="store_true", help="seed each and see whether the suite finds and names it")
    parser.add_argument("--processes", type=_positive, default=os.cpu_count() or 1, metavar="N", help="how many at once")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the score there, as docs/detection.md is")
    return parser


def _table(chosen: Iterable[Fault], width: int) -> str:
    """One row a fault, in as many columns of text as the terminal has room for."""
    rows = [(f.name, f.part, f.kind, f.device, f.what, f.imitates) for f in chosen]
    fixed = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    room = max(width - sum(fixed) - 10, 40)
    headers = ["fault", "part", "kind", "device", "what the device does", "imitates"]
    return tabulate(rows, headers, tablefmt="simple", maxcolwidths=[*[None] * 4, room * 3 // 5, room * 2 // 5])


def _described(fault: Fault) -> str:
    """A fault with all that is known of it, and how to run it."""
    suites = sorted({f"suites/test_{check.suite}.py" for name in fault.caught_by for check in checks().get(name, ())})
    operators = f" --ops {','.join(fault.operators)}" if fault.operators else ""
    device = f" --device={fault.device}" if fault.device != "generic" else ""
    facts: Mapping[str, str] = {
        "what": fault.what,
        "imitates": fault.imitates,
        "part, kind": f"{fault.part}, {fault.kind}",
        "caught by": ", ".join(fault.caught_by),
        "diagnosis": " or ".join(fault.causes),
        "run": f"npu-cts run {' '.join(suites)} --backend=sim{device} --fault={fault.name}{operators}",
    }
    return "\n".join([fault.name, *(f"  {name:11}{text}" for name, text in facts.items())])


# The score


def _score(chosen: Sequence[Fault], processes: int, markdown: Path | None, *, whole: bool) -> int:
    results = score([fault.name for fault in chosen], processes, _progress)
    devices = healthy(processes) if whole or markdown else []
    print()
    print("\n".join(_summary(results, devices)))
    if markdown is not None:
        markdown.write_text(report(results, devices), encoding="utf-8", newline="\n")
    return int(not all(result.caught for result in results) or any(device.failed for device in devices))


def _progress(result: Result) -> None:
    word = "named" if result.named else f"caught as {_words(result.first)}" if result.caught else "MISSED"
    print(f"{result.fault.name}: {word} ({result.checks} tests, {result.seconds:.1f} s)", flush=True)


def _summary(results: Sequence[Result], devices: Sequence[Health]) -> list[str]:
    caught, named = sum(r.caught for r in results), sum(r.caught and r.named for r in results)
    lines = [f"{caught} of {len(results)} faults are caught, {named} named by their first diagnosis."]
    if devices:
        alarms = sum(len(device.failed) for device in devices)
        tests = sum(sum(device.verdicts.values()) for device in devices)
        lines.append(
            f"{alarms} false alarm{'' if alarms == 1 else 's'} in {tests:,} tests on {len(devices)} devices without a fault."
        )
    return [*lines, *(f"failed on {device.device}: {test}" for device in devices for test in device.failed[:10])]


def report(results: Sequence[Result], devices: Sequence[Health]) -> str:
    """The whole of docs/detection.md."""
    parts = [
        "# Detection score",
        f"<!-- generated: {COMMAND} -->",
        ABOUT,
        "\n".join(_summary(results, devices)),
        *_odd(results),
        "## Kinds\n\n" + _kinds(results),
        "## Devices without a fault\n\n" + _healthy(devices),
        "## Faults\n\n" + _results(results),
    ]
    return "\n\n".join(parts) + "\n"


def _odd(results: Sequence[Result]) -> list[str]:
    """What was missed or misnamed, if anything was."""
    odd = sorted((r for r in results if not (r.caught and r.named)), key=lambda r: r.caught)
    return ["## Missed, or named otherwise\n\n" + _results(odd)] if odd else []


def _kinds(results: Sequence[Result]) -> str:
    rows = []
    for kind in KINDS:
        those = [r for r in results if r.fault.kind == kind]
        share = f"{len(those) / max(len(results), 1):.0%}"
        rows.append((kind, len(those), share, sum(r.caught for r in those), sum(r.caught and r.named for r in those)))
    return tabulate(rows, ["kind", "faults", "share", "caught", "named"], tablefmt="github")


def _healthy(devices: Sequence[Health]) -> str:
    rows = [
        (d.device, sum(d.verdicts.values()), d.verdicts["pass"] + d.verdicts["pass_reduced"], len(d.failed)) for d in devices
    ]
    return tabulate(rows, ["device", "tests", "passed", "failed"], tablefmt="github")


def _results(results: Sequence[Result]) -> str:
    rows = [
        (
            f"`{r.fault.name}`",
            r.fault.what,
            r.fault.imitates,
            ", ".join(r.caught_by) or "**missed**",
            ", ".join(r.also_by),
            _words(r.first),
            "yes" if r.caught and r.named else f"no: {' or '.join(r.fault.causes)}",
        )
        for r in results
    ]
    headers = ["fault", "what the device does", "imitates", "caught by", "also by", "first diagnosis", "named"]
    return tabulate([[cell.replace("|", r"\|") for cell in row] for row in rows], headers, tablefmt="github")


def _words(first: Counter[str]) -> str:
    """The most frequent diagnoses, with their numbers where there are several."""
    several = len(first) > 1
    return ", ".join(f"{cause} ({count})" if several else cause for cause, count in first.most_common(3))
