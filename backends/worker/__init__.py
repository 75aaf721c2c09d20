"""Devices in a persistent child process, so that a crash or a hang of vendor code costs one case only.

session.py is the parent's side (`DeviceSession`, `Observation`, deadlines, recovery), child.py what runs next to the
device; link.py joins them, over transport.py (execnet) or, for in_process backends, by a plain call; execute.py carries
out a request on either path, codec.py turns arrays and records into builtins, log.py keeps what vendor code prints.
"""

from backends.worker.session import DeviceGone, DeviceSession, Observation

__all__ = ["DeviceGone", "DeviceSession", "Observation"]
