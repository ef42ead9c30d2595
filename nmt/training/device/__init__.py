"""Speed on a device: compiled layers, CUDA graphs, batches that fit."""
