"""Random models, the reference beside its peers: onnx.reference and ONNX Runtime on the CPU."""
