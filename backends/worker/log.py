"""What vendor code prints: file descriptors 1 and 2 of a worker go to a file that is read back request by request.

Vendor libraries print through C stdio or raw writes, so Python's `sys.stdout` is not the place to catch them; and after
a crash only a file still holds what was printed.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
import tempfile

LOG_BYTES = 8192  # kept of one request's log, half from its head and half from its tail


def redirect() -> str:
    """Send file descriptors 1 and 2 of this process to a new file and return its path.

    The file is opened for appending, so that it can be truncated between requests under writers that keep it open.
    """
    handle, path = tempfile.mkstemp(prefix="npu-cts-worker-", suffix=".log")
    os.close(handle)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    for descriptor in (1, 2):
        os.dup2(handle, descriptor)
    os.close(handle)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):  # unbuffered: what a crashing process printed is there
        raw = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
        setattr(sys, name, io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True))
    _unbuffer_c_stdout()
    return path


def _unbuffer_c_stdout() -> None:
    """C's stdout buffers fully once it is a file; what is in its buffer when the process crashes would be lost."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        name = "__stdoutp" if sys.platform == "darwin" else "stdout"
        unbuffered = 2  # _IONBF of glibc, musl and the BSDs
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, name), None, unbuffered, ctypes.c_size_t(0))


def start() -> None:
    """Forget what was printed before: the log of a request starts empty."""
    if os.fstat(1).st_size:
        os.ftruncate(1, 0)


def excerpt(log: str | int, limit: int = LOG_BYTES) -> str:
    """Text of the log, given by path or descriptor: at most `limit` bytes, head and tail; "" if there is no file."""
    try:
        with open(log, "rb", closefd=isinstance(log, str)) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size <= limit:
                return printable(file.read())
            head = file.read(limit // 2)
            file.seek(size - limit // 2)
            tail = file.read(limit // 2)
    except OSError:
        return ""
    return f"{printable(head)}\n[... {size - limit} bytes left out ...]\n{printable(tail)}"


def printable(data: bytes | str) -> str:
    """Text that every report format can hold: undecodable bytes, surrogates and control characters are escaped."""
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t" else character.encode("unicode_escape").decode()
        for character in text
    )


def shorten(text: str, limit: int = LOG_BYTES) -> str:
    """`text` made printable, its middle left out where it is longer than `limit` characters."""
    if len(text) > limit:
        text = f"{text[: limit // 2]}\n[... {len(text) - limit} characters left out ...]\n{text[-limit // 2 :]}"
    return printable(text)
