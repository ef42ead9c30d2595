"""Plan and duration of a training, measured by timing a few of its updates; nothing is kept."""

import time

import numpy as np
import torch

from nmt.config import TrainSettings
from nmt.data.batching import Update
from nmt.errors import duration
from nmt.runs.directory import RunDirectory
from nmt.training.checkpoint import saved_progress
from nmt.training.device.graphs import recordable_stream
from nmt.training.setup import Prepared, plan_lines, prepare
from nmt.training.trainer import Trainer

# Updates that come first count for nothing where others follow: memory, kernels and caches are new to them.
NUM_UNTIMED = 3
MAX_UPDATES = 20
MAX_SECONDS = 3.0  # no further update is begun then
PARTS = 4  # of an update: one of them says whether there is time for a whole one
# Fixed costs of an update count once for each part, so that timing parts makes an update look slower.
MAX_SECONDS_OF_ONE = 8.0


def plan(settings: TrainSettings, run: RunDirectory) -> list[str]:
    """Return the lines of the plan of a run, and of the time that it would take at most.

    The run gets no folder; text that is tokenised for it stays in the cache, for the training to come.
    Raises UserError for what training would refuse.
    """
    prepared = prepare(settings, run)
    prepared.text.log()
    return [*plan_lines(prepared), *_time_lines(prepared)]


def _time_lines(prepared: Prepared) -> list[str]:
    trainer, limits = prepared.trainer, prepared.trainer.settings.training
    per_epoch = len(trainer.plan(0))
    num_updates = limits.max_updates
    if limits.max_epochs is not None:
        num_updates = min(num_updates, limits.max_epochs * per_epoch)
    num_left = max(0, num_updates - saved_progress(trainer.run).update)
    num_validations = -(-num_left // limits.validate_every)
    lines = [
        f"updates      {num_left} at most, {num_left / per_epoch:.1f} epochs, {num_validations} validations"
    ]
    if not num_left:
        return lines
    seconds, measured = _seconds_per_update(trainer, num_left)
    whole, capped = num_left * seconds, ""
    if limits.max_seconds is not None and whole > limits.max_seconds:
        whole, capped = limits.max_seconds, ", as training.max_seconds says"
    return [
        *lines,
        f"time         about {duration(whole)} at most{capped}, and validations and the test on top: "
        f"{seconds:.3g} s an update, measured just now over {measured} on this machine",
    ]


def _seconds_per_update(trainer: Trainer, num_left: int) -> tuple[float, str]:
    """Return the mean time of an update, and over what it was measured; the model is of no further use.

    No more updates are run than are left, and than the time allows.
    """
    updates, lengths = trainer.plan(0), trainer.pairs.target_lengths
    with recordable_stream(trainer.device):
        trainer.step.compile(lambda: updates[0][0])
        first = np.concatenate(updates[0])
        part = first[: -(-len(first) // PARTS)]
        _seconds(trainer, [part])  # new to it, as said above
        of_whole = _seconds(trainer, [part]) * float(lengths[first].sum() / lengths[part].sum())
        if of_whole > MAX_SECONDS_OF_ONE:
            return of_whole, "a part of one"
        # From all over the epoch, so that no run of short or of long sentences is taken for all of them.
        stride = max(1, len(updates) // MAX_UPDATES)
        chosen = [updates[number * stride % len(updates)] for number in range(min(MAX_UPDATES, num_left))]
        if trainer.step.replay is not None:  # a shape is recorded when it comes again; most updates replay it
            for update in 2 * chosen:
                trainer.step.run(1, update)
        seconds: list[float] = []
        for update in chosen:
            seconds.append(_seconds(trainer, update))
            if sum(seconds) > MAX_SECONDS:
                break
        timed = seconds[min(NUM_UNTIMED, len(seconds) // 2) :]
        return sum(timed) / len(timed), f"{len(timed)} of them"


def _seconds(trainer: Trainer, update: Update) -> float:
    """Return how long an update takes."""
    _wait(trainer.device)
    began = time.monotonic()
    trainer.step.run(1, update)
    _wait(trainer.device)
    return time.monotonic() - began


def _wait(device: torch.device) -> None:
    """Have the device finish what it was given, so that the clock tells of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
