"""An exponential moving average of weights, which often translates better than the last weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class MovingAverage:
    """Averages the weights of a model. The first ones count little: the decay grows to its value over the updates."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = dict(model.named_parameters())
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}

    @torch.no_grad()
    def update(self, number: int, is_applied: Tensor) -> None:
        """Move the averages towards the weights after update `number`, counted from 1; keep them if it was not applied.

        `is_applied` is a Boolean scalar on the device of the weights, so that the host does not wait for it.
        """
        decay, averages = min(self.decay, number / (number + 10)), list(self.averages.values())
        steps = torch._foreach_sub(list(self.weights.values()), averages)
        torch._foreach_mul_(steps, is_applied.to(steps[0].dtype) * (1 - decay))
        torch._foreach_add_(averages, steps)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block, have the model compute with the averages."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def load(self, averages: Mapping[str, Tensor]) -> None:
        """Replace the averages by saved ones."""
        for name, average in self.averages.items():
            average.copy_(averages[name])

    def _swap(self) -> None:
        for name, weight in self.weights.items():
            weight.data, self.averages[name] = self.averages[name], weight.data
