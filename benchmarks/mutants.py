"""The share of machine-made mutants of the simulated device that the suites notice.

    python -m benchmarks.mutants --sample 600 --seed 1 --processes 2 --markdown > docs/mutants.md

Each mutant is one change that mutmut makes in a function of backends/sim. It is killed where a test of the suites fails on one
of the device profiles, or where the process that holds the device crashes or hangs. Needs os.fork.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import hashlib
import io
import os
import pickle
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tabulate import tabulate

from benchmarks import mutant_runs
from benchmarks.mutant_runs import Baseline, Code, Ending
from benchmarks.mutant_sources import PACKAGE, Module, Mutant, instrumented, sources

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
PROFILES = ("generic", "hexagon-htp", "ascend-310p", "mapped-discrete", "apple-ane", "intel-npu")

FIRST, THEN = 60, 400
"""Tests of each device profile that a mutant meets; the second number where none of the first failed."""

BASELINE_LIMIT = 1200.0
"""Seconds for all tests on one healthy device."""

CONTROL = "the device as it is"
"""Stands for a mutant that is none: it must survive."""

CLASSES = ("killed", "declares", "equivalent", "survived")

HEAD = (
    "# Mutants of the simulated device",
    "<!-- generated: python -m benchmarks.mutants --sample 600 --seed 1 --markdown > docs/mutants.md -->",
    "Would the suites notice a device that is wrong in a way that nobody thought of? mutmut's operators make one small change "
    "each in the code of the simulated device (backends/sim, its faults apart), and the suites run on what comes of it, on all "
    "six profiles: a mutant is *killed* where a test fails, or the device crashes or hangs. It *declares* another device where "
    "no test fails, but what ran is declined now or the other way about, and the record says so (`unsupported`, `underclaim`). "
    "It is *equivalent* where no test of a device could tell it from the original, with the reason below. The rest has "
    "*survived*.",
    "Left out by rule are annotations, docstrings and decorators, text and code of errors, strings of several words, labels of "
    f"fresh names, and data of modules and classes. A mutant meets at first {FIRST} tests a profile that reach its statement, "
    f"of many kinds, and {THEN} where none of them failed.",
)


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a mutant. status: killed, declares (it runs more or less than before, and says so), survived."""

    mutant: Mutant
    status: str
    how: str

    @property
    def part(self) -> str:
        return self.mutant.module.rpartition(".")[2] if self.mutant.module != PACKAGE else "__init__"


class Benchmark:
    """A sample of mutants and the session that collected the tests."""

    def __init__(self, sample: int, seed: int, processes: int, only: Sequence[str]) -> None:
        self.texts = sources()
        self.seed = seed
        self.processes = processes
        self.healthy: Code = {name: compile(text, name, "exec") for name, text in self.texts.items()}
        self.possible, self.mutants = self._draw(sample, seed, only)
        self.results: list[Result] = []
        self.failing: dict[str, int] = {}
        self._started = time.monotonic()

    def _draw(self, sample: int, seed: int, only: Sequence[str]) -> tuple[int, list[Mutant]]:
        """(how many mutants there are, some of them), found in a process of its own: the trees of all modules go with it.
        A sample changes only where functions do."""

        def job(result: Path) -> None:
            texts = {name: text for name, text in self.texts.items() if not only or name.rpartition(".")[2] in only}
            possible = [(module, label) for module in map(Module, texts, texts.values()) for label in module.mutations]
            possible.sort(key=lambda row: hashlib.blake2b(f"{seed} {row[0].name} {row[1]}".encode()).digest())
            found: dict[str, Mutant] = {}  # other changes may make the same program
            for mutant in (module.mutant(label) for module, label in possible):
                if mutant is not None:
                    found.setdefault(mutant.key, mutant)
                if len(found) == sample:
                    break
            result.write_bytes(pickle.dumps((len(possible), list(found.values()))))

        with tempfile.TemporaryDirectory() as folder:
            (found,) = mutant_runs.forked([("mutants", BASELINE_LIMIT, job)], 1, Path(folder))
        possible, mutants = pickle.loads(found[1])
        return possible, mutants

    def run(self, session: pytest.Session) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = self._learn(session, Path(folder))
            control = dataclasses.replace(self.mutants[0], old=CONTROL, new=CONTROL, source=self.texts[self.mutants[0].module])
            first = self._attack(session, [control, *self.mutants], before, FIRST, Path(folder))
            left = [mutant for mutant in (control, *self.mutants) if first[mutant.key].status != "killed"]
            then = self._attack(session, left, before, THEN, Path(folder))
        if then.get(control.key, first[control.key]).status != "survived":
            raise SystemExit(f"{CONTROL} does not survive: {first[control.key].how or then[control.key].how}")
        self.results = [then.get(mutant.key, first[mutant.key]) for mutant in self.mutants]

    def _learn(self, session: pytest.Session, folder: Path) -> Baseline:
        """What every test does on every healthy device."""
        code = {name: compile(instrumented(name, text), name, "exec") for name, text in self.texts.items()}
        jobs = (
            (name, BASELINE_LIMIT, lambda result, name=name: mutant_runs.learn(session, name, code, result))
            for name in PROFILES
        )
        found = {}
        for name, content, ended in mutant_runs.forked(jobs, self.processes, folder):
            if ended:
                raise SystemExit(f"the tests on the healthy device {name} ended with {ended}")
            found[name] = pickle.loads(content)
            self.failing[name] = len(session.items) + 1 - len(found[name].tests)
            self._say(f"{name}: {len(found[name].tests) - 1} of {len(session.items)} tests, {self.failing[name]} fail")
        return {name: found[name] for name in PROFILES}

    def _attack(
        self, session: pytest.Session, mutants: Sequence[Mutant], before: Baseline, most: int, folder: Path
    ) -> dict[str, Result]:
        by_key = {mutant.key: mutant for mutant in mutants}
        found: dict[str, Result] = {}
        for key, content, ended in mutant_runs.forked(self._jobs(session, mutants, before, most), self.processes, folder):
            found[key] = _result(by_key[key], content, ended)
            if len(found) % 25 == 0:
                killed = sum(result.status == "killed" for result in found.values())
                self._say(f"{len(found)} of {len(by_key)}, {killed} killed")
        return found

    def _jobs(
        self, session: pytest.Session, mutants: Sequence[Mutant], before: Baseline, most: int
    ) -> Iterator[tuple[str, float, mutant_runs.Job]]:
        for mutant in mutants:
            chosen = {
                name: mutant_runs.selection(mutant, healthy, most, quick=most == FIRST) for name, healthy in before.items()
            }
            chosen = {name: tests for name, tests in chosen.items() if tests}
            seconds = sum(before[name].tests[test].seconds for name, tests in chosen.items() for test in tests)
            code = {**self.healthy, mutant.module: compile(mutant.source, mutant.module, "exec")}

            def job(result: Path, chosen: Mapping[str, Sequence[str]] = chosen, code: Code = code) -> None:
                mutant_runs.attack(session, chosen, before, code, result)

            yield mutant.key, mutant_runs.PATIENCE * (seconds + len(chosen)) + mutant_runs.GRACE, job

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:6.0f} s  {text}", file=sys.__stderr__, flush=True)


def _result(mutant: Mutant, content: bytes, ended: str) -> Result:
    ending: Ending = pickle.loads(content) if content else Ending(True)
    if ended or ending.failed:
        return Result(mutant, "killed", ending.by if not ended else f"{ended} on {ending.by.partition(':')[0]}")
    declares = any("unsupported" in change for change in ending.changed)
    changes = ", ".join(f"{count} × {a} → {b}" for (a, b), count in ending.changed.items())
    return Result(mutant, "declares" if declares else "survived", changes if ending.tests else "no test reaches it")


def reasons() -> dict[str, str]:
    """Mutant → why no test can tell it from the device."""
    data = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {key: entry["why"] for entry in data["reason"] for key in entry["mutants"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=600, metavar="N", help="mutants to try")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which ones")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at once")
    parser.add_argument("--only", default="", metavar="A,B", help="mutants of these modules of backends/sim alone")
    parser.add_argument("--markdown", action="store_true", help="print what docs/mutants.md holds")
    given = parser.parse_args()
    if not hasattr(os, "fork"):
        raise SystemExit("python -m benchmarks.mutants: this system has no fork; run it on Linux or macOS")
    import onnxruntime  # noqa: F401  # loaded once, before the processes fork

    benchmark = Benchmark(given.sample, given.seed, given.processes, [name for name in given.only.split(",") if name])
    arguments = [str(ROOT / "suites"), "-q", "-s", "-n", "0", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(arguments, plugins=[mutant_runs.Collected(benchmark.run)])
    if not benchmark.results:
        raise SystemExit(f"{said.getvalue()}\npytest ended with {code}")
    print(report(benchmark, given.markdown))


def report(benchmark: Benchmark, markdown: bool) -> str:
    """Shares by module, which suites kill, then what no test noticed, and why where that is known."""
    known = reasons()
    form = "github" if markdown else "simple"
    classes = {result.mutant.key: _class(result, known) for result in benchmark.results}
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for result in benchmark.results:
        rows[result.part][classes[result.mutant.key]] += 1
    total = sum(rows.values(), collections.Counter[str]())
    table = [[name, counts.total(), *(counts[c] for c in CLASSES)] for name, counts in sorted(rows.items())]
    table.append(["all", total.total(), *(total[c] for c in CLASSES)])
    told = total.total() - total["equivalent"]
    either = total["killed"] + total["declares"]
    killers = collections.Counter(_killer(result.how) for result in benchmark.results if result.status == "killed")
    left = [(classes[r.mutant.key], _quoted(r.mutant.key, markdown), r.how) for r in benchmark.results]
    parts = [
        *(HEAD if markdown else ()),
        f"{total.total()} of {benchmark.possible} mutants (seed {benchmark.seed}). Of the {told} that are not equivalent "
        f"{total['killed']} ({total['killed'] / told:.1%}) are killed, {either} ({either / told:.1%}) with those that declare "
        "another device.",
        tabulate(table, ["module", "mutants", *CLASSES], tablefmt=form),
        tabulate(killers.most_common(), ["first failure in", "mutants"], tablefmt=form),
        "## Not killed" if markdown else "",
        tabulate([row for row in left if row[0] in ("declares", "survived")], ["", "mutant", "verdicts"], tablefmt=form),
    ]
    if markdown:
        parts.append("## Equivalent")
        argued = collections.defaultdict(list)
        for result in benchmark.results:
            if classes[result.mutant.key] == "equivalent":
                argued[known[result.mutant.key]].append(f"- {_quoted(result.mutant.key, markdown)}")
        parts += ["\n".join([f"{why}\n", *keys]) for why, keys in sorted(argued.items())]
    return "\n\n".join(part for part in parts if part)


def _killer(how: str) -> str:
    """The suite, or what else became of the process."""
    return how.partition(": ")[2].partition("::")[0] or how.partition(" on ")[0]


def _quoted(key: str, markdown: bool) -> str:
    return f"`{key}`".replace("|", "\\|") if markdown else key


def _class(result: Result, known: Mapping[str, str]) -> str:
    return "equivalent" if result.status == "survived" and result.mutant.key in known else result.status


if __name__ == "__main__":
    main()
