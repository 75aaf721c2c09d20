"""The mutation matrix: every fault of the catalogue on every operator that it can happen to, and what the verdict says of it.

`mutants(…)` gives a part of it to the tests; `python -m tests.verification.matrix > docs/verification.md` runs the whole of it
and writes the published page.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from tabulate import tabulate

from reference import dtypes
from reference.evaluator import EvaluationError
from reference.node import Node
from reference.verify import TensorVerdict, verify
from reference.verify.diagnosis.causes import CAUSES
from tests.verification.faults import CATALOGUE, TIERS, Fault, bites
from tests.verification.samples import RANDOM, SIZED, sample
from tests.verification.specifications import SPECIFICATIONS

RECIPES = ("normal", "grid", "positive", "lattice", "wide", "special", "subnormal", "ties")
SIZES = (1, 3, 16, 64, 256, 1024, 4096)
"""Terms of a sum; larger numbers on the first variant only."""

SEVERITY = ("mismatch", "inconclusive", "pass_reduced", "pass", "implementation_defined")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault on one node and what was said of it: the verdict on the worst output."""

    fault: str
    causes: tuple[str, ...]
    operator: str
    variant: str
    recipe: str
    size: int | None
    expected: str
    verdict: TensorVerdict

    @property
    def what(self) -> str:
        """The sample it is a mutant of."""
        return f"{self.operator} {self.variant} {self.recipe}{'' if self.size is None else f' K={self.size}'}"

    @property
    def killed(self) -> bool:
        """A mismatch, or a lesser verdict that names what is wrong."""
        return self.verdict.status == "mismatch" or (self.verdict.status == "pass_reduced" and bool(self.verdict.message))

    @property
    def tier(self) -> str:
        """What killed it; "reduced" for a verdict of pass_reduced."""
        return self.verdict.tier or "reduced"

    @property
    def named(self) -> bool:
        """Whether the first diagnosis is the fault's cause or one that the data cannot tell from it."""
        return bool(self.verdict.diagnosis) and self.verdict.diagnosis[0].cause in self.causes


def mutants(
    faults: Sequence[Fault] = CATALOGUE,
    recipes: Iterable[str] = ("normal",),
    sizes: Sequence[int | None] = (None,),
    operators: Iterable[str] = tuple(SPECIFICATIONS),
    variants: Sequence[str] = (),
    dtype: str = "float32",
    seed: int = 0,
) -> Iterator[Mutant]:
    """Every fault that changes something on a sample that it can happen to, judged; of all variants where none is named."""
    for operator in operators:
        for number, variant in enumerate(variants or SPECIFICATIONS[operator]):
            for recipe in recipes:
                for size in sizes if operator in SIZED else (None,):
                    if size is None or size <= 64 or number == 0:
                        yield from _on_sample(faults, operator, variant, recipe, size, dtype, seed)


def _on_sample(
    faults: Sequence[Fault], operator: str, variant: str, recipe: str, size: int | None, dtype: str, seed: int
) -> Iterator[Mutant]:
    fitting = [f for f in faults if _shows(f, recipe, size or SPECIFICATIONS[operator][variant].size or 64)]
    if not fitting:
        return
    model, feeds = sample(operator, variant, recipe, size, dtype, seed)
    try:
        node = Node.of(model, feeds)
    except EvaluationError:  # the operator does not have the type
        return
    names = [output.name for output in model.graph.output]
    before = tuple(
        np.full(y.shape, 3).astype(dtypes.numpy_dtype(t)) for y, t in zip(node.results, node.output_types, strict=True)
    )
    for fault in (f for f in fitting if f.applies(node)):
        outputs = fault.perform(node, np.random.default_rng([seed, 7]))
        if not bites(node, outputs):
            continue
        named = dict(zip(names, outputs, strict=True))
        seen = (*before, *outputs) if "stale" in fault.causes else before
        verdicts = verify(model, feeds, named, random=recipe in RANDOM, previous=seen)
        worst = min(verdicts, key=lambda v: SEVERITY.index(v.status))
        expected = fault.expected(node, outputs)
        yield Mutant(fault.name, fault.causes, operator, variant, recipe, size, expected, worst)


def _shows(fault: Fault, recipe: str, size: int) -> bool:
    return fault.smallest <= size <= fault.largest and (not fault.recipes or recipe in fault.recipes) and fault.tier != "none"


def _of_operator(operator: str, recipes: Sequence[str]) -> list[Mutant]:
    """All variants on normal data; the first one on all other data, and with as many terms as there are sizes."""
    first = list(SPECIFICATIONS[operator])[:1]
    found = list(mutants(recipes=["normal"] if "normal" in recipes else [], operators=[operator]))
    found += mutants(recipes=[r for r in recipes if r != "normal"], operators=[operator], variants=first)
    if operator in SIZED and "normal" in recipes:
        found += mutants(recipes=["normal"], sizes=SIZES, operators=[operator], variants=first)
    return found


def report(found: Sequence[Mutant]) -> str:
    """The published page."""
    killed = [m for m in found if m.killed]
    named = sum(m.named for m in killed)
    share = f"{named / max(len(killed), 1):.1%}"
    lines = [
        "# The verifier on faulty devices",
        "",
        "<!-- generated: python -m tests.verification.matrix > docs/verification.md -->",
        "",
        "Emulated devices with one fault each (tests/verification/faults) compute single operators; every output that differs",
        f"from the right one is a mutant. Of {len(found):,} mutants {len(killed):,} are found. The first diagnosis is the",
        f"fault's own cause, or one that the data cannot tell from it, for {named:,} of those ({share}). A mutant may die in",
        "an earlier tier than the one that is bound to find it; `reduced` stands for `pass_reduced` with a reason.",
        "How right results fare is counted by `python -m tests.verification.false_alarms`.",
        "",
        "## By data",
        "",
        _table(found, lambda m: m.recipe),
        "",
        "## By number of terms",
        "",
        "Of sums, and of axes that an operator works along, where the number is varied (normal data).",
        "",
        _table(sorted((m for m in found if m.size), key=lambda m: m.size or 0), lambda m: m.size),
        "",
        "## By fault",
        "",
        _table(found, lambda m: m.fault),
        "",
        "## By cause",
        "",
        _table(found, lambda m: m.causes[0], CAUSES),
        "",
        "## By operator",
        "",
        _table(found, lambda m: m.operator),
        "",
        "## Not found",
        "",
        *(f"- {m.fault}: {m.what}: {m.verdict.status}" for m in found if not m.killed),
        "",
        "## Found, but not named first",
        "",
        *(f"- {m.fault}: {m.what}: {_named(m)}" for m in found if m.killed and not m.named),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _named(mutant: Mutant) -> str:
    return ", ".join(d.cause for d in mutant.verdict.diagnosis) or mutant.verdict.message or "nothing"


def _table(found: Sequence[Mutant], key: Callable[[Mutant], object], meanings: Mapping[str, str] | None = None) -> str:
    tiers = [t for t in (*TIERS, "type", "reduced") if any(m.killed and m.tier == t for m in found)]
    rows = []
    for name in dict.fromkeys(key(m) for m in found):
        own = [m for m in found if key(m) == name]
        killed = [m for m in own if m.killed]
        by = Counter(m.tier for m in killed)
        share = f"{sum(m.named for m in killed) / len(killed):.0%}" if killed else ""
        rows.append([name, len({m.operator for m in own}), len(own), len(killed), *(by[t] or "" for t in tiers), share])
        if meanings is not None:
            rows[-1].insert(1, meanings[str(name)])
    heads = ["", *(["meaning"] if meanings is not None else []), "operators", "mutants", "found", *tiers, "named first"]
    return tabulate(rows, heads, tablefmt="github")


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--recipes", default=",".join(RECIPES), help="of data, by commas")
    parser.add_argument("--operators", default=",".join(SPECIFICATIONS), help="by commas")
    given = parser.parse_args()
    work = functools.partial(_of_operator, recipes=given.recipes.split(","))
    operators = given.operators.split(",")
    found: list[Mutant] = []
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        for operator, part in zip(operators, pool.map(work, operators), strict=True):
            print(f"{operator}: {len(part)} mutants", file=sys.stderr)
            found += part
    print(report(found))


if __name__ == "__main__":
    main()
