"""Windows in the wrong place: padding, strides and dilations of convolution and pooling, and padding as such.

A device that gets them wrong gives an output of other extents, or one of the right extents that it fills with the first
windows it has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reference.node import Array, Node
from reference.ops.windows import Axis, axes_of, outer
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.parameters import instead, label, names, position, shown, substituted, value, with_value
from reference.verify.diagnosis.placement import computed, corner, moved, surrounded

WEIGHTS = {"Conv": 1, "ConvInteger": 1, "ConvTranspose": 1, "DeformConv": 1, "FusedConv": 1, "QLinearConv": 3}
"""Operator → which input holds its weights, the spatial axes of which come last."""

POOLS = frozenset(["AveragePool", "LpPool", "MaxPool", "QLinearAveragePool"])

Pads = tuple[int, ...]
"""Elements before each spatial axis, then after each."""

TRANSPOSED = frozenset(["ConvTranspose"])
"""Operators whose padding is cut off the result."""


@dataclasses.dataclass(frozen=True)
class Windows:
    """The windows of a node; one entry for each spatial axis, pads (begins, ends), with auto_pad resolved."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """What leaves the extents alone first, then what pools count, then padding of other amounts, strides and dilations."""
    if question.node.operator == "Pad":
        yield from _padding(question)
    windows = windows_of(question.node)
    if windows is None:
        return
    none = [(0,) * len(windows.pads)]
    if not question.same_shape:
        yield from _padded(question, windows, "pads-ignored", none)
    yield from _padded(question, windows, "pads-side", rearranged(windows.pads))
    yield from _automatic(question)
    yield from _padded(question, windows, "pads-off-by-one", shifted(windows.pads))
    yield from _padded(question, windows, "pads-side", redistributed(windows.pads))
    yield from _counts(question)
    yield from _padded(question, windows, "pads-off-by-one", resized(windows.pads))
    yield from _padded(question, windows, "pads-ignored", none + halved(windows.pads))
    yield from _values(question, windows)
    yield from _steps(question, windows)


def windows_of(node: Node) -> Windows | None:
    """The windows of a convolution or a pool, None for any other operator."""
    if node.operator not in WEIGHTS and node.operator not in POOLS:
        return None
    try:
        x = node.inputs[0]
        kernel = node.attributes["kernel_shape"] if node.operator in POOLS else _weights(node).shape[2:]
        assert x is not None
        if node.attributes.get("channels_last"):
            return None
        sizes, n = x.shape[2:], len(kernel)
        strides = node.attributes.get("strides") or (1,) * n
        dilations = node.attributes.get("dilations") or (1,) * n
        pads = node.attributes.get("pads") or (0,) * 2 * n
        auto = node.attributes.get("auto_pad", "NOTSET")
        if auto != "NOTSET" and node.operator not in TRANSPOSED:
            axes = axes_of(sizes, kernel, strides=strides, dilations=dilations, auto_pad=auto)
            pads = [a.begin for a in axes] + [a.end for a in axes]
        lists = (sizes, kernel, strides, dilations, pads)
        found = Windows(*(tuple(int(v) for v in values) for values in lists))
        return found if len(found.pads) == 2 * n and len(found.sizes) == n else None
    except REFUSALS:
        return None


def _weights(node: Node) -> Array:
    weights = node.inputs[WEIGHTS[node.operator]]
    assert weights is not None
    return weights


def _asked(question: Question, windows: Windows, cause: str, text: str, **attributes: Any) -> Iterator[Hypothesis]:
    """The node with other attributes: as it is, or the first of its windows in an output of the right extents."""
    if "pads" in attributes and "auto_pad" in question.node.attributes:
        attributes["auto_pad"] = "NOTSET"
    found = list(question.of_attributes(cause, text, **attributes))
    yield from found
    if found or not question.same_shape or question.got.ndim < 3:
        return
    if question.node.operator not in TRANSPOSED:
        attributes["pads"] = _reaching(question.got.shape[2:], windows, attributes)
        if "auto_pad" in question.node.attributes:
            attributes["auto_pad"] = "NOTSET"
    node = question.node
    yield from moved(question, cause, text, corner(question.got.shape), computed(node, node.inputs, **attributes))
    if "pads" not in attributes:  # rows that are missing for other pads are those of a loop that ends early
        yield from surrounded(question, cause, f"{text}, and 0 beyond it", computed(node, node.inputs, **attributes))


def _reaching(outputs: Sequence[int], windows: Windows, attributes: dict[str, Any]) -> list[int]:
    """Pads with ends so long that there are that many windows."""
    n = len(windows.kernel)
    pads = list(attributes.get("pads") or windows.pads)
    strides = attributes.get("strides") or windows.strides
    dilations = attributes.get("dilations") or windows.dilations
    for i, count in enumerate(outputs):
        span = (count - 1) * strides[i] + (windows.kernel[i] - 1) * dilations[i] + 1
        pads[n + i] = max(pads[n + i], span - windows.sizes[i] - pads[i])
    return pads


def _padded(question: Question, windows: Windows, cause: str, choices: list[Pads]) -> Iterator[Hypothesis]:
    for pads in choices:
        if pads != windows.pads:
            yield from _asked(question, windows, cause, instead("pads", pads, windows.pads), pads=list(pads))


def _automatic(question: Question) -> Iterator[Hypothesis]:
    """The odd element of automatic padding on the other side."""
    given = question.node.attributes.get("auto_pad", "NOTSET")
    for auto in ("SAME_UPPER", "SAME_LOWER"):
        if given not in ("NOTSET", auto):
            yield from question.of_attributes("pads-side", instead("auto_pad", auto, given), auto_pad=auto)


def _sums(pads: Pads) -> tuple[list[int], list[int], list[int]]:
    """Begins, ends, and what each axis has of both."""
    n = len(pads) // 2
    return list(pads[:n]), list(pads[n:]), [b + e for b, e in zip(pads[:n], pads[n:], strict=True)]


def rearranged(pads: Pads) -> list[Pads]:
    """The same numbers for other sides, the likelier first: begins and ends swapped, axes in another order, begins and ends
    alternating, one axis alone swapped, begins or ends used for both."""
    begins, ends, _ = _sums(pads)
    n = len(begins)
    found = [
        ends + begins,
        begins[::-1] + ends[::-1],
        [*begins[:-2], *begins[:-3:-1], *ends[:-2], *ends[:-3:-1]],
        ends[::-1] + begins[::-1],
        [*pads[::2], *pads[1::2]],
        [side for pair in zip(begins, ends, strict=True) for side in pair],
    ]
    for i in range(n):
        single = list(pads)
        single[i], single[n + i] = single[n + i], single[i]
        found.append(single)
    found += [begins + begins, ends + ends]
    return list(dict.fromkeys(tuple(f) for f in found))


def redistributed(pads: Pads) -> list[Pads]:
    """As much padding for each axis: all of it at one end, or halves."""
    _, _, totals = _sums(pads)
    nothing, floors = [0] * len(totals), [t // 2 for t in totals]
    ceilings = [t - f for t, f in zip(totals, floors, strict=True)]
    found = [nothing + totals, totals + nothing, floors + ceilings, ceilings + floors]
    return list(dict.fromkeys(tuple(f) for f in found))


def shifted(pads: Pads) -> list[Pads]:
    """Windows one element further, along all axes or along one."""
    return _changed(pads, [(-1, 1), (1, -1)])


def resized(pads: Pads) -> list[Pads]:
    """One element more or less at the begin, at the end or at both, of all axes or of one."""
    return _changed(pads, [(sign * b, sign * e) for b, e in ((1, 0), (0, 1), (1, 1)) for sign in (-1, 1)])


def _changed(pads: Pads, changes: Sequence[tuple[int, int]]) -> list[Pads]:
    n = len(pads) // 2
    found = []
    for axes in [list(range(n)), *([i] for i in range(n))]:
        for begin, end in changes:
            other = list(pads)
            for i in axes:
                other[i] += begin
                other[n + i] += end
            found.append(tuple(other))
    return list(dict.fromkeys(found))


def halved(pads: Pads) -> list[Pads]:
    """Begins alone or ends alone."""
    begins, ends, totals = _sums(pads)
    nothing = [0] * len(totals)
    return [tuple(nothing + ends), tuple(begins + nothing)]


def _values(question: Question, windows: Windows) -> Iterator[Hypothesis]:
    """The padding laid out explicitly, so that it holds something else."""
    node, x = question.node, question.node.inputs[0]
    n = len(windows.kernel)
    if x is None or node.operator in TRANSPOSED or not any(windows.pads) or min(windows.pads) < 0:
        return
    width = [(0, 0)] * (x.ndim - n) + list(zip(windows.pads[:n], windows.pads[n:], strict=True))
    attributes = {"pads": [0] * 2 * n, **({"auto_pad": "NOTSET"} if "auto_pad" in node.attributes else {})}
    named: list[tuple[str, dict[str, Any]]] = [(f"padded with {v}", {"constant_values": v}) for v in (0, 1, -1)]
    named += [("padded with the border", {"mode": "edge"}), ("padded by reflection", {"mode": "reflect"})]
    for text, options in named:
        try:
            padded = np.pad(x, width, **options)
        except REFUSALS:
            continue
        text = f"the reference computed on {label(node, 0)} {text}"
        yield from question.of_inputs("pads-value", text, substituted(node, {0: padded}), **attributes)


def _steps(question: Question, windows: Windows) -> Iterator[Hypothesis]:
    """Strides and dilations."""
    n = len(windows.kernel)
    for name, cause in (("strides", "stride-ignored"), ("dilations", "dilation-ignored")):
        given: tuple[int, ...] = getattr(windows, name)
        others = [(1,) * n, given[::-1], *((s,) * n for s in given), *((*given[:i], 1, *given[i + 1 :]) for i in range(n))]
        for other in dict.fromkeys(others):
            if other != given:
                yield from _asked(question, windows, cause, instead(name, other, given), **{name: list(other)})
    if windows.dilations != (1,) * n and windows.strides != (1,) * n:
        text = f"the reference computed with strides {shown(windows.dilations)} and dilations {shown(windows.strides)} swapped"
        swapped = {"strides": list(windows.dilations), "dilations": list(windows.strides)}
        yield from _asked(question, windows, "stride-ignored", text, **swapped)


def _counts(question: Question) -> Iterator[Hypothesis]:
    known = names(question.node)
    for name, cause in (("count_include_pad", "count-include-pad"), ("ceil_mode", "ceil-mode")):
        if name in known and question.node.operator in POOLS:
            given = int(bool(question.node.attributes.get(name)))
            yield from question.of_attributes(cause, instead(name, 1 - given, given), **{name: 1 - given})
    yield from _divisors(question)
    yield from _whole_kernels(question)


def _divisors(question: Question) -> Iterator[Hypothesis]:
    """AveragePool that sums what it should and counts padding of other sides: pads are read in another order for the divisor,
    for both sides or for the ends alone."""
    node, windows = question.node, windows_of(question.node)
    if node.operator != "AveragePool" or windows is None or not node.attributes.get("count_include_pad"):
        return
    axes = axes_of(
        windows.sizes,
        windows.kernel,
        strides=windows.strides,
        dilations=windows.dilations,
        pads=windows.pads,
        auto_pad=node.attributes.get("auto_pad", "NOTSET"),
        ceil_mode=node.attributes.get("ceil_mode", 0),
    )
    right, n = _counted(axes, windows.pads), len(axes)
    others = [*rearranged(windows.pads), *halved(windows.pads)]
    ends_alone = [(*windows.pads[:n], *other[n:]) for other in others]
    for other in dict.fromkeys([*ends_alone, *others]):
        counts = _counted(axes, other)
        if not np.array_equal(counts, right):
            factor = right / np.maximum(counts, 1)
            text = f"the reference with sums divided by counts for pads {shown(other)} instead of {shown(windows.pads)}"
            bound = question.expected.bound * np.maximum(factor, 1)
            yield from question.of_value("pads-side", text, question.reference * factor, bound)


def _counted(axes: Sequence[Axis], pads: Pads) -> Array:
    """Elements of each window that lie in the input or in padding of such extents, (outputs)."""
    n = len(axes)
    return outer([a.counts(-pads[i], a.size + max(pads[n + i], 0)) for i, a in enumerate(axes)])


def _whole_kernels(question: Question) -> Iterator[Hypothesis]:
    """AveragePool that divides by the whole kernel even where a window of ceil_mode leaves the padded input."""
    node, windows = question.node, windows_of(question.node)
    if node.operator != "AveragePool" or windows is None or question.got.ndim < 3:
        return
    try:
        n, x = len(windows.kernel), node.real(0)
        pads = _reaching(question.got.shape[2:], windows, {})
        padded = np.pad(x, [(0, 0)] * (x.ndim - n) + list(zip(pads[:n], pads[n:], strict=True)))
    except REFUSALS:
        return
    text = "the reference with every sum divided by the size of the whole kernel"
    attributes = {"pads": None, "auto_pad": None, "ceil_mode": None, "count_include_pad": None}
    yield from question.of_inputs("count-include-pad", text, [padded], **attributes)


def _padding(question: Question) -> Iterator[Hypothesis]:
    """The operator Pad: the sides, the amounts, and what the padding holds."""
    node = question.node
    name = "paddings" if "paddings" in node.attributes else "pads"
    given = value(node, name)
    if not isinstance(given, Sequence) or not given or not all(isinstance(p, int) for p in given):
        return
    pads = tuple(int(p) for p in given)
    choices = [("pads-side", rearranged(pads)), ("pads-off-by-one", shifted(pads)), ("pads-side", redistributed(pads))]
    choices += [("pads-ignored", [(0,) * len(pads)]), ("pads-off-by-one", resized(pads))]
    for cause, others in choices:
        for other in others:
            if other != pads:
                yield from with_value(question, cause, instead("pads", other, pads), name, list(other))
    yield from _contents(question, list(pads))


def _contents(question: Question, pads: list[int]) -> Iterator[Hypothesis]:
    node = question.node
    for other in ("constant", "edge", "reflect", "wrap"):
        mode = node.attributes.get("mode", "constant")
        if other != mode:
            yield from question.of_attributes("pads-value", instead("mode", other, mode), mode=other)
    at = position(node, "constant_value")
    for number in (0, 1):
        text = f"the reference computed with the value {number} in the padding"
        if at is not None:
            constant = node.inputs[at]
            assert constant is not None
            if constant.dtype.kind in "fiub":
                new = np.full(constant.shape, number, constant.dtype)
                yield from question.of_inputs("pads-value", text, substituted(node, {at: new}))
        elif "value" in node.attributes:
            yield from question.of_attributes("pads-value", text, value=float(number))
    x = node.inputs[0]
    n = len(pads) // 2
    if isinstance(x, np.ndarray) and x.ndim == n and min(pads) >= 0 and max(pads) <= min(x.shape, default=0):
        mirrored = np.pad(x, list(zip(pads[:n], pads[n:], strict=True)), mode="symmetric")
        text = "the reference padded by reflection that repeats the border"
        yield from question.of_value("pads-value", text, mirrored, 0.0)
