"""The machine that a runtime runs on, in words and version numbers, for `DeviceInfo`."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path


@functools.cache
def cpu() -> str:
    """Marketing name of the CPU, or its architecture where the system does not tell."""
    system = platform.system()
    if system == "Linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Hardware", "Model") and value.strip():
                return value.strip()
    elif system == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            name = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            name = ""
        if name:
            return name
    return platform.processor() or platform.machine()


@functools.cache
def host() -> str:
    """CPU, architecture and operating system."""
    return f"{cpu()} ({platform.machine()}), {platform.platform()}"


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Installed versions of Python and of those `distributions` that are installed, by name."""
    found = {"python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
