"""Virtual environments, one for each set of wheels, for device workers with a runtime of another version.

A worker there needs NumPy, ml_dtypes, onnx, execnet and the runtime; this project is imported from the checkout.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL_LIMIT = 1200.0
"""Seconds for pip to fetch and install the wheels of one environment."""


class InstallError(RuntimeError):
    """An environment that cannot be made; the text is one line."""


def worker_needs() -> list[str]:
    """What `backends.worker.child` and the exercises import. Both sides must speak the same execnet."""
    return ["numpy", "ml_dtypes", "onnx", f"execnet=={importlib.metadata.version('execnet')}"]


def cache() -> Path:
    """The user's folder for things that can be made again."""
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "npu-cts" / "environments"


def folder_name(packages: str) -> str:
    """The name of the environment with these requirements, apart for each version of Python."""
    return f"py{sys.version_info[0]}{sys.version_info[1]}-" + re.sub(r"[^\w.]+", "-", packages).strip("-")


def prepare(packages: str, folder: Path) -> Path:
    """The interpreter of an environment with these requirements (of pip, separated by blanks), made where there is none yet.

    Raises InstallError.
    """
    place = folder / folder_name(packages)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = place / "complete.txt"  # written last: an installation that was interrupted is done again
    if complete.exists() and python.exists():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(place, clear=True, with_pip=False)
    complete.write_text(_install(python, [*worker_needs(), *packages.split()]), encoding="utf-8")
    return python


def _install(python: Path, requirements: Sequence[str]) -> str:
    """Installs with this interpreter's own pip; returns the names and versions of all that is there then."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    try:
        subprocess.run([*pip, "install", "--quiet", *requirements], check=True, capture_output=True, timeout=INSTALL_LIMIT)
        return subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True, timeout=INSTALL_LIMIT).stdout
    except subprocess.TimeoutExpired:
        raise InstallError(f"pip did not end within {INSTALL_LIMIT:g} s: {' '.join(requirements)}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr if isinstance(error.stderr, str) else error.stderr.decode("utf-8", "replace")
        reasons = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines() or ["no reason given"]
        raise InstallError(f"pip cannot install {' '.join(requirements)}: {reasons[-1]}") from None


def device_host(python: Path) -> str:
    """The --device-host under which a worker runs in that environment and imports this checkout."""
    return f"popen//python={shlex.quote(python.as_posix())}//chdir={ROOT.as_posix()}"
