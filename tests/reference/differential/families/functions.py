"""Functions that a model brings along: attributes given and by default, inputs and outputs left out, one function in another,
names that also occur outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from ..samples import Sample, array, shapes, textual, written

KINDS = ("float32", "float64", "int64")


def _seldom(draw: st.DrawFn) -> bool:
    return draw(st.integers(0, 4)) == 4


def _inner(opset: int) -> str:
    return f"""<domain: "local", opset_import: ["" : {opset}]> Inner <axis: int = 1>(a) => (b) {{
        t = Neg(a) b = Concat<axis: int = @axis>(t, a) }}"""


def _outer(draw: st.DrawFn, opset: int, kind: str, bounded: bool) -> str:
    """A function with an attribute that has a default, one that has none, an input that may be left out, and three outputs."""
    joined = ["t = Add(a, b) c = Concat<axis: int = @axis>(t, b)", "t = Mul(a, b) c = local.Inner<axis: int = @axis>(t)"]
    ways = ["e = Clip(a, low)"]
    if bounded:
        ways.append(f"""s = ReduceSum<keepdims = 0>(b) k = Greater(s, low) e = If(k) <
            then_branch = p () => ({textual(kind)}[] u) {{ u = Concat<axis: int = @axis>(a, b) }},
            else_branch = q () => ({textual(kind)}[] v) {{ v = Neg(b) }}>""")
    nodes = " ".join([draw(st.sampled_from(joined)), "d = ReduceSum<keepdims: int = @keep>(b)", draw(st.sampled_from(ways))])
    return f"""<domain: "local", opset_import: ["" : {opset}, "local" : 1]> Function <keep, axis: int = 0>(a, b, low)
        => (c, d, e) {{ {nodes} }}"""


def _function(draw: st.DrawFn) -> Sample:
    opset, kind, shape = draw(st.sampled_from([18, 21, 25])), draw(st.sampled_from(KINDS)), draw(shapes(2, 3, 1, 3))
    bounded = not _seldom(draw)
    functions = [_inner(opset), _outer(draw, opset, kind, bounded)]
    given = [f"{name} = {draw(st.integers(0, 1))}" for name in ("axis", "keep") if not _seldom(draw)]
    tensor = f"{textual(kind)}[{', '.join(map(str, shape))}]"
    outputs = ['""' if _seldom(draw) else name for name in "xt"] + ["z"]
    wanted = ", ".join(f"{textual(kind)}[] {name}" for name in outputs if name != '""')
    text = f"""g ({tensor} b, {tensor} a{f", {textual(kind)} low" * bounded}) => ({wanted}) {{
        {", ".join(outputs)} = local.Function{f"<{', '.join(given)}>" if given else ""}(b, a{", low" * bounded})
    }} {" ".join(reversed(functions) if _seldom(draw) else functions)}"""
    feeds = {name: array(draw, shape, kind) for name in "ab"}
    return written(text, opset, {**feeds, "low": array(draw, (), kind)} if bounded else feeds)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"local:Function": _function}
