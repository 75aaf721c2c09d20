"""Known disagreements of the family `families.control_flow`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reference.evaluator import evaluate

from ..samples import Array, Sample, written
from . import Disagreement


def _unconditional(sample: Sample) -> bool:
    return sample.node.input[1] == ""


def _counted_only(sample: Sample) -> bool:
    """Whether the body's condition becomes false although none was given."""
    ends = any(node.op_type == "Less" for node in sample.node.attribute[0].g.node)
    return _unconditional(sample) and ends and sample.feeds["limit"] + 1 < sample.input(0)


def _scans_no_vectors(sample: Sample) -> bool:
    outputs = list(evaluate(sample.model, sample.feeds).values())[len(sample.node.input) - 2 :]
    return any(y.ndim != 2 for y in outputs)


def _scan_inputs(sample: Sample) -> list[tuple[Array, int]]:
    """The scan inputs with their axes."""
    count = sample.attribute("num_scan_inputs")
    inputs = [sample.input(i) for i in range(len(sample.node.input))][-count:]
    axes = sample.attribute("scan_input_axes", [0] * count)
    return [(x, axis % x.ndim) for x, axis in zip(inputs, axes, strict=True)]


def _axis_from_the_end(sample: Sample) -> bool:
    """Whether there is an axis below 0 beside one of 0."""
    given = [sample.attribute(f"scan_{way}_axes", [0]) for way in ("input", "output")]
    return any(max(axes) == 0 and min(axes) < 0 for axes in given)


def _nothing_along_a_later_axis(sample: Sample) -> bool:
    return sample.version > 8 and any(axis and not x.size for x, axis in _scan_inputs(sample))


ONE = np.ones(1, np.float32)


def _looped(inputs: str) -> Sample:
    """A Loop whose body's condition is false from the start."""
    body = "b (int64 i, bool c, float[1] a) => (bool d, float[1] e) { d = Less(i, limit) e = Add(a, a) }"
    text = f"g (int64 limit, int64 m, bool k, float[1] v) => (float[1] w) {{ w = Loop({inputs}, v) <body = {body}> }}"
    return written(text, 13, {"limit": np.array(0), "m": np.array(3), "k": np.array(True), "v": ONE})


def _counter() -> Sample:
    text = """g (int64 m, bool k) => (int64[n] y) {
        y = Loop(m, k) <body = b (int64 i, bool c) => (bool d, int64 j) { d = Identity(c) j = Neg(i) }>
    }"""
    return written(text, 13, {"m": np.array(3), "k": np.array(True)})


def _scan_of_nothing() -> Sample:
    text = """g (float[2, 0] x) => (float[0, 2] y) {
        y = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = b (float[2] e) => (float[2] o) { o = Neg(e) }>(x)
    }"""
    return written(text, 11, {"x": np.zeros((2, 0), np.float32)})


def _scan_to_the_last_axis() -> Sample:
    text = """g (float[3, 2] x) => (float[3, 2] y, float[2, 3] z) {
        y, z = Scan<num_scan_inputs = 1, scan_output_axes = [0, -1],
            body = b (float[2] e) => (float[2] o, float[2] p) { o = Neg(e) p = Neg(e) }>(x)
    }"""
    return written(text, 11, {"x": np.ones((3, 2), np.float32)})


def _scan_of_a_batch(length: int) -> Sample:
    body = "b (float a, float e) => (float u, float o) { u = Neg(a) o = Neg(e) }"
    text = f"""g (float[1] s, float[1, {length}] x) => (float[1] t, float[1, {length}] y) {{
        t, y = Scan<num_scan_inputs = 1, body = {body}>("", s, x)
    }}"""
    return written(text, 8, {"s": np.array([12.5], np.float32), "x": np.ones((1, length), np.float32)})


KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Loop",),
        "without the input cond ends when the body's condition is false",
        'input (trip_count, ""): for(int i=0; i < trip_count; ++i) {cond=...; // ignored}',
        _counted_only,
        lambda: _looped('m, ""'),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Loop",),
        "without the input cond no iteration",
        'input (trip_count, ""): for(int i=0; i < trip_count; ++i) {cond=...; // ignored}',
        _unconditional,
        lambda: _looped('m, ""'),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Loop",),
        "joins scanned values along their first axis, scalars as (n, 1); fails without iterations",
        "a scan output has a new first axis, one place for each iteration (https://github.com/onnx/onnx/issues/3122)",
        _scans_no_vectors,
        _counter,
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Scan",),
        "version 8 as version 9",
        "version 8 has sequence_lens as its first input and a batch as the first axis of the others",
        lambda s: s.version < 9,
        lambda: _scan_of_a_batch(2),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("Scan",),
        "takes a scan axis below 0 as 0 if another one is 0, and refuses all others",
        "negative value means counting dimensions from the back",
        _axis_from_the_end,
        _scan_to_the_last_axis,
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Scan",),
        "version 8 gives final states that it never wrote to for an axis of length 0",
        "without iterations the initial states are the final ones",
        lambda s: s.version < 9 and any(not x.size for x, _ in _scan_inputs(s)),
        lambda: _scan_of_a_batch(0),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("Scan",),
        "ends the process by a division by zero for an axis of length 0 that is not the first one; refuses the first one",
        "a scan of no elements gives the initial states and scan outputs of length 0",
        _nothing_along_a_later_axis,
        _scan_of_nothing,
        crashes=True,
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
