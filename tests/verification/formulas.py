"""Activations as runtimes compute them: each usual formula, in a unit that rounds every operation to one format and whose
elementary functions err by as much as their limit allows; and how far a result lies from its bound."""

from __future__ import annotations

import functools
import math
from functools import partial

import numpy as np
from onnx import helper

from reference import dtypes
from reference.node import Node
from reference.verify import modes, verify
from reference.verify.arithmetic import DEFAULT, RUNGS
from reference.verify.bounds import limits
from reference.verify.setting import Setting

FORMATS = ("float32", "float16", "bfloat16")
ERRORS = ("none", "up", "down", "random")


def model(operator, inputs, dtype, **attributes):
    """A single-node model on inputs of one type, and its feeds."""
    feeds = {f"x{i}": dtypes.cast(np.asarray(x, np.float64), dtype) for i, x in enumerate(inputs)}
    graph = helper.make_graph(
        [helper.make_node(operator, list(feeds), ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtype], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info("y", dtypes.ONNX[dtype], None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)]), feeds


def node_of(operator, inputs, dtype, **attributes):
    return Node.of(*model(operator, inputs, dtype, **attributes))


def ratio(node, got, dtype, rung=None):
    """Largest |got − real| / bound before storing, in the arithmetic of the type or of a rung; infinite for wrong elements
    that allow no error."""
    arithmetic = RUNGS[rung or DEFAULT[dtype]]
    with np.errstate(all="ignore"):
        bound = np.broadcast_to(modes.BOUNDS[node.operator](node, Setting(arithmetic, dtype))[0], got.shape)
        real = node.results[0]
        exact = got == dtypes.round_to(real, dtype)
        width = bound * (1 + 2.0**-26) + 0.5 * dtypes.FLOATS[dtype].smallest_subnormal
        ratios = np.where(
            exact, np.minimum(np.abs(got - real) / width, 1.0), np.abs(got - real) / np.where(bound == 0, 0, width)
        )
        return float(ratios.max())


def judged(operator, inputs, got, dtype, precision=None, **attributes):
    """The verdict on `got`, reals that are stored in `dtype`."""
    m, feeds = model(operator, inputs, dtype, **attributes)
    (verdict,) = verify(m, feeds, {"y": dtypes.cast(np.asarray(got, np.float64), dtype)}, precision)
    return verdict


class Unit:
    """Arithmetic in one format: every operation is rounded, elementary functions err by as much as their limit allows."""

    def __init__(self, form, error="none", seed=0):
        self.form, self.profile = form, "full" if form == "float32" else "half"
        self.error, self.random = error, np.random.default_rng(seed)

    def rounded(self, y):
        return dtypes.round_to(np.asarray(y, np.float64), self.form)

    def function(self, name, y):
        """An elementary function's real value, moved by the limit less the half ulp of rounding, and rounded; rounded alone
        where that would go beyond the limit, as into a coarser binade."""
        below = np.where(np.abs(y) == 1, np.nextafter(y, 0), y) if name in ("Tanh", "Erf") else y
        step, c = dtypes.quantum(below, self.form), limits.limit(name, self.profile).ulp
        side = {"none": 0.0, "up": 1.0, "down": -1.0, "random": self.random.choice([-1.0, 1.0], np.shape(y))}[self.error]
        moved = self.rounded(np.where(np.isfinite(y) & (y != 0), y + side * max(c - 0.5, 0.0) * step, y))
        return np.where(np.abs(moved - y) > max(c, 0.5) * step, self.rounded(y), moved)

    def __getattr__(self, name):
        real = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "expm1": np.expm1, "log1p": np.log1p, "erf": erf, "erfc": erfc}
        return lambda x: self.function(name.capitalize(), real[name](x))

    def add(self, a, b):
        return self.rounded(a + b)

    def mul(self, a, b):
        return self.rounded(np.asarray(a) * b)

    def div(self, a, b):
        return self.function("Div", np.asarray(a) / b)

    def pow(self, a, b):
        return self.function("Pow", a**b)

    def const(self, value):
        return float(self.rounded(value))


erf, erfc = (np.vectorize(f, otypes=[float]) for f in (math.erf, math.erfc))


def sigmoid_exp(v, x):
    return v.div(1.0, v.add(1.0, v.exp(-x)))


def sigmoid_ratio(v, x):
    e = v.exp(-np.abs(x))
    return v.div(np.where(x < 0, e, 1.0), v.add(1.0, e))


def sigmoid_tanh(v, x):
    return v.mul(0.5, v.add(1.0, v.tanh(v.mul(0.5, x))))


def softplus_log(v, x):
    return v.log(v.add(1.0, v.exp(x)))


def softplus_log1p(v, x):
    return v.log1p(v.exp(x))


def softplus_max(v, x):
    return v.add(np.maximum(x, 0.0), v.log1p(v.exp(-np.abs(x))))


def softplus_threshold(v, x):
    limit = 10 if v.form == "float16" else 20
    return np.where(x > limit, x, softplus_log1p(v, np.minimum(x, limit)))


def mish_product(v, x, softplus=softplus_max):
    return v.mul(x, v.tanh(softplus(v, x)))


def mish_quotient(v, x):
    w = v.exp(np.minimum(x, 5 if v.form == "float16" else 20))
    n = v.mul(w, v.add(w, 2.0))
    return v.mul(x, v.div(n, v.add(n, 2.0)))


def mish_mixed(v, x):
    w = v.exp(np.minimum(x, 5 if v.form == "float16" else 20))
    n = v.add(v.mul(w, w), 2 * w)
    return np.where(x <= -0.6, v.mul(x, v.div(n, v.add(n, 2.0))), v.add(x, -v.div(2 * x, v.add(n, 2.0))))


def gelu_erf(v, x):
    return v.mul(v.mul(0.5, x), v.add(1.0, v.erf(v.mul(x, v.const(math.sqrt(0.5))))))


def gelu_quotient(v, x):
    return v.mul(0.5, v.mul(x, v.add(1.0, v.erf(v.div(x, v.const(math.sqrt(2)))))))


def gelu_erfc(v, x):
    return v.mul(v.mul(0.5, x), v.erfc(v.mul(-x, v.const(math.sqrt(0.5)))))


def cubic(v, x, cube=lambda v, x: v.mul(v.mul(x, x), x)):
    return v.mul(v.const(math.sqrt(2 / math.pi)), v.add(x, v.mul(v.const(0.044715), cube(v, x))))


def horner(v, x):
    inner = v.add(1.0, v.mul(v.const(0.044715), v.mul(x, x)))
    return v.mul(v.mul(v.const(math.sqrt(2 / math.pi)), x), inner)


def gelu_tanh(v, x, argument=cubic):
    return v.mul(v.mul(0.5, x), v.add(1.0, v.tanh(argument(v, x))))


def gelu_pow(v, x):
    return gelu_tanh(v, x, partial(cubic, cube=lambda v, x: v.pow(x, 3.0)))


def gelu_sigmoid(v, x, sigmoid=sigmoid_exp):
    return v.mul(x, sigmoid(v, v.mul(2.0, cubic(v, x))))


def elu(v, x, alpha, grow):
    return np.where(x > 0, x, v.mul(v.const(alpha), grow(v, x)))


def less_one(v, x):
    return v.add(v.exp(x), -1.0)


def by_expm1(v, x):
    return v.expm1(x)


def elu_split(v, x, alpha):
    return np.where(x > 0, x, v.add(v.mul(v.const(alpha), v.exp(x)), -v.const(alpha)))


def selu(v, x, grow):
    return v.mul(v.const(GAMMA), np.where(x > 0, x, v.mul(v.const(ALPHA), grow(v, x))))


def selu_split(v, x):
    return v.mul(v.const(GAMMA), np.where(x > 0, x, v.add(v.mul(v.const(ALPHA), v.exp(x)), -v.const(ALPHA))))


def selu_folded(v, x):
    both = v.const(ALPHA * GAMMA)
    return np.where(x > 0, v.mul(v.const(GAMMA), x), v.add(v.mul(both, v.exp(x)), -both))


def celu(v, x, alpha, grow, divide):
    a = v.const(alpha)
    t = v.div(x, a) if divide else v.mul(x, v.const(1 / a))
    return v.add(np.maximum(x, 0), np.minimum(0, v.mul(a, grow(v, t))))


def swish_product(v, x, sigmoid=sigmoid_exp, alpha=1.0):
    return v.mul(x, sigmoid(v, v.mul(v.const(alpha), x)))


def swish_quotient(v, x):
    return v.div(x, v.add(1.0, v.exp(-x)))


def hard_swish_gate(v, x, divide=False):
    sixth = v.div(x, 6.0) if divide else v.mul(x, v.const(1 / 6))
    return v.mul(x, np.clip(v.add(sixth, 0.5), 0, 1))


def hard_swish_relu6(v, x, divide=True):
    y = v.mul(x, np.clip(v.add(x, 3.0), 0, 6))
    return v.div(y, 6.0) if divide else v.mul(y, v.const(1 / 6))


def hard_swish_scaled(v, x):
    return v.mul(x, v.mul(np.clip(v.add(x, 3.0), 0, 6), v.const(1 / 6)))


def hard_sigmoid_plain(v, x, alpha=0.2, beta=0.5):
    return np.clip(v.add(v.mul(v.const(alpha), x), v.const(beta)), 0, 1)


def hard_sigmoid_factored(v, x, alpha=0.25, beta=0.6):
    return np.clip(v.mul(v.const(alpha), v.add(x, v.const(v.const(beta) / alpha))), 0, 1)


def softsign(v, x):
    return v.div(x, v.add(1.0, np.abs(x)))


ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875

FORMULAS = [
    ("Sigmoid", {}, sigmoid_exp),
    ("Sigmoid", {}, sigmoid_ratio),
    ("Sigmoid", {}, sigmoid_tanh),
    ("Softplus", {}, softplus_log),
    ("Softplus", {}, softplus_log1p),
    ("Softplus", {}, softplus_max),
    ("Softplus", {}, softplus_threshold),
    ("Mish", {}, mish_product),
    ("Mish", {}, partial(mish_product, softplus=softplus_log)),
    ("Mish", {}, partial(mish_product, softplus=softplus_threshold)),
    ("Mish", {}, mish_quotient),
    ("Mish", {}, mish_mixed),
    ("Gelu", {}, gelu_erf),
    ("Gelu", {}, gelu_quotient),
    ("Gelu", {}, gelu_erfc),
    ("Gelu", {"approximate": "tanh"}, gelu_tanh),
    ("Gelu", {"approximate": "tanh"}, partial(gelu_tanh, argument=horner)),
    ("Gelu", {"approximate": "tanh"}, gelu_pow),
    ("Gelu", {"approximate": "tanh"}, gelu_sigmoid),
    ("Gelu", {"approximate": "tanh"}, partial(gelu_sigmoid, sigmoid=sigmoid_tanh)),
    *(("Elu", {"alpha": a}, partial(elu, alpha=a, grow=g)) for a in (1.0, 0.3, 2.5) for g in (less_one, by_expm1)),
    *(("Elu", {"alpha": a}, partial(elu_split, alpha=a)) for a in (1.0, 0.3, 2.5)),
    *(("Selu", {}, partial(selu, grow=g)) for g in (less_one, by_expm1)),
    ("Selu", {}, selu_split),
    ("Selu", {}, selu_folded),
    *(
        ("Celu", {"alpha": a}, partial(celu, alpha=a, grow=g, divide=d))
        for a in (1.0, 0.3, 2.5)
        for g in (less_one, by_expm1)
        for d in (True, False)
    ),
    ("Swish", {}, swish_product),
    ("Swish", {}, partial(swish_product, sigmoid=sigmoid_tanh)),
    ("Swish", {}, swish_quotient),
    ("Swish", {"alpha": 1.702}, partial(swish_product, alpha=1.702)),
    ("HardSwish", {}, hard_swish_gate),
    ("HardSwish", {}, partial(hard_swish_gate, divide=True)),
    ("HardSwish", {}, hard_swish_relu6),
    ("HardSwish", {}, partial(hard_swish_relu6, divide=False)),
    ("HardSwish", {}, hard_swish_scaled),
    ("HardSigmoid", {}, hard_sigmoid_plain),
    ("HardSigmoid", {"alpha": 0.25, "beta": 0.6}, hard_sigmoid_factored),
    ("Softsign", {}, softsign),
]


def formula_name(f):
    if not isinstance(f, partial):
        return f.__name__
    words = [v.__name__ if callable(v) else f"{k}{v}" for k, v in f.keywords.items()]
    return ".".join([f.func.__name__, *words])


@functools.cache
def arguments(form):
    """Arguments of every size and sign in a format: all of float16 and bfloat16 up to 1e4 and, for float32, a dense set."""
    if form != "float32":
        with np.errstate(invalid="ignore"):
            x = np.arange(2**16, dtype=np.uint16).view(dtypes.numpy_dtype(form)).astype(np.float64)
        return x[np.abs(x) < 1e4]
    rng = np.random.default_rng(6)
    spread = np.ldexp(rng.uniform(-1, 1, 4000), rng.integers(-40, 8, 4000))
    return dtypes.round_to(np.concatenate([np.linspace(-25, 25, 9001), np.linspace(-120, 120, 1001), spread, [0.0]]), form)


NAIVE = {softplus_log, softplus_log1p}
"""Formulas that overflow where the result does not: they are right below only."""


def usable(formula, x, form):
    inner = {formula, *(formula.keywords.values() if isinstance(formula, partial) else ())}
    naive = bool(NAIVE & {f for f in inner if callable(f)})
    return x[x < np.log(dtypes.FLOATS[form].largest)] if naive else x
