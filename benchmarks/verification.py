"""Published tolerance rules and ours on the same outputs: which faulty results they miss, which right ones they reject.

    python benchmarks/verification.py [--markdown] [--only MatMul ...] [--seeds 1] [--jobs 2]
    python benchmarks/verification.py --cost

Faulty results are those of tests/verification/faults on the models of tests/verification/samples; one that equals the right
result bit for bit is none. Right results are those of tests/verification/correct in emulated units: "right" in units as exact
as the type (for 16-bit types: float32 inside), "coarse" in units that a device may declare to be coarser. The published rules
have no word for what a device declares: they answer for both alike. Faults that are defined by our own bounds are left out.

missed: faulty results that were accepted, of all that a suite has a rule of its own for; by fall-back: the same where it lacks
the operator and falls back to a tolerance. NPU-CTS there: what we miss of both. undecided: faulty results, then right ones, of
which a rule says that it cannot decide; they count neither as accepted nor as rejected.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import multiprocessing
import os
import sys
import time
import unittest.mock
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script, this file hides the package `reference`

import numpy as np
import onnx
from tabulate import tabulate

from benchmarks import rules, tosa_rule
from reference import verify
from reference.evaluator import EvaluationError
from reference.node import Array, Node
from reference.verify import modes
from reference.verify.arithmetic import RUNGS
from reference.verify.profile import Profile
from suites.cases import identifier, operators
from tests.verification.correct import implementations
from tests.verification.faults import Fault, attributes, bites, integers, omission, placement, precision, special, whole
from tests.verification.faults.kind import typed
from tests.verification.samples import sample
from tests.verification.specifications import SPECIFICATIONS
from tests.verification.units import UNITS

KINDS: dict[str, tuple[Fault, ...]] = {
    "structure": (*placement.FAULTS, *attributes.FAULTS, *omission.FAULTS, *whole.FAULTS),
    "numeric": precision.FAULTS,
    "special": special.FAULTS,
    "integer": integers.FAULTS,
}
"""Kind of fault → faults."""

LEFT_OUT = frozenset(["one element an ulp beyond its bound"])
"""Faults that are made from our own bounds; so are all of tier "none", which are no faults."""

SIZES = (1, 3, 16, 64, 256, 1024, 4096)
SCALABLE = ("MatMul", "Gemm", "Conv", "ReduceSum", "ReduceMean", "Softmax", "LayerNormalization")
"""Operators whose number of terms is varied, each in its first variant."""

LARGEST = 256
"""Terms up to which emulated units run, but for MatMul: they loop over the terms."""

GENERAL = ("normal", "lattice")
"""Recipes for faults that show on any data."""

RANDOM = ("normal", "grid", "positive")
"""Recipes of data without order, to which statistics apply."""

REALS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")

FINE: dict[str, tuple[str, ...]] = {
    "float64": ("fp64",),
    "float32": ("fp32",),
    "float16": ("fp32",),
    "bfloat16": ("fp32",),
}
COARSE: dict[str, tuple[str, ...]] = {
    "float32": ("fp32-faithful", "tf32", "fp16-in", "bf16-in"),
    "float16": ("fp16",),
    "bfloat16": ("bf16",),
}
"""Type → units whose results are right for what a device declares; operators that only move or compare are exact on all."""

RIGHT_RECIPES = ("grid", "positive", "wide", "lattice", "special")
WITHIN_RANGE = ("normal", "grid", "positive", "lattice")
"""Recipes whose numbers no unit's format turns into infinities."""

OURS = "NPU-CTS"


@dataclasses.dataclass(frozen=True)
class Sample:
    """A single-node model with data."""

    operator: str
    variant: str
    recipe: str
    size: int | None
    dtype: str
    seed: int

    def __str__(self) -> str:
        size = "" if self.size is None else f" K={self.size}"
        return f"{self.operator} {self.variant} {self.recipe}{size} {self.dtype}"


@dataclasses.dataclass(frozen=True)
class Judged:
    """One output: kind is that of the fault, or "right" or "coarse". answers: rule → accepted, None where it has none. own:
    whether it is the suite's own rule for the operator. ours: "accepted", "rejected" or "inconclusive"."""

    what: str
    sample: Sample
    kind: str
    answers: tuple[bool | None, ...]
    own: tuple[bool, ...]
    ours: str


def samples(seeds: int, only: list[str] | None) -> Iterator[Sample]:
    """All of them: each variant in float32 on each recipe, the first one of each in other types and numbers of terms."""
    recipes = sorted({*GENERAL, *(r for faults in KINDS.values() for f in faults for r in f.recipes)})
    for operator, variants in SPECIFICATIONS.items():
        if only and operator not in only:
            continue
        for seed in range(seeds):
            for i, variant in enumerate(variants):
                for recipe in recipes:
                    yield Sample(operator, variant, recipe, None, "float32", seed)
                if i == 0:
                    yield from (Sample(operator, variant, recipe, None, t, seed) for recipe in GENERAL for t in REALS[1:])
                    yield from (Sample(operator, variant, "wide", None, t, seed) for t in INTEGERS)
            if operator in SCALABLE:
                first = next(iter(variants))
                yield from (Sample(operator, first, r, k, t, seed) for k in SIZES for r in GENERAL for t in REALS[:2])


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A sample's model and data, and the node evaluated."""

    sample: Sample
    model: onnx.ModelProto
    feeds: dict[str, Array]
    node: Node


def judged(what: str, kind: str, made: Prepared, outputs: list[Array], unit: str) -> Judged:
    """What all rules say of one node's outputs on a device that declares this unit."""
    one, node = made.sample, made.node
    narrow = rules.Rule("TOSA", functools.partial(tosa_rule.accepts, accumulator="float16"), rules.everywhere)
    used = [narrow if rule.name == "TOSA" and unit == "fp16" else rule for rule in rules.RULES]
    answers = tuple(rule.judge(node, outputs) for rule in used)
    own = tuple(rule.own(node, node.output_types[0]) for rule in used)
    profile = Profile({("", one.dtype): RUNGS[unit]})
    named = dict(zip((o.name for o in made.model.graph.output), outputs, strict=True))
    verdicts = {v.status for v in verify.verify(made.model, made.feeds, named, profile, random=one.recipe in RANDOM)}
    ours = "rejected" if "mismatch" in verdicts else "inconclusive" if "inconclusive" in verdicts else "accepted"
    return Judged(what, one, kind, answers, own, ours)


def prepared(one: Sample) -> Prepared | None:
    """None where the operator does not have the type."""
    try:
        model, feeds = sample(one.operator, one.variant, one.recipe, one.size, one.dtype, one.seed)
        return Prepared(one, model, feeds, Node.of(model, feeds))
    except (EvaluationError, TypeError, ValueError):
        return None


def faulty(one: Sample) -> list[Judged]:
    """Every fault that changes anything on a sample."""
    found: list[Judged] = []
    made = prepared(one)
    if made is None:
        return found
    for kind, faults in KINDS.items():
        for fault in faults:
            if not _shows(fault, one, kind) or not fault.applies(made.node):
                continue
            outputs = fault.perform(made.node, np.random.default_rng([one.seed, 7]))
            if bites(made.node, outputs):
                found.append(judged(fault.name, kind, made, outputs, FINE.get(one.dtype, ("fp32",))[0]))
    return found


def _shows(fault: Fault, one: Sample, kind: str) -> bool:
    if fault.name in LEFT_OUT or fault.tier == "none" or one.recipe not in (fault.recipes or GENERAL):
        return False
    if one.size is None:
        return True
    largest = LARGEST if kind == "numeric" and (one.operator != "MatMul" or one.recipe != "normal") else SIZES[-1]
    return fault.smallest <= one.size <= largest


def right_samples(seeds: int, only: list[str] | None) -> Iterator[Sample]:
    """Every variant in float32 on normal data, the first one of each on other recipes, in other types and numbers of terms."""
    for operator, variants in SPECIFICATIONS.items():
        if only and operator not in only:
            continue
        for seed in range(seeds):
            for i, variant in enumerate(variants):
                yield Sample(operator, variant, "normal", None, "float32", seed)
                if i == 0:
                    yield from (Sample(operator, variant, r, None, "float32", seed) for r in RIGHT_RECIPES)
                    yield from (Sample(operator, variant, "normal", None, t, seed) for t in REALS[1:])
            if operator in SCALABLE:
                first = next(iter(variants))
                yield from (Sample(operator, first, "normal", k, t, seed) for k in SIZES if k <= LARGEST for t in REALS[:2])


def right(one: Sample) -> list[Judged]:
    """Every legitimate implementation of a sample's operator in every unit of its type."""
    found: list[Judged] = []
    made = prepared(one)
    try:
        known = implementations(one.operator)
    except KeyError:
        return found
    if made is None:
        return found
    units = [("right", unit) for unit in FINE[one.dtype]]
    if one.recipe in WITHIN_RANGE and modes.mode_of(one.operator) != "EXACT":
        units += [("coarse", unit) for unit in COARSE.get(one.dtype, ())]
    for kind, unit in units:
        for name, implementation in known.items():
            if not _legitimate(name, made.node, one.recipe):
                continue
            try:
                outputs = implementation(made.node, UNITS[unit])
            except (ValueError, NotImplementedError):  # an algorithm that this case does not have
                continue
            found.append(judged(f"{name} in {unit}", kind, made, outputs, unit))
    return found


def _legitimate(name: str, node: Node, recipe: str) -> bool:
    """Whether all suites must call it right. Among special values, the order of summation decides between infinity, NaN and a
    number, and ONNX leaves open whether NaN wins a maximum. Resize is there in its linear mode."""
    sums = modes.class_of(node.operator) in ("linear", "softmax") or node.operator in ("LayerNormalization", "RMSNormalization")
    if recipe == "special" and (sums or "NaN loses" in name):
        return False
    return node.operator != "Resize" or node.attribute("mode", "nearest") == "linear"


def work(task: tuple[str, Sample]) -> list[Judged]:
    """One sample, in a process of its own. Causes of mismatches, which no verdict depends on, are not looked for."""
    warnings.simplefilter("ignore")
    kind, one = task
    with unittest.mock.patch.object(verify, "diagnose", return_value=()):
        return faulty(one) if kind == "faulty" else right(one)


def measured(seeds: int, only: list[str] | None, jobs: int) -> list[Judged]:
    """All results of all samples."""
    tasks = [("faulty", one) for one in samples(seeds, only)] + [("right", one) for one in right_samples(seeds, only)]
    tasks.sort(key=lambda task: -(task[1].size or 0))  # the long ones first
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        return [result for results in pool.imap_unordered(work, tasks) for result in results]


def share(part: Iterable[object], of: Iterable[object]) -> str:
    """'3 of 40'."""
    return f"{len(list(part))} of {len(list(of))}"


def rule_row(name: str, index: int | None, results: list[Judged]) -> list[str]:
    """The line of one rule; index None for ours."""

    def accepted(r: Judged) -> bool | None:
        return r.ours == "accepted" if index is None else r.answers[index]

    def own(r: Judged) -> bool:
        return index is None or r.own[index]

    faults = [r for r in results if r.kind in KINDS and accepted(r) is not None]
    covered, rest = [r for r in faults if own(r)], [r for r in faults if not own(r)]
    missed = [r for r in covered if accepted(r)]
    cells = [name, share(missed, covered), f"{100 * len(missed) / max(1, len(covered)):.1f} %"]
    for kind in KINDS:
        cells.append(share([r for r in missed if r.kind == kind], [r for r in covered if r.kind == kind]))
    cells.append(share([r for r in rest if accepted(r)], rest) if rest else "-")
    cells.append(str(len([r for r in faults if r.ours == "accepted"])))
    for kind in ("right", "coarse"):
        those = [r for r in results if r.kind == kind and own(r) and accepted(r) is not None]
        rejected = [r for r in those if (r.ours == "rejected" if index is None else not accepted(r))]
        cells.append(share(rejected, those))
    undecided = [r for r in results if index is None and r.ours == "inconclusive"]
    faulty_ones = [r for r in undecided if r.kind in KINDS]
    return [*cells, f"{len(faulty_ones)}, {len(undecided) - len(faulty_ones)}" if index is None else "-"]


HEADERS = ["rule", "missed", "share", *KINDS, "by fall-back", f"{OURS} there", "right rejected", "coarse rejected", "undecided"]


def table(results: list[Judged]) -> list[list[str]]:
    """A line for each rule, ours last."""
    lines = [rule_row(rule.name, i, results) for i, rule in enumerate(rules.RULES)]
    return [*lines, rule_row(OURS, None, results)]


def grouped(results: Iterable[Judged]) -> list[str]:
    """'fault: where, how often', the most frequent first; right results by their unit."""
    counts: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], Judged] = {}
    for r in results:
        key = (r.what if r.kind in KINDS else r.what.rpartition(" in ")[2], r.sample.operator)
        counts[key] += 1
        example.setdefault(key, r)
    return [f"{key[0]}: {key[1]}, {n}, as in {example[key].sample} ({example[key].what})" for key, n in counts.most_common()]


def report(results: list[Judged], markdown: bool) -> str:
    """The table and what we fall short in."""
    mutants, correct = [r for r in results if r.kind in KINDS], [r for r in results if r.kind not in KINDS]
    lists = {
        "Faulty results that we accept": [r for r in mutants if r.ours == "accepted"],
        "Faulty results that no bound can decide": [r for r in mutants if r.ours == "inconclusive"],
        "Right results that we reject": [r for r in correct if r.ours == "rejected"],
        "Right results that no bound can decide": [r for r in correct if r.ours == "inconclusive"],
    }
    text = [tabulate(table(results), HEADERS, tablefmt="github" if markdown else "simple", disable_numparse=True)]
    for title, those in lists.items():
        text.append(f"\n{title}: {len(those)}\n" + "\n".join(f"- {line}" for line in grouped(those)))
    return "\n".join(text)


def cost(rounds: int = 3) -> str:
    """Milliseconds of a verdict beyond evaluating the reference, over all cases of the suite: the least of some rounds each."""
    times: list[tuple[float, str]] = []
    refused: Counter[str] = Counter()
    for name in operators.ALL:
        try:
            case = identifier.parse(name)
            model, feeds = case.model, case.feeds
            node = Node.of(model, feeds)
            named = dict(zip(node.output_names, typed(node, node.results), strict=True))
            calls: list[Callable[[], object]] = [
                functools.partial(Node.of, model, feeds),
                functools.partial(verify.verify, model, feeds, named, random=case.is_random),
            ]
            best = [float("inf"), float("inf")]
            for _ in range(rounds):
                for i, call in enumerate(calls):
                    start = time.thread_time()
                    call()
                    best[i] = min(best[i], time.thread_time() - start)
            times.append((1e3 * (best[1] - best[0]), name))
        except Exception as error:
            refused[f"{type(error).__name__}: {str(error)[:70]}"] += 1
    spent = np.array([t for t, _ in times])
    slowest = "\n".join(f"  {t:.1f} ms {name[:110]}" for t, name in sorted(times, reverse=True)[:8])
    left = "".join(f"\nleft out {n}: {text}" for text, n in refused.most_common())
    median, tail = np.median(spent), np.quantile(spent, 0.99)
    target = f"median below 1 ms: {'holds' if median < 1 else 'does not hold'}"
    return f"{len(times)} cases: median {median:.3f} ms, 99th percentile {tail:.2f} ms ({target})\n{slowest}{left}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", nargs="+", help="operators")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cost", action="store_true", help="time of a verdict over all cases of the suite, nothing else")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    unknown = sorted(set(arguments.only or ()) - SPECIFICATIONS.keys())
    if unknown:
        parser.error(f"there are no samples of {unknown[0]!r}")
    print(cost() if arguments.cost else report(measured(arguments.seeds, arguments.only, arguments.jobs), arguments.markdown))


if __name__ == "__main__":
    main()
