"""An exponential moving average of weights, which often translates better than the last ones."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class MovingAverage:
    """Follows the weights of a model. The first ones count little: the decay grows to its value over the updates."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = dict(model.named_parameters())
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}

    @torch.no_grad()
    def update(self, number: int) -> None:
        """Follow the weights as they are after update `number`, counted from 1."""
        decay = min(self.decay, number / (number + 10))
        torch._foreach_lerp_(list(self.averages.values()), list(self.weights.values()), 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the model compute with the averages meanwhile."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def load(self, averages: Mapping[str, Tensor]) -> None:
        """Go on from averages that were saved."""
        for name, average in self.averages.items():
            average.copy_(averages[name])

    def _swap(self) -> None:
        for name, weight in self.weights.items():
            weight.data, self.averages[name] = self.averages[name], weight.data
