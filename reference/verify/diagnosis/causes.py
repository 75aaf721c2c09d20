"""The vocabulary of diagnosis: one word for every way in which a result is known to go wrong on real devices.

The words stand in the journal, group failures and are what the mutation matrix holds a diagnosis to.
"""

from __future__ import annotations

CAUSES: dict[str, str] = {
    # Where an element comes from
    "axes-permuted": "the axes of a tensor are in another order",
    "spatial-swapped": "height and width are swapped",
    "channels-last": "NCHW is read as NHWC, or NHWC as NCHW",
    "reshape-misread": "the elements are in order, but read with other extents",
    "weights-layout": "weights are read in another layout (OIHW, OHWI, HWIO, IOHW), or gates in another order",
    "weights-transposed": "a matrix is read as [N,K] instead of [K,N], or the other way round",
    "operands-swapped": "the operands of a node that does not commute are swapped",
    "broadcast-misread": "an operand is broadcast along another axis",
    "row-pitch": "rows are read or written with another distance than they have: padding is taken for data, or data skipped",
    "outputs-swapped": "the outputs are bound in another order",
    # What the node asks for
    "axis-wrong": "the operator works along another axis",
    "axis-negative": "a negative axis is not counted from the end",
    "pads-side": "padding is on the other side, or of another axis",
    "pads-off-by-one": "padding is shifted by one element",
    "pads-ignored": "padding is ignored",
    "pads-value": "padding holds another value",
    "stride-ignored": "strides are ignored or swapped between the axes",
    "dilation-ignored": "dilations are ignored or swapped between the axes",
    "ceil-mode": "ceil_mode is ignored, or output extents are rounded up without it",
    "count-include-pad": "count_include_pad is ignored, or assumed",
    "groups-mixed": "groups are ignored, or their channels are mixed",
    "coordinates": "coordinates are transformed by another rule: half_pixel, align_corners, asymmetric",
    "attribute-default": "an attribute is ignored: its default is used",
    "attribute-value": "an attribute has another value than the model gives",
    # What is left out
    "bias-dropped": "the bias is not added",
    "term-dropped": "a term of each sum is left out",
    "term-duplicated": "a term of each sum is added twice",
    "row-dropped": "the last row is not computed",
    "column-dropped": "the last column is not computed",
    "channel-dropped": "a channel is not computed",
    "tail-wrong": "the elements beyond the last whole vector are wrong",
    "later-channels": "only the first channel is right",
    "later-batches": "only the first element of the batch is right",
    "wild-element": "single elements are wrong, all others right",
    "stale": "the output is that of the run before",
    "uninitialised": "the output was never written",
    # Integers and rounding
    "wraps": "values wrap around where they should saturate",
    "saturates": "values saturate where they should wrap around",
    "rounding-truncates": "rounds towards zero",
    "rounding-down": "rounds towards minus infinity",
    "rounding-up": "rounds towards plus infinity",
    "rounding-half-away": "rounds halves away from zero",
    "rounding-half-even": "rounds halves to even",
    "rounding-half-up": "rounds halves towards plus infinity",
    "scale-per-tensor": "one scale is used for all channels",
    "zero-point-per-tensor": "one zero point is used for all channels",
    "zero-point-ignored": "a zero point is ignored",
    "requantised-off-by-one": "requantised integers are one step off",
    "int64-as-int32": "64-bit integers are computed in 32 bits",
    "integers-as-float": "integers are computed in floating point",
    "nibbles-swapped": "the 4-bit integers that share a byte are swapped",
    "sign-misread": "signed integers are read as unsigned ones, or the other way round",
    # Precision
    "float64-as-float32": "float64 is computed in float32",
    "inputs-float16": "inputs are rounded to float16",
    "inputs-bfloat16": "inputs are rounded to bfloat16",
    "inputs-tf32": "inputs are rounded to tf32",
    "outputs-narrow": "results pass through a narrower type on their way to the tensor",
    "accumulator-narrow": "sums are accumulated in fewer bits than declared",
    "accumulator-truncates": "sums are truncated instead of rounded to nearest",
    "accumulator-biased": "sums are rounded in one direction",
    "precision-low": "the error is spread like rounding errors, of fewer bits than declared",
    # Special values
    "subnormals-flushed": "subnormal numbers are replaced by zero",
    "nan-lost": "NaN is replaced by a number",
    "nan-made": "a number is replaced by NaN",
    "infinity-clamped": "infinity is replaced by a finite number, the largest one or 0",
    "infinity-made": "a finite number is replaced by infinity",
    "zero-sign-lost": "the sign of zero is lost",
    # The whole tensor
    "constant-offset": "every element is off by the same amount",
    "constant-factor": "every element is off by the same factor",
    "sign-flipped": "every element has the other sign",
}
"""Cause → what it means."""
