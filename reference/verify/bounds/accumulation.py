"""ACCUM tier 1: the hard bound of a sum of products, element by element.

E = γ_d·B + (2u_in + u_in²)·B·(1 + γ_d), with B = Σ|products| and d the number of roundings an element may meet: its number of
terms K, one more for a bias, three more for a mean's division (Higham, Accuracy and Stability, 2nd ed., ch. 3–4). B and K are
`reference.magnitudes`, so that border pixels have fewer terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from reference import ingredients, magnitudes
from reference.dtypes import FLOATS, FloatFormat
from reference.magnitudes import Magnitudes
from reference.node import Array, Node
from reference.verify.setting import Setting


def _absolute(x: Array | None) -> Array | None:
    """Magnitudes of the finite elements, 0 for the others: a sum with an infinite term is exact in any order, unless the
    finite ones overflow on the way."""
    return None if x is None else np.where(np.isfinite(x), np.abs(x), 0.0)


def _ones(x: Array | None) -> Array | None:
    return None if x is None else np.ones_like(x)


SPACINGS = tuple(2.0**-e for e in (0, 1, 2, 4, 8, 12, 16, 20, 24))


def _spacing(x: Array | None) -> float:
    """The largest of `SPACINGS` that every finite element is a multiple of, 0 if there is none; 1 without elements."""
    if x is None:
        return 1.0
    finite = x if np.isfinite(x).all() else x[np.isfinite(x)]
    if np.any(finite * (1 / SPACINGS[-1]) != np.rint(finite * (1 / SPACINGS[-1]))):
        return 0.0
    return next(s for s in SPACINGS if np.all(finite * (1 / s) == np.rint(finite * (1 / s))))


def _grid(inputs: tuple[Array | None, ...], factors: int = 2) -> float:
    """What every product of the first `factors` inputs, and every term that the others add, is a multiple of; 0 if unknown."""
    product = float(np.prod([_spacing(x) for x in inputs[:factors]]))
    return min([product, *(_spacing(x) for x in inputs[factors:])])


def _last_bit(x: Array) -> Array:
    """The value of the last significand bit that is set: what x is a multiple of; infinite for 0, and for what is no number."""
    significand, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.ldexp(np.abs(significand), 53).astype(np.int64)
    return np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponent - 53))


REDUCED = {"ReduceL1": 1, "ReduceMean": 1, "ReduceSum": 1, "ReduceSumSquare": 2}
"""Reductions whose terms are powers of the elements → which."""


def _grid_of_each(node: Node) -> Array:
    """What the terms of each result of a node of `REDUCED` are multiples of."""
    least = np.min(_last_bit(node.real(0)), ingredients.reduced_axes(node), initial=np.inf)
    return np.asarray(least.reshape(node.results[0].shape) ** REDUCED[node.operator])


def needed_bits(node: Node) -> Array | None:
    """Significand bits that an accumulator needs for each result of a reduction to be exact in any order, in real numbers; None
    for other operators."""
    if node.operator not in REDUCED:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(_magnitudes(node).B * np.asarray(_inner(node)) / _grid_of_each(node)))


def _bound(
    magnitude: Array,
    roundings: Array | float,
    setting: Setting,
    factors: int = 2,
    *,
    grid: Array | float = 0.0,
    total: Array | None = None,
    inner: Array | float = 1.0,
) -> Array:
    """E of one linear operator; `factors` is how many converted inputs each product has, `inner` how much larger than the
    result its partial sums may be.

    Where all products are multiples of `grid`, so is every partial sum: no error at all while Σ|products| fits the significand
    (EXACT_LATTICE). Infinite where partial sums may overflow: then the order of summation, which ONNX leaves open, decides
    between infinity, NaN and a number. With the exact sums, `total`, only where they may overflow to both sides: `reaches` says
    what else is right where they may to one.
    """
    gamma = _relative(roundings, setting)
    gamma = np.where(np.isinf(gamma), np.expm1(np.asarray(roundings) * np.log1p(setting.u)), gamma)  # γ_d needs d·u < 1
    converted = (1 + setting.u_in) ** factors - 1
    with np.errstate(invalid="ignore"):
        e = gamma * magnitude + converted * magnitude * (1 + gamma)
    e = np.where(np.isinf(gamma), np.nan, e + roundings * setting.eta)
    e = np.where(magnitude <= _exact_up_to(grid, setting), setting.u_border * magnitude, e)
    known = None if total is None else total * inner
    above, below = _sides(magnitude * inner, known, gamma, setting)
    e = np.where(above & below, np.inf, e)
    # Where a term is NaN, or there are both infinities, the sum is NaN in any order.
    return e if total is None else np.where(np.isnan(total), 0.0, e)


UNKNOWN = 2.0**-40
"""Share of Σ|products| that its own rounding, and that of the exact sum, may hide."""


def _sides(magnitude: Array, total: Array | None, gamma: Array, setting: Setting) -> tuple[Array, Array]:
    """Where a partial sum may leave the format's range at the upper end, and at the lower one: the terms of one sign add up to
    (Σ|products| ± total)/2, which float64 knows up to `UNKNOWN` of Σ|products|."""
    limit = FLOATS[setting.arithmetic.compute].largest / (1 + np.minimum(gamma, 1.0))
    if total is None:
        return magnitude > limit, magnitude > limit
    with np.errstate(invalid="ignore", over="ignore"):
        sides = [
            np.where(np.isfinite(total), (magnitude + sign * total) / 2 + UNKNOWN * magnitude, magnitude) for sign in (1, -1)
        ]
    return sides[0] > limit, sides[1] > limit


def _inner(node: Node) -> Array | float:
    """How much larger than the result the sum is that it is made of: means divide by the number of terms, Gemm scales."""
    if SIDED.get(node.operator) is means:
        return _divisor(node)
    return max([1.0, *(1 / scale for scale in _scales(node) if scale)])


def _scales(node: Node) -> list[float]:
    """What Gemm multiplies its sums with."""
    return [abs(float(node.attribute(name, 1.0))) for name in ("alpha", "beta")] if node.operator == "Gemm" else []


def _largest_sum(node: Node, sizes: Magnitudes) -> float:
    """At least the largest Σ|products|, without computing any."""
    inputs = [x[np.isfinite(x)] for x in node.inputs if x is not None]
    inputs += inputs[:1] if node.operator == "ReduceSumSquare" else []
    factors = [*(float(np.abs(x).max(initial=1.0)) for x in inputs), *_scales(node)]
    return math.prod(max(1.0, factor) for factor in factors) * float(sizes.terms.max(initial=1.0))


def reaches(node: Node, setting: Setting) -> tuple[Array, Array] | None:
    """(lowest, highest) result beside the exact one where partial sums may leave the range at one end, NaN elsewhere; None
    where there is no such element.

    Infinity of that sign; from a unit that saturates, or may (a directed rounding stops at the largest number), also what is
    left of the largest number once the terms of the other sign are added.
    """
    if node.operator not in SIDED:
        return None
    sizes, scale = _magnitudes(node), _inner(node)
    largest = FLOATS[setting.arithmetic.compute].largest
    if _largest_sum(node, sizes) * float(np.max(scale)) < largest / 4:
        return None
    gamma, total = _relative(sizes.terms + 4, setting), node.results[0]
    above, below = (side & ~np.isnan(total) for side in _sides(sizes.B * scale, total * scale, gamma, setting))
    if not np.any(above | below):
        return None
    low, high = np.where(above, np.inf, np.where(below, -np.inf, np.nan)), np.where(above, np.inf, -np.inf)
    if setting.arithmetic.saturates or setting.arithmetic.faithful:
        with np.errstate(invalid="ignore", over="ignore"):
            slack = np.minimum(gamma, 1.0) * sizes.B
            others = [(sizes.B + sign * total) / 2 + slack for sign in (-1, 1)]
            low = np.where(above, np.minimum(total, largest / scale) - others[0] - slack, low)
            high = np.where(~above & below, np.maximum(total, -largest / scale) + others[1] + slack, high)
    return low, high


def _relative(roundings: Array | float, setting: Setting) -> Array:
    """γ_d, or what as many terms cost in fused blocks: each cuts its terms below F bits, then rounds into the accumulator."""
    fused = setting.arithmetic.fused
    if fused is None:
        return setting.gamma(roundings)
    block = (fused.fan_in + 1) * 2.0**-fused.fraction + 2.0 ** (1 - setting.arithmetic.precision)
    return np.asarray(np.ceil(np.asarray(roundings) / fused.fan_in) * block)


def _least(form: FloatFormat, setting: Setting) -> float:
    """The smallest number of a format that the unit keeps."""
    return form.smallest_normal if setting.arithmetic.flushes else form.smallest_subnormal


def _exact_up_to(grid: Array | float, setting: Setting) -> Array:
    """Up to which Σ|products| sums of multiples of `grid` have no error."""
    arithmetic = setting.arithmetic
    unit = FLOATS[arithmetic.inputs or arithmetic.compute]
    bits = min(unit.precision, arithmetic.precision, arithmetic.fused.fraction if arithmetic.fused else 53)
    return np.where(np.asarray(grid) >= _least(unit, setting), 2.0**bits * np.asarray(grid), 0.0)


def _magnitudes(node: Node) -> Magnitudes:
    found = magnitudes.of(node)
    assert found is not None
    return found


def products(node: Node, setting: Setting) -> list[Array]:
    """Conv, ConvTranspose, MatMul: two operands and an optional bias as third input."""
    x, w = node.inputs[:2]
    sizes = _magnitudes(node)
    bound = _bound(sizes.B, sizes.terms, setting, grid=_grid(node.inputs[:3]), total=node.results[0])
    if setting.eta_in:
        others = node.again([_ones(x), _absolute(w)])[0] + node.again([_absolute(x), _ones(w)])[0]
        bound = np.where(bound == 0, 0.0, bound + setting.eta_in * (others + 1))
    return [bound]


def gemm(node: Node, setting: Setting) -> list[Array]:
    """Gemm: alpha and beta cost a rounding each, and the attributes' own rounding to the tensor's type another."""
    sizes = _magnitudes(node)
    plain = all(abs(node.attribute(name, 1.0)) in (1.0, 0.0) for name in ("alpha", "beta"))
    grid = _grid(node.inputs) if plain else 0.0
    bound = _bound(sizes.B, sizes.terms + 4, setting, grid=grid, total=node.results[0], inner=_inner(node))
    if plain:
        return [bound]
    form, tensors = FLOATS[setting.arithmetic.compute], FLOATS.get(setting.dtype, FLOATS["float32"])
    sides = [float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in node.inputs[:2] if x is not None]
    folded = [abs(float(node.attribute("alpha", 1.0))) * side for side in sides]  # a factor may be multiplied into an operand
    scales = [scale for scale in _scales(node) if scale]
    if max(folded) > form.largest or any(not tensors.smallest_normal <= scale <= tensors.largest for scale in scales):
        return [np.full(bound.shape, np.inf)]
    return [bound + 2 * setting.u_attribute * sizes.B + setting.eta * sizes.terms * max(sides)]


def einsum(node: Node, setting: Setting) -> list[Array]:
    """Einsum: products of n operands have n − 1 roundings more."""
    sizes = _magnitudes(node)
    n = len(node.inputs)
    # Of three operands and more, products of some may overflow or underflow by themselves.
    if n > 2 and (largest := _largest_sum(node, sizes)) > 1:
        if largest > FLOATS[setting.arithmetic.compute].largest:
            return [np.full(node.results[0].shape, np.inf)]
        return [_bound(sizes.B, sizes.terms + n, setting, n, grid=_grid(node.inputs, n)) + n * setting.eta * largest]
    return [_bound(sizes.B, sizes.terms + n, setting, n, grid=_grid(node.inputs, n), total=node.results[0])]


def sums(node: Node, setting: Setting) -> list[Array]:
    """ReduceSum, ReduceL1, Sum, CumSum: the terms are the inputs themselves (later inputs are axes, except for Sum)."""
    sizes = _magnitudes(node)
    data = node.inputs if node.operator == "Sum" else node.inputs[:1]
    grid = _grid_of_each(node) if node.operator in REDUCED else _grid(data, 0)
    return [_bound(sizes.B, sizes.terms, setting, 1, grid=grid, total=node.results[0])]


def sum_of_squares(node: Node, setting: Setting) -> list[Array]:
    """ReduceSumSquare: each square has a rounding of its own."""
    sizes = _magnitudes(node)
    return [_bound(sizes.B, sizes.terms + 1, setting, grid=_grid_of_each(node), total=node.results[0])]


def means(node: Node, setting: Setting) -> list[Array]:
    """ReduceMean, Mean, AveragePool, GlobalAveragePool: a sum, then a division (or a product with a rounded reciprocal).

    By a power of two, division is exact, before the sum and after it; by other numbers it may round every term."""
    sizes, window = _magnitudes(node), _divisor(node)
    data = node.inputs if node.operator == "Mean" else node.inputs[:1]
    exact = bool(np.all(np.frexp(window)[0] == 0.5)) and (node.operator != "AveragePool" or _counts_all(node, sizes))
    grid = _grid_of_each(node) if node.operator in REDUCED else np.asarray(_grid(data, 0))
    grid = np.where(exact & (grid / window >= _least(FLOATS[setting.arithmetic.compute], setting)), grid, 0.0)
    sums = _bound(sizes.B * window, sizes.terms + 3, setting, 1, grid=grid, total=node.results[0] * window)
    return [np.where(np.isinf(sums), np.inf, sums / window)]


def _divisor(node: Node) -> Array | float:
    """What a mean's sum is divided by, or more where a pool's window is cut off at the end."""
    if node.operator == "AveragePool" and not node.attribute("count_include_pad", 0):
        return np.maximum(_magnitudes(node).terms, 1.0)
    return _window(node)


def _counts_all(node: Node, sizes: Magnitudes) -> bool:
    """Whether a pool divides by the number that `_divisor` says: it does but where it counts padding and a window is cut."""
    return not node.attribute("count_include_pad", 0) or bool(np.all(sizes.terms == _window(node)))


def _window(node: Node) -> float:
    """The largest number of terms in one mean."""
    x = node.inputs[0]
    assert x is not None
    if node.operator == "Mean":
        return len(node.inputs)
    if node.operator == "AveragePool":
        return float(np.prod(node.attribute("kernel_shape", [1])))
    return x.size / max(1, node.results[0].size)


def _product_of(node: Node, factors: Array | float, setting: Setting) -> Array:
    """|y|·((1+u)^(n−1) − 1) for products of n factors; infinite where a partial product, between those of all large and of all
    small factors, may leave the format's range."""
    x, *others = node.inputs
    assert x is not None
    roundings = np.maximum(np.asarray(factors, np.float64) - 1, 0)
    relative = np.expm1(roundings * np.log1p(setting.u) + factors * np.log1p(setting.u_in))  # 1 + u itself is 1 in float64
    bound = np.abs(node.results[0]) * relative + np.where(roundings > 0, setting.eta, 0.0)
    form = FLOATS[setting.arithmetic.compute]
    size = np.where(x == 0, 1.0, np.abs(x))
    up, down = (node.again([part, *others])[0] for part in (np.maximum(size, 1.0), np.minimum(size, 1.0)))
    return np.where((up > form.largest) | (down < form.smallest_normal), np.inf, bound)


def products_of_many(node: Node, setting: Setting) -> list[Array]:
    """ReduceProd (mode PRODUCT)."""
    x = node.real(0)
    return [_product_of(node, x.size / max(1, node.results[0].size), setting)]


def cumulative_products(node: Node, setting: Setting) -> list[Array]:
    """CumProd (mode PRODUCT): one factor more from element to element."""
    x = node.real(0)
    along = int(node.real(1).reshape(())) % x.ndim
    factors = np.maximum(np.arange(x.shape[along]) + 1.0 - node.attribute("exclusive", 0), 0.0)
    factors = factors[::-1] if node.attribute("reverse", 0) else factors
    return [_product_of(node, factors.reshape(-1, *[1] * (x.ndim - 1 - along)), setting)]


def scattered(node: Node, setting: Setting) -> list[Array]:
    """ScatterElements and ScatterND: moved data, or with a reduction as many terms as updates meet in an element."""
    data, indices, updates = node.inputs
    reduction = node.attribute("reduction", "none")
    if reduction not in ("add", "mul"):
        return [np.zeros(node.results[0].shape)]
    if reduction == "add":
        sizes = _magnitudes(node)
        return [np.where(sizes.terms == 1, 0.0, _bound(sizes.B, sizes.terms - 1, setting, 1))]
    met = node.again([np.zeros_like(data), indices, _ones(updates)], reduction="add")[0]
    return [np.abs(node.results[0]) * np.expm1(met * np.log1p(setting.u) + (met + 1) * np.log1p(setting.u_in))]


def folded(node: Node, setting: Setting) -> list[Array]:
    """Col2Im: as many terms as blocks overlap in an element; a single one is moved."""
    x, *layout = node.inputs
    size, terms = (node.again([part, *layout])[0] for part in (_absolute(x), _ones(x)))
    return [_bound(size, np.maximum(terms - 1, 0.0), setting, 1)]


def counted(node: Node, setting: Setting) -> list[Array]:
    """TfIdfVectorizer: how often an n-gram occurs, times its weight or that added up as often."""
    times = node.again(list(node.inputs), mode="TF")[0]
    if node.attribute("mode", "TF") == "TF":
        return [np.where(times <= 2.0 ** FLOATS[setting.arithmetic.compute].precision, 0.0, setting.u * times)]
    held = setting.gamma(np.maximum(times - 1, 0.0)) + setting.u_in + setting.u_attribute
    return [np.where(node.attribute("mode", "TF") == "IDF", setting.u_in + setting.u_attribute, held) * np.abs(node.results[0])]


SIDED: dict[str, Callable[[Node, Setting], list[Array]]] = {
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "Mean", "ReduceMean"), means),
    **dict.fromkeys(("Conv", "ConvTranspose", "MatMul"), products),
    **dict.fromkeys(("CumSum", "ReduceL1", "ReduceSum", "Sum"), sums),
    "Einsum": einsum,
    "Gemm": gemm,
    "ReduceSumSquare": sum_of_squares,
}
"""Operators whose bound knows at which end of the range their sums may overflow."""
