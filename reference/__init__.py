"""The oracle: ONNX operators in NumPy, exact or in float64, and the verification of a device's results against them."""
