"""The `npu-cts` command."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from results import header, journal, summary

USAGE = """\
usage: npu-cts run [pytest options] [--backend X] …   run the suites (npu-cts run --help lists the options)
       npu-cts backends                               what can run here, and why not
       npu-cts summary JOURNAL…                       what a run said at its end, also of one that was killed
       npu-cts validate JOURNAL…                      check journals against their schema
       npu-cts faults [NAME…] [--score]               faults of the simulated device, and whether the suite finds them
       npu-cts profiles [NAME…] [--check] [--update]  must-pass lists of cases for run --profile=NAME
       npu-cts coverage [--ops A,B] [--html FILE] …   what of ONNX's operators has cases, and what has none
       npu-cts --version
"""


def main(arguments: list[str] | None = None) -> int:
    """Entry point; returns the exit code (pytest's, 4 for usage errors)."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # paths and ids may be more than the terminal can show
    match words:
        case ["run", *rest]:
            return run(rest)
        case ["backends"]:
            return run(["--list-backends"])
        case ["validate", first, *rest]:
            return validate([first, *rest])
        case ["summary", first, *rest]:
            return show([first, *rest])
        case ["faults", *rest]:
            from suites import faults  # which loads every suite

            return faults.main(rest)
        case ["profiles", *rest]:
            from suites import profile_selection

            return profile_selection.main(rest)
        case ["coverage", *rest]:
            from suites import coverage

            return coverage.main(rest)
        case ["--version"]:
            print(f"npu-cts {header.suite()['version']}")
            return 0
        case ["-h" | "--help"]:
            print(USAGE, end="")
            return 0
    print(f"npu-cts: {'no command' if not words else 'cannot do ' + ' '.join(words)!s}\n{USAGE}", end="", file=sys.stderr)
    return int(pytest.ExitCode.USAGE_ERROR)


def run(arguments: list[str]) -> int:
    """The installed suites under pytest, from any folder; the journal goes to results/runs below that folder."""
    here = Path(__file__).resolve().parent
    # Node ids read suites/test_x.py::test_y wherever the suites are installed.
    words = [str(here.parent / word) if word.startswith("suites/test_") else word for word in arguments]
    default = [] if words != arguments else [str(here)]
    fixed = ["-p", "suites.plugin", "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={Path.cwd()}"]
    return int(pytest.main([*fixed, *default, *words]))


def show(paths: list[str]) -> int:
    """Prints the summary of each journal; 1 if one cannot be read."""
    bad = 0
    for path in paths:
        try:
            print(summary.summarise_journal(journal.read(path), summary.Layout(shutil.get_terminal_size().columns)))
        except journal.JournalError as error:
            print(error, file=sys.stderr)
            bad = 1
    return bad


def validate(paths: list[str]) -> int:
    """Prints every problem of every journal; 0 when there is none."""
    bad = 0
    for path in paths:
        try:
            problems = list(journal.validate(path))
        except (journal.JournalError, OSError) as error:
            problems = [str(error)]
        bad += bool(problems)
        print("\n".join(problems) or f"{path}: valid")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
