"""What makes training fast on a device: compiled layers, CUDA graphs, batches that fit."""
