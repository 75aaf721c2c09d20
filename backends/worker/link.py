"""How a session reaches its devices: through a worker process, or in this process for in_process backends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from backends.interface import Phase
from backends.worker import log
from backends.worker.codec import encode
from backends.worker.execute import Server
from backends.worker.transport import START_LIMIT, Transport

BEGIN_LIMIT = 30.0  # seconds for an idle worker to take up a request
LINGER = 2.0  # seconds for a process that closed its connection to end by itself
PROMPT = 0.9  # share of a deadline after which the exit code of the child's own deadline is believed to be that
DEADLINE_EXIT = "exit code 1"  # of faulthandler's exit=True


class WorkerEnded(Exception):
    """The worker ended, or was ended, before it replied.

    begun: it had taken up the request, so that the request is to blame. phase, seconds: where that was, and time spent
    in each phase. timed_out: a deadline ended it. exit: "signal SIGSEGV", "exit code 3", "deadline 30 s in phase run".
    """

    def __init__(self, exit_text: str, *, log_text: str = "", begun: bool = False, timed_out: bool = False) -> None:
        super().__init__(exit_text)
        self.exit = exit_text
        self.log = log_text
        self.begun = begun
        self.timed_out = timed_out
        self.phase: Phase = "discover"
        self.seconds: dict[Phase, float] = {}


class WorkerLink:
    """A worker process."""

    def __init__(self, place: str, grace: float) -> None:
        self._transport = Transport(place)
        self._grace = grace  # seconds between the child's own deadline and the parent's
        self._log_path = ""
        try:
            self._transport.start()
            _, self._transport.group, self._log_path = self._transport.receive(START_LIMIT)
        except (ConnectionError, EOFError, TimeoutError) as error:
            self.close()
            reason = self._transport.failure or str(error)
            raise WorkerEnded(f"the worker did not start: {reason}") from error
        except BaseException:
            self.close()
            raise

    def request(self, kind: str, arguments: Sequence[Any], deadlines: Mapping[Phase, float]) -> dict[str, Any]:
        """The reply of `execute.Server`, with the request's `log`. Raises WorkerEnded; then the process is gone.

        Any other exception, such as KeyboardInterrupt while waiting, ends the process too: its reply would be late.
        """
        encoded = [encode(argument) for argument in arguments]
        nbytes = sum(_nbytes(argument) for argument in arguments)
        seconds: dict[Phase, float] = {}
        phase: Phase | None = None
        since = time.monotonic()
        try:
            self._transport.send((kind, encoded, dict(deadlines)), nbytes)
            while True:
                limit = BEGIN_LIMIT if phase is None else deadlines[phase] + self._grace
                word, content = self._transport.receive(since + limit - time.monotonic())
                now = time.monotonic()
                if word == "reply":
                    reply: dict[str, Any] = content
                    return reply
                if phase is not None:
                    seconds[phase] = seconds.get(phase, 0.0) + now - since
                phase, since = content, now
        except (EOFError, TimeoutError) as error:
            elapsed = time.monotonic() - since
            ended = self._ended(phase, elapsed, deadlines, isinstance(error, TimeoutError))
            if phase is not None:
                seconds[phase] = seconds.get(phase, 0.0) + elapsed
                ended.phase = phase
            ended.seconds = seconds
            raise ended from error
        except ValueError:  # beyond what a message holds: nothing was sent
            raise
        except BaseException:
            self.close()
            raise

    def _ended(self, phase: Phase | None, elapsed: float, deadlines: Mapping[Phase, float], overdue: bool) -> WorkerEnded:
        self._transport.kill(linger=0.0 if overdue else LINGER)
        exit_text = self._transport.exit_text()
        text = log.excerpt(self._log_path) if self._transport.local else ""
        self.close()
        if phase is None:
            exit_text = f"no answer for {BEGIN_LIMIT:g} s" if overdue else exit_text
            return WorkerEnded(exit_text, log_text=text)
        prompt = exit_text == DEADLINE_EXIT and elapsed >= PROMPT * deadlines[phase]
        if overdue or prompt:
            exit_text = f"deadline {deadlines[phase]:g} s in phase {phase}"
        return WorkerEnded(exit_text, log_text=text, begun=True, timed_out=overdue or prompt)

    @property
    def exit(self) -> str:
        """How the process ended between two requests; "" while it runs."""
        return "" if self._transport.alive() else self._transport.exit_text()

    def close(self) -> None:
        """End the process. Idempotent."""
        self._transport.kill()
        if self._log_path and self._transport.local:
            with contextlib.suppress(OSError):
                os.unlink(self._log_path)


class InProcessLink:
    """The same requests served by this very process: no deadlines, no log of what is printed."""

    exit = ""

    def __init__(self) -> None:
        self._server = Server(through=(KeyboardInterrupt,))

    def request(self, kind: str, arguments: Sequence[Any], deadlines: Mapping[Phase, float]) -> dict[str, Any]:
        return self._server.serve(kind, arguments, lambda phase: None) | {"log": ""}

    def close(self) -> None:
        self._server.close()


def _nbytes(argument: object) -> int:
    """Bytes of the models and arrays in a request's argument."""
    if isinstance(argument, bytes):
        return len(argument)
    if isinstance(argument, Mapping):
        return sum(_nbytes(item) for item in argument.values())
    if isinstance(argument, list | tuple):
        return sum(_nbytes(item) for item in argument)
    return int(getattr(argument, "nbytes", 0))
