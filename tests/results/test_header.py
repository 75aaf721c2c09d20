"""The header says what ran where, and nothing about who ran it."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess

import pytest

from backends.interface import Capabilities, DeviceInfo
from results import header as header_module
from results.header import environment, shorten, shorten_command, suite
from results.journal import schema


def test_header_holds_device_and_capabilities(make_header):
    header = make_header(options={"soc_model": 57})
    assert header["device"]["kind"] == "emulated"
    assert header["capabilities"]["operators"] == {"Conv": ["float16", "float32"]}
    assert header["capabilities"]["layouts"] is None
    assert header["options"] == {"soc_model": "57"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", header["started"])
    json.dumps(header, allow_nan=False)


def test_schema_knows_the_fields_of_the_backend_interface():
    definition = schema()["$defs"]["header"]["properties"]
    for name, kind in (("device", DeviceInfo), ("capabilities", Capabilities)):
        assert set(definition[name]["properties"]) == {field.name for field in dataclasses.fields(kind)}


def test_environment_names_versions():
    found = environment()
    assert re.match(r"\d+\.\d+\.\d+", found["python"])
    assert found["numpy"] == found["packages"]["numpy"]
    assert found["cpu"]
    assert found["platform"]


@pytest.mark.parametrize("failure", [FileNotFoundError("git"), subprocess.CalledProcessError(128, "git")])
def test_no_git_no_commit(monkeypatch, tmp_path, failure):
    def fail(*arguments, **options):
        raise failure

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(header_module, "ROOT", tmp_path)
    monkeypatch.setattr(subprocess, "run", fail)
    assert suite()["commit"] is None
    assert suite()["dirty"] is None


def test_a_wheel_inside_a_foreign_checkout_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(header_module, "ROOT", tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("git was asked"))
    assert suite()["commit"] is None


@pytest.mark.skipif(os.name == "nt", reason="POSIX paths")
@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("--journal=/home/ada/runs/x.jsonl", "--journal=~/runs/x.jsonl"),
        ("/Users/ada/dev/adapter.py:Chip", "~/dev/adapter.py:Chip"),
        (r"C:\Users\ada\adapter.py:Chip", r"~\adapter.py:Chip"),
        ("--device-host=ssh=ada@board", "--device-host=ssh=board"),
        ("--backend=qnn", "--backend=qnn"),
        ("Conv-22.f32.x:1x3", "Conv-22.f32.x:1x3"),
    ],
)
def test_words_are_shortened(typed, stored):
    assert shorten(typed) == stored


def test_paths_below_the_current_and_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert shorten(f"--profile={tmp_path / 'work' / 'p.toml'}") == "--profile=p.toml"
    assert shorten(str(tmp_path / "other.py")) == f"~{os.sep}other.py"
    assert shorten(f"{tmp_path}-elsewhere") == f"{tmp_path}-elsewhere"


def test_program_is_its_name():
    assert shorten_command(["/opt/venv/bin/pytest", "suites"]) == ["pytest", "suites"]
    assert shorten_command(["/opt/venv/lib/python3.11/site-packages/pytest/__main__.py"]) == ["pytest"]
    assert shorten_command([]) == []
