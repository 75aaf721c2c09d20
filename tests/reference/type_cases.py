"""Operator → a small node whose result is computed here in Python, element by element: integers without limits, reals as
float64. `tests.reference.test_types` runs each in every element type that the operator admits."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reference import dtypes

Attributes = Mapping[str, Any] | Callable[[Mapping[str, str]], Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Values:
    """An input of values that suit its type: nested positions in the list `pool` of that type, which repeats itself."""

    positions: Any


@dataclasses.dataclass(frozen=True)
class Case:
    """A node: its inputs, `Values` or nested numbers or None for an absent one, and `expected`, which maps the inputs as
    nested lists to the output, or to a tuple of outputs. None in the result: open in ONNX. `attributes` may depend on the
    types that type parameters stand for. Integer results are wrapped by the test."""

    inputs: tuple[Any, ...]
    expected: Callable[..., Any]
    attributes: Attributes = dataclasses.field(default_factory=dict)
    outputs: int = 1


def pool(name: str) -> list[Any]:
    """Values of a type, among them the ends of an integer type and an integer that float64 does not hold."""
    if name == "bool":
        return [False, True]
    if name == "str":
        return ["", "a", "ß", "1e5"]
    if name.startswith("complex"):
        return [0j, 1 + 0j, -2j, 0.5 + 3j]
    if dtypes.is_integer(name):
        bits = int(name.lstrip("uint"))
        low, high = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        some = [1, 0, 2, 3, -1, -2, 7, low, high, low + 1, high - 1, 2**53 + 1]
        return [v for i, v in enumerate(some) if low <= v <= high and v not in some[:i]]
    reals = np.array([1.0, 0.0, 2.0, -1.0, 0.5, 3.0, -2.0, 1.5, 4.0, -0.25])
    return [float(v) for v in reals[dtypes.round_to(reals, name) == reals]]


N = 12
"""As many values as the longest pool has, at least."""
ROW, COLUMN = Values(list(range(N))), Values([[i] for i in range(N)])
TABLE = Values([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])


def unary(f: Callable[[Any], Any], **attributes: Any) -> Case:
    """f of each value."""
    return Case((ROW,), lambda x: [f(v) for v in x], attributes)


def real(f: Callable[[float], float], domain: Callable[[float], bool] = lambda v: True) -> Case:
    """f of each value in its domain."""
    return unary(lambda v: f(v) if domain(v) else None)


def binary(f: Callable[[Any, Any], Any], **attributes: Any) -> Case:
    """f of each pair of values, by broadcasting."""
    return Case((COLUMN, ROW), lambda a, b: [[f(x, y) for y in b] for (x,) in a], attributes)


def variadic(f: Callable[[Sequence[Any]], Any]) -> Case:
    """f of three values each."""
    inputs = tuple(Values([i + k for i in range(N)]) for k in range(3))
    return Case(inputs, lambda *x: [f(v) for v in zip(*x, strict=True)])


def rows(f: Callable[[list[Any]], Any], **attributes: Any) -> Case:
    """A reduction: f of each row, axis 1 kept. Axes are an input."""
    return Case((TABLE, [1]), lambda x, _: [[f(row)] for row in x], attributes)


def lines(f: Callable[[list[Any]], Any], *inputs: Any, **attributes: Any) -> Case:
    """f of each row, which keeps its length; further inputs are plain numbers."""
    return Case((TABLE, *inputs), lambda x, *_: [f(row) for row in x], attributes)


def moved(positions: Any, to: Any, *inputs: Any, **attributes: Any) -> Case:
    """Data movement: the input holds values by position, the result the same ones by position (None: 0)."""

    def expected(x: Any, *_: Any) -> Any:
        found = dict(zip(flat(positions), flat(x), strict=True))
        return nested(to, lambda i: zero(next(iter(found.values()))) if i is None else found[i])

    return Case((Values(positions), *inputs), expected, attributes)


def flat(x: Any) -> list[Any]:
    return [v for part in x for v in flat(part)] if isinstance(x, list) else [x]


def nested(x: Any, f: Callable[[Any], Any]) -> Any:
    return [nested(part, f) for part in x] if isinstance(x, list) else f(x)


def zero(v: Any) -> Any:
    return type(v)()


def quotient(a: Any, b: Any) -> Any:
    if b == 0:
        return None
    return a / b if isinstance(a, float) else math.trunc(Fraction(a, b))


def mean(values: Sequence[Any]) -> Any:
    return sum(values) / len(values) if isinstance(values[0], float) else math.trunc(Fraction(sum(values), len(values)))


def norm(values: Sequence[Any]) -> Any:
    squares = sum(v * v for v in values)
    return math.sqrt(squares) if isinstance(squares, float) else math.isqrt(squares)


def softmax(row: list[float]) -> list[float]:
    return [math.exp(v) / sum(map(math.exp, row)) for v in row]


def shrink(v: Any) -> Any:
    y = v + Fraction(1.5) if v < -1.5 else v - Fraction(1.5) if v > 1.5 else 0
    return float(y) if isinstance(v, float) else math.trunc(y)


def top(row: list[Any]) -> list[int]:
    return sorted(range(len(row)), key=lambda i: (row[i], -i), reverse=True)[:2]


def normalised(row: list[float], epsilon: float = 1.0) -> list[float]:
    variance = mean([(v - mean(row)) ** 2 for v in row])
    return [(v - mean(row)) / math.sqrt(variance + epsilon) for v in row]


def standardised(row: list[float]) -> list[float]:
    deviation = math.sqrt(mean([(v - mean(row)) ** 2 for v in row]))
    return [(v - mean(row)) / (deviation + float(np.float32(1e-9))) for v in row]


def sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v))


def dot(a: Any, b: Any) -> Any:
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def scattered(data: Any, _: Any, updates: Any) -> Any:
    return [data[0], updates[1], updates[0], data[3]]


ELEMENTWISE = {
    "Add": binary(lambda a, b: a + b),
    "Sub": binary(lambda a, b: a - b),
    "Mul": binary(lambda a, b: a * b),
    "Div": binary(quotient),
    "Mod": binary(lambda a, b: a % b if b else None),
    "Pow": Case((COLUMN, [0, 1, 2, 3]), lambda x, y: [[v ** int(p) for p in y] for (v,) in x]),
    "Neg": unary(lambda v: -v),
    "Abs": unary(abs),
    "Sign": unary(lambda v: (v > 0) - (v < 0)),
    "Min": variadic(min),
    "Max": variadic(max),
    "Sum": variadic(sum),
    "Mean": variadic(mean),
    "Clip": Case((ROW, 1, 2), lambda x, low, high: [min(max(v, low), high) for v in x]),
    "Reciprocal": real(lambda v: 1 / v, lambda v: v != 0),
    "Sqrt": real(math.sqrt, lambda v: v >= 0),
    "Exp": real(math.exp),
    "Log": real(math.log, lambda v: v > 0),
    "Floor": real(math.floor),
    "Ceil": real(math.ceil),
    "Round": real(round),
    "Sin": real(math.sin),
    "Cos": real(math.cos),
    "Tan": real(math.tan),
    "Asin": real(math.asin, lambda v: abs(v) <= 1),
    "Acos": real(math.acos, lambda v: abs(v) <= 1),
    "Atan": real(math.atan),
    "Sinh": real(math.sinh),
    "Cosh": real(math.cosh),
    "Asinh": real(math.asinh),
    "Acosh": real(math.acosh, lambda v: v >= 1),
    "Atanh": real(math.atanh, lambda v: abs(v) < 1),
    "Erf": real(math.erf),
    "Where": Case(
        ([True, False] * (N // 2), COLUMN, ROW),
        lambda c, x, y: [[v if b else w for b, w in zip(c, y, strict=True)] for (v,) in x],
    ),
    "And": binary(lambda a, b: a and b),
    "Or": binary(lambda a, b: a or b),
    "Xor": binary(lambda a, b: a != b),
    "Not": unary(lambda v: not v),
    "Equal": binary(lambda a, b: a == b),
    "Greater": binary(lambda a, b: a > b),
    "Less": binary(lambda a, b: a < b),
    "GreaterOrEqual": binary(lambda a, b: a >= b),
    "LessOrEqual": binary(lambda a, b: a <= b),
    "IsNaN": unary(lambda v: False),
    "IsInf": unary(lambda v: False),
    "BitShift": Case((COLUMN, [0, 1, 5, 100]), lambda x, y: [[v >> s for s in y] for (v,) in x], {"direction": "RIGHT"}),
    "BitwiseAnd": binary(lambda a, b: a & b),
    "BitwiseOr": binary(lambda a, b: a | b),
    "BitwiseXor": binary(lambda a, b: a ^ b),
    "BitwiseNot": unary(lambda v: ~v),
    "Relu": unary(lambda v: max(v, 0)),
    "LeakyRelu": unary(lambda v: v if v >= 0 else 0.25 * v, alpha=0.25),
    "PRelu": Case(
        (TABLE, Values([2, 3, 4, 0])), lambda x, s: [[v if v >= 0 else v * w for v, w in zip(row, s, strict=True)] for row in x]
    ),
    "Elu": unary(lambda v: v if v >= 0 else 2 * math.expm1(v), alpha=2.0),
    "Selu": unary(lambda v: 3 * v if v > 0 else 6 * math.expm1(v), alpha=2.0, gamma=3.0),
    "Celu": unary(lambda v: v if v >= 0 else 2 * math.expm1(v / 2), alpha=2.0),
    "ThresholdedRelu": unary(lambda v: v if v > 1 else 0.0),
    "Sigmoid": unary(sigmoid),
    "HardSigmoid": unary(lambda v: max(0.0, min(1.0, v / 4 + 0.5)), alpha=0.25),
    "HardSwish": unary(lambda v: v * max(0.0, min(1.0, v / 6 + 0.5))),
    "Tanh": unary(math.tanh),
    "Softplus": unary(lambda v: math.log1p(math.exp(v))),
    "Softsign": unary(lambda v: v / (1 + abs(v))),
    "Gelu": unary(lambda v: v / 2 * math.erfc(-v / math.sqrt(2))),
    "Mish": unary(lambda v: v * math.tanh(math.log1p(math.exp(v)))),
    "Swish": unary(lambda v: v * sigmoid(2 * v), alpha=2.0),
    "SwiGLU": Case((ROW, ROW), lambda a, b: [v * sigmoid(v) * w for v, w in zip(a, b, strict=True)]),
    "Shrink": unary(shrink, lambd=1.5, bias=1.5),
}

REDUCTIONS = {
    "ReduceSum": rows(sum),
    "ReduceMean": rows(mean),
    "ReduceMax": rows(max),
    "ReduceMin": rows(min),
    "ReduceProd": rows(math.prod),
    "ReduceSumSquare": rows(lambda row: sum(v * v for v in row)),
    "ReduceL1": rows(lambda row: sum(map(abs, row))),
    "ReduceL2": rows(norm),
    "ReduceLogSum": rows(lambda row: math.log(sum(row)) if sum(row) > 0 else None),
    "ReduceLogSumExp": rows(lambda row: math.log(sum(map(math.exp, row)))),
    "Softmax": lines(softmax),
    "LogSoftmax": lines(lambda row: [math.log(v) for v in softmax(row)]),
    "Hardmax": lines(lambda row: [int(i == row.index(max(row))) for i in range(len(row))]),
    "ArgMax": lines(lambda row: [row.index(max(row))], axis=-1),
    "ArgMin": lines(lambda row: [row.index(min(row))], axis=-1),
    "CumSum": lines(lambda row: list(itertools.accumulate(row)), 1),
    "CumProd": lines(lambda row: list(itertools.accumulate(row, lambda a, b: a * b)), 1),
    "TopK": Case((TABLE, [2]), lambda x, _: ([[row[i] for i in top(row)] for row in x], [top(row) for row in x]), outputs=2),
    "AveragePool": Case((Values([[[0, 1, 2]]]),), lambda x: [[[mean(x[0][0][:2]), mean(x[0][0][1:])]]], {"kernel_shape": [2]}),
    "MaxPool": Case(
        (Values([[[0, 4, 3]]]),),
        lambda x: ([[[max(x[0][0][:2]), max(x[0][0][1:])]]], [[[int(x[0][0][1] > x[0][0][0]), 1 + (x[0][0][2] > x[0][0][1])]]]),
        {"kernel_shape": [2]},
        outputs=2,
    ),
    "LpPool": Case((Values([[[0, 1, 2]]]),), lambda x: [[[norm(x[0][0][:2]), norm(x[0][0][1:])]]], {"kernel_shape": [2]}),
    "GlobalAveragePool": Case((Values([[[0, 1, 2]]]),), lambda x: [[[mean(x[0][0])]]]),
    "GlobalMaxPool": Case((Values([[[0, 1, 2]]]),), lambda x: [[[max(x[0][0])]]]),
    "GlobalLpPool": Case((Values([[[0, 1, 2]]]),), lambda x: [[[norm(x[0][0])]]]),
    "MatMul": Case((Values([[0, 1], [2, 8]]), Values([[4, 5], [9, 7]])), dot),
    "Gemm": Case((Values([[0, 1], [2, 8]]), Values([[4, 5], [9, 7]])), dot),
    "Det": Case((Values([[0, 2], [3, 5]]),), lambda x: x[0][0] * x[1][1] - x[0][1] * x[1][0]),
    "Einsum": Case((Values([[0, 1], [2, 8]]), Values([[4, 5], [9, 7]])), dot, {"equation": "ij,jk->ik"}),
    "Conv": Case(
        (Values([[[0, 2, 4]]]), Values([[[2, 5]]])),
        lambda x, w: [[[sum(a * b for a, b in zip(x[0][0][i:], w[0][0], strict=False)) for i in range(2)]]],
    ),
    "ConvTranspose": Case((Values([[[0, 2]]]), Values([[[5]]])), lambda x, w: [[[v * w[0][0][0] for v in x[0][0]]]]),
    "InstanceNormalization": Case(
        (Values([[[0, 2, 4]]]), [2], [1]), lambda x, *_: [[[2 * v + 1 for v in normalised(x[0][0])]]], {"epsilon": 1.0}
    ),
    "LayerNormalization": Case(
        (TABLE, [2] * 4, [1] * 4),
        lambda x, *_: ([[2 * v + 1 for v in normalised(row)] for row in x], [[mean(row)] for row in x]),
        lambda kinds: {"epsilon": 1.0, "stash_type": dtypes.ONNX[kinds["U"]]},
        outputs=2,
    ),
    "GroupNormalization": Case(
        (Values([[[0], [2], [4]]]), [2] * 3, [1] * 3),
        lambda x, *_: [[[2 * v + 1] for v in normalised([v for (v,) in x[0]])]],
        {"epsilon": 1.0, "num_groups": 1},
    ),
    "RMSNormalization": Case(
        (TABLE, [2] * 4),
        lambda x, _: [[2 * v / math.sqrt(mean([w * w for w in row]) + 1) for v in row] for row in x],
        {"epsilon": 1.0},
    ),
    "LpNormalization": lines(lambda row: [v / sum(map(abs, row)) for v in row], p=1),
    "MeanVarianceNormalization": lines(standardised, axes=[1]),
    "LRN": Case(
        (Values([[[0], [2], [4]]]),),
        lambda x: [[[v / (1 + 2 * v * v)] for (v,) in x[0]]],
        {"size": 1, "alpha": 2.0, "beta": 1.0},
    ),
}

GRID = [[0, 1, 2], [3, 4, 5]]
IMAGE = [[[[0, 1], [2, 3]]]]

MOVEMENT = {
    "Identity": moved(GRID, GRID),
    "Reshape": moved(GRID, [[0, 1], [2, 3], [4, 5]], [3, -1]),
    "Transpose": moved(GRID, [[0, 3], [1, 4], [2, 5]]),
    "Flatten": moved([GRID], [[0, 1, 2, 3, 4, 5]]),
    "Squeeze": moved([GRID], GRID, [0]),
    "Unsqueeze": moved(GRID, [GRID], [0]),
    "Concat": Case((Values([0, 1]), Values([2])), lambda a, b: a + b, {"axis": 0}),
    "Split": Case((Values([0, 1, 2]), [1, 2]), lambda x, _: (x[:1], x[1:]), outputs=2),
    "Slice": moved(GRID, [[2, 0], [5, 3]], [-1], [-9], [1], [-2]),
    "Pad": moved(GRID, [[None, 0, 1, 2], [None, 3, 4, 5]], [1, 0], None, [1]),
    "CenterCropPad": moved(GRID, [[1], [4]], [2, 1]),
    "Expand": moved([[0], [1]], [[0, 0], [1, 1]], [2, 2]),
    "Tile": moved([0, 1], [0, 1, 0, 1], [2]),
    "DepthToSpace": moved([[[[0]], [[1]], [[2]], [[3]]]], IMAGE, blocksize=2),
    "SpaceToDepth": moved(IMAGE, [[[[0]], [[1]], [[2]], [[3]]]], blocksize=2),
    "Trilu": moved(GRID, [[None, 1, 2], [None, None, 5]], 1),
    "Shape": Case((Values(GRID),), lambda x: [2, 3]),
    "Size": Case((Values(GRID),), lambda x: 6),
    "Range": Case((1, 7, 2), lambda *_: [1, 3, 5]),
    "EyeLike": Case((Values(GRID),), lambda x: [[1, 0, 0], [0, 1, 0]], lambda kinds: {"dtype": dtypes.ONNX[kinds["T2"]]}),
    "ReverseSequence": moved(GRID, [[3, 1, 2], [0, 4, 5]], [2, 1, 0]),
    "Gather": moved([0, 1, 2], [[2, 0]], [[-1, 0]]),
    "GatherElements": moved(GRID, [[3, 1, 5]], [[1, 0, -1]]),
    "GatherND": moved(GRID, [5, 0], [[1, 2], [-2, 0]]),
    "Scatter": Case((Values([0, 1, 2, 3]), [2, 1], Values([4, 5])), scattered),
    "ScatterElements": Case((Values([0, 1, 2, 3]), [2, -3], Values([4, 5])), scattered),
    "ScatterND": Case((Values([0, 1, 2, 3]), [[2], [-3]], Values([4, 5])), scattered),
    "OneHot": Case(([2, 7], 4, Values([0, 1])), lambda i, _, v: [[v[0], v[0], v[1], v[0]], [v[0]] * 4]),
    "NonZero": Case((ROW,), lambda x: [[i for i, v in enumerate(x) if v]]),
    "Compress": moved(GRID, [1, 5], [False, True, False, False, False, True]),
    "Unique": Case(
        (Values([1, 0, 1]),), lambda x: sorted(set(x), key=lambda v: (v.real, v.imag) if isinstance(v, complex) else v)
    ),
}

CASES: dict[str, Case] = ELEMENTWISE | REDUCTIONS | MOVEMENT

_FAMILIES = {
    "types from attributes: test_casts, test_bit_casts, test_constants": "Cast CastLike BitCast Constant ConstantOfShape",
    "inputs of several quantised types at once: test_quantization.py": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear "
    "QLinearConv QLinearMatMul ConvInteger MatMulInteger",
    "coordinates besides values: test_resize.py, test_sampling.py, test_regions.py": "Resize Upsample GridSample AffineGrid "
    "RoiAlign MaxRoiPool NonMaxSuppression",
    "windows besides values: test_patches.py": "Col2Im DeformConv MaxUnpool",
    "moments of types of their own: test_normalization.py": "BatchNormalization",
    "graphs as attributes: test_control_flow.py": "If Loop Scan SequenceMap",
    "sequences and optionals as values: test_sequences.py": "SequenceEmpty SequenceConstruct SequenceInsert SequenceErase "
    "SequenceAt SequenceLength SplitToSequence ConcatFromSequence Optional OptionalHasElement OptionalGetElement",
    "texts and files: test_strings.py, test_images.py": "StringConcat StringSplit StringNormalizer RegexFullMatch "
    "TfIdfVectorizer ImageDecoder",
    "states: test_recurrent.py, test_linear_recurrence.py": "RNN GRU LSTM LinearAttention CausalConvWithState",
    "caches and masks: test_attention.py": "Attention FlexAttention RotaryEmbedding TensorScatter",
    "spectra: test_signal.py": "DFT STFT HannWindow HammingWindow BlackmanWindow MelWeightMatrix",
    "random results: test_random.py": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike "
    "Dropout",
    "labels and weights: test_loss.py": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
}
SKIPPED: dict[str, str] = {operator: reason for reason, names in _FAMILIES.items() for operator in names.split()}
"""Operators for which no such node is made here → why, and where they are tested."""
