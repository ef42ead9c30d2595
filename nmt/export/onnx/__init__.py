"""The format of ONNX Runtime and transformers.js."""
