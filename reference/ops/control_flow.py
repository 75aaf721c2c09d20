"""Control flow: If, Loop, Scan and SequenceMap. A graph attribute is a callable over the values of the outer scope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops.arguments import axis_in, single

Array = NDArray[Any]
Value = Array | list[Any] | None


class Body(Protocol):
    """A graph: values of its inputs → values of its outputs, and what it declares of those outputs."""

    @property
    def n_inputs(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

    @property
    def output_types(self) -> Sequence[str | None]: ...

    @property
    def output_shapes(self) -> Sequence[Sequence[int | None] | None]: ...

    def __call__(self, *values: Any) -> tuple[Any, ...]: ...


def _empty(body: Body, output: int, axis: int) -> Array:
    """The scan output of no iterations: 0 along `axis`, the lengths that the body declares elsewhere, unknown ones 0."""
    name = body.output_types[output]
    if name is None:
        raise ValueError(f"output {output} of the body declares no type, which a scan output of no iterations needs")
    lengths = [length or 0 for length in body.output_shapes[output] or ()]
    lengths.insert(axis_in(axis, len(lengths) + 1), 0)
    return np.zeros(lengths, np.float64 if types.is_float(name) else types.numpy_dtype(name))


def _stacked(elements: Sequence[Array], body: Body, output: int, axis: int = 0) -> Array:
    """One element per iteration, joined on the new axis `axis`. Raises ValueError if they differ in shape or type."""
    if not elements:
        return _empty(body, output, axis)
    kinds = {(element.shape, element.dtype.name) for element in elements}
    if len(kinds) > 1:
        raise ValueError(f"output {output} of the body must not change from one iteration to another, but was {kinds}")
    return np.stack(elements, axis_in(axis, elements[0].ndim + 1))


def if_(condition: Array, *, then_branch: Body, else_branch: Body) -> tuple[Value, ...]:
    """If-25 (all versions): the outputs of `then_branch` where the condition holds, else of `else_branch`.

    The branches may return different shapes from version 11 on, sequences from 13, optionals from 16. Raises ValueError
    unless the condition has one element.
    """
    return then_branch() if single(condition, "the condition of If") else else_branch()


def loop(trip_count: Array | None = None, condition: Array | None = None, *initial: Value, body: Body) -> tuple[Value, ...]:
    """Loop-25 (all versions): runs `body` (iteration, condition, carried…) → (condition, carried…, scanned…).

    Ends after trip_count iterations (int64, below 0 as 0) or when the condition is false; an input that is absent ends
    nothing: without the input `condition` the body's is ignored. Returns the carried values (tensors, from 13 on
    sequences, from 16 on optionals), then the scanned ones on a new first axis. Open in ONNX: the lengths of a scan output
    of no iterations where the body does not declare them (0 here). Raises ValueError for a loop without an end, another
    number of carried values than the body's, and a scan output that changes its shape or type.
    """
    carried: Sequence[Value] = initial
    n = body.n_inputs - 2
    if len(carried) != n:
        raise ValueError(f"the body carries {n} values, but {len(carried)} initial values were given")
    if trip_count is None and condition is None:
        raise ValueError("a Loop without trip count and condition never ends")
    limit = None if trip_count is None else int(single(trip_count, "the trip count of Loop"))
    going = np.array(True) if condition is None else condition
    scanned: list[list[Array]] = [[] for _ in range(body.n_outputs - 1 - n)]
    iteration = 0
    while (limit is None or iteration < limit) and (condition is None or single(going, "the condition of Loop")):
        going, *results = body(np.array(iteration, np.int64), going, *carried)
        carried = results[:n]
        for elements, result in zip(scanned, results[n:], strict=True):
            elements.append(result)
        iteration += 1
    return (*carried, *(_stacked(elements, body, 1 + n + i) for i, elements in enumerate(scanned)))


def _iterate(
    states: Sequence[Array], scanned: Sequence[Array], length: int, body: Body
) -> tuple[list[Array], list[list[Array]]]:
    """Runs the body over the first axis of `scanned`: the final states, and for each scan output its elements."""
    current = list(states)
    elements: list[list[Array]] = [[] for _ in range(body.n_outputs - len(current))]
    for step in range(length):
        results = body(*current, *(x[step, ...] for x in scanned))
        for i, (old, new) in enumerate(zip(current, results, strict=False)):
            if old.shape != new.shape:
                raise ValueError(f"state {i} of Scan must keep its shape {old.shape}, but the body returned {new.shape}")
        current = list(results[: len(current)])
        for collected, result in zip(elements, results[len(current) :], strict=True):
            collected.append(result)
    return current, elements


def _for_each(values: Sequence[int] | None, count: int, name: str) -> Sequence[int]:
    """An attribute with one entry per scan input or output, 0 by default. Raises ValueError for another number."""
    if values is None:
        return [0] * count
    if len(values) != count:
        raise ValueError(f"{name} must have {count} entries, not {len(values)}")
    return values


def _apart(values: Sequence[Array], num_scan_inputs: int) -> tuple[Sequence[Array], Sequence[Array]]:
    """States and scan inputs. Raises ValueError for a number of scan inputs that is not in [1, inputs]."""
    if not 1 <= num_scan_inputs <= len(values):
        raise ValueError(f"num_scan_inputs must be in [1, {len(values)}], not {num_scan_inputs}")
    return values[:-num_scan_inputs], values[-num_scan_inputs:]


def _common(lengths: Iterable[int], meaning: str) -> int:
    """The length that all agree on. Raises ValueError if they do not."""
    distinct = set(lengths)
    if len(distinct) != 1:
        raise ValueError(f"{meaning} must be equal, but are {sorted(distinct)}")
    return distinct.pop()


def scan(
    *initial_state_and_scan_inputs: Array,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> tuple[Array, ...]:
    """Scan-25 (9 on; negative axes from 11 on): runs `body` (states…, elements…) → (states…, scanned…) along the inputs.

    Returns the final states, then the scanned values on a new axis; scan_output_axes count in the result. Directions: 1
    walks an input backwards, and puts each new value of an output first. An axis of length 0 runs nothing and gives scan
    outputs as `loop` does. Raises ValueError for scan inputs of different lengths, attributes of another length than the
    number of inputs or outputs, and states or scan outputs that change their shape.
    """
    states, inputs = _apart(initial_state_and_scan_inputs, num_scan_inputs)
    n_outputs = body.n_outputs - len(states)
    input_axes = _for_each(scan_input_axes, len(inputs), "scan_input_axes")
    backwards = _for_each(scan_input_directions, len(inputs), "scan_input_directions")
    output_axes = _for_each(scan_output_axes, n_outputs, "scan_output_axes")
    prepended = _for_each(scan_output_directions, n_outputs, "scan_output_directions")
    moved = [np.moveaxis(x, axis_in(axis, x.ndim), 0) for x, axis in zip(inputs, input_axes, strict=True)]
    length = _common((len(x) for x in moved), "the lengths of the scanned axes")
    moved = [x[::-1] if reverse else x for x, reverse in zip(moved, backwards, strict=True)]
    final, elements = _iterate(states, moved, length, body)
    ordered = [values[::-1] if reverse else values for values, reverse in zip(elements, prepended, strict=True)]
    outputs = (
        _stacked(values, body, len(states) + i, axis) for i, (values, axis) in enumerate(zip(ordered, output_axes, strict=True))
    )
    return (*final, *outputs)


def scan_8(
    sequence_lens: Array | None,
    *initial_state_and_scan_inputs: Array,
    body: Body,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> tuple[Array, ...]:
    """Scan-8: as version 9 for each entry of a batch: inputs (batch, time, …), states (batch, …), outputs (batch, time, …).

    sequence_lens (batch) says how many steps each entry takes; a direction of 1 starts at the last of them. Open in ONNX:
    what follows those steps in scan outputs (0 or "" here). Raises ValueError for different batch sizes or lengths, a
    sequence_lens outside [0, time], and what `scan` refuses.
    """
    states, inputs = _apart(initial_state_and_scan_inputs, num_scan_inputs)
    backwards = _for_each(directions, len(inputs), "directions")
    batch = _common((len(x) for x in initial_state_and_scan_inputs), "the batch sizes of Scan")
    maximum = _common((x.shape[1] for x in inputs), "the lengths of the scanned axes")
    lengths = [maximum] * batch if sequence_lens is None else [int(length) for length in sequence_lens]
    if len(lengths) != batch or not all(0 <= length <= maximum for length in lengths):
        raise ValueError(f"sequence_lens must be {batch} lengths in [0, {maximum}], not {lengths}")
    finals = []
    outputs: list[list[list[Array]]] = [[] for _ in range(body.n_outputs - len(states))]
    for entry, length in enumerate(lengths):
        steps = [x[entry, :length][:: -1 if reverse else 1] for x, reverse in zip(inputs, backwards, strict=True)]
        final, elements = _iterate([x[entry, ...] for x in states], steps, length, body)
        finals.append(final)
        for collected, values in zip(outputs, elements, strict=True):
            collected.append(values)
    stacked = [np.stack(entries) for entries in zip(*finals, strict=True)] if finals else list(states)
    return (*stacked, *(_padded(values, maximum, body, len(states) + i) for i, values in enumerate(outputs)))


def _padded(entries: Sequence[Sequence[Array]], maximum: int, body: Body, output: int) -> Array:
    """Scan outputs of each entry of a batch as one tensor (batch, maximum, …)."""
    flat = _stacked([element for entry in entries for element in entry], body, output)
    result = np.full((len(entries), maximum, *flat.shape[1:]), "" if flat.dtype == object else 0, flat.dtype)
    lengths = np.array([len(entry) for entry in entries], np.int64)
    result[np.arange(maximum) < lengths[:, None]] = flat
    return result


def sequence_map(input_sequence: list[Array], *additional_inputs: Value, body: Body) -> tuple[list[Any], ...]:
    """SequenceMap-17: `body` for each tensor of the first sequence, results as one sequence per output of the body.

    Further sequences give their tensor at the same position, tensors are the same for each. Raises ValueError for
    sequences of different lengths.
    """
    sequences = [input_sequence, *(x for x in additional_inputs if isinstance(x, list))]
    length = _common((len(x) for x in sequences), "the lengths of the sequences")
    results = [body(input_sequence[i], *(x[i] if isinstance(x, list) else x for x in additional_inputs)) for i in range(length)]
    return tuple([result[output] for result in results] for output in range(body.n_outputs))
