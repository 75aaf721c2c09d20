"""One operator call as the verifier sees it: its inputs as reals, its exact result, and the same call on other inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from reference import dtypes, evaluator
from reference.verify.arithmetic import Arithmetic

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Node:
    """An operator call. `inputs` are float64 for floating-point tensors; `types` and `output_types` are the declared types."""

    operator: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    types: tuple[str | None, ...]
    attributes: Mapping[str, Any]
    output_types: tuple[str, ...]
    results: tuple[Array, ...]

    @classmethod
    def of(cls, model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Node:
        """The only node of a model, evaluated. Raises EvaluationError, and ValueError for a model of several nodes."""
        if len(model.graph.node) != 1:
            raise ValueError(f"a single-node model is expected, this one has {len(model.graph.node)} nodes")
        node = model.graph.node[0]
        values: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        values.update({name: np.asarray(array) for name, array in feeds.items()})
        raw = [values[name] if name else None for name in node.input]
        types = tuple(None if x is None else dtypes.name_of(x.dtype) for x in raw)
        produced = {v.name: v.type.tensor_type.elem_type for v in model.graph.output}
        attributes = evaluator.attributes_of(node)
        version = evaluator.opset_of(model, node.domain)
        results = evaluator.apply(
            node.op_type, version, raw, attributes, domain=node.domain, types=types, n_outputs=len(node.output)
        )
        return cls(
            node.op_type,
            node.domain,
            version,
            tuple(None if x is None else dtypes.to_real(x) for x in raw),
            types,
            attributes,
            tuple(dtypes.NAMES[produced[name]] for name in node.output if name in produced),
            results,
        )

    def again(self, inputs: Sequence[Array | None], **changed: Any) -> tuple[Array, ...]:
        """The same operator on other inputs, with some attributes changed."""
        return evaluator.apply(
            self.operator,
            self.version,
            inputs,
            {**self.attributes, **changed},
            domain=self.domain,
            types=self.types,
            n_outputs=len(self.output_types),
        )

    def real(self, index: int) -> NDArray[np.float64]:
        """Input number `index` as float64."""
        x = self.inputs[index]
        assert x is not None
        return x.astype(np.float64)

    def given(self, index: int) -> bool:
        """Whether input number `index` is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute, or ONNX's default for it."""
        return self.attributes.get(name, default)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a bound is computed: the unit's arithmetic and the tensor's type."""

    arithmetic: Arithmetic
    dtype: str

    @property
    def u(self) -> float:
        """Unit roundoff of the unit; directed or faithful rounding doubles it."""
        return self.arithmetic.rho * self.arithmetic.u

    @property
    def u_in(self) -> float:
        """Relative error of the conversion of inputs, 0 where they fit the unit's format."""
        return self.arithmetic.rho * self.arithmetic.input_roundoff(self.dtype)

    @property
    def u_border(self) -> float:
        """Relative error of bringing a result from a coarser, faithful unit into the tensor's type: Qualcomm's HTP returns
        1 + 2^-23 for a float16 1. 0 where the unit is not coarser or rounds to nearest."""
        own = dtypes.FLOATS[self.dtype].unit_roundoff if dtypes.is_float(self.dtype) else 1.0
        return 2 * own if self.arithmetic.faithful and own < self.arithmetic.u else 0.0

    @property
    def eta_in(self) -> float:
        """Absolute error of converting an input that underflows in the unit's input format; 0 where it has the same range."""
        own, unit = dtypes.FLOATS[self.dtype], dtypes.FLOATS[self.arithmetic.inputs or self.arithmetic.compute]
        if unit.emin <= own.emin:
            return 0.0
        return unit.smallest_normal if self.arithmetic.flushes else 0.5 * unit.smallest_subnormal

    def moved(self, x: Array, dtype: str, sign: float) -> Array:
        """An input of `dtype`, moved by its conversion error in the direction of `sign`."""
        if not dtypes.is_float(dtype) or not self.arithmetic.input_roundoff(dtype):
            return x
        return x * (1 + sign * self.arithmetic.rho * self.arithmetic.input_roundoff(dtype)) + sign * self.eta_in

    @property
    def u_attribute(self) -> float:
        """Relative error of a floating-point attribute that the unit may hold in the tensor's own type; 0 for float32."""
        own = dtypes.FLOATS[self.dtype].unit_roundoff if dtypes.is_float(self.dtype) else 0.0
        return own if own > 2.0**-24 else 0.0

    @property
    def eta(self) -> float:
        """Absolute error of one operation whose result underflows."""
        form = dtypes.FLOATS[self.arithmetic.compute]
        return form.smallest_normal if self.arithmetic.flushes else 0.5 * form.smallest_subnormal

    @property
    def half(self) -> bool:
        """Whether functions are evaluated in a 16-bit format, to which OpenCL's half-precision limits apply."""
        return self.arithmetic.compute in ("float16", "bfloat16")

    def gamma(self, n: Array | float) -> Array:
        """γ_n = n·u/(1 − n·u): relative error of n successive roundings (Higham, ch. 3); infinite where n·u ≥ 1."""
        t = np.asarray(n, np.float64) * self.u
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t < 1, t / (1 - t), np.inf)
