"""Single-node models of quantised operators, of ONNX and of ONNX Runtime's domain."""

from __future__ import annotations

import numpy as np
from onnx import helper

from reference import dtypes

CONTRIB = "com.microsoft"


def model(operator, inputs, outputs, domain="", **attributes):
    """A single-node model and its feeds; None is an input that is left out. `outputs` are the types of y0, y1, …"""
    feeds = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, domain=domain, **attributes)],
        "g",
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info(n, dtypes.ONNX[t], None) for n, t in zip(results, outputs, strict=True)],
    )
    imports = [helper.make_opsetid("", 21), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=imports), feeds
