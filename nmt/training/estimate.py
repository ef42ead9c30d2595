"""What a training would do and how long it would take, by really timing a few of its updates; nothing is kept."""

import time

import torch

from nmt.config import TrainSettings
from nmt.run_directory import RunDirectory
from nmt.training.checkpoint import saved_progress
from nmt.training.preparation import Prepared, plan_lines, prepare
from nmt.training.replay import recordable_stream
from nmt.training.trainer import Trainer

NUM_UNTIMED = 3  # updates that come first, since memory, kernels and caches are new to them
MAX_TIMED = 20
MAX_SECONDS = 20.0


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
    seconds, num_timed = _seconds_per_update(trainer)
    whole, capped = num_left * seconds, ""
    if limits.max_seconds is not None and whole > limits.max_seconds:
        whole, capped = limits.max_seconds, ", as training.max_seconds says"
    num_validations = -(-num_left // limits.validate_every)
    return [
        f"updates      {num_left} at most, {num_left / per_epoch:.1f} epochs, {num_validations} validations",
        f"time         about {duration(whole)} at most{capped}, and validations and the test on top: "
        f"{seconds:.3g} s an update, measured just now over {num_timed} of them on this machine",
    ]


def _seconds_per_update(trainer: Trainer) -> tuple[float, int]:
    """Return the mean time of an update, and of how many; the model that was timed is of no further use."""
    updates, step = trainer.plan(0), trainer.step
    # From all over the epoch, so that no run of short or of long sentences is taken for all of them.
    stride = max(1, len(updates) // (NUM_UNTIMED + MAX_TIMED))
    chosen = [updates[index * stride % len(updates)] for index in range(NUM_UNTIMED + MAX_TIMED)]
    with recordable_stream(trainer.device):
        step.compile(lambda: updates[0][0])
        untimed, timed = chosen[:NUM_UNTIMED], chosen[NUM_UNTIMED:]
        if (
            step.replay is not None
        ):  # a shape is recorded when it comes again, which is not what most updates do
            untimed = 2 * timed
        for number, update in enumerate(untimed, 1):
            step.run(number, update)
        _wait(trainer.device)
        began, num_timed = time.monotonic(), 0
        for number, update in enumerate(timed, len(untimed) + 1):
            step.run(number, update)
            num_timed += 1
            if time.monotonic() - began > MAX_SECONDS:
                break
        _wait(trainer.device)
        return (time.monotonic() - began) / num_timed, num_timed


def _wait(device: torch.device) -> None:
    """Have the device finish what it was given, so that the clock tells of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def duration(seconds: float) -> str:
    """Return a time as people say it: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
