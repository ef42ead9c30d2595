"""Figures of updates, and of the updates between two lines of the log."""

import math
import time
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class UpdateFigures:
    """Figures of one update; sums are over its target tokens, in nats.

    Tensors stay on the device: reading one waits for the update, so they are read when a line of the log is due.
    """

    total: Tensor  # what was minimised
    negative_log_likelihood: Tensor
    gradient_norm: Tensor  # not finite where the update was not applied
    num_tokens: int
    learning_rate: float
    seconds_collating: float  # waiting for data
    ran_out_of_memory: bool  # and was done in smaller parts
    alignment: Tensor | None = None  # the loss of links of words, where they are learned


class AppliedUpdate(NamedTuple):
    """Figures of an update, read from the device; of several updates, their sums and the gradient norm of the last."""

    total: float
    negative_log_likelihood: float
    gradient_norm: float
    num_tokens: int
    alignment: float | None = None

    def followed_by(self, other: "AppliedUpdate") -> "AppliedUpdate":
        """Return the figures of both updates together."""
        has_alignment = self.alignment is not None or other.alignment is not None
        return AppliedUpdate(
            self.total + other.total,
            self.negative_log_likelihood + other.negative_log_likelihood,
            other.gradient_norm,
            self.num_tokens + other.num_tokens,
            (self.alignment or 0.0) + (other.alignment or 0.0) if has_alignment else None,
        )


NONE_APPLIED = AppliedUpdate(math.nan, math.nan, math.nan, 1, math.nan)


@dataclass(frozen=True)
class WindowState:
    """State of a window as a checkpoint holds it, so that a resumed run goes on with it."""

    applied: list[AppliedUpdate] = field(
        default_factory=list
    )  # one for all updates; one for each where an older version wrote it
    num_skipped: int = 0  # since the last line
    num_skipped_in_row: int = 0  # up to now, also beyond the last line


class Window:
    """Figures of the updates since the last line of the log.

    The figures read so far can be saved and restored, so that a run which stopped between two lines of the log gives
    the same loss in the next one.
    """

    def __init__(self, state: WindowState = WindowState()) -> None:
        self.applied = reduce(AppliedUpdate.followed_by, state.applied) if state.applied else None
        self.num_skipped, self.num_skipped_in_row = state.num_skipped, state.num_skipped_in_row
        self.longest_row_skipped = state.num_skipped_in_row
        self._begin()

    def _begin(self) -> None:
        self.started = time.monotonic()
        self.unread: list[UpdateFigures] = []
        self.num_updates = self.num_tokens = 0
        self.seconds_collating = 0.0

    def add(self, figures: UpdateFigures) -> None:
        """Count one update."""
        self.unread.append(figures)
        self.last = figures
        self.num_updates += 1
        self.num_tokens += figures.num_tokens
        self.seconds_collating += figures.seconds_collating

    def start_clock(self) -> None:
        """Measure the speed from now on: training begins, or goes on."""
        self.started = time.monotonic()

    def leave_out(self, seconds: float) -> None:
        """Leave `seconds` that were not spent on training out of the speed."""
        self.started += seconds

    def wait(self, seconds: float) -> None:
        """Count `seconds` in which there was no update to run, since the text was still being laid out."""
        self.seconds_collating += seconds

    def seconds_per_update(self) -> float:
        """Return the mean time of an update."""
        return (time.monotonic() - self.started) / max(1, self.num_updates)

    def read(self) -> None:
        """Read the results of the updates from the device; this waits for the last update."""
        if not self.unread:
            return
        columns = [
            torch.stack([getattr(update, name) for update in self.unread]).tolist()
            for name in AppliedUpdate._fields[:3]
        ]
        for total, nll, norm, update in zip(*columns, self.unread, strict=True):
            alignment = None if update.alignment is None else float(update.alignment)
            applied = AppliedUpdate(total, nll, norm, update.num_tokens, alignment)
            if math.isfinite(applied.gradient_norm):
                self.applied = applied if self.applied is None else self.applied.followed_by(applied)
                self.num_skipped_in_row = 0
            else:
                self.num_skipped += 1
                self.num_skipped_in_row += 1
                self.longest_row_skipped = max(self.longest_row_skipped, self.num_skipped_in_row)
        self.unread = []

    def state(self) -> WindowState:
        """Return the state from which another window continues this one."""
        self.read()
        applied = [] if self.applied is None else [self.applied]
        return WindowState(applied, self.num_skipped, self.num_skipped_in_row)

    def close(self) -> dict[str, float]:
        """Return loss per target token, target tokens per second, and figures of the last update; begin anew.

        The loss is that of the updates that were applied; if there were none, it is NaN.
        """
        self.read()
        applied, self.applied = self.applied or NONE_APPLIED, None
        num_skipped, self.num_skipped = self.num_skipped, 0
        num_tokens = applied.num_tokens
        alignment = (applied.alignment or 0.0) / num_tokens
        figures = {
            "loss": applied.total / num_tokens,
            "negative_log_likelihood": applied.negative_log_likelihood / num_tokens,
            **({} if self.last.alignment is None else {"alignment_loss": alignment}),
            "tokens_per_second": self.num_tokens / (time.monotonic() - self.started),
            "seconds_waiting_for_data": self.seconds_collating,
            "learning_rate": self.last.learning_rate,
            "gradient_norm": applied.gradient_norm,
            "updates_skipped": num_skipped,
        }
        self._begin()
        return figures
