"""When a run takes several processes by itself."""

import argparse

import pytest

from suites import parallel

OPERATORS, GRAPHS, ALL = "suites/test_operators.py", "suites/test_graphs.py", "suites"


class Config:
    """As much of pytest's configuration as the choice looks at."""

    def __init__(self, arguments, **given):
        self.args = arguments
        unset = ("backend", "device", "ep", "fault", "partner", "device_host", "resume", "ops", "dtype", "family", "profile")
        lists = dict.fromkeys(("case", "backend_option", "ep_option"), ())
        own = {"numprocesses": None, "maxprocesses": None, "collectonly": False, **lists, **dict.fromkeys(unset), **given}
        self.option = argparse.Namespace(**own)


def processes(*arguments, **given):
    config = Config([*arguments], **given)
    parallel.choose(config)
    return config.option.numprocesses


@pytest.mark.parametrize("arguments", [[ALL], [OPERATORS], [OPERATORS, "suites/test_zero_copy.py"]])
def test_simulated_device_is_in_every_process(arguments):
    assert processes(*arguments) == "logical"


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_cpu_of_the_host_is_shared_where_nobody_takes_times(backend):
    assert processes(OPERATORS, GRAPHS, backend=backend) == "logical"
    assert processes(OPERATORS, "suites/test_zero_copy.py", backend=backend) is None
    assert processes(ALL, backend=backend) is None


@pytest.mark.parametrize(
    "given",
    [
        {"backend": "qnn"},
        {"backend": "opencl"},
        {"backend": "onnxruntime", "ep": "CUDAExecutionProvider"},
        {"backend": "onnxruntime", "device": "CUDA"},
        {"backend": "openvino", "device": "NPU"},
        {"backend": "no-such-backend"},
        {"fault": "release-twice-aborts"},
        {"resume": "a.jsonl"},
        {"device_host": "ssh=board"},
        {"partner": "opencl"},
        {"ops": "Add"},
        {"case": ["Relu-14.f32.x:3.in:normal"]},
        {"profile": "core"},
        {"collectonly": True},
    ],
    ids=str,
)
def test_one_process_where_there_is_one_device_or_little_to_do(given):
    assert processes(OPERATORS, **given) is None


def test_the_users_own_choice_stays():
    assert processes(ALL, numprocesses=3) == 3
    assert processes(ALL, numprocesses=0) == 0


def test_tests_without_operators_are_few():
    assert processes(GRAPHS) is None
