"""A virtual clock: what the device's work would cost, the same on every machine and in every run.

A run takes the longer of computing and moving its data (the roofline), and starts when its queue and the work before it are
done; copies between host and device cost a latency and a rate.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from backends.sim import profile


class Clock:
    """Seconds since the device was opened, as its host thread sees them."""

    def __init__(self, rates: profile.Clock) -> None:
        self.rates = rates
        self.now = 0.0
        self._lock = threading.Lock()

    def spend(self, seconds: float) -> None:
        """The host waits that long."""
        with self._lock:
            self.now += seconds

    def transfer(self, nbytes: int) -> None:
        """A copy between host and device."""
        self.spend(self.rates.transfer_latency + nbytes / self.rates.transfer_bandwidth)

    def submit(self, work: float, after: Iterable[float]) -> float:
        """Hands `work` seconds of work to the device, which begins once all of `after` is past; when it will be done."""
        self.spend(self.rates.launch)
        return max(self.now, *after, 0.0) + work

    def wait(self, end: float) -> None:
        """The host waits until `end`, at least as long as a fence takes."""
        with self._lock:
            self.now = max(self.now, end) + self.rates.fence

    def work(self, operations: float, traffic: int, dtype: str) -> float:
        """Seconds for so many multiply-adds in `dtype` and bytes to and from memory."""
        rates = self.rates.operations
        return max(operations / rates.get(dtype, min(rates.values())), traffic / self.rates.bandwidth)
