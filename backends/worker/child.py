"""What runs in a worker process: it isolates itself, opens the devices and serves requests until it is ended.

It protects its parent from vendor code (prints, signals, hangs), and the machine from orphans once the parent is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import os
import signal
import struct
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from backends.interface import Phase
from backends.worker import log
from backends.worker.codec import decode
from backends.worker.execute import Server

if TYPE_CHECKING:
    from execnet.gateway_base import Channel

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PARENT_CHECK = 0.5  # seconds between two looks for the parent


def main(channel: Channel, local: bool) -> None:
    """Serve requests `(kind, arguments, deadlines)`; send `("phase", name)` on entering each and `("reply", reply)`.

    local: the parent runs on this machine, where it reads the log after a crash and removes it.
    """
    path = isolate(channel)
    if not local and os.name == "posix":
        os.unlink(path)
    channel.send(("started", os.getpid(), path))
    server = Server()
    for kind, arguments, deadlines in channel:
        log.start()
        reply = server.serve(kind, decode(arguments), functools.partial(enter, channel, deadlines))
        faulthandler.cancel_dump_traceback_later()
        reply["log"] = log.excerpt(1)
        try:
            channel.send(("reply", reply))
        except (ValueError, struct.error) as error:  # beyond the 2 GiB of a message
            reply.update(ended="adapter_error", outputs={}, evidence=None, error=f"results cannot be sent: {error}")
            channel.send(("reply", reply))
    end_group(path)


def isolate(channel: Channel) -> str:
    """Own process group, log, signals and watchdog. Returns the path of the log."""
    parent = os.getppid()
    if os.name == "posix" and os.getpgrp() != os.getpid():
        os.setsid()
    if sys.platform == "linux":  # a stopped worker is woken when the parent dies, so that its watchdog can end the group
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)
    path = log.redirect()
    faulthandler.enable(file=2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends this process
    threading.Thread(target=watch, args=(channel, parent, path), daemon=True, name="parent watchdog").start()
    return path


def enter(channel: Channel, deadlines: Mapping[str, float], phase: Phase) -> None:
    """Tell the parent and arm the deadline: faulthandler's own thread needs no GIL to end a loop that holds it."""
    channel.send(("phase", phase))
    faulthandler.dump_traceback_later(deadlines[phase], exit=True, file=2)


def watch(channel: Channel, parent: int, path: str) -> None:
    """End this process group when the connection closes or, where a descendant keeps it open, the parent changes."""
    while True:
        try:
            channel.waitclose(PARENT_CHECK)
            break
        except channel.TimeoutError:
            if os.getppid() != parent:
                break
        except (EOFError, OSError):
            break
    end_group(path)


def end_group(path: str) -> NoReturn:
    """No goodbye to anybody: vendor threads may hang in their own clean-up."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
