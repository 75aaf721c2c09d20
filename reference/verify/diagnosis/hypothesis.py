"""What diagnosis asks and what it supposes: a wrong output, and the outputs that faulty devices would have returned."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from reference import dtypes
from reference.evaluator import EvaluationError
from reference.node import Array, Node
from reference.verify.compare import Elements, Expected, elements
from reference.verify.diagnosis import growth
from reference.verify.diagnosis.causes import CAUSES
from reference.verify.expectation import expectations
from reference.verify.setting import Setting

REFUSALS = (
    *(EvaluationError, ValueError, IndexError, KeyError, TypeError, OverflowError, ZeroDivisionError, AssertionError),
    *(AttributeError, NotImplementedError, MemoryError),
)
"""What evaluating an impossible node raises: such a hypothesis is none."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """What a device with one fault would return. `text` completes the sentence "y equals …"."""

    cause: str
    text: str
    expected: Expected

    def __post_init__(self) -> None:
        assert self.cause in CAUSES, f"{self.cause} is no word of CAUSES"


@dataclasses.dataclass(frozen=True)
class Question:
    """A wrong output of a node.

    got: as the device stored it. expected: what was asked for. tier: what it failed (`verdict.TensorVerdict`). numbers: of the
    verdict. outputs: all outputs of the device by name. previous: outputs
    of the case that ran before on the device. late: what those ought to have been.
    """

    node: Node
    index: int
    got: Array
    expected: Expected
    setting: Setting
    tier: str = ""
    numbers: Mapping[str, float | int] = dataclasses.field(default_factory=dict)
    outputs: Mapping[str, Array] = dataclasses.field(default_factory=dict)
    previous: tuple[Array, ...] = ()
    late: tuple[Expected, ...] = ()

    @property
    def same_shape(self) -> bool:
        """Whether the output can be compared with the reference element by element."""
        return self.got.shape == self.expected.value.shape

    @functools.cached_property
    def wrong(self) -> Array:
        """Mask of the wrong elements; all of them where the shape is another."""
        if not self.same_shape or dtypes.name_of(self.got.dtype) != self.expected.dtype:
            return np.ones(self.got.shape, bool)
        return elements(strict(self.expected), self.got).wrong

    @functools.cached_property
    def misfit(self) -> float:
        """`misfit` of the reference, infinite where the shape or the type is another."""
        if not self.same_shape or dtypes.name_of(self.got.dtype) != self.expected.dtype:
            return math.inf
        return misfit(elements(strict(self.expected), self.got))

    @property
    def reference(self) -> Array:
        """The exact result, float64 for reals."""
        return self.expected.value

    def of_node(self, cause: str, text: str, make: Callable[[], Node]) -> Iterator[Hypothesis]:
        """The hypothesis that the device computed another node, none where that node is impossible."""
        try:
            with np.errstate(all="ignore"):
                node = make()
                if node.results[self.index].shape != self.got.shape:
                    return
                expected = expectations(node, self.setting)[self.index]
        except REFUSALS:
            return
        yield from self._possible(cause, text, dataclasses.replace(expected, name=self.expected.name))

    def of_inputs(
        self, cause: str, text: str, inputs: Sequence[Array | None] | Callable[[], Sequence[Array | None]], **attributes: Any
    ) -> Iterator[Hypothesis]:
        """The same operator on other inputs (float64 for reals) or with other attributes; inputs that some nodes have no way
        to make are given as a function."""
        return self.of_node(cause, text, lambda: changed(self.node, inputs() if callable(inputs) else inputs, **attributes))

    def of_attributes(self, cause: str, text: str, **attributes: Any) -> Iterator[Hypothesis]:
        """The same operator with some attributes changed; None takes an attribute away."""
        return self.of_node(cause, text, lambda: changed(self.node, self.node.inputs, **attributes))

    def of_value(self, cause: str, text: str, value: Array, bound: Array | float | None = None) -> Iterator[Hypothesis]:
        """Another result, in float64 for reals and within the case's own bound where that has its shape; else within
        `bound`, 0: stored bit for bit. A `bound` that is given stands for itself, whatever the statistics say."""
        spread = self.expected.spread if bound is None else None
        if bound is None:
            bound = self.expected.bound if np.shape(self.expected.bound) in ((), value.shape) else 0.0
        expected = dataclasses.replace(
            self.expected,
            value=value,
            bound=bound,
            interval=None,
            spread=spread if self.same_shape else None,
            open=self.expected.open if self.same_shape else None,
            reaches=self.expected.reaches if self.same_shape else None,
        )
        yield from self._possible(cause, text, expected)

    def _possible(self, cause: str, text: str, expected: Expected) -> Iterator[Hypothesis]:
        if expected.value.shape == self.got.shape and dtypes.name_of(self.got.dtype) == expected.dtype:
            yield Hypothesis(cause, text, expected)


def misfit(judged: Elements) -> float:
    """Sum of the errors in units of their bounds, wrong elements counting 1: what puts a wrong element right and many others
    off by a part of their bound explains nothing."""
    return float(np.minimum(judged.ratio, 1.0).sum())


LIKELY, THOUSAND, GROWTH = 4.0, 1000, 0.17
"""Errors of right elements in units of σ, where σ is known: a hard bound would let much less exact hypotheses pass. Among more
than a thousand elements larger ones come up, n times as many with n^GROWTH the size (up to 262,144 elements of NumPy's matrix
products)."""


def likely(elements: int) -> float:
    """The largest error in units of σ that is likely among so many right elements."""
    return float(LIKELY * max(1.0, elements / THOUSAND) ** GROWTH)


def strict(expected: Expected) -> Expected:
    """The same with bounds no wider than rounding errors are likely to be, for telling hypotheses apart."""
    if expected.spread is None:
        return expected
    width = likely(expected.spread.sigma.size) * expected.spread.sigma
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), width.shape)
    return dataclasses.replace(expected, bound=np.where(bound > 0, np.fmin(bound, width), bound))


def changed(node: Node, inputs: Sequence[Array | None], **attributes: Any) -> Node:
    """The same operator on other inputs or with other attributes, evaluated. Raises what evaluation raises, and ValueError
    where the result would be far larger than the node's own."""
    if growth.excessive(node, inputs):
        raise ValueError("the result would be too large")
    kept = {name: value for name, value in {**node.attributes, **attributes}.items() if value is not None}
    plain = dataclasses.replace(node, inputs=tuple(inputs), attributes=kept)
    return dataclasses.replace(plain, results=plain.again(inputs))
