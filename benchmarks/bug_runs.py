"""Runs of the suite for known bugs: one for each set of wheels and options, with all the cases that any bug asks of it."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks import environments
from benchmarks.bug_findings import Records
from benchmarks.bug_table import Bug
from results import journal
from results.summary import visible

RUN_LIMIT = 900.0
"""Seconds for one run."""

OPERATORS = "suites/test_operators.py"

MOST = 400
"""Cases of one bug, spread evenly over all that it selects."""


class RunError(RuntimeError):
    """The suite did not run to its end; the text is one line."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where cases run. packages: what pip installs there. tests: pytest nodes, the operators' suite where a bug names none."""

    backend: str
    packages: str
    options: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


@dataclasses.dataclass
class Run:
    """What one place gave. seconds: as its journal has them, without the installation."""

    records: Records
    seconds: float


def places(bug: Bug, right: bool) -> Iterator[Place]:
    """The places where a bug is, or where it is gone."""
    options = tuple(bug.options_where(right).items())
    for packages in bug.right if right else bug.wrong:
        yield Place(bug.backend, packages, options, bug.tests or (OPERATORS,))


def plan(bugs: Iterable[Bug], ids: Sequence[str]) -> dict[Place, list[str]]:
    """Place → the cases to run there, in order; none where the tests bring their own."""
    wanted: dict[Place, set[str]] = {}
    for bug in bugs:
        chosen = set() if bug.tests else set(spread([case_id for case_id in ids if bug.selects(case_id)]))
        for place in (*places(bug, right=False), *places(bug, right=True)):
            wanted.setdefault(place, set()).update(chosen)
    return {place: [case_id for case_id in ids if case_id in chosen] for place, chosen in wanted.items()}


def spread(ids: Sequence[str]) -> list[str]:
    """At most MOST of them, first and last among them."""
    if len(ids) <= MOST:
        return list(ids)
    return [ids[round(n * (len(ids) - 1) / (MOST - 1))] for n in range(MOST)]


def share(bug: Bug, records: Records) -> Records:
    """Those records that are this bug's business."""
    return records if bug.tests else {test: record for test, record in records.items() if bug.selects(record.id)}


def run(place: Place, cases: Sequence[str], folder: Path, journals: Path) -> Run:
    """Runs these cases, or takes the complete journal of the same run that lies in `journals`.

    Raises RunError, environments.InstallError, results.journal.JournalError.
    """
    arguments = [
        *place.tests,
        f"--backend={place.backend}",
        *(f"--backend-option={key}={value}" for key, value in place.options),
        *(f"--case={case_id}" for case_id in cases),
    ]
    digest = hashlib.blake2b("\n".join(arguments).encode(), digest_size=6).hexdigest()
    kept = journals / f"{environments.folder_name(place.packages)}-{digest}"
    paths = sorted(kept.glob("*.jsonl"))
    if not paths or not journal.read(paths[-1]).complete:
        host = environments.device_host(environments.prepare(place.packages, folder))
        _pytest(place, [*arguments, f"--device-host={host}", f"--results={kept}"])
        paths = sorted(kept.glob("*.jsonl"))
    found = journal.read(paths[-1])
    if not found.complete:
        raise RunError(f"{place.packages}: the run ended early: {found.path}")
    return Run(found.by_test, _seconds(found))


def _seconds(found: journal.Journal) -> float:
    """From the first case to the end, whoever asks when."""
    ended = found.footer["ended"] if found.footer else found.header["started"]
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(found.header["started"])).total_seconds()


def _pytest(place: Place, arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "pytest", *arguments, "-q", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(command, cwd=environments.ROOT, capture_output=True, text=True, timeout=RUN_LIMIT)
    except subprocess.TimeoutExpired:
        raise RunError(f"{place.packages}: the tests did not end within {RUN_LIMIT:g} s") from None
    if done.returncode not in (0, 1):
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or [""]
        raise RunError(f"{place.packages}: pytest ended with {done.returncode}: {visible(said[0])}")


def run_all(wanted: Mapping[Place, Sequence[str]], folder: Path, journals: Path) -> Iterator[tuple[Place, Run | str]]:
    """Each place with its run, or with what went wrong in one line."""
    for place, cases in wanted.items():
        try:
            yield place, run(place, cases, folder, journals)
        except (RunError, environments.InstallError, journal.JournalError) as error:
            yield place, str(error)
