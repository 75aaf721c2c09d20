"""NumPy arrays that hold a tensor in every way but the plain one: other strides, other ends, memory shared with poison."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from backends.elements import memory


def poisoned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of what no result may show: NaN, −1, the largest unsigned number, True."""
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    array: np.ndarray = np.full((*shape, dtype.itemsize), 0xFF, np.uint8).view(dtype).reshape(shape)
    return array


def _into(view: np.ndarray, array: np.ndarray) -> np.ndarray:
    view[...] = array
    return view


def _stored(array: np.ndarray, order: list[int]) -> np.ndarray:
    """The array over memory that holds its axes in another order."""
    return np.array(array.transpose(order), order="C").transpose(np.argsort(order))


def fortran(array: np.ndarray) -> np.ndarray:
    return np.asfortranarray(array)


def last_axes_swapped(array: np.ndarray) -> np.ndarray:
    order = list(range(array.ndim))
    order[-2:] = order[-2:][::-1]
    return _stored(array, order)


def second_axis_last(array: np.ndarray) -> np.ndarray:
    """Channels last, for an image."""
    order = list(range(array.ndim))
    return _stored(array, order[:1] + order[2:] + order[1:2])


def every_other(array: np.ndarray) -> np.ndarray:
    block = poisoned(tuple(2 * d for d in array.shape), array.dtype)
    return _into(block[(slice(None, None, 2),) * array.ndim], array)


def reversed_axes(array: np.ndarray) -> np.ndarray:
    """Negative strides along every axis."""
    block = np.empty(array.shape, array.dtype)
    return _into(block[(slice(None, None, -1),) * array.ndim], array)


def last_axis_reversed(array: np.ndarray) -> np.ndarray:
    block = np.empty(array.shape, array.dtype)
    return _into(block[..., ::-1], array)


def window(array: np.ndarray) -> np.ndarray:
    """A region of interest in a larger tensor."""
    block = poisoned(tuple(d + 3 for d in array.shape), array.dtype)
    return _into(block[tuple(slice(1 + i % 2, 1 + i % 2 + d) for i, d in enumerate(array.shape))], array)


def first_rows(array: np.ndarray) -> np.ndarray:
    """Contiguous, at the start of a longer buffer."""
    block = poisoned((array.shape[0] + 2, *array.shape[1:]), array.dtype)
    return _into(block[: array.shape[0]], array)


def later_rows(array: np.ndarray) -> np.ndarray:
    """Contiguous, at an offset of whole elements."""
    block = poisoned((array.size + 3,), array.dtype)
    return _into(block[3:].reshape(array.shape), array)


def odd_address(array: np.ndarray) -> np.ndarray:
    """Contiguous, at an address that is no multiple of the element's size."""
    block = poisoned((array.nbytes + 2 * array.itemsize,), np.dtype(np.uint8))
    start = -block.ctypes.data % array.itemsize + (1 if array.itemsize > 1 else 0)
    return _into(block[start : start + array.nbytes].view(array.dtype).reshape(array.shape), array)


def broadcast(array: np.ndarray) -> np.ndarray:
    """Stride 0 along the first axis: its first element stands for all."""
    return np.broadcast_to(np.array(array[:1]), array.shape)


def broadcast_last(array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.array(array[..., :1]), array.shape)


def one_element(array: np.ndarray) -> np.ndarray:
    """Stride 0 along every axis."""
    return np.broadcast_to(np.array(array.reshape(-1)[-1]), array.shape)


def read_only(array: np.ndarray) -> np.ndarray:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


WAYS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran-order": fortran,
    "last-axes-swapped": last_axes_swapped,
    "second-axis-last": second_axis_last,
    "every-other-element": every_other,
    "negative-strides": reversed_axes,
    "last-axis-reversed": last_axis_reversed,
    "window": window,
    "first-rows": first_rows,
    "offset": later_rows,
    "odd-address": odd_address,
    "stride-0-first": broadcast,
    "stride-0-last": broadcast_last,
    "stride-0-all": one_element,
    "read-only": read_only,
}
"""Name → view of an array of at least one axis; the values are the array's own, but with strides of 0."""


def image(view: np.ndarray) -> bytes:
    """All bytes between the view's lowest and highest element, those of others included."""
    low, high = _reach(view)
    return bytes(memory(int(view.ctypes.data) + low, high - low, view))


STARTS = ("first element", "lowest address")


def misread(view: np.ndarray, start: str) -> np.ndarray | None:
    """The tensor as one reads it who goes on from one of `STARTS` without strides; None where its memory ends before."""
    low, high = _reach(view)
    offset = 0 if start == "first element" else low
    if high - offset < view.nbytes or view.dtype.kind == "O":
        return None
    raw = np.array(memory(int(view.ctypes.data) + offset, view.nbytes, view))
    return raw.view(view.dtype).reshape(view.shape)


def _reach(view: np.ndarray) -> tuple[int, int]:
    """Lowest and one beyond the highest byte, from the first element on."""
    steps = [(extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + view.itemsize
