"""How far a training has come; figures of updates, and of the updates between two lines of the log."""

import math
import time
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import pydantic
import torch
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from torch import Tensor

from nmt.config import TrainingSettings


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

    # The sum over all updates, as a list of one; older versions wrote one entry for each update.
    applied: list[AppliedUpdate] = field(default_factory=list)
    num_skipped: int = 0  # since the last line
    num_skipped_in_row: int = 0  # up to now, also beyond the last line


@dataclass
class Progress:
    """The position of a training, in numbers; with weights and moments, it is all that resuming needs."""

    __pydantic_config__ = pydantic.ConfigDict(extra="forbid")

    update: NonNegativeInt = 0  # updates done
    epoch: NonNegativeInt = 0  # the epoch that the next update belongs to
    part: NonNegativeInt = 0  # the part of that epoch, where long text is laid out in several
    position: NonNegativeInt = 0  # updates of that part done
    seconds: NonNegativeFloat = 0.0  # spent in training, validation included
    num_tokens: NonNegativeInt = 0  # target tokens seen
    best_bleu: float | None = None
    best_loss: float | None = None  # loss at best_bleu; None where it was not finite, or is not known
    best_step: NonNegativeInt | None = None
    start_bleu: float | None = None  # of the weights of another run, before the first update
    validations_without_gain: NonNegativeInt = 0
    max_tokens: PositiveInt | None = None  # what training.max_tokens=auto found
    loss_scale: dict[str, int | float] = field(default_factory=dict)  # of the gradient scaler of float16
    window: WindowState = field(default_factory=WindowState)  # figures since the last line of the log
    interim: NonNegativeInt | None = None  # the update of a checkpoint that another one is to supersede
    validation_is_due: bool = False  # of the weights after this update, before the next one
    origins: dict[str, str] = field(default_factory=dict)  # hashes of text, tokenizer, links, teachers

    def is_improved_by(self, bleu: float, loss: float) -> bool:
        """Tell whether a validation beats the best so far: by higher BLEU, or by lower loss where BLEU is the same."""
        if self.best_bleu is None:
            return True
        best_loss = math.inf if self.best_loss is None else self.best_loss
        return (bleu, -loss) > (self.best_bleu, -best_loss)


PROGRESS = pydantic.TypeAdapter(Progress)


def reason_to_stop(limits: TrainingSettings, progress: Progress) -> str | None:
    """Return the limit that ends a training which has come to `progress`; None if it goes on."""
    if progress.update >= limits.max_updates:
        return f"training.max_updates={limits.max_updates}"
    if limits.max_epochs is not None and progress.epoch >= limits.max_epochs:
        return f"training.max_epochs={limits.max_epochs}"
    if limits.max_seconds is not None and progress.seconds >= limits.max_seconds:
        return f"training.max_seconds={limits.max_seconds:g}"
    if limits.patience is not None and progress.validations_without_gain >= limits.patience:
        return f"training.patience={limits.patience} validations without a gain"
    return None


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
