"""Elements in another order are recognised: axes, channels last, height and width, weights, extents, pitches, outputs."""

from __future__ import annotations

import numpy as np
import pytest

from reference.verify.diagnosis import layout
from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    [
        *("axes-permuted", "spatial-swapped", "channels-last", "reshape-misread", "weights-layout", "weights-transposed"),
        *("row-pitch", "outputs-swapped"),
    ]
)

X, IMAGE = normal(2, 3, 5, 7), normal(2, 3, 6, 6, seed=1)
W, B = normal(4, 3, 3, 2, seed=2), normal(4, seed=3)
CONV = {"pads": [1, 0, 2, 1], "strides": [2, 1]}


def conv(word, broken, text=""):
    return Fault(word, "Conv", (X, W, B), broken, CONV, text=text)


def padded_rows(y, pitch):
    """The rows of y stored `pitch` elements apart in a buffer of zeros that is taken for y."""
    rows = y.reshape(-1, y.shape[-1])
    buffer = np.zeros((len(rows), pitch), y.dtype)
    buffer[:, : rows.shape[1]] = rows
    return buffer.reshape(-1)[: y.size].reshape(y.shape)


def skipping_rows(y, pitch):
    """Rows read `pitch` elements apart from the buffer of y, zeros beyond its end."""
    n = y.shape[-1]
    buffer = np.concatenate([y.reshape(-1), np.zeros(y.size * pitch, y.dtype)])
    return np.stack([buffer[i * pitch : i * pitch + n] for i in range(y.size // n)]).reshape(y.shape)


def gates(x, order):
    return x.reshape(x.shape[0], len(order), -1, *x.shape[2:])[:, list(order)].reshape(x.shape)


LSTM = (normal(5, 2, 3), normal(1, 16, 3, seed=1), normal(1, 16, 4, seed=2), normal(1, 32, seed=3))

FAULTS = [
    Fault("axes-permuted", "Transpose", (X,), lambda run, x: run(x, perm=[3, 1, 0, 2]), {"perm": [2, 1, 3, 0]}, text="perm"),
    Fault(
        "axes-permuted",
        "Transpose",
        (normal(3, 4, 5, 6),),
        lambda run, x: x.transpose(1, 3, 0, 2).reshape(5, 3, 6, 4),
        {"perm": [2, 0, 3, 1]},
        text="perm (1,3,0,2) instead of (2,0,3,1)",
    ),
    Fault(
        "axes-permuted", "Transpose", (X,), lambda run, x: x.reshape(2, 3, 7, 5), {"perm": [0, 1, 3, 2]}, text="perm (0,1,2,3)"
    ),
    Fault("axes-permuted", "Softmax", (X,), lambda run, x: run(x).transpose(1, 0, 3, 2)),
    Fault("axes-permuted", "Tanh", (X,), lambda run, x: run(x).transpose(1, 0, 2, 3).reshape(x.shape), text="(1,0,2,3)"),
    Fault("axes-permuted", "Add", (X, normal(7)), lambda run, x, b: run(x.transpose(1, 2, 0, 3).reshape(x.shape), b)),
    Fault("axes-permuted", "MatMul", (normal(4, 6), normal(6, 5)), lambda run, a, b: run(a, b).T, text="(1,0)"),
    conv("spatial-swapped", lambda run, x, w, b: run(x.transpose(0, 1, 3, 2).reshape(x.shape), w, b), "laid out"),
    conv("spatial-swapped", lambda run, x, w, b: run(x, w.transpose(0, 1, 3, 2).reshape(w.shape), b)),
    conv("spatial-swapped", lambda run, x, w, b: run(x, w, b).transpose(0, 1, 3, 2)),
    Fault(
        "spatial-swapped",
        "MaxPool",
        (IMAGE,),
        lambda run, x: run(x, kernel_shape=[3, 2], strides=[2, 1], pads=[0, 0, 1, 1]),
        {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [0, 0, 1, 1]},
    ),
    conv("channels-last", lambda run, x, w, b: run(x.reshape(2, 5, 7, 3).transpose(0, 3, 1, 2), w, b), "taken for NHWC"),
    conv("channels-last", lambda run, x, w, b: run(x.transpose(0, 2, 3, 1).reshape(x.shape), w, b), "NHWC taken for NCHW"),
    conv("channels-last", lambda run, x, w, b: run(x, w, b).transpose(0, 2, 3, 1)),
    Fault("channels-last", "Relu", (X,), lambda run, x: run(x).transpose(0, 2, 3, 1).reshape(x.shape)),
    conv("weights-layout", lambda run, x, w, b: run(x, w.reshape(4, 3, 2, 3).transpose(0, 3, 1, 2), b), "OHWI"),
    conv("weights-layout", lambda run, x, w, b: run(x, w.reshape(3, 2, 3, 4).transpose(3, 2, 0, 1), b), "HWIO"),
    conv("weights-layout", lambda run, x, w, b: run(x, w.reshape(3, 4, 3, 2).transpose(1, 0, 2, 3), b), "IOHW"),
    conv("weights-layout", lambda run, x, w, b: run(x, w[:, :, ::-1, ::-1], b), "mirrored"),
    Fault(
        "weights-layout",
        "ConvTranspose",
        (X, normal(3, 4, 3, 2)),
        lambda run, x, w: run(x, w.transpose(1, 0, 2, 3).reshape(w.shape)),
        {"strides": [2, 1]},
        text="OIHW",
    ),
    Fault(
        "weights-layout",
        "LSTM",
        LSTM,
        lambda run, x, w, r, b: run(x, gates(w, (0, 2, 3, 1)), gates(r, (0, 2, 3, 1)), b),
        {"hidden_size": 4},
        text="i,f,c,o",
    ),
    Fault(
        "weights-transposed",
        "MatMul",
        (normal(4, 6), normal(6, 5)),
        lambda run, a, b: run(a, b.reshape(5, 6).T),
        text="read as [5,6] instead of [6,5]",
    ),
    Fault("weights-transposed", "MatMul", (normal(3, 4, 5), normal(5, 5)), lambda run, a, b: run(a, b.T), text="B transposed"),
    Fault(
        "weights-transposed",
        "Gemm",
        (normal(4, 6), normal(5, 6), normal(5)),
        lambda run, a, b, c: run(a, b.T.reshape(b.shape), c),
        {"transB": 1},
    ),
    Fault("reshape-misread", "Reshape", (X, np.array([6, 35])), lambda run, x, s: x.reshape(7, 5, 3, 2).T.reshape(6, 35)),
    Fault("reshape-misread", "Tanh", (X,), lambda run, x: run(x).flatten("F").reshape(x.shape), text="column by column"),
    Fault("reshape-misread", "Reshape", (X, np.array([6, 35])), lambda run, x, s: x.reshape(35, 6), text="(35,6)"),
    Fault(
        "reshape-misread",
        "Softmax",
        (normal(4, 6, 5),),
        lambda run, x: run(x.reshape(4, 5, 6), axis=1).reshape(x.shape),
        {"axis": 1},
        text="read with the extents (4,5,6)",
    ),
    Fault(
        "reshape-misread",
        "MaxPool",
        (X,),
        lambda run, x: run(x.reshape(2, 3, 7, 5)),
        {"kernel_shape": [3, 2]},
        text="read with the extents (2,3,7,5)",
    ),
    Fault("row-pitch", "Tanh", (normal(6, 9, 5),), lambda run, x: padded_rows(run(x), 16), text="0 between and beyond them"),
    Fault("row-pitch", "Tanh", (normal(6, 9, 5),), lambda run, x: skipping_rows(run(x), 16), text="0 between and beyond them"),
    Fault(
        "row-pitch",
        "MatMul",
        (normal(9, 32), normal(32, 5)),
        lambda run, a, b: run(padded_rows(a, 48), b),
        text="with A stored in rows 48",
    ),
    Fault("row-pitch", "Relu", (normal(3, 4, 13),), lambda run, x: padded_rows(run(x), 16), text="written in rows 16"),
    Fault("row-pitch", "Tanh", (normal(3, 4, 13),), lambda run, x: skipping_rows(run(x), 16), text="read in rows 16"),
    Fault("row-pitch", "Softmax", (normal(3, 4, 13),), lambda run, x: run(padded_rows(x, 32)), text="stored in rows 32"),
    Fault("row-pitch", "Softmax", (normal(30, 13),), lambda run, x: run(skipping_rows(x, 14)), text="read in rows 14"),
    Fault(
        "row-pitch", "MatMul", (normal(9, 6), normal(6, 5)), lambda run, a, b: run(a, padded_rows(b, 8)), text="with B stored"
    ),
    Fault(
        "outputs-swapped",
        "Split",
        (normal(4, 6),),
        lambda run, x: x[:, 3:],
        {"axis": 1, "num_outputs": 2},
        ("float32", "float32"),
        text="y1",
    ),
    Fault(
        "outputs-swapped",
        "LSTM",
        LSTM,
        lambda run, *x: run(*x, output=2),
        {"hidden_size": 4},
        ("float32", "float32", "float32"),
        text="y2",
        index=1,
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.word}-{f.operator}")
def test_noise_has_no_layout(fault):
    assert_noise_is_unexplained(fault, CAUSES)


SINGLE = normal(2, 1, 5, 7)
"""An image of one channel, which lies alike in NCHW and NHWC."""


@pytest.mark.parametrize("operator", ["Tanh", "Relu"])
def test_of_a_single_channel_height_and_width_are_swapped(operator):
    assert_named(Fault("spatial-swapped", operator, (SINGLE,), lambda run, x: run(x).swapaxes(2, 3).reshape(x.shape)))
    assert_named(Fault("spatial-swapped", operator, (SINGLE,), lambda run, x: run(x.reshape(2, 1, 7, 5).swapaxes(2, 3))))


def test_orders_of_a_buffer_differ_in_what_they_do():
    assert layout.orders((2, 1, 5, 7)).count((0, 1, 3, 2)) == 1
    assert not {(0, 2, 3, 1), (0, 3, 1, 2)} & set(layout.orders((2, 1, 5, 7)))
    assert layout.orders((2, 3, 5, 7)) == layout.permutations(4)
    assert layout.orders((1, 3)) == [(1, 0)]


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
