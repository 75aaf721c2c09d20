"""What `--backend` finds, and what it says when it finds nothing."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from backends import registry
from backends.interface import Backend

GOOD = """
from backends.interface import Backend
from sibling import NAME

class Good(Backend):
    name = NAME
    def discover(self): return []
    def open(self, info, options): raise NotImplementedError

class Abstract(Backend):
    name = "abstract"
    def discover(self): return []

class Other:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "sibling.py").write_text('NAME = "good"\n')
    (tmp_path / "broken.py").write_text("x = 1\nimport not_a_module_at_all\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    return tmp_path


@pytest.fixture(autouse=True)
def no_siblings(monkeypatch: pytest.MonkeyPatch):
    yield
    sys.modules.pop("sibling", None)


def test_built_in_names_load_without_vendor_libraries():
    assert registry.names()[:4] == ["sim", "onnxruntime", "openvino", "qnn"]
    code = (
        "import sys; from backends import registry\n"
        "rows = registry.available(); backends = [registry.load(n) for n in registry.BUILT_IN]\n"
        "assert [b.name for b in backends] == list(registry.BUILT_IN), backends\n"
        "assert len(rows) >= 4\n"
        "print(sorted({'onnxruntime', 'openvino', 'onnxruntime_qnn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_class_in_a_file(folder: Path):
    path = list(sys.path)
    backend = registry.load(f"{folder / 'good.py'}:Good")
    assert isinstance(backend, Backend)
    assert backend.name == "good"
    assert sys.path == path
    assert type(backend).__module__.startswith("npu_cts_backend_good_")
    assert type(registry.load(f"{folder / 'good.py'}:Good")) is type(backend)


def test_two_files_of_one_name_do_not_meet(folder: Path):
    other = folder / "other"
    other.mkdir()
    (other / "good.py").write_text(GOOD.replace("from sibling import NAME", 'NAME = "second"'))
    first = registry.load(f"{folder / 'good.py'}:Good")
    second = registry.load(f"{other / 'good.py'}:Good")
    assert (first.name, second.name) == ("good", "second")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("onnxruntim", ["did you mean onnxruntime"]),
        ("zzzzzz", ["sim", "onnxruntime", "openvino", "qnn", "path/file.py:Class"]),
        ("{folder}/god.py:Good", ["there is no file", "did you mean good.py"]),
        ("{folder}/good.py:Goood", ["no class 'Goood'", "Abstract, Good"]),
        ("{folder}/good.py", ["name the class too", "good.py:Abstract"]),
        ("{folder}/good.py:Other", ["not a subclass"]),
        ("{folder}/good.py:Abstract", ["does not implement open"]),
        ("{folder}/broken.py:X", ["ModuleNotFoundError", "not_a_module_at_all", "broken.py:2"]),
        ("{folder}/syntax.py:X", ["SyntaxError", "syntax.py:1"]),
        ("{folder}/sibling.py:X", ["no class 'X'", "defines no subclass"]),
    ],
)
def test_errors_say_what_to_do_in_one_line(folder: Path, spec: str, words: list[str]):
    with pytest.raises(registry.BackendNotFound) as caught:
        registry.load(spec.format(folder=folder))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def entry(name: str, value: str, distribution: str) -> importlib.metadata.EntryPoint:
    point = importlib.metadata.EntryPoint(name, value, registry.GROUP)
    vars(point)["dist"] = SimpleNamespace(name=distribution)
    return point


def test_entry_point(monkeypatch: pytest.MonkeyPatch):
    points = [entry("acme", "backends.onnxruntime:OnnxRuntimeBackend", "acme-npu")]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == registry.GROUP else [])
    assert registry.names()[-1] == "acme"
    assert registry.load("acme").name == "onnxruntime"
    assert "acme" in [row.name for row in registry.available()]


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([entry("sim", "a:B", "acme-npu")], ["acme-npu", "'sim'", "built in"]),
        ([entry("x", "a:B", "one"), entry("x", "c:D", "two")], ["one", "two", "'x'"]),
    ],
)
def test_entry_point_clash(monkeypatch: pytest.MonkeyPatch, points: list, words: list[str]):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    with pytest.raises(registry.BackendNotFound) as caught:
        registry.load("onnxruntime")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["sim", "onnxruntime", "qnn"])
def test_two_distributions_of_onnxruntime_are_refused(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(registry, "_providers", lambda: {"onnxruntime": ["onnxruntime", "onnxruntime-gpu"]})
    reason = registry.load(name).unavailable()
    assert reason is not None
    assert "onnxruntime and onnxruntime-gpu" in reason
    row = next(row for row in registry.available() if row.name == name)
    assert (row.usable, row.reason) == (False, reason)


@pytest.mark.parametrize(("name", "extra"), [("sim", "cpu"), ("onnxruntime", "cpu"), ("openvino", "openvino"), ("qnn", "qnn")])
def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, name: str, extra: str):
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda package: None)
    reason = registry.load(name).unavailable()
    assert reason is not None
    assert reason.startswith("needs ")
    assert f'pip install "npu-cts[{extra}]"' in reason
