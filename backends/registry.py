"""Finds a backend by what follows `--backend=`: a built-in name, an entry point, or a class in a file."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import traceback
import types
from collections.abc import Iterable
from pathlib import Path

from backends.interface import Backend
from backends.options import nearest

GROUP = "npu_cts.backends"
"""Entry points of this group are backends: `name = "module:Class"`."""

BUILT_IN: dict[str, str] = {
    "sim": "backends.sim:SimBackend",
    "onnxruntime": "backends.onnxruntime:OnnxRuntimeBackend",
    "openvino": "backends.openvino:OpenVinoBackend",
    "qnn": "backends.qnn:QnnBackend",
    "opencl": "backends.opencl:OpenClBackend",
}


class BackendNotFound(ValueError):
    """`--backend` names nothing usable; one line that says what was wrong and what to do."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of `--list-backends`. `reason` says why it cannot run here, "" when it can."""

    name: str
    needs: str
    usable: bool
    reason: str


def names() -> list[str]:
    """Every name that `load` knows: built-in ones, then those of entry points. Raises BackendNotFound on a clash."""
    return [*BUILT_IN, *sorted(_entry_points())]


def available(further: Iterable[str] = ()) -> list[Row]:
    """One row per known backend and per spec of `further`, without loading vendor libraries."""
    rows = []
    for name in dict.fromkeys([*names(), *further]):
        try:
            backend = load(name)
        except BackendNotFound as error:
            rows.append(Row(name, "", False, str(error)))
            continue
        reason = why_not(backend) or ""
        rows.append(Row(name, backend.needs, not reason, reason))
    return rows


def why_not(backend: Backend) -> str | None:
    """`backend.unavailable()`, whose own failure is a reason too."""
    try:
        return backend.unavailable()
    except Exception as error:
        return f"unavailable() failed: {_last_line(error)}"


def load(spec: str) -> Backend:
    """An instance of the backend that `spec` names. Raises BackendNotFound."""
    entry_points = _entry_points()
    if spec in BUILT_IN:
        module, _, attribute = BUILT_IN[spec].partition(":")
        return _instantiate(_class(_import(module, spec), attribute, spec), spec)
    if spec in entry_points:
        point = entry_points[spec]
        module, _, attribute = point.value.partition(":")
        return _instantiate(_class(_import(module.strip(), spec), attribute.strip(), spec), spec)
    path, colon, attribute = spec.rpartition(":")
    if colon and path.endswith(".py"):
        return _instantiate(_class(_import_file(Path(path), spec), attribute, spec), spec)
    if spec.endswith(".py"):
        module_names = _backend_names(_import_file(Path(spec), spec)) or ["Class"]
        raise BackendNotFound(f"--backend={spec}: name the class too, e.g. {spec}:{module_names[0]}")
    known = names()
    hint = nearest(spec, known) or f"; known are {', '.join(known)}"
    raise BackendNotFound(f"--backend={spec}: no such backend{hint} (or give path/file.py:Class)")


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points by name. Two of one name, or one named like a built-in one, are an error: none may win silently."""
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.name in BUILT_IN:
            raise BackendNotFound(
                f"{_owner(point)} registers a backend {point.name!r}, which is built in; uninstall or rename it"
            )
        other = found.get(point.name)
        if other is not None and other.value != point.value:
            raise BackendNotFound(
                f"{_owner(other)} and {_owner(point)} both register a backend {point.name!r}; uninstall one of them"
            )
        found[point.name] = point
    return found


def _owner(point: importlib.metadata.EntryPoint) -> str:
    return f"distribution {point.dist.name}" if point.dist else f"entry point {point.value}"


def _import(module: str, spec: str) -> types.ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise BackendNotFound(f"--backend={spec}: importing {module} failed: {_last_line(error)}") from error


def _import_file(path: Path, spec: str) -> types.ModuleType:
    """Executes the file as a module whose name is unique to its path. Its folder is importable only meanwhile."""
    try:
        path = path.expanduser().resolve()
        is_file = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, an unknown ~user, a NUL byte
        raise BackendNotFound(f"--backend={spec[:80]}: not a path: {error}") from None
    if not is_file:
        siblings = [entry.name for entry in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise BackendNotFound(f"--backend={spec}: there is no file {path}{nearest(path.name, siblings)}")
    name = f"npu_cts_backend_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None or module_spec.loader is None:
        raise BackendNotFound(f"--backend={spec}: {path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module  # dataclasses and pickle look the module up by name
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        module_spec.loader.exec_module(module)
    except BaseException as error:  # also what only a broken or hostile file raises; Ctrl-C lands elsewhere
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BackendNotFound(f"--backend={spec}: importing {path.name} failed: {_last_line(error)}") from error
    finally:
        sys.path.remove(folder)
    return module


def _last_line(error: BaseException) -> str:
    """`Type: message (file:line)` of the innermost frame outside the import machinery."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError: {error.msg} ({error.filename}:{error.lineno})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    try:
        message = " ".join(str(error).split())
    except Exception as broken:  # an exception of the user's file may fail at this too
        message = f"<its text raises {type(broken).__name__}>"
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message}{where}"


def _backend_names(module: types.ModuleType) -> list[str]:
    """The Backend classes that a module defines itself, in the order of their names."""
    return [
        name
        for name, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Backend) and value is not Backend and value.__module__ == module.__name__
    ]


def _class(module: types.ModuleType, attribute: str, spec: str) -> type[Backend]:
    found = getattr(module, attribute, None) if attribute else None
    if found is None:
        defined = _backend_names(module)
        there = f"it defines {', '.join(defined)}" if defined else "it defines no subclass of backends.interface.Backend"
        what = f"has no class {attribute!r}" if attribute else "needs a class name after the colon"
        raise BackendNotFound(f"--backend={spec}: {Path(module.__file__ or module.__name__).name} {what}; {there}")
    if not (inspect.isclass(found) and issubclass(found, Backend)):
        raise BackendNotFound(f"--backend={spec}: {attribute} is not a subclass of backends.interface.Backend")
    return found


def _instantiate(backend: type[Backend], spec: str) -> Backend:
    missing = sorted(getattr(backend, "__abstractmethods__", ()))
    if missing:
        raise BackendNotFound(f"--backend={spec}: {backend.__name__} does not implement {', '.join(missing)}")
    if not isinstance(getattr(backend, "name", None), str):
        raise BackendNotFound(f'--backend={spec}: {backend.__name__} needs a class attribute name = "..."')
    try:
        return backend()
    except (Exception, SystemExit) as error:
        raise BackendNotFound(f"--backend={spec}: {backend.__name__}() failed: {_last_line(error)}") from error


@functools.cache
def _providers() -> dict[str, list[str]]:
    return {
        name: sorted({owner for owner in owners if owner})
        for name, owners in importlib.metadata.packages_distributions().items()
    }


def providers(package: str) -> list[str]:
    """Installed distributions that bring the top-level `package`, e.g. onnxruntime and onnxruntime-gpu; [] for none."""
    return _providers().get(package, [])


def missing(package: str, words: str, extra: str) -> str | None:
    """None if `package` is installed once, else one line: what to install, or which distributions clash over it."""
    owners = providers(package)
    if len(owners) > 1:
        return (
            f"{' and '.join(owners)} both install the package {package} and overwrite each other: "
            f"pip uninstall {' '.join(owners)}, then install one of them"
        )
    if importlib.util.find_spec(package) is None:
        return f'needs {words}: pip install "npu-cts[{extra}]"'
    return None
