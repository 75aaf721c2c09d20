"""The reference's peers behind one call: outputs of a model, or the reason why the peer does not run it."""

from __future__ import annotations

import locale
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from backends import ortvalue


class Declined(Exception):
    """The peer does not run this model."""


def _onnx_reference(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    before = locale.setlocale(locale.LC_ALL)  # its StringNormalizer sets another one
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = ReferenceEvaluator(model).run(None, dict(feeds))
        except Exception as error:  # whatever its NumPy code stumbles over
            raise Declined(f"{type(error).__name__}: {error}") from error
        finally:
            locale.setlocale(locale.LC_ALL, before)
    optional = {name for node in model.graph.node if node.op_type == "Optional" for name in node.output}
    pairs = zip(model.graph.output, results, strict=True)
    return [r[0] if info.name in optional else r for info, r in pairs]  # it keeps an optional in a list


def _onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        elements = {v.name: ortvalue.element_of(v.type) for v in (*session.get_inputs(), *session.get_outputs())}
        if any(x is None for x in feeds.values()):  # an empty optional
            return list(session.run(None, dict(feeds)))
        return list(ortvalue.run(session, elements, feeds).values())
    except Exception as error:  # its exceptions have no common base
        raise Declined(f"{type(error).__name__}: {error}") from error


PEERS: dict[str, Callable[[onnx.ModelProto, Mapping[str, Any]], list[Any]]] = {
    "onnx.reference": _onnx_reference,
    "ONNX Runtime": _onnxruntime,
}

VERSIONS = {"onnx.reference": onnx.__version__, "ONNX Runtime": onnxruntime.__version__}
