"""Learning rates as pure functions of the update."""

import math

from nmt.config import (
    ConstantSettings,
    CosineSettings,
    InverseSquareRootSettings,
    NoamSettings,
    ScheduleSettings,
)


def learning_rate(settings: ScheduleSettings, update: int, highest: float, max_updates: int) -> float:
    """Return the learning rate of an update, counted from 1, that the schedule gives to the `highest` rate."""
    match settings:
        case InverseSquareRootSettings(warmup_updates=warmup):
            return highest * min(update / warmup, (warmup / update) ** 0.5)
        case NoamSettings(factor=factor, d_model=d_model, warmup_updates=warmup):
            return factor * d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
        case CosineSettings(warmup_updates=warmup, final_share=final_share):
            if update < warmup:
                return highest * update / warmup
            progress = min(1.0, (update - warmup) / max(1, max_updates - warmup))
            return highest * (final_share + (1 - final_share) * (1 + math.cos(math.pi * progress)) / 2)
        case ConstantSettings(warmup_updates=warmup):
            return highest * min(1.0, update / warmup) if warmup else highest
