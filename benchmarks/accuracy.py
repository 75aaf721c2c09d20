"""How exact the elementary functions and activations of the installed runtimes are, beside the limits they are judged by.

    python -m benchmarks.accuracy [--points 50000] [--only Exp Sigmoid ...]

Functions: the worst distance from the real value over a middle range, in ulp of the type; ! marks what exceeds the limit of
reference/verify/bounds/functions.toml. Activations: the worst distance where |y| ≤ 1, in units of roundoff u, then the worst
ratio to the bound of reference/verify/bounds/explicit.py over all y; ! marks ratios above 1. A runtime that is not installed
is skipped with a line; - stands for what a runtime declines, and how the attempt ended for what fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script, this file hides the package `reference`

import numpy as np
import onnx
from onnx import helper
from tabulate import tabulate

from backends import registry
from backends.worker import DeviceGone, DeviceSession
from reference import dtypes
from reference.node import Array, Node
from reference.verify import modes
from reference.verify.arithmetic import RUNGS
from reference.verify.bounds.functions import ULPS
from reference.verify.setting import Setting

OPSET, IR_VERSION = 21, 10


@dataclasses.dataclass(frozen=True)
class Column:
    """A runtime in one tensor type, and the rung that its activations are held to (docs/numerics.md)."""

    name: str
    backend: str
    dtype: str
    rung: str


COLUMNS = (
    Column("ONNX Runtime", "onnxruntime", "float32", "fp32"),
    Column("OpenVINO", "openvino", "float32", "fp32"),
    Column("HTP", "qnn", "float32", "fp32-faithful"),
    Column("HTP f16", "qnn", "float16", "fp16-faithful"),
)

Range = tuple[float, float]

FUNCTIONS: Mapping[str, tuple[Range, ...]] = {
    "Exp": ((-85, 85),),
    "Log": ((1e-4, 1e4),),
    "Tanh": ((-9, 9),),
    "Erf": ((-4, 4),),
    "Pow": ((0.1, 10), (-4, 4)),
    "Sqrt": ((1e-4, 1e4),),
    "Reciprocal": ((1e-3, 1e3),),
    "Div": ((-100, 100), (0.01, 100)),
    "Sin": ((-100, 100),),
    "Cos": ((-100, 100),),
    "Tan": ((-100, 100),),
    "Asin": ((-1, 1),),
    "Acos": ((-1, 1),),
    "Atan": ((-10, 10),),
    "Sinh": ((-10, 10),),
    "Cosh": ((-10, 10),),
    "Asinh": ((-100, 100),),
    "Acosh": ((1, 100),),
    "Atanh": ((-0.999, 0.999),),
}
"""Operator → range of each operand. Results that are not normal numbers of the type do not count."""

ACTIVATIONS: Mapping[str, tuple[str, dict[str, object]]] = {
    "Sigmoid": ("Sigmoid", {}),
    "Gelu erf": ("Gelu", {}),
    "Gelu tanh": ("Gelu", {"approximate": "tanh"}),
    "Softplus": ("Softplus", {}),
    "Elu": ("Elu", {}),
    "Selu": ("Selu", {}),
    "Celu": ("Celu", {"alpha": 0.7}),
    "Mish": ("Mish", {}),
    "HardSwish": ("HardSwish", {}),
    "HardSigmoid": ("HardSigmoid", {}),
    "Softsign": ("Softsign", {}),
}
"""Row → operator and attributes; arguments lie in ACTIVATED."""

ACTIVATED: Range = (-40, 40)


def operand(limits: Range, dtype: str, points: int, seed: int) -> Array:
    """Evenly and, on each side of zero, logarithmically spread numbers of a type within a range, in random order."""
    low, high = limits
    random = np.random.default_rng(seed)
    largest = max(abs(low), abs(high))
    spread = largest * np.exp(-random.uniform(0, math.log(1e4 if dtype == "float16" else 1e8), points // 2))
    sides = [s for s, end in ((1.0, high), (-1.0, -low)) if end > 0]
    x = np.concatenate([random.uniform(low, high, points - points // 2), spread * random.choice(sides, points // 2)])
    x = np.clip(x, low, high)
    return dtypes.cast(random.permutation(x), dtype)


def model(operator: str, attributes: Mapping[str, object], operands: list[Array]) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A single-node model and its feeds, each of shape [1, points]."""
    feeds = {f"x{i}": x.reshape(1, -1) for i, x in enumerate(operands)}
    code = dtypes.ONNX[dtypes.name_of(operands[0].dtype)]
    node = helper.make_node(operator, list(feeds), ["y"], name="node", **attributes)
    inputs = [helper.make_tensor_value_info(name, code, x.shape) for name, x in feeds.items()]
    graph = helper.make_graph([node], "accuracy", inputs, [helper.make_tensor_value_info("y", code, [1, operands[0].size])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION), feeds


@dataclasses.dataclass(frozen=True)
class Measured:
    """ulp: worst error in ulp of the type. units: worst error in units of roundoff where |y| ≤ 1. ratio: to the bound."""

    ulp: float
    units: float
    ratio: float


def measure(
    session: DeviceSession, column: Column, operator: str, attributes: Mapping[str, object], operands: list[Array]
) -> Measured | str:
    """What a device makes of one operator, or how the attempt ended."""
    proto, feeds = model(operator, attributes, operands)
    seen = session.observe(proto.SerializeToString(), feeds)
    if seen.ended != "ran":
        return "-" if seen.ended == "unsupported" else seen.ended.replace("_", " ")
    dtype, node, form = column.dtype, Node.of(proto, feeds), dtypes.FLOATS[column.dtype]
    with np.errstate(all="ignore"):
        (bound,) = modes.BOUNDS[operator](node, Setting(RUNGS[column.rung], dtype))
        y = node.results[0]
        error = np.abs(dtypes.to_real(seen.outputs["y"]) - y)
        normal = (np.abs(y) >= form.smallest_normal) & (np.abs(y) <= form.largest)
        right = dtypes.to_real(seen.outputs["y"]) == dtypes.round_to(y, dtype)
        ratio = np.where(right, 0.0, error / np.where(bound == 0, 0.0, bound + 0.5 * form.smallest_subnormal))
    return Measured(
        float((error / dtypes.quantum(y, dtype))[normal].max(initial=0.0)),
        float(error[np.abs(y) <= 1].max(initial=0.0)) / form.unit_roundoff,
        float(ratio.max(initial=0.0)),
    )


def number(value: float) -> str:
    return f"{value:.2f}" if value < 1000 else f"{value:.1e}"


def function_cell(operator: str, dtype: str, found: Measured | str) -> str:
    if isinstance(found, str):
        return found
    return number(found.ulp) + ("" if found.ulp <= ULPS[operator][dtype == "float16"] else " !")


def activation_cell(found: Measured | str) -> str:
    if isinstance(found, str):
        return found
    return f"{number(found.units)} ({number(found.ratio)})" + ("" if found.ratio <= 1 else " !")


Table = dict[str, dict[str, str]]


def fill(functions: Table, activations: Table, column: Column, session: DeviceSession, points: int) -> None:
    """Adds one runtime's cells to every row."""
    for operator, cells in functions.items():
        operands = [operand(r, column.dtype, points, seed) for seed, r in enumerate(FUNCTIONS[operator])]
        cells[column.name] = function_cell(operator, column.dtype, measure(session, column, operator, {}, operands))
    for row, cells in activations.items():
        operator, attributes = ACTIVATIONS[row]
        if operator == "Celu" and column.dtype != "float32":
            continue  # ONNX has it for float32 only
        operands = [operand(ACTIVATED, column.dtype, points, 0)]
        cells[column.name] = activation_cell(measure(session, column, operator, attributes, operands))


def opened(column: Column) -> DeviceSession | None:
    """A session on the column's runtime; None, and a line, where it cannot be used here."""
    try:
        reason = registry.why_not(registry.load(column.backend))
        if reason is None:
            return DeviceSession(column.backend)
    except (DeviceGone, registry.BackendNotFound) as error:
        reason = str(error)
    print(f"{column.name} is skipped: {reason}")
    return None


def show(title: str, table: Table, columns: list[str], limits: Callable[[str], list[object]], headers: list[str]) -> None:
    if table:
        print(
            tabulate(
                [[row, *limits(row), *(c.get(n, "-") for n in columns)] for row, c in table.items()],
                [title, *headers, *columns],
            )
        )
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=50000)
    parser.add_argument("--only", nargs="+", help="rows")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.only or ()) - FUNCTIONS.keys() - ACTIVATIONS.keys())
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}; rows are {', '.join([*FUNCTIONS, *ACTIVATIONS])}")
    functions: Table = {name: {} for name in FUNCTIONS if not arguments.only or name in arguments.only}
    activations: Table = {name: {} for name in ACTIVATIONS if not arguments.only or name in arguments.only}
    columns = []
    for column in COLUMNS:
        session = opened(column)
        if session is None:
            continue
        with session:
            versions = session.info.runtime or session.info.name
            print(f"{column.name}: {versions}, {session.info.kind}, {column.dtype} held to {column.rung}")
            fill(functions, activations, column, session, arguments.points)
        columns.append(column.name)
    print()
    show("worst ulp", functions, columns, lambda row: list(ULPS[row]), ["limit f32", "limit f16"])
    show("worst u where |y| ≤ 1 (ratio to the bound)", activations, columns, lambda row: [], [])


if __name__ == "__main__":
    main()
