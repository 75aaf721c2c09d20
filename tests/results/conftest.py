"""Records and headers as a run would write them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from backends.interface import Capabilities, DeviceInfo
from results.header import header
from results.record import Record, Rerun, Vendor
from results.verdict import Verdict


@pytest.fixture
def make_header() -> Callable[..., dict[str, Any]]:
    """A header of an emulated device; keyword arguments replace those of `results.header.header`."""

    def make(**changes: Any) -> dict[str, Any]:
        values: dict[str, Any] = {
            "backend": "qnn",
            "device": DeviceInfo("qnn", "HTP", "emulated", vendor="Qualcomm", soc="SM8650", runtime="onnxruntime-qnn 2.7"),
            "capabilities": Capabilities(operators={"Conv": frozenset({"float32", "float16"})}),
            "command": ["/usr/bin/pytest", "suites", "--backend=qnn"],
            "collected": 3,
        }
        return header(**{**values, **changes})

    return make


@pytest.fixture
def make_record() -> Callable[..., Record]:
    """A passing record of one convolution; keyword arguments replace its fields, `test` follows `id`."""

    def make(id: str = "Conv-22.f32.x:1x3x8x9", **changes: Any) -> Record:
        values: dict[str, Any] = {
            "test": f"suites/test_operators.py::test_operator[{id}]",
            "requirement": "OPS-001",
            "verdict": Verdict.PASS,
            "operator": "Conv",
            "opset": 22,
            "dtype": "float32",
            "family": "convolution",
            "phase": "verify",
            "placement": {"QNNExecutionProvider": 1},
            "numbers": {"y": {"compared": 216, "wrong": 0, "worst_ratio": 0.25, "worst_ulp": 1.0, "worst_index": 3}},
            "seconds": {"compile": 0.01, "run": 0.002},
            "worker": 1,
        }
        return Record(id=id, **{**values, **changes})

    return make


@pytest.fixture
def many_records(make_record: Callable[..., Record]) -> Callable[[int], list[Record]]:
    """That many records: mostly passes, with hundreds of failures of a few causes among them."""
    dtypes = ("float32", "float16", "bfloat16", "float8e4m3fn", "int8", "uint8", "int64", "int4")
    families = {"Conv": "convolution", "Softmax": "normalisation", "Gelu": "elementwise", "MaxPool": "pooling"}

    def make(count: int) -> list[Record]:
        draw = random.Random(0)
        records = []
        for number in range(count):
            operator, dtype = draw.choice(list(families)), draw.choice(dtypes)
            common: dict[str, Any] = {"operator": operator, "dtype": dtype, "family": families[operator]}
            if dtype == "int4":
                common |= {"verdict": Verdict.UNSUPPORTED, "reason": "declined by the runtime", "numbers": {}}
            elif operator == "Softmax" and dtype == "float16":
                common |= {
                    "verdict": Verdict.MISMATCH,
                    "reason": f"y: {number % 216} of 216 elements outside their bound; worst at [0, {number % 7}]",
                    "numbers": {"y": {"wrong": number % 216 + 1, "worst_ratio": 9.3, "worst_ulp": 40.5}},
                }
            elif operator == "Gelu" and draw.random() < 0.1:
                common |= {
                    "verdict": Verdict.CRASH,
                    "reason": "the process died",
                    "exit": "signal SIGSEGV",
                    "vendor": Vendor(f"failed to map 0x7f{number:x}\n" + "#0 frame\n" * 50, "1002"),
                    "rerun": Rerun(Verdict.CRASH),
                }
            records.append(make_record(f"{operator}-22.{dtype}.n:{number}", **common))
        return records

    return make
