"""Queues of the simulated device: each a thread of its own that does submitted work in order, and the fences of that work."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from backends import interface
from backends.interface import RunError

Work = Callable[[], None]


class Fence(interface.Fence):
    """Completion of one run. `end` is when it is complete on the device's clock; `arrive` makes results visible to the host."""

    def __init__(self, end: float, arrive: Callable[[Fence], None]) -> None:
        self.end = end
        self._arrive = arrive
        self._complete = threading.Event()
        self._error: BaseException | None = None

    def wait(self, timeout: float | None = None) -> None:
        """Also raises what the work raised, once its memory is free again."""
        try:
            self.block(timeout)
        except TimeoutError:
            raise
        except BaseException:
            self._arrive(self)
            raise
        self._arrive(self)

    def settle(self) -> None:
        """As `wait`, but what the work raised belongs to whoever waits for it, not to whoever needs the memory."""
        self._complete.wait()
        self._arrive(self)

    def done(self) -> bool:
        return self._complete.is_set()

    def block(self, timeout: float | None = None) -> None:
        """Until the work is complete; what the host sees stays as it is. Raises TimeoutError, and what the work raised."""
        if not self._complete.wait(None if timeout == math.inf else timeout):
            raise TimeoutError(f"the run was not complete after {timeout} s")
        if self._error is not None:
            raise self._error

    @property
    def failed(self) -> bool:
        """Whether the work ended in an error."""
        return self._error is not None

    def complete(self, error: BaseException | None) -> None:
        """The work is done, or has failed with `error`."""
        self._error = error
        self._complete.set()


class Queue(interface.Queue):
    """Work of one queue never overlaps. `end` is when the last of it is complete on the device's clock."""

    def __init__(self) -> None:
        self.end = 0.0
        self._work: SimpleQueue[tuple[Work, Sequence[interface.Fence], Fence] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._finalize = weakref.finalize(self, self._work.put, None)

    def submit(self, work: Work, after: Sequence[interface.Fence], fence: Fence) -> None:
        """Does `work` once every fence in `after` is done; `fence` is then complete. Raises RunError on a closed device."""
        strangers = [earlier for earlier in after if not isinstance(earlier, interface.Fence)]
        if strangers:
            raise RunError(f"after: {type(strangers[0]).__name__} is no fence", phase="load", code="sim.fence")
        with self._lock:
            if not self._finalize.alive:
                raise RunError("the device was closed", code="sim.closed")
            if self._thread is None:
                self._thread = threading.Thread(target=_serve, args=(self._work,), daemon=True, name="npu-cts-sim")
                self._thread.start()
            self._work.put((work, after, fence))

    def close(self) -> None:
        """Ends the thread once everything submitted is done. Idempotent."""
        with self._lock:
            self._finalize()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def _serve(jobs: SimpleQueue[tuple[Work, Sequence[interface.Fence], Fence] | None]) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        work, after, fence = job
        try:
            for earlier in after:
                earlier.block() if isinstance(earlier, Fence) else earlier.wait()
            work()
        except BaseException as error:  # it belongs to whoever waits for the fence
            fence.complete(error)
        else:
            fence.complete(None)
        del job, work, after, fence  # or a waiting thread would hold on to the last run's buffers
