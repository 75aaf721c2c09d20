"""The first line of a journal: which suite, started how, on which device, in which environment."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from results.strict_json import plain

SCHEMA = 1  # raised by every change of the journal's format; this version reads up to it

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTION = "npu-cts"

# Whose versions decide what a run means: the suite's own dependencies and every runtime that an adapter may load.
PACKAGES = (
    "coremltools",
    "execnet",
    "ml_dtypes",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-cann",
    "onnxruntime-directml",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-qnn",
    "openvino",
    "pocl-binary-distribution",
    "pyopencl",
    "pytest",
    "pytest-xdist",
)

_HOMES = re.compile(r"(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/][^\\/]+")
_LOGIN = re.compile(r"(?<![^=/:])[\w.+-]+@(?=\w)")


def header(
    *,
    backend: str,
    device: object,
    capabilities: object = None,
    fingerprint: Mapping[str, Any] | None = None,
    precision: Mapping[str, Any] | None = None,
    inferred: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    command: Sequence[str] | None = None,
    collected: int = 0,
    selection: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A header line as JSON types.

    `device` and `capabilities` are the dataclasses of backends.interface or mappings of the same fields; `command` is
    sys.argv when left out; `collected` counts the cases that the run selected.
    """
    notes: list[str] = []
    return {
        "type": "header",
        "schema": SCHEMA,
        "suite": suite(),
        "command": shorten_command(sys.argv if command is None else command),
        "started": now(),
        "backend": backend,
        "device": plain(device, notes),
        "capabilities": plain(capabilities if capabilities is not None else {}, notes),
        "fingerprint": plain(fingerprint or {}, notes),
        "precision": {"rungs": plain(precision or {}, notes), "inferred": sorted(inferred)},
        "options": {str(key): shorten(str(value)) for key, value in (options or {}).items()},
        "environment": environment(),
        "selection": {"collected": collected, "options": plain(selection or {}, notes)},
    }


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def suite() -> dict[str, Any]:
    """Version of the suite; commit and whether the files differ from it (null outside a checkout or without git)."""
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no") if commit else None
    return {"version": _version(), "commit": commit, "dirty": None if changed is None else bool(changed)}


def _version() -> str:
    project = ROOT / "pyproject.toml"
    try:
        return str(tomllib.loads(project.read_text("utf-8"))["project"]["version"])
    except (OSError, ValueError, KeyError):  # no checkout: installed from a wheel
        return _installed(DISTRIBUTION) or "unknown"


def _git(*arguments: str) -> str | None:
    # An installed suite may lie inside somebody else's checkout, whose commit would mean nothing here.
    if not (ROOT / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def environment() -> dict[str, Any]:
    """Interpreter, operating system, processor and package versions. Names no user and no host."""
    return {
        "python": f"{platform.python_version()} {platform.python_implementation()}",
        "numpy": _installed("numpy") or "",
        "onnx": _installed("onnx") or "",
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _processor(),
        "packages": {name: version for name in PACKAGES if (version := _installed(name))},
    }


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's marketing name, or as much as the system tells."""
    try:
        if sys.platform == "linux":
            for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
                if line.startswith(("model name", "Model", "Hardware")):
                    return line.partition(":")[2].strip()
        if sys.platform == "darwin":
            brand = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(brand, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass
    return platform.processor() or platform.machine()


def shorten_command(command: Sequence[str]) -> list[str]:
    """The command as the user typed it: the program by its name, paths without home folder, no logins."""
    if not command:
        return []
    program = Path(command[0])
    name = program.parent.name if program.name == "__main__.py" else program.stem
    return [name, *map(shorten, command[1:])]


def shorten(word: str) -> str:
    """One word of a command line: below the current folder relative, below a home folder with ~, `user@` left out."""
    here = os.getcwd()
    if len(here) > 1:
        word = word.replace(here + os.sep, "")
    home = os.path.expanduser("~")
    if len(home) > 1:
        word = re.sub(re.escape(home) + r"(?=[\\/]|$)", "~", word)
    return _LOGIN.sub("", _HOMES.sub("~", word))
