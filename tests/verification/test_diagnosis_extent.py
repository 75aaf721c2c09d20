"""What is left out, left over or never written is recognised: terms, rows, columns, channels, tails, stale memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    [
        *("term-dropped", "term-duplicated", "row-dropped", "column-dropped", "channel-dropped", "tail-wrong"),
        *("later-channels", "later-batches", "wild-element", "stale", "uninitialised"),
    ]
)

X, W, B = normal(2, 6, 9, 11), normal(4, 3, 3, 2, seed=2), normal(4, seed=3)
CONV = {"pads": [1, 0, 1, 1], "group": 2}
A, K = normal(5, 13), normal(13, 7)


def put(x, where, number):
    """x with `number` at an index."""
    y = np.array(x)
    y[where] = number
    return y


def times(x, where, factor):
    return put(x, where, x[where] * np.asarray(factor, x.dtype))


def filled(shape, pattern):
    """A float32 tensor of one bit pattern."""
    return np.full(shape, pattern, np.uint32).view(np.float32)


def conv(word, broken, text=""):
    return Fault(word, "Conv", (X, W, B), broken, CONV, text=text)


def short_softmax(x):
    e = np.exp(x.astype(np.float64))
    return e / e[..., :-1].sum(-1, keepdims=True)


def short_average(run, x):
    """Windows of 3x2 without their last row, over the count of all."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (0, 0)))
    n = x.shape[2]
    rows = [padded[:, :, i : i + n] for i in range(2)]
    return sum(r[..., c : c + x.shape[3] - 1] for r in rows for c in range(2)) / 6


def short_norm(x, scale):
    kept = x.astype(np.float64)[..., :-1]
    mean = kept.sum(-1, keepdims=True) / x.shape[-1]
    variance = ((kept - mean) ** 2).sum(-1, keepdims=True) / x.shape[-1]
    return (x - mean) / np.sqrt(variance + 1e-5) * scale


def norm(x):
    return (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)


TERMS = [
    Fault("term-dropped", "MatMul", (A, K), lambda run, a, k: run(a[:, :-1], k[:-1]), text="last of the 13 products"),
    Fault("term-dropped", "MatMul", (A, K), lambda run, a, k: run(a[:, 1:], k[1:]), text="first of the 13 products"),
    Fault("term-dropped", "Gemm", (A.T, K), lambda run, a, k: run(a[:-1], k[:-1]), {"transA": 1}),
    conv("term-dropped", lambda run, x, w, b: run(x, put(w, np.s_[:, :, -1], 0), b), "last of the 3 kernel rows"),
    conv("term-dropped", lambda run, x, w, b: run(x, put(w, np.s_[..., -1], 0), b), "last of the 2 kernel columns"),
    conv("term-dropped", lambda run, x, w, b: run(x, put(w, np.s_[:, -1], 0), b), "last of the 3 input channels"),
    conv("term-dropped", lambda run, x, w, b: run(x, put(w, np.s_[:, -1, -1, -1], 0), b), "the last product"),
    Fault("term-dropped", "ConvTranspose", (X, normal(6, 2, 3, 2)), lambda run, x, w: run(x, put(w, [2, 5], 0)), {"group": 2}),
    Fault("term-dropped", "ReduceSum", (X, np.array([1])), lambda run, x, a: run(x[:, :-1], a), text="6 terms along axis 1"),
    Fault("term-dropped", "ReduceMean", (A, np.array([1])), lambda run, x, a: run(put(x, np.s_[:, -1], 0), a)),
    Fault("term-dropped", "ReduceMax", (A, np.array([0])), lambda run, x, a: run(x[:-1], a), text="last of the 5"),
    Fault("term-dropped", "GlobalAveragePool", (X,), lambda run, x: run(put(x, np.s_[..., -1, -1], 0)), text="last term"),
    Fault("term-dropped", "Einsum", (A, K), lambda run, a, k: run(a[:, :-1], k[:-1]), {"equation": "ij,jk->ik"}, text="'j'"),
    Fault("term-dropped", "Sum", (A, A[0], A[:, :1]), lambda run, a, b, c: run(a, b), text="last of its 3 inputs"),
    Fault("term-dropped", "Softmax", (A,), lambda run, x: short_softmax(x), text="without the last of 13 exponentials"),
    Fault("term-dropped", "LayerNormalization", (X, normal(11)), lambda run, x, s: short_norm(x, s), text="last of 11"),
    Fault(
        "term-dropped",
        "AveragePool",
        (X,),
        short_average,
        {"kernel_shape": [3, 2], "pads": [1, 0, 1, 0], "count_include_pad": 1},
        text="last of the 3 rows",
    ),
    Fault(
        "term-dropped",
        "AveragePool",
        (X,),
        lambda run, x: run(x) - x[:, :, 2:, 1:] / 6,
        {"kernel_shape": [3, 2]},
        text="last of the 6 elements of each window",
    ),
    Fault(
        "term-dropped",
        "MaxPool",
        (X,),
        lambda run, x: np.maximum(x[:, :, :-1, 1:], np.maximum(x[:, :, 1:, :-1], x[:, :, 1:, 1:])),
        {"kernel_shape": [2, 2]},
        text="first of the 4 elements of each window",
    ),
    Fault(
        "term-dropped",
        "Attention",
        (normal(2, 3, 5, 8), normal(2, 3, 7, 8), normal(2, 3, 7, 6), normal(5, 7)),
        lambda run, q, k, v, m: run(q, k[:, :, :-1], v[:, :, :-1], m[:, :-1]),
        version=23,
        text="without the last of the 7 keys",
    ),
    Fault("term-duplicated", "MatMul", (A, K), lambda run, a, k: run(times(a, np.s_[:, -1], 2), k), text="counted twice"),
    Fault("term-duplicated", "ReduceSum", (A, np.array([1])), lambda run, x, a: run(times(x, np.s_[:, 0], 2), a), text="first"),
    conv("term-duplicated", lambda run, x, w, b: run(x, times(w, np.s_[:, 0], 2), b), "first of the 3 input channels"),
]

REGIONS = [
    conv("row-dropped", lambda run, *x: put(run(*x), np.s_[:, :, -1], 0), "0 in the last row"),
    conv("row-dropped", lambda run, x, w, b: run(put(x, np.s_[:, :, -1], 0), w, b), "computed with 0 in the last row"),
    conv("column-dropped", lambda run, *x: put(run(*x), np.s_[..., -1], filled((), 0xCDCDCDCD)), "0xCD in the last column"),
    conv("channel-dropped", lambda run, *x: put(run(*x), np.s_[:, 2], 0), "0 in channel 2"),
    Fault("row-dropped", "Tanh", (X[0],), lambda run, x: put(run(x), np.s_[:, -1], 0), text="0 in the last row"),
    Fault(
        "row-dropped",
        "Transpose",
        (X[0],),
        lambda run, x: put(run(x), np.s_[:, -1], 0),
        {"perm": [0, 2, 1]},
        text="0 in the last row",
    ),
    Fault("channel-dropped", "AveragePool", (X[0],), lambda run, x: put(run(x), np.s_[:, -1], 0), {"kernel_shape": [2]}),
    Fault("row-dropped", "MatMul", (A, K), lambda run, *x: put(run(*x), -1, 0), text="last row"),
    Fault("column-dropped", "MatMul", (A, K), lambda run, *x: put(run(*x), np.s_[:, -1], 0), text="last column"),
    Fault("tail-wrong", "Tanh", (X,), lambda run, x: put(run(x), np.s_[..., 8:], 0), text="last multiple of 8 along axis 3"),
    Fault(
        "tail-wrong", "Exp", (normal(7, 37),), lambda run, x: times(run(x), np.s_[:, 32:], normal(7, 5)), text="multiple of 32"
    ),
    Fault("tail-wrong", "Add", (normal(7, 37), normal(37)), lambda run, *x: tail_of_all(run(*x)), text="of the whole tensor"),
    conv("later-channels", lambda run, *x: np.repeat(run(*x)[:, :1], 4, 1), "first channel in place of every other"),
    conv("later-channels", lambda run, x, w, b: run(x, np.repeat(w[:1], 4, 0), b), "input 1 holds for the first channel"),
    Fault(
        "later-channels",
        "BatchNormalization",
        (X, *(np.abs(normal(6, seed=i)) + np.float32(0.5) for i in range(4))),
        lambda run, x, *p: run(x, *(np.repeat(q[:1], 6) if i == 0 else q for i, q in enumerate(p))),
        text="input 1",
    ),
    Fault(
        "later-channels",
        "Tanh",
        (X,),
        lambda run, x: put(run(x), np.s_[:, 1:], normal(2, 5, 9, 11)),
        text="channel but the first",
    ),
    Fault("later-batches", "Tanh", (normal(5, 3, 4, 6),), lambda run, x: np.repeat(run(x)[:1], 5, 0), text="first batch"),
    Fault(
        "later-batches", "MatMul", (normal(4, 5, 6), normal(4, 6, 7)), lambda run, a, b: run(a, b[0]), text="input 1's batch"
    ),
    Fault("later-batches", "Exp", (normal(5, 3, 4),), lambda run, x: put(run(x), np.s_[1:], 0), text="0 in every batch but"),
    Fault("wild-element", "Tanh", (X,), lambda run, x: put(run(x), (1, 2, 3, 4), 7.5), text="[1, 2, 3, 4] (7.5 instead of"),
    Fault("wild-element", "MatMul", (A, K), lambda run, *x: put(put(run(*x), (1, 2), 9), (3, 5), -9), text="2 elements"),
    Fault(
        "stale", "Tanh", (X,), lambda run, x: normal(*x.shape, seed=9), previous=(normal(*X.shape, seed=9),), text="case before"
    ),
    Fault(
        "stale",
        "Tanh",
        (X,),
        lambda run, x: normal(2000)[: x.size].reshape(x.shape),
        previous=(normal(2000),),
        text="first bytes",
    ),
    Fault("stale", "Exp", (X,), lambda run, x: x, text="input 0, unchanged"),
    Fault(
        "stale",
        "Exp",
        (X,),
        lambda run, x: put(run(x).reshape(-1), np.s_[700:], normal(1188, seed=9)[700:]).reshape(x.shape),
        previous=(normal(1188, seed=9).reshape(X.shape),),
        text="from element 700",
    ),
    Fault("uninitialised", "Tanh", (X,), lambda run, x: filled(x.shape, 0xDEADBEEF), text="0xDEADBEEF everywhere"),
    Fault("uninitialised", "Tanh", (X,), lambda run, x: filled(x.shape, 0xFFFFFFFF), text="0xFF everywhere"),
    Fault("uninitialised", "Exp", (X,), lambda run, x: np.zeros(x.shape), text="0 everywhere"),
    Fault(
        "uninitialised",
        "Identity",
        (np.arange(60).reshape(4, 15),),
        lambda run, x: x * 0 - 0x5A5A5A5A5A5A5A5B,
        outputs=("int64",),
        text="0xA5",
    ),
    conv(
        "uninitialised", lambda run, *x: put(run(*x), np.s_[1, 1:3, 2:7], filled((), 0xAAAAAAAA)), "block [1:2, 1:3, 2:7, 0:11]"
    ),
]

FAULTS = TERMS + REGIONS


def tail_of_all(y):
    """7·37 = 259 elements: the last 3 are beyond the last multiple of 128."""
    flat = y.reshape(-1).copy()
    flat[256:] = [3, 4, 5]
    return flat.reshape(y.shape)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", TERMS, ids=lambda f: f"{f.word}-{f.operator}")
def test_noise_has_no_extent(fault):
    assert_noise_is_unexplained(fault, CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
