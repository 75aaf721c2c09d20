"""Runs the checks of each vendor's adapter in a process of its own: vendor code may corrupt the process that loads it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("checks", "module"),
    [("onnxruntime", "onnxruntime"), ("openvino", "openvino"), ("qnn", "onnxruntime_qnn"), ("opencl", "pyopencl")],
)
def test_adapter(checks: str, module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / f"{checks}_checks.py")]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"
    assert " passed" in done.stdout.splitlines()[-1]
