"""Right results by NumPy's own arithmetic in the tensor's type: fast enough for hundreds of thousands of verdicts.

`draw(rng)` gives a single-node model with fresh shapes and data, and its outputs by several algorithms that real kernels use.
Every operation rounds to the type once, as IEEE 754 asks; `units` and `correct` emulate other arithmetic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from reference import dtypes
from reference.node import Array

Random = np.random.Generator
OPSET = 23


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A model with feeds, and its output y by algorithm."""

    what: str
    model: onnx.ModelProto
    feeds: dict[str, Array]
    results: dict[str, Array]


def _values(rng: Random, shape: tuple[int, ...], dtype: type) -> Array:
    """Normal, on bfloat16's grid, uniform or positive; all elements alike."""
    kind = int(rng.integers(5))
    x = rng.standard_normal(shape) * 2.0 ** int(rng.integers(-3, 4))
    if kind == 1:
        x = dtypes.round_to(x, "bfloat16")
    elif kind == 2:
        x = rng.uniform(-4, 4, shape)
    elif kind == 3:
        x = rng.uniform(0.5, 1.5, shape)
    return x.astype(dtype)


def _chain(terms: Array) -> Array:
    """Σ along axis 0, one by one; each operation rounds to the type."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def _pairwise(terms: Array) -> Array:
    while len(terms) > 1:
        rest = terms[-1:] if len(terms) % 2 else terms[:0]
        terms = np.concatenate([terms[0 : len(terms) - len(terms) % 2 : 2] + terms[1::2], rest])
    return terms[0]


def _blocked(terms: Array) -> Array:
    return _chain(np.stack([_chain(terms[i : i + 16]) for i in range(0, len(terms), 16)]))


def _lanes(terms: Array) -> Array:
    return _pairwise(np.stack([_chain(terms[i::4]) for i in range(min(4, len(terms)))]))


def _kahan(terms: Array) -> Array:
    total, lost = terms[0].copy(), np.zeros_like(terms[0])
    for term in terms[1:]:
        y = term - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return total


ORDERS: dict[str, Callable[[Array], Array]] = {
    "chain": _chain,
    "reversed": lambda terms: _chain(terms[::-1]),
    "pairwise": _pairwise,
    "blocked": _blocked,
    "lanes": _lanes,
    "kahan": _kahan,
}


def _products(a: Array, b: Array) -> Array:
    """(K, M, N) products, each rounded."""
    return np.asarray(a.T[:, :, None] * b[:, None, :])


def _matmul(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    m, n, k = int(rng.integers(1, 40)), int(rng.integers(1, 40)), _terms(rng, dtype)
    a, b = _values(rng, (m, k), dtype), _values(rng, (k, n), dtype)
    terms = _products(a, b)
    return "MatMul", [a, b], {}, {name: order(terms) for name, order in ORDERS.items()} | {"numpy": a @ b}


def _gemm(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    m, n, k = int(rng.integers(1, 40)), int(rng.integers(1, 50)), _terms(rng, dtype)
    a, b, c = _values(rng, (m, k), dtype), _values(rng, (k, n), dtype), _values(rng, (n,), dtype)
    terms = _products(a, b)
    first = np.concatenate([np.broadcast_to(c, (1, m, n)), terms])
    last = {f"{name}, bias last": order(terms) + c for name, order in ORDERS.items()}
    return "Gemm", [a, b, c], {}, last | {f"{name}, bias first": order(first) for name, order in ORDERS.items()}


def _conv(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    n, c, m, h, w = (int(rng.integers(low, high)) for low, high in ((1, 3), (1, 9), (1, 9), (3, 14), (3, 14)))
    x, kernel = _values(rng, (n, c, h, w), dtype), _values(rng, (m, c, 3, 3), dtype)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))  # N C H W 3 3
    left = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, -1)
    terms = _products(left, kernel.reshape(m, -1).T)
    results = {name: order(terms).reshape(n, h, w, m).transpose(0, 3, 1, 2) for name, order in ORDERS.items()}
    return "Conv", [x, kernel], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, results


def _reduced(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    operator = str(rng.choice(["ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1"]))
    x = _values(rng, (int(rng.integers(1, 1500)), _terms(rng, dtype)), dtype)
    terms = {"ReduceSumSquare": x * x, "ReduceL1": np.abs(x)}.get(operator, x).T
    results = {name: order(terms)[:, None] for name, order in ORDERS.items()}
    if operator == "ReduceMean":
        count = dtype(x.shape[1])
        inverse = dtype(1) / count
        results = {f"{name}, divided": y / count for name, y in results.items()} | {
            f"{name}, times the reciprocal": y * inverse for name, y in results.items()
        }
    return operator, [x, np.array([1], np.int64)], {"keepdims": 1}, results


def _softmax(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    operator = str(rng.choice(["Softmax", "LogSoftmax"]))
    x = _values(rng, (int(rng.integers(1, 60)), int(rng.integers(1, 200))), dtype)
    t = x - x.max(-1, keepdims=True)
    e = np.exp(t)
    results = {}
    for name, order in ORDERS.items():
        s = order(e.T)[:, None]
        results[name] = e / s if operator == "Softmax" else t - np.log(s)
        results[f"{name}, other form"] = (
            e * (dtype(1) / s) if operator == "Softmax" else x - (x.max(-1, keepdims=True) + np.log(s))
        )
    return operator, [x], {"axis": -1}, results


def _normalized(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    n = int(rng.integers(2, 400))
    x, gain, shift = _values(rng, (int(rng.integers(1, 60)), n), dtype), _values(rng, (n,), dtype), _values(rng, (n,), dtype)
    count, epsilon, results = dtype(n), dtype(1e-5), {}
    for name, order in ORDERS.items():
        mean = order(x.T)[:, None] / count
        d = x - mean
        s = np.sqrt(order((d * d).T)[:, None] / count + epsilon)
        results[f"{name}, two passes"] = d / s * gain + shift
        results[f"{name}, reciprocal"] = d * (dtype(1) / s) * gain + shift
        results[f"{name}, folded"] = x * (gain / s) + (shift - mean / s * gain)
    return "LayerNormalization", [x, gain, shift], {"axis": -1, "epsilon": 1e-5}, results


def _elementwise(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    operator = str(rng.choice(["Add", "Sub", "Mul", "Div"]))
    a, b = (_values(rng, (int(rng.integers(1, 3000)),), dtype) for _ in range(2))
    b = np.resize(np.where(b == 0, dtype(1), b), a.shape)
    y = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[operator](a, b)
    return (
        operator,
        [a, b],
        {},
        {"rounded": y} | ({"reciprocal": a * (dtype(1) / b)} if operator == "Div" and dtype is np.float32 else {}),
    )


def _activation(rng: Random, dtype: type) -> tuple[str, list[Array], dict[str, Any], dict[str, Array]]:
    operator = str(rng.choice(["Sigmoid", "Tanh", "Exp", "Softplus", "Elu", "HardSwish"]))
    x = _values(rng, (int(rng.integers(1, 3000)),), dtype)
    one, edge = dtype(1), 20 if dtype is np.float32 else 11
    forms: Mapping[str, dict[str, Callable[[], Array]]] = {
        "Sigmoid": {"exp": lambda: one / (one + np.exp(-x)), "tanh": lambda: (np.tanh(x / dtype(2)) + one) / dtype(2)},
        "Tanh": {"numpy": lambda: np.tanh(x)},
        "Exp": {"numpy": lambda: np.exp(x)},
        "Softplus": {
            "log1p": lambda: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
            "log": lambda: np.where(x > edge, x, np.log(one + np.exp(x))),
        },
        "Elu": {"expm1": lambda: np.where(x > 0, x, np.expm1(x)), "exp": lambda: np.where(x > 0, x, np.exp(x) - one)},
        "HardSwish": {"clip": lambda: x * np.clip(x / dtype(6) + dtype(0.5), 0, 1).astype(dtype)},
    }
    return operator, [x], {}, {name: form().astype(dtype) for name, form in forms[operator].items()}


def _terms(rng: Random, dtype: type) -> int:
    """Terms of a sum: small ones as often as large ones."""
    return int(2.0 ** rng.uniform(0, 10.5 if dtype is np.float32 else 8))


DRAWS = (_matmul, _gemm, _conv, _reduced, _softmax, _normalized, _elementwise, _activation)


def draw(rng: Random) -> Drawn:
    """A fresh model with data and its right outputs."""
    dtype = np.float16 if rng.random() < 0.2 else np.float32
    with np.errstate(all="ignore"):
        operator, inputs, attributes, results = DRAWS[int(rng.integers(len(DRAWS)))](rng, dtype)
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    graph = helper.make_graph(
        [helper.make_node(operator, list(feeds), ["y"], **attributes)],
        operator,
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info("y", dtypes.ONNX[np.dtype(dtype).name], None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    shapes = " ".join("x".join(map(str, x.shape)) for x in inputs)
    return Drawn(f"{operator} {np.dtype(dtype).name} {shapes}", model, feeds, results)
