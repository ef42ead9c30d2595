"""Figures of updates, and of the updates between two lines of the log."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class UpdateFigures:
    """What one update came to; sums are over its target tokens, in nats.

    Tensors stay on the device: reading one waits for the update, so they are read when a line of the log is due.
    """

    total: Tensor  # what was minimised
    negative_log_likelihood: Tensor
    gradient_norm: Tensor
    num_tokens: int
    learning_rate: float
    seconds_collating: float  # waiting for data
    ran_out_of_memory: bool  # and was done in smaller parts


class Window:
    """Figures of the updates since the last line of the log."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.updates: list[UpdateFigures] = []

    def add(self, figures: UpdateFigures) -> None:
        """Count one update."""
        self.updates.append(figures)

    def seconds_per_update(self) -> float:
        """Return the mean time of an update."""
        return (time.monotonic() - self.started) / max(1, len(self.updates))

    def figures(self) -> dict[str, float]:
        """Return loss per target token, target tokens per second, and the figures of the last update."""
        num_tokens = sum(update.num_tokens for update in self.updates)
        total, nll = (
            float(torch.stack([getattr(update, name) for update in self.updates]).sum())
            for name in ("total", "negative_log_likelihood")
        )
        norms = torch.stack([update.gradient_norm for update in self.updates])
        return {
            "loss": total / num_tokens,
            "negative_log_likelihood": nll / num_tokens,
            "tokens_per_second": num_tokens / (time.monotonic() - self.started),
            "seconds_waiting_for_data": sum(update.seconds_collating for update in self.updates),
            "learning_rate": self.updates[-1].learning_rate,
            "gradient_norm": float(norms[-1]),
            "updates_skipped": int((~norms.isfinite()).sum()),
        }
