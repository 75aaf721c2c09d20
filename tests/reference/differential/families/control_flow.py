"""If, Loop, Scan and SequenceMap: small bodies that read the scope around them; loops that end in each way, or do not begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, axis_of, shapes, textual, written

OPSETS = (10, 11, 13, 16, 19, 21, 23, 24, 25)
"""One for each version of If and Loop, and of Scan but for the first."""

KINDS = ("float32", "float64", "int64", "int32")


def _type(kind: str, shape: Sequence[object] | None = None) -> str:
    """A tensor type of that shape, or of an unknown one."""
    return textual(kind) + ("" if shape == () else f"[{', '.join(map(str, shape or ()))}]")


def _declared(names: Sequence[str], kind: str, shape: Sequence[object] | None = None) -> str:
    return ", ".join(f"{_type(kind, shape)} {name}" for name in names)


def _fed(feeds: Mapping[str, Any]) -> str:
    """The declarations of graph inputs that hold tensors."""
    return ", ".join(_declared([name], str(x.dtype), x.shape) for name, x in feeds.items())


def _arithmetic(draw: st.DrawFn, names: Sequence[str], result: str) -> str:
    """One or two nodes that compute `result` from tensors of one shape."""
    first, second, third = (draw(st.sampled_from(names)) for _ in range(3))
    operator, then = (draw(st.sampled_from(["Add", "Sub", "Mul"])) for _ in range(2))
    one = f"{operator}({first}, {second})"
    ways = [f"{result} = Identity({first})", f"{result} = {one}", f"{result}_ = {one} {result} = {then}({result}_, {third})"]
    return draw(st.sampled_from(ways))


def _branches(result: str, names: str, bodies: Sequence[str]) -> str:
    """The attributes of an If; the branches write the two names."""
    ways = zip(("then_branch", "else_branch"), names, bodies, strict=True)
    return ", ".join(f"{way} = g{name} () => ({result} {name}) {{ {body} }}" for way, name, body in ways)


def _if(draw: st.DrawFn) -> Sample:
    """Branches of another shape from version 11 on, of sequences from 13 on, one in the other."""
    opset, kind, shape = draw(st.sampled_from(OPSETS)), draw(st.sampled_from(KINDS)), any_shape(draw, 1, 2)
    way = draw(st.sampled_from(["same", "nested", "shapes", "sequences"][: 2 if opset < 11 else 3 if opset < 13 else 4]))
    result = f"seq({_type(kind)})" if way == "sequences" else _type(kind)
    bodies = [_arithmetic(draw, "xy", name) for name in "ab"]
    if way == "shapes":
        bodies[1] = "b = Concat<axis = 0>(x, y)"
    if way == "sequences":
        bodies = ["a = SequenceConstruct(x, y)", "b = SequenceConstruct(x)"]
    if way == "nested":
        bodies[0] = f"a = If(l) <{_branches(result, 'rs', [_arithmetic(draw, 'xy', name) for name in 'rs'])}>"
    feeds = {"k": np.full(draw(st.sampled_from([(), (1,)])), draw(st.booleans())), "l": np.array(draw(st.booleans()))}
    feeds |= {name: array(draw, shape, kind) for name in "xy"}
    text = f"g ({_fed(feeds)}) => ({result} z) {{ z = If(k) <{_branches(result, 'ab', bodies)}> }}"
    return written(text, opset, feeds)


class Part(NamedTuple):
    """A value that a Loop carries or scans: its name as an input of the loop and as its output, the declarations of the
    body's input and output and of the graph's output, and what computes it. Scanned values have no inputs."""

    name: str
    inside: str
    nodes: str
    result: str
    output: str


def _parts(draw: st.DrawFn, opset: int, kind: str, shape: tuple[int, ...]) -> list[Part]:
    """A tensor that keeps its shape or grows, perhaps a sequence, and up to two scanned values."""
    own, seq = _type(kind, shape), f"seq({_type(kind)})"
    if draw(st.booleans()):
        before, after = (_type(kind, [length, *shape[1:]]) for length in "nm")
        parts = [Part("v", f"{before} a", "w = Concat<axis = 0>(a, x)", f"{after} w", f"{_type(kind)} vs")]
    else:
        parts = [Part("v", f"{own} a", _arithmetic(draw, "ax", "w"), f"{own} w", f"{_type(kind)} vs")]
    if opset >= 13 and draw(st.booleans()):
        parts.append(Part("q", f"{seq} q0", "q1 = SequenceInsert(q0, a)", f"{seq} q1", f"{seq} qs"))
    scanned = [
        Part("", "", "i1 = Identity(i)", "int64 i1", "int64[] is"),
        Part("", "", _arithmetic(draw, "xy", "s"), f"{own} s", f"{_type(kind)} ss"),
    ]
    return parts + scanned[: draw(st.integers(0, 2))]


def _loop(draw: st.DrawFn) -> Sample:
    """Trip count and condition present and absent; the body's condition is the one that it was given, or says whether the
    iteration is below a limit."""
    opset, kind, shape = draw(st.sampled_from(OPSETS)), draw(st.sampled_from(KINDS)), draw(shapes(1, 2, 1, 3))
    trips = draw(st.none() | st.integers(-1, 4))
    going = draw(st.booleans() if trips is None else st.none() | st.booleans())
    condition = "d = Less(i, limit)" if trips is None or draw(st.booleans()) else "d = Identity(c)"
    parts = _parts(draw, opset, kind, shape)
    feeds: dict[str, Any] = {"limit": np.array(draw(st.integers(0, 3)))}
    feeds |= {"m": np.array(trips)} if trips is not None else {}
    feeds |= {"k": np.array(going)} if going is not None else {}
    feeds |= {name: array(draw, shape, kind, -2, 2) for name in "vxy"}
    listed = any(p.name == "q" for p in parts)
    inputs = ["m" if "m" in feeds else '""', "k" if "k" in feeds else '""', *(p.name for p in parts if p.name)]
    inside = ", ".join(["int64 i", "bool c", *(p.inside for p in parts if p.inside)])
    results = ", ".join(["bool d", *(p.result for p in parts)])
    names, nodes = ", ".join(p.output.split()[-1] for p in parts), " ".join([condition, *(p.nodes for p in parts)])
    text = f"""g ({_fed(feeds)}{f", seq({_type(kind)}) q" * listed}) => ({", ".join(p.output for p in parts)}) {{
        {names} = Loop({", ".join(inputs)}) <body = b ({inside}) => ({results}) {{ {nodes} }}>
    }}"""
    return written(text, opset, {**feeds, "q": [feeds["y"]] * draw(st.integers(1, 2))} if listed else feeds)


def _scanned(attributes: Mapping[str, Any], body: str, outputs: int, opset: int, feeds: Mapping[str, Array]) -> Sample:
    """A Scan of the feeds x…, which come behind the lengths n of a batch in version 8."""
    names = [name for name in feeds if name.startswith("x")]
    results = [f"y{i}" for i in range(outputs)]
    inputs = ", ".join([*(["n" if "n" in feeds else '""'] if opset == 8 else []), *names])
    given = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    kind = str(feeds["c"].dtype)
    text = f"""g ({_fed(feeds)}) => ({_declared(results, kind)}) {{
        {", ".join(results)} = Scan<{given}, body = {body}>({inputs}) }}"""
    return written(text, opset, feeds)


def _ways(draw: st.DrawFn, opset: int, rank: int, inputs: int, outputs: int) -> dict[str, Any]:
    """Directions of the scan inputs, from version 9 on axes too, and both of the scan outputs."""
    attributes: dict[str, Any] = {}
    for way, count in (("input", inputs), ("output", outputs))[: 1 if opset == 8 else 2]:
        if opset > 8 and draw(st.integers(0, 2)) == 2:
            attributes[f"scan_{way}_axes"] = [axis_of(draw, rank, negative=opset >= 11) for _ in range(count)]
        if draw(st.integers(0, 2)) == 2:
            name = "directions" if opset == 8 else f"scan_{way}_directions"
            attributes[name] = [draw(st.integers(0, 1)) for _ in range(count)]
    return attributes


def _scan(draw: st.DrawFn) -> Sample:
    """States and elements of one shape; axes and directions of inputs and outputs, or in version 8 a batch."""
    opset, kind = draw(st.sampled_from((8, *OPSETS))), draw(st.sampled_from(KINDS))
    shape = tuple(draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 2))))
    inputs, states, outputs, length = (draw(st.integers(low, high)) for low, high in ((1, 2), (0, 2), (1, 2), (0, 4)))
    ins = [f"s{i}" for i in range(states)] + [f"e{i}" for i in range(inputs)]
    outs = [f"t{i}" for i in range(states)] + [f"o{i}" for i in range(outputs)]
    nodes = " ".join(_arithmetic(draw, [*ins, "c"], name) for name in outs)
    body = f"b ({_declared(ins, kind, shape)}) => ({_declared(outs, kind, shape)}) {{ {nodes} }}"
    attributes = {"num_scan_inputs": inputs, **_ways(draw, opset, len(shape) + 1, inputs, outputs)}
    batch = (draw(st.integers(1, 3)),) if opset == 8 else ()
    axes = [axis % (len(shape) + 1) for axis in attributes.get("scan_input_axes", [0] * inputs)]
    lengths = [shape] * states + [(*shape[:axis], length, *shape[axis:]) for axis in axes]
    feeds: dict[str, Array] = {"c": array(draw, shape, kind, -2, 2)}
    feeds |= {f"x{i}": array(draw, (*batch, *n), kind, -2, 2) for i, n in enumerate(lengths)}
    if batch and draw(st.booleans()):
        feeds["n"] = np.array([draw(st.integers(0, length)) for _ in range(batch[0])])
    return _scanned(attributes, body, len(outs), opset, feeds)


def _sequence_map(draw: st.DrawFn) -> Sample:
    """One or two sequences, or a sequence and a tensor."""
    opset, kind, shape = draw(st.sampled_from([17, 21])), draw(st.sampled_from(KINDS)), draw(shapes(1, 2, 1, 3))
    many, count = f"seq({_type(kind)})", draw(st.integers(1, 3))
    second = draw(st.sampled_from([None, "sequence", "tensor"]))
    names = "a" if second is None else "ab"
    body = f"""m ({_declared(names, kind, shape)}) => ({_declared("cd", kind, shape)}) {{
        {_arithmetic(draw, names, "c")} {_arithmetic(draw, [*names, "x"] if draw(st.booleans()) else names, "d")} }}"""
    feeds: dict[str, Any] = {"x": array(draw, shape, kind), "q": [array(draw, shape, kind) for _ in range(count)]}
    inputs = f"{_declared('x', kind, shape)}, {many} q"
    if second == "tensor":
        feeds["r"], inputs = array(draw, shape, kind), f"{inputs}, {_declared('r', kind, shape)}"
    if second == "sequence":
        feeds["r"], inputs = [array(draw, shape, kind) for _ in range(count)], f"{inputs}, {many} r"
    text = f"g ({inputs}) => ({many} y, {many} z) {{ y, z = SequenceMap<body = {body}>({'q, r' if second else 'q'}) }}"
    return written(text, opset, feeds)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map}
