"""Compiled programs in a folder: found by everything that they depend on, checked before they are used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import tempfile

MAGIC = b"npu-cts sim program 1\n"


def key(*parts: bytes) -> str:
    """Name of an entry: a digest over parts that all have to be the same, lengths included."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def load(folder: pathlib.Path, name: str) -> bytes | None:
    """What was stored under this name, None if nothing was, or nothing whole: truncated, damaged, or another entry's."""
    try:
        data = folder.joinpath(f"{name}.sim").read_bytes()
    except OSError:
        return None
    checksum, content = data[len(MAGIC) : len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    whole = data.startswith(MAGIC) and checksum == _checksum(name, content)
    return content if whole else None


def store(folder: pathlib.Path, name: str, content: bytes) -> None:
    """Keeps content under a name: a reader, also of another process, finds all of it or nothing. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=folder, prefix=f"{name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + _checksum(name, content) + content)
        os.replace(path, folder.joinpath(f"{name}.sim"))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def _checksum(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + content).digest()
