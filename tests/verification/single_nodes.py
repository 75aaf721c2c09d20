"""Single-node models with inputs of several types, how far a result lies from its bound, and the verdict on it."""

from __future__ import annotations

import numpy as np
from onnx import helper

from reference import dtypes
from reference.node import Node
from reference.verify import Profile, modes, setting_of
from reference.verify.arithmetic import DEFAULT, RUNGS
from reference.verify.expectation import expectations
from reference.verify.setting import Setting
from reference.verify.verdict import judge


def model(operator, inputs, outputs, version, *, domain="", **attributes):
    """A model on arrays (None: left out), whose outputs y0, y1, … have the types `outputs` (None: not declared); and its
    feeds."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    feeds = {name: np.asarray(x) for name, x in zip(names, inputs, strict=True) if name}
    results = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, domain=domain, **attributes)],
        "g",
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info(n, dtypes.ONNX[t] if t else 0, None) for n, t in zip(results, outputs, strict=True)],
    )
    opsets = [helper.make_opsetid(domain, version), *([helper.make_opsetid("", 21)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets), feeds


def node_of(operator, inputs, outputs, version, **attributes):
    return Node.of(*model(operator, inputs, outputs, version, **attributes))


def ratio(node, got, dtype, output=0, *, random=False, rung=None):
    """Largest |got − real| / bound before storing, over the elements that are judged."""
    setting = Setting(RUNGS[rung or DEFAULT[dtype]], dtype, random)
    with np.errstate(all="ignore"):
        bound = np.broadcast_to(modes.BOUNDS[node.operator](node, setting)[output], np.shape(got))
        error = np.abs(np.asarray(got, np.float64) - node.results[output])
        width = bound * (1 + 2.0**-26) + 0.5 * dtypes.FLOATS[dtype].smallest_subnormal
        same = np.asarray(got) == dtypes.round_to(node.results[output], dtype)
        ratios = np.where(same & (bound == 0), 0.0, error / width)
    assert not np.isnan(bound).any()
    return float(np.where(np.isinf(bound), 0.0, ratios).max(initial=0.0))


def judged(operator, inputs, got, version, *, random=False, **attributes):
    """The verdict on the first output, in the type that it has and the arithmetic of that; without diagnosis."""
    node = node_of(operator, inputs, (dtypes.name_of(got.dtype),), version, **attributes)
    return judge(expectations(node, setting_of(node, Profile(), random=random))[0], got)


def stored(x, dtype):
    """Reals in a tensor type."""
    return dtypes.cast(np.asarray(x, np.float64), dtype)
