"""How exact a device's functions are, as the suite finds out: on ONNX Runtime as it is, and with results rounded to float16."""

from __future__ import annotations

import types

import numpy as np
import onnxruntime
import pytest

from suites.function_probe import OPERATORS, right_bits


class Session:
    """Runs a model in process; `change` is applied to the outputs, an operator in `declined` does not run."""

    def __init__(self, change=lambda y: y, declined=()):
        self.change, self.declined = change, declined

    def observe(self, model, feeds):
        if any(operator.encode() in model for operator in self.declined):
            return types.SimpleNamespace(ended="unsupported", outputs={})
        (y,) = onnxruntime.InferenceSession(model).run(None, feeds)
        return types.SimpleNamespace(ended="ran", outputs={"y": self.change(y)})


def test_single_precision_is_right_to_more_than_20_bits():
    found = right_bits(Session())
    assert set(found) == {f"{kind}_bits" for kind in OPERATORS}
    assert min(found.values()) > 20


def test_results_of_float16_are_right_to_11_bits():
    found = right_bits(Session(lambda y: y.astype(np.float16).astype(np.float32)))
    assert all(10 <= bits <= 13 for bits in found.values())


@pytest.mark.parametrize("change", [lambda y: y[..., :1], lambda y: y * np.float32(np.nan)])
def test_what_is_no_result_is_left_out(change):
    assert right_bits(Session(change)) == {}


def test_a_declined_operator_is_left_out():
    assert set(right_bits(Session(declined=["LogSoftmax"]))) == {"function_bits", "normalization_bits"}
