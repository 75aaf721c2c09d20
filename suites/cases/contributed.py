"""Signatures of operators that ONNX Runtime adds to ONNX's, as data; the onnx package has no schemas of them.

Source: ONNX Runtime's docs/ContribOperators.md. Inputs and outputs are written "name:TYPE", with "?" where they may be left out
and "*" where there are any number of them, each of its own type; attributes "name:KIND", with "!" where they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_ALL = ("float16", "float32", "float64", "bfloat16")
_REALS = ("float16", "float32", "bfloat16")
_HALVES = ("float16", "float32")
_BYTES = ("uint8", "int8")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int4", "uint4")
_SINGLE = ("float32",)
_CACHES = (*_REALS, "uint8", "int8", "float8_e4m3fn")

_ANY_REAL = {"T": _ALL}
_SKIP = {"T": _REALS, "U": _SINGLE}
_QUANTISED = {"T": _BYTES, "F": _SINGLE}
_PAIR = "a:T a_scale:F a_zero_point:T? b:T b_scale:F b_zero_point:T? c_scale:F c_zero_point:T?"
_ONE = "x:T x_scale:F x_zero_point:T? y_scale:F y_zero_point:T?"
_ONE_COMPLETE = "x:T x_scale:F x_zero_point:T y_scale:F y_zero_point:T"
_WINDOW = "kernel_shape:INTS{} auto_pad:STRING pads:INTS strides:INTS"


class Signature(NamedTuple):
    """inputs, outputs, attributes: texts as above. types: type name → dtype names, in the schema's order; a name of one dtype
    alone stands for itself."""

    inputs: str
    outputs: str
    attributes: str
    types: Mapping[str, tuple[str, ...]]


MICROSOFT: Mapping[str, Signature] = {
    "BiasGelu": Signature("a:T b:T", "c:T", "", _ANY_REAL),
    "DequantizeLinear": Signature(
        "x:T1 x_scale:T2 x_zero_point:T1?", "y:T2", "axis:INT", {"T1": (*_INTEGERS[:4], "int32", *_INTEGERS[4:]), "T2": _HALVES}
    ),
    "DynamicQuantizeMatMul": Signature(
        "a:T1 b:T2 b_scale:T1 b_zero_point:T2? bias:T1?", "y:T1", "", {"T1": _SINGLE, "T2": ("int8", "uint8")}
    ),
    "FastGelu": Signature("x:T bias:T?", "y:T", "", _ANY_REAL),
    "FusedConv": Signature(
        "x:T w:T b:T? z:T?",
        "y:T",
        f"{_WINDOW.format('')} dilations:INTS activation:STRING activation_params:FLOATS group:INT",
        {"T": _ALL[:3]},
    ),
    "FusedMatMul": Signature(
        "a:T b:T", "y:T", "alpha:FLOAT transA:INT transB:INT transBatchA:INT transBatchB:INT", {"T": _ALL}
    ),
    "Gelu": Signature("x:T", "y:T", "", _ANY_REAL),
    "GroupQueryAttention": Signature(
        "query:T key:T? value:T? past_key:C? past_value:C? seqlens_k:M total_sequence_length:M cos_cache:T? sin_cache:T? "
        "position_ids:int64? attention_bias:T? head_sink:T? k_scale:S? v_scale:S? q_norm_weight:T? k_norm_weight:T? "
        "query_seqlens:M?",
        "output:T present_key:C? present_value:C? output_qk:T?",
        "causal:INT do_rotary:INT k_norm_epsilon:FLOAT k_quant_type:STRING kv_cache_bit_width:INT kv_num_heads:INT! "
        "local_window_size:INT num_heads:INT! q_norm_epsilon:FLOAT qk_norm_epsilon:FLOAT qk_output:INT rotary_interleaved:INT "
        "scale:FLOAT sliding_window_cache:INT smooth_softmax:INT softcap:FLOAT v_quant_type:STRING",
        {"T": _REALS, "C": _CACHES, "S": _SINGLE, "M": ("int32",)},
    ),
    "MatMulIntegerToFloat": Signature(
        "a:T1 b:T2 a_scale:T3 b_scale:T3 a_zero_point:T1? b_zero_point:T2? bias:T3?",
        "y:T3",
        "",
        {"T1": ("int8", "uint8"), "T2": ("int8", "uint8"), "T3": ("float32", "float16")},
    ),
    "MatMulNBits": Signature(
        "a:T1 b:T2 scales:T1 zero_points:T3? g_idx:T4? bias:T1?",
        "y:T1",
        "K:INT! N:INT! accuracy_level:INT bits:INT block_size:INT! weight_prepacked:INT",
        {"T1": _REALS, "T2": ("uint8",), "T3": ("uint8", *_REALS), "T4": ("int32",)},
    ),
    "MultiHeadAttention": Signature(
        "query:T key:T? value:T? bias:T? key_padding_mask:M? attention_bias:T? past_key:T? past_value:T? "
        "past_sequence_length:M? cache_indirection:M?",
        "output:T present_key:T? present_value:T? qk:Q?",
        "mask_filter_value:FLOAT num_heads:INT! scale:FLOAT unidirectional:INT",
        {"T": _REALS, "Q": _REALS, "M": ("int32",)},
    ),
    "QGemm": Signature(
        "a:A a_scale:F a_zero_point:A b:B b_scale:F b_zero_point:B c:C? y_scale:F? y_zero_point:Z?",
        "y:Y",
        "alpha:FLOAT transA:INT transB:INT",
        {"A": _BYTES, "B": _BYTES, "C": ("int32",), "F": _SINGLE, "Y": ("float32", *_BYTES), "Z": _BYTES},
    ),
    "QLinearAdd": Signature(_PAIR, "c:T", "", _QUANTISED),
    "QLinearAveragePool": Signature(
        _ONE, "y:T", f"{_WINDOW.format('!')} ceil_mode:INT channels_last:INT count_include_pad:INT", _QUANTISED
    ),
    "QLinearConcat": Signature(
        "y_scale:F y_zero_point:T inputs:V*", "y:T", "axis:INT!", {**_QUANTISED, "V": (*_BYTES, "float32")}
    ),
    "QLinearGlobalAveragePool": Signature(_ONE_COMPLETE, "y:T", "channels_last:INT", _QUANTISED),
    "QLinearLeakyRelu": Signature(_ONE, "y:T", "alpha:FLOAT", _QUANTISED),
    "QLinearMul": Signature(_PAIR, "c:T", "", _QUANTISED),
    "QLinearSigmoid": Signature(_ONE, "y:T", "", _QUANTISED),
    "QLinearSoftmax": Signature(
        "x:T x_scale:F x_zero_point:T? y_scale:F y_zero_point:T", "y:T", "axis:INT opset:INT!", _QUANTISED
    ),
    "QuantizeLinear": Signature(
        "x:T1 y_scale:T1 y_zero_point:T2?", "y:T2", "axis:INT", {"T1": _HALVES, "T2": ("uint8", "int8", *_INTEGERS[2:])}
    ),
    "QuickGelu": Signature("x:T", "y:T", "alpha:FLOAT", _ANY_REAL),
    "RotaryEmbedding": Signature(
        "input:T position_ids:int64 cos_cache:T sin_cache:T",
        "output:T",
        "interleaved:INT is_packed_batching:INT num_heads:INT rotary_embedding_dim:INT scale:FLOAT",
        {"T": _REALS},
    ),
    "SkipLayerNormalization": Signature(
        "input:T skip:T gamma:T beta:T? bias:T?",
        "output:T mean:U? inv_std_var:U? input_skip_bias_sum:T?",
        "epsilon:FLOAT",
        _SKIP,
    ),
    "SkipSimplifiedLayerNormalization": Signature(
        "input:T skip:T gamma:T bias:T?",
        "output:T mean:U? inv_std_var:U? input_skip_bias_sum:T?",
        "epsilon:FLOAT",
        _SKIP,
    ),
}
"""Operators of com.microsoft, version 1."""

ONNX: Mapping[str, Signature] = {
    "SimplifiedLayerNormalization": Signature(
        "x:T scale:V", "y:V inv_std_var:U?", "axis:INT epsilon:FLOAT stash_type:INT", {"T": _ALL, "U": _SINGLE, "V": _ALL}
    ),
}
"""Operators that ONNX Runtime registers in ONNX's own domain, version 1."""

DOMAINS: Mapping[str, Mapping[str, Signature]] = {"": ONNX, "com.microsoft": MICROSOFT}
