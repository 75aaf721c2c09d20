"""The vocabulary of what goes wrong with memory, time and state; what goes wrong with values is in
`reference.verify.diagnosis.causes`."""

from __future__ import annotations

CAUSES: dict[str, str] = {
    # What a run sees and leaves
    "stale-input": "a run does not see what was written to a bound input before it",
    "stale-output": "after the fence the output still holds what it held before the run",
    "input-overwritten": "a run writes to its input",
    "not-written": "part of the output is not written",
    "beyond-buffer": "bytes beyond a buffer are written",
    "output-elsewhere": "the result does not land in the buffer that was bound",
    "padding-counted": "padding between rows or behind a buffer is taken for data, or written as data",
    "buffers-swapped": "a binding uses the buffers of another binding or name",
    "runs-disturb": "a run changes what another binding, executable, queue or thread computes",
    # Zero-copy
    "copies-uncounted": "copies that the device makes are left out of its own count",
    "copied": "memory that is said to be used in place is copied",
    "address-wrong": "a buffer's address is not where its data is, or is not the one that the device uses",
    "map-lost": "what is written in a map is not there afterwards, or changes what else the buffer holds",
    "alias-wrong": "a buffer bound to an input and to an output gives a wrong result instead of a refusal",
    # Lifetime
    "memory-recycled": "memory is reused while a view, a binding or an output still needs it",
    "view-dead": "a view does not show its memory any more",
    "view-writable": "a read-only view lets itself be written",
    "owner-dropped": "memory is freed though the device still holds on to it",
    "leak": "memory or handles are not given back",
    # Refusals
    "not-refused": "what must be refused is accepted",
    "refusal-unclean": "after a refusal the device does not go on as before",
    "type-taken": "a buffer of another type is read as if it were of the tensor's",
    "alignment-understated": "the device refuses or copies what keeps to the alignment that it declares",
    "alignment-overstated": "the device takes in place what its declared alignment excludes",
    # Layouts and types
    "layout-ignored": "memory does not lie as was asked for, or as is declared",
    "strides-ignored": "memory is read or written as if elements followed each other that lie apart",
    "type-differs": "an array has another type than its tensor declares",
    # Order and time
    "fence-early": "a fence is done, or returns, before the work is complete",
    "fence-missing": "results are visible without the fence that the device declares to be needed",
    "order-ignored": "work does not wait for the fences that it is to run after",
    "run-lost": "of several submitted runs one is not done, or done twice",
    "first-run-differs": "the first run differs from the later ones",
    "runs-differ": "runs on the same inputs differ in their bits",
    "time-hidden-copy": "binding or running costs time, or copies, in proportion to the size where none should be made",
    "clock-wrong": "the device's clock goes back, or takes no notice of work",
    # Declarations
    "declared-wrong": "what the device says of itself has no meaning, or is not so",
    # Compiler
    "cache-stale": "a compiled model is taken from the cache though model or options differ",
    "cache-broken": "a damaged cache entry is used, or stops the device",
    "cache-unused": "the cache is never used",
    "fusion-changes": "nodes give another result together than one by one",
    "optimization-fails": "a graph that compiles at one level of optimisation does not at another",
    "border-wrong": "a value is converted wrongly between partitions or layouts",
}
"""Cause → what it means."""
