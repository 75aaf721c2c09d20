"""Verdicts on right results: every legitimate implementation on fresh data; a mismatch is a false alarm.

`python -m tests.verification.false_alarms --verdicts 200000 [--seed N] [--processes 2]` counts them; the tests take a part.
Nine of ten rounds compute with NumPy's own arithmetic (`native`), the others in emulated units (`correct`), which are slow.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import itertools
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from reference.evaluator import EvaluationError
from reference.node import Node
from reference.verify import Profile, TensorVerdict, modes, verify
from tests.verification.correct import OPERATORS, implementations
from tests.verification.native import draw
from tests.verification.samples import RANDOM, SIZED, sample
from tests.verification.specifications import SPECIFICATIONS
from tests.verification.units import UNITS

RECIPES = (*RANDOM, "lattice", "wide", "index")
RUNGS = {
    "float32": ("fp32", "fp32", "fp32-faithful", "tf32", "fp16-in", "bf16-in"),
    "float16": ("fp16", "fp32"),
    "bfloat16": ("bf16", "fp32"),
}
"""Tensor type → the units that compute it, each declared."""

SIZES = (None, 1, 2, 5, 17, 64, 129, 500, 1024)


@dataclasses.dataclass(frozen=True)
class Trial:
    """A right result and what was said of it."""

    what: str
    verdict: TensorVerdict


def native_trials(seed: int, models: int = 150) -> Iterator[Trial]:
    """Fresh models, each by all its algorithms."""
    rng = np.random.default_rng([seed, 2027])
    for _ in range(models):
        drawn = draw(rng)
        for name, y in drawn.results.items():
            (verdict,) = verify(drawn.model, drawn.feeds, {"y": y}, random=True, diagnosed=False)
            yield Trial(f"{drawn.what} {name} seed {seed}", verdict)


def emulated_trials(seed: int) -> Iterator[Trial]:
    """One variant of each operator by all its implementations; recipe, type, unit and size are drawn."""
    rng = np.random.default_rng([seed, 2026])
    for operator in OPERATORS:
        variants = list(SPECIFICATIONS.get(operator, ()))
        for variant in rng.permutation(variants)[:1]:
            recipe, dtype = str(rng.choice(RECIPES)), str(rng.choice(list(RUNGS)))
            rung = str(rng.choice(RUNGS[dtype]))
            size = SIZES[int(rng.integers(len(SIZES)))] if operator in SIZED and variant == variants[0] else None
            if modes.mode_of(operator) == "EXACT":
                rung = RUNGS[dtype][0]  # what only moves or compares data is not computed in a unit
            if operator == "Resize" and SPECIFICATIONS[operator][variant].attributes["mode"] != "linear":
                continue  # not implemented in `correct`
            yield from _on_sample(operator, str(variant), recipe, size, dtype, rung, seed)


def _on_sample(operator: str, variant: str, recipe: str, size: int | None, dtype: str, rung: str, seed: int) -> Iterator[Trial]:
    model, feeds = sample(operator, variant, recipe, size, dtype, seed)
    try:
        node = Node.of(model, feeds)
    except EvaluationError:  # the operator does not have the type
        return
    names = [output.name for output in model.graph.output]
    for name, implementation in implementations(operator).items():
        outputs = implementation(node, UNITS[rung])
        if outputs is None:
            continue
        profile = Profile.of({dtype: rung})
        for verdict in verify(
            model, feeds, dict(zip(names, outputs, strict=True)), profile, random=recipe in RANDOM, diagnosed=False
        ):
            yield Trial(f"{operator} {variant} {recipe} {dtype} {rung} K={size} {name} seed {seed}", verdict)


def _round(seed: int) -> tuple[Counter[str], list[str]]:
    counts, alarms = Counter[str](), list[str]()
    for trial in emulated_trials(seed) if seed % 10 == 0 else native_trials(seed):
        counts[trial.verdict.status] += 1
        if trial.verdict.status == "mismatch":
            alarms.append(f"{trial.what}: {trial.verdict.message}")
    return counts, alarms


def main() -> None:
    """Prints false alarms as they come, then the counts; exits with 1 if there was one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds, one for each round")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    counts, alarms = Counter[str](), 0
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        for batch in itertools.count():
            seeds = range(given.seed + batch * given.processes, given.seed + (batch + 1) * given.processes)
            for found, lines in pool.map(_round, seeds):
                counts += found
                alarms += len(lines)
                for line in lines:
                    print(line, flush=True)
            if counts.total() >= given.verdicts:
                break
    print(f"{counts.total()} verdicts: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
