"""Faults of precision: a unit that is coarser than declared, or rounds in another way."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from tests.verification.correct import implementations
from tests.verification.faults.kind import Fault, on
from tests.verification.units import UNITS, Fused, Unit

Random = np.random.Generator
SUMS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "ReduceMean", "ReduceSum")
PRODUCTS = ("Conv", "Gemm", "MatMul")
ELEMENTS = ("Add", "Div", "Mul", "Sub")
FUNCTIONS = (
    "Attention",
    "Elu",
    "Exp",
    "Gelu",
    "LayerNormalization",
    "LogSoftmax",
    "RMSNormalization",
    "Sigmoid",
    "Softmax",
    "Tanh",
)
ROUNDED = ("Add", "Conv", "Exp", "MatMul", "Mul", "Softmax", "Tanh")
FULL = ("normal", "wide")
MANY = 8000


def emulated(node: Node, unit: Unit, order: str | None = None) -> list[Array]:
    """The node in another unit, by one algorithm: the named order of summation, or the operator's first."""
    known = implementations(node.operator)
    return known[order or next(iter(known))](node, unit)


def _in_unit(name: str, causes: tuple[str, ...], tier: str, operators: tuple[str, ...], unit: Unit, dtype: str = "float32",
             order: str | None = None, recipes: tuple[str, ...] = (), smallest: int = 1,
             largest: int = 4096) -> Fault:  # fmt: skip
    return Fault(
        name,
        causes,
        tier,
        on(*operators, when=lambda n: n.output_types[0] == dtype == n.types[0]),
        lambda node, rng: emulated(node, unit, order),
        recipes,
        smallest,
        largest,
    )


def _inputs(form: str, causes: tuple[str, ...], rounding: str = "nearest") -> list[Fault]:
    """Operands on their way into a unit of single precision; sums hide less than element-wise operators."""
    unit = Unit(inputs=form, input_rounding=rounding)
    name = f"inputs in {form}" + ("" if rounding == "nearest" else ", truncated")
    # What is beyond float16 becomes infinite, and NaN in softmax and where it meets the zeros around ConvTranspose's inputs.
    beyond = ("nan-made",) if form == "float16" else ()
    return [
        _in_unit(name, causes, "tier 1", ELEMENTS, unit, recipes=FULL),
        _in_unit(f"{name}, summed", causes, "tier 2", tuple(o for o in SUMS if o != "ConvTranspose"), unit, recipes=FULL),
        _in_unit(f"{name}, transposed", (*causes, *beyond), "tier 2", ("ConvTranspose",), unit, recipes=FULL),
        _in_unit(f"{name}, functions", (*causes, "precision-low", *beyond), "tier 1",
                 ("Exp", "LayerNormalization", "Softmax"), unit, recipes=FULL),
    ]  # fmt: skip


def _fused(fraction: int, tier: str, largest: int, outputs: int = 1) -> Fault:
    """Blocks whose truncation is the coarser the fewer sums there are: each addition to the accumulator rounds as well. Where
    it hides among those roundings, it shows in the direction of the errors of many outputs that share no bias, unless products
    are so short that nothing is cut off them."""
    unit = Unit(fused=Fused(fraction, 8), products="exact")
    causes = ("accumulator-truncates", "accumulator-biased", "accumulator-narrow", "precision-low")
    name = f"fused blocks of {fraction} bits"
    recipes = ("normal", "grid") if outputs == 1 else ("normal",)
    found = _in_unit(name, causes, tier, PRODUCTS, unit, "float32", "fused", recipes, 16, largest)
    many = lambda n: found.applies(n) and n.results[0].size >= outputs and (outputs == 1 or not n.given(2))  # noqa: E731
    return dataclasses.replace(found, applies=many)


def _single(node: Node) -> bool:
    return node.output_types[0] == "float32"


def _intermediate(node: Node, rng: Random, form: str) -> list[Array]:
    """Results pass through a narrower format on their way to the tensor."""
    return [dtypes.cast(dtypes.round_to(r, form), t) for r, t in zip(node.results, node.output_types, strict=True)]


SINGLE = UNITS["fp32"]

FAULTS: tuple[Fault, ...] = (
    _in_unit("float64 in single precision", ("float64-as-float32",), "tier 1",
             (*ELEMENTS, "Exp", "MatMul", "Conv", "ReduceSum"), dataclasses.replace(SINGLE, inputs="float32"), "float64"),
    *_inputs("float16", ("inputs-float16", "inputs-tf32")),
    *_inputs("tf32", ("inputs-tf32", "inputs-float16")),
    *_inputs("tf32", ("inputs-tf32", "inputs-float16"), "toward_zero"),
    *_inputs("bfloat16", ("inputs-bfloat16",)),
    *(
        _in_unit(f"accumulator {lost} bits short", ("accumulator-narrow", "precision-low"), "tier 2", SUMS,
                 Unit(precision=24 - lost), recipes=("normal", "grid"), smallest=16)
        for lost in range(1, 9)
    ),
    _in_unit("accumulation in float16", ("accumulator-narrow", "precision-low"), "tier 2", SUMS,
             Unit(precision=11, emin=-14), recipes=("normal", "grid")),
    _in_unit("accumulation in bfloat16", ("accumulator-narrow", "precision-low"), "tier 2", SUMS, Unit(precision=8),
             recipes=("normal", "grid")),
    *(
        _in_unit(f"accumulation {how}" + ("" if order == "chain" else f", {order}"), causes, tier, operators,
                 Unit(rounding=rounding), order=order, recipes=("normal", "grid"), smallest=16)
        for order, tier in (("chain", "tier 2"), ("pairwise", "tier 3"))
        for how, rounding, causes, operators in (
            # Few truncations of a mean are no more than a rounded reciprocal of the count, which may be multiplied with.
            ("truncates", "toward_zero", ("accumulator-truncates", "accumulator-biased"),
             SUMS if order == "chain" else tuple(o for o in SUMS if o != "ReduceMean")),
            ("rounds down", "down", ("accumulator-biased",), SUMS),
            ("rounds up", "up", ("accumulator-biased",), SUMS),
        )
    ),
    _fused(13, "tier 2", 4096),
    _fused(23, "tier 3", 64, MANY),
    _fused(24, "tier 3", 64, MANY),
    _fused(25, "tier 3", 64, MANY),
    _in_unit("functions in 18 bits", ("precision-low",), "tier 1", FUNCTIONS, Unit(precision=18), recipes=("normal",)),
    # Numbers of 11 bits are those of float16 as long as none is subnormal there.
    _in_unit("functions in 11 bits", ("precision-low", "outputs-narrow"), "tier 1", FUNCTIONS, Unit(precision=11),
             recipes=("normal",)),
    Fault("results pass through float16", ("outputs-narrow", "precision-low"), "tier 1", on(*ROUNDED, when=_single),
          functools.partial(_intermediate, form="float16"), ("normal",)),
    Fault("results pass through bfloat16", ("outputs-narrow", "precision-low"), "tier 1", on(*ROUNDED, when=_single),
          functools.partial(_intermediate, form="bfloat16"), ("normal",)),
    # What is moved only is the same whether it was rounded before or after.
    Fault("data that passes through float16", ("outputs-narrow", "inputs-float16", "inputs-tf32"), "exact",
          on("Transpose", when=_single), functools.partial(_intermediate, form="float16"), ("normal",)),
    Fault("data that passes through bfloat16", ("outputs-narrow", "inputs-bfloat16"), "exact",
          on("Transpose", when=_single), functools.partial(_intermediate, form="bfloat16"), ("normal",)),
)  # fmt: skip
"""Too few bits, or the wrong direction."""
