"""The oracle beside ONNX's reference evaluator and ONNX Runtime, all in one thread and one run.

    python -m benchmarks.reference [--quick] [--only Conv ...]

Columns: the oracle (float64), the same with B, Q and terms of linear operators, onnx.reference on the same model in float64,
ONNX Runtime on it in float32. Each cell is the least CPU time of a call over 21 rounds (5 with --quick), in which the four
take turns; whoever needs more than half a second for one call has 2 rounds. CPU time of the one thread, because other
processes disturb it less than the clock on the wall.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script, this file hides the package `reference`

import numpy as np
import onnxruntime
from onnx.reference import ReferenceEvaluator
from tabulate import tabulate

from benchmarks import models
from reference import evaluator, magnitudes, table
from reference.node import Node

ROUNDS, QUICK_ROUNDS, SLOW_ROUNDS = 21, 5, 2
SLOW = 0.5
"""Seconds of a call from which on it has SLOW_ROUNDS."""

SAMPLE = 2e-3
"""Seconds that one round measures at least, by repeating short calls."""

RANKED = frozenset(
    [
        "Conv 3x3",
        "Conv depthwise",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "Resize linear",
        "LSTM",
        "MatMul",
        "Softmax",
        "LayerNormalization",
        "GridSample",
    ]
)
"""What the targets are set for."""

FASTER, FASTER_WITH_MAGNITUDES, NEVER_BELOW, BEHIND_RUNTIME = 20.0, 6.0, 0.9, 20.0
"""Targets: mean speed-ups over onnx.reference, the least one of a row, and the largest factor behind ONNX Runtime."""

Call = Callable[[], object]
Times = dict[str, float]


def seconds(call: Call, repeats: int = 1) -> float:
    """CPU time of one call, the mean of so many."""
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - start) / repeats


def best_times(calls: dict[str, Call], rounds: int) -> Times:
    """The least time of each call over the rounds, in which they take turns; a call that fails is left out."""
    best: Times = {}
    for name, call in calls.items():
        try:
            best[name] = seconds(call)
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    first = dict(best)
    for i in range(1, rounds + 1):
        for name in list(first)[i % len(first) :] + list(first)[: i % len(first)]:
            if i < SLOW_ROUNDS or first[name] < SLOW:
                best[name] = min(best[name], seconds(calls[name], max(1, math.ceil(SAMPLE / first[name]))))
    return best


def with_magnitudes(nodes: Sequence[Node]) -> None:
    """Asks for everything that the magnitudes of these nodes hold."""
    for node in nodes:
        sizes = magnitudes.of(node)
        if sizes is not None:
            _ = sizes.B, sizes.Q, sizes.terms


def contenders(case: models.Operator | models.Graph) -> dict[str, Call]:
    """What is timed: an operator as a call on arrays, a graph as a model on feeds."""
    exact, feeds = case.model("float64")
    single, single_feeds = case.model("float32")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    calls: dict[str, Call] = {}
    if isinstance(case, models.Operator):
        node = Node.of(exact, feeds)
        calls["oracle"] = lambda: node.again(node.inputs)
        calls["with magnitudes"] = lambda: (node.again(node.inputs), with_magnitudes([node]))
    else:
        calls["oracle"] = lambda: evaluator.evaluate(exact, feeds)
        calls["with magnitudes"] = lambda: with_magnitudes(list(Node.each(exact, feeds)))
    other = ReferenceEvaluator(exact)
    calls["onnx.reference"] = lambda: other.run(None, feeds)
    session = onnxruntime.InferenceSession(single.SerializeToString(), options, providers=["CPUExecutionProvider"])
    calls["ONNX Runtime"] = lambda: session.run(None, single_feeds)
    return calls


def ratio(times: Times, of: str, to: str) -> float:
    """times[of]/times[to], NaN where one is missing."""
    return times[of] / times[to] if of in times and to in times else math.nan


def row(name: str, times: Times) -> list[object]:
    cells = [times[c] * 1e3 if c in times else None for c in ("oracle", "with magnitudes", "onnx.reference", "ONNX Runtime")]
    ratios = [
        ratio(times, "onnx.reference", "oracle"),
        ratio(times, "onnx.reference", "with magnitudes"),
        ratio(times, "oracle", "ONNX Runtime"),
    ]
    return [name, *cells, *(None if math.isnan(r) else r for r in ratios)]


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def verdicts(measured: dict[str, Times]) -> list[list[object]]:
    """Each target, what was measured, and whether it holds."""
    ranked = [measured[name] for name in RANKED if name in measured and "onnx.reference" in measured[name]]
    plain = mean([ratio(t, "onnx.reference", "oracle") for t in ranked])
    full = mean([ratio(t, "onnx.reference", "with magnitudes") for t in ranked])
    slower = {name: ratio(t, "onnx.reference", "oracle") for name, t in measured.items()}
    behind = {name: ratio(t, "oracle", "ONNX Runtime") for name, t in measured.items()}
    lost = {name: f"{name} {r:.2f}" for name, r in slower.items() if r < NEVER_BELOW}
    far = {name: f"{name} {r:.0f}" for name, r in behind.items() if r > BEHIND_RUNTIME}
    over = f"geometric mean over {len(ranked)} of {len(RANKED)}"
    return [
        [f"{FASTER:g}x onnx.reference", f"{over}: {plain:.1f}", plain >= FASTER],
        [f"{FASTER_WITH_MAGNITUDES:g}x with magnitudes", f"{over}: {full:.1f}", full >= FASTER_WITH_MAGNITUDES],
        [
            f"none of these below {NEVER_BELOW:g}x",
            f"of all rows: {', '.join(lost.values()) or 'none'}",
            not lost.keys() & RANKED,
        ],
        [
            f"none of these {BEHIND_RUNTIME:g}x behind ONNX Runtime",
            f"of all rows: {', '.join(far.values()) or 'none'}",
            not far.keys() & RANKED,
        ],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--only", nargs="+", help="names of rows")
    arguments = parser.parse_args()
    names = {case.name for case in (*models.operators(), *models.graphs())}
    unknown = sorted(set(arguments.only or ()) - names)
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}; rows are {', '.join(sorted(names))}")
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(3)
    np.empty(30 * 2**20, np.uint8)  # glibc then keeps freed blocks of up to 30 MiB, to the benefit of all that are timed
    rounds = QUICK_ROUNDS if arguments.quick else ROUNDS
    measured: dict[str, Times] = {}
    for case in [*models.operators(), *models.graphs()]:
        if arguments.only and case.name not in arguments.only:
            continue
        if isinstance(case, models.Operator) and case.operator not in table.ONNX:
            print(f"  {case.name}: not in the reference", file=sys.stderr)
            continue
        measured[case.name] = best_times(contenders(case), rounds)
    headers = ["ms", "oracle", "with magnitudes", "onnx.reference", "ONNX Runtime", "faster", "with magnitudes", "behind ORT"]
    print(tabulate([row(name, times) for name, times in measured.items()], headers, floatfmt=".3f", missingval="-"))
    if measured.keys() >= RANKED:
        print(tabulate([[*line[:2], "holds" if line[2] else "does not hold"] for line in verdicts(measured)], tablefmt="plain"))
    else:
        print(f"The targets are set for {len(RANKED)} rows together; not all of them were measured.")


if __name__ == "__main__":
    main()
