"""From batches to weights: the objective, the optimizer, checkpoints and the loop."""
