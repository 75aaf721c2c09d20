"""ACCUM tier 1: the hard bound of a sum of products, element by element.

E = γ_d·B + (2u_in + u_in²)·B·(1 + γ_d), with B = Σ|products| and d the number of roundings an element may meet: its number of
terms K, one more for a bias, three more for a mean's division (Higham, Accuracy and Stability, 2nd ed., ch. 3–4). B and K are
`reference.magnitudes`, so that border pixels have fewer terms.
"""

from __future__ import annotations

import numpy as np

from reference import magnitudes
from reference.dtypes import FLOATS
from reference.magnitudes import Magnitudes
from reference.node import Array, Node
from reference.verify.setting import Setting


def _absolute(x: Array | None) -> Array | None:
    """Magnitudes of the finite elements, 0 for the others: a sum with an infinite term is exact in any order, unless the
    finite ones overflow on the way."""
    return None if x is None else np.where(np.isfinite(x), np.abs(x), 0.0)


def _ones(x: Array | None) -> Array | None:
    return None if x is None else np.ones_like(x)


def _integral(inputs: tuple[Array | None, ...]) -> bool:
    """Whether every finite element is an integer."""
    return all(x is None or bool(np.all((x == np.rint(x)) | ~np.isfinite(x))) for x in inputs)


def _bound(magnitude: Array, roundings: Array | float, setting: Setting, factors: int = 2, *, integral: bool = False) -> Array:
    """E of one linear operator; `factors` is how many converted inputs each product has.

    With `integral` operands every partial sum is an integer: no error at all while Σ|products| fits the significand
    (EXACT_LATTICE). NaN where no bound exists (d·u ≥ 1). Infinite where a partial sum may overflow: then the order of
    summation, which ONNX leaves open, decides between infinity, NaN and a number.
    """
    gamma = setting.gamma(roundings)
    converted = (1 + setting.u_in) ** factors - 1
    with np.errstate(invalid="ignore"):
        e = gamma * magnitude + converted * magnitude * (1 + gamma)
    e = np.where(np.isinf(gamma), np.nan, e + roundings * setting.eta)
    precision = FLOATS[setting.arithmetic.inputs or setting.arithmetic.compute].precision
    exact = setting.u_border * magnitude
    e = np.where(magnitude <= (2.0**precision if integral else 0.0), exact, e)
    return np.where(magnitude * (1 + np.minimum(gamma, 1.0)) > FLOATS[setting.arithmetic.compute].largest, np.inf, e)


def _magnitudes(node: Node) -> Magnitudes:
    found = magnitudes.of(node)
    assert found is not None
    return found


def products(node: Node, setting: Setting) -> list[Array]:
    """Conv, ConvTranspose, MatMul: two operands and an optional bias as third input."""
    x, w = node.inputs[:2]
    sizes = _magnitudes(node)
    bound = _bound(sizes.B, sizes.terms, setting, integral=_integral(node.inputs))
    if setting.eta_in:
        others = node.again([_ones(x), _absolute(w)])[0] + node.again([_absolute(x), _ones(w)])[0]
        bound = np.where(bound == 0, 0.0, bound + setting.eta_in * (others + 1))
    return [bound]


def gemm(node: Node, setting: Setting) -> list[Array]:
    """Gemm: alpha and beta cost a rounding each, and the attributes' own rounding to the tensor's type another."""
    sizes = _magnitudes(node)
    plain = all(abs(node.attribute(name, 1.0)) in (1.0, 0.0) for name in ("alpha", "beta"))
    held = 0.0 if plain else 2 * setting.u_attribute * sizes.B
    return [_bound(sizes.B, sizes.terms + 4, setting, integral=plain and _integral(node.inputs)) + held]


def einsum(node: Node, setting: Setting) -> list[Array]:
    """Einsum: products of n operands have n − 1 roundings more."""
    sizes = _magnitudes(node)
    n = len(node.inputs)
    return [_bound(sizes.B, sizes.terms + n, setting, n, integral=_integral(node.inputs))]


def sums(node: Node, setting: Setting) -> list[Array]:
    """ReduceSum, ReduceL1, Sum, CumSum: the terms are the inputs themselves (later inputs are axes, except for Sum)."""
    sizes = _magnitudes(node)
    data = node.inputs if node.operator == "Sum" else node.inputs[:1]
    return [_bound(sizes.B, sizes.terms, setting, 1, integral=_integral(data))]


def sum_of_squares(node: Node, setting: Setting) -> list[Array]:
    """ReduceSumSquare: each square has a rounding of its own."""
    sizes = _magnitudes(node)
    return [_bound(sizes.B, sizes.terms + 1, setting, integral=_integral(node.inputs[:1]))]


def means(node: Node, setting: Setting) -> list[Array]:
    """ReduceMean, Mean, AveragePool, GlobalAveragePool: a sum, then a division (or a product with a rounded reciprocal)."""
    sizes, window = _magnitudes(node), _window(node)
    sums = _bound(sizes.B * window, sizes.terms + 3, setting, 1)
    return [np.where(np.isinf(sums), np.inf, sums / window)]


def _window(node: Node) -> float:
    """The largest number of terms in one mean."""
    x = node.inputs[0]
    assert x is not None
    if node.operator == "Mean":
        return len(node.inputs)
    if node.operator == "AveragePool":
        return float(np.prod(node.attribute("kernel_shape", [1])))
    return x.size / max(1, node.results[0].size)


def products_of_many(node: Node, setting: Setting) -> list[Array]:
    """ReduceProd (mode PRODUCT): |y|·((1+u)^n − 1)."""
    x, *axes = node.inputs
    assert x is not None
    n = x.size / max(1, node.results[0].size)
    relative = np.expm1(n * (np.log1p(setting.u) + np.log1p(setting.u_in)))  # 1 + u itself is 1 in float64
    bound = np.abs(node.results[0]) * relative + setting.eta
    # A partial product between the products of all large and of all small factors: does one leave the format's range?
    form = FLOATS[setting.arithmetic.compute]
    size = np.where(x == 0, 1.0, np.abs(x))
    up, down = (node.again([part, *axes])[0] for part in (np.maximum(size, 1.0), np.minimum(size, 1.0)))
    return [np.where((up > form.largest) | (down < form.smallest_normal), np.inf, bound)]


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
