"""One child process with a two-way channel of builtins: execnet behind five methods.

execnet keeps a gateway's process private, so it is made from execnet's own parts here (version pinned in pyproject).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from execnet.gateway_base import Channel, DumpError, RemoteError, get_execmodel
from execnet.gateway_bootstrap import HostNotFound, bootstrap
from execnet.gateway_io import create_io
from execnet.xspec import XSpec

SLICE = 0.05  # seconds between two looks at the process
START_LIMIT = 120.0  # seconds for an interpreter (or an ssh connection) to come up
SEND_LIMIT = 60.0  # seconds for the other side to take a message
KILL_LIMIT = 10.0  # seconds after which a killed process is left behind: its driver holds it in the kernel
PIPE_BYTES = 8192  # messages below this fit into an empty pipe; macOS's are the smallest with 16 KiB
_numbers = itertools.count(1)

CHILD = """
import os, sys
path, environment, folder, local = channel.receive()
if path is not None:
    sys.path[:] = path
os.environ.update(environment)
if folder:
    os.chdir(folder)
from backends.worker.child import main
main(channel, local)
"""


class Transport:
    """A child process that runs `backends.worker.child`, and messages to and from it.

    place: an execnet spec: "popen" (this Python, this sys.path), "popen//python=/opt/python3.12/bin/python" or
    "ssh=user@board//python=python3", where this project has to be installed on the far side; `//env:NAME=value` and
    `//chdir=folder` are understood, `via`, `socket` and `nice` are not.
    """

    def __init__(self, place: str = "popen") -> None:
        self.place = place
        self.spec = XSpec(place)
        if not (self.spec.popen or self.spec.ssh):
            raise ValueError(f"{place!r} is not an execnet spec that begins with popen or ssh=host")
        self.local = bool(self.spec.popen)
        self.group: int | None = None  # the child's process group, once it said so; `python=` may name a wrapper
        self.failure = ""  # why the other side stopped, where it could still say so
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._owner = os.getpid()  # a fork of the parent must not end it
        self._channel: Channel

    def start(self) -> None:
        """Start the process. Raises ConnectionError with what is known if it does not come up."""
        self.spec.id = f"npu-cts-worker-{next(_numbers)}"
        self.spec.execmodel = "main_thread_only"  # devices are called from the worker's main thread
        try:
            io = create_io(self.spec, get_execmodel("thread"))
        except OSError as error:
            raise ConnectionError(f"{self.place}: {error}") from error
        self._process = io.popen
        with self._killed_after(START_LIMIT):
            try:
                gateway = bootstrap(io, self.spec)
                self._channel = gateway.remote_exec(CHILD)
                same_python = self.local and not self.spec.python
                self._channel.send((list(sys.path) if same_python else None, self.spec.env, self.spec.chdir, self.local))
            except (OSError, EOFError, AssertionError, AttributeError, HostNotFound) as error:
                self.kill(linger=1.0)
                reason = str(error) or type(error).__name__
                raise ConnectionError(f"{self.place}: no Python came up ({self.exit_text()}): {reason}") from error

    def send(self, message: Any, nbytes: int = 0) -> None:
        """Send builtins. `nbytes` is their approximate size: large messages are given `SEND_LIMIT` to be taken.

        Raises EOFError if the process is gone or did not take the message, ValueError if it is beyond 2 GiB.
        """
        guard = self._killed_after(SEND_LIMIT) if nbytes > PIPE_BYTES else contextlib.nullcontext()
        with guard:
            try:
                self._channel.send(message)
            except (DumpError, struct.error) as error:
                raise ValueError(f"cannot be sent to a worker: {error} (the limit is 2 GiB)") from error
            except OSError as error:
                raise EOFError(str(error)) from error

    def receive(self, timeout: float) -> Any:
        """The next message. Raises TimeoutError after `timeout` seconds, EOFError once the process has ended.

        The process is polled because a forked grandchild can keep the pipe open after it.
        """
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            running = self.alive()
            try:
                return self._channel.receive(max(0.001, min(SLICE, left)))
            except Channel.TimeoutError:
                if not running:
                    raise EOFError("the process ended") from None
                if left <= SLICE:
                    raise TimeoutError(f"no message after {timeout:g} s") from None
            except RemoteError as error:
                self.failure = str(error)
                raise EOFError(self.failure) from error

    def alive(self) -> bool:
        """Whether the process (for ssh, the connection) runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self, linger: float = 0.0) -> None:
        """End the process and everything in its process group, after at most `linger` seconds for it to end by itself.

        On Windows only the process itself is ended.
        """
        if self._process is None or self._killed or os.getpid() != self._owner:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            if linger:
                self._process.wait(linger)
        self._killed = True  # a second signal might hit a stranger that was given the same number
        if self.local and os.name == "posix":
            # The child leads its own group from its first statement on; before that there is no such group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group or self._process.pid, signal.SIGKILL)
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_LIMIT)

    def exit_text(self) -> str:
        """How the process ended: "signal SIGSEGV", "exit code 3"; "" while it runs."""
        code = None if self._process is None else self._process.returncode
        if code is None:
            return ""
        if not self.local and 128 < code < 192:  # what the far side's shell makes of a signal; ssh's own is 255
            code = 128 - code
        if code < 0:
            try:
                return f"signal {signal.Signals(-code).name}"
            except ValueError:
                return f"signal {-code}"
        return f"exit code {code:#x}" if code > 0xFFFF else f"exit code {code}"

    @contextlib.contextmanager
    def _killed_after(self, seconds: float) -> Any:
        """Kill the process if the body, blocked on a pipe, takes longer than `seconds`."""
        timer = threading.Timer(seconds, self.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
