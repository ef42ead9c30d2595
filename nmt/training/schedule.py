"""Learning rates and shares of true tokens as pure functions of the update."""

import math

from nmt.config import (
    ConstantSettings,
    CosineSettings,
    DecayingForcing,
    InverseSquareRootSettings,
    NoamSettings,
    ScheduleSettings,
    TeacherForcingSettings,
    WarmupStableDecaySettings,
)


def learning_rate(settings: ScheduleSettings, update: int, highest: float, max_updates: int) -> float:
    """Return the learning rate of an update, counted from 1; `highest` is its peak, which Noam alone does not use."""
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
        case WarmupStableDecaySettings(warmup_updates=warmup, decay_share=decay_share):
            num_decaying = decay_share * max_updates
            progress = min(1.0, max(0.0, 1 - (max_updates - update) / num_decaying))
            # The decay is one minus the square root (Hägele et al. 2024): losses are lower than with a linear one.
            return highest * min(1.0, update / max(1, warmup)) * (1 - math.sqrt(progress))
        case ConstantSettings(warmup_updates=warmup):
            return highest * min(1.0, update / warmup) if warmup else highest


def teacher_forcing_ratio(settings: TeacherForcingSettings, update: int, first: float) -> float:
    """Return the share of true tokens among the decoder's inputs in an update, counted from 1 (Bengio et al. 2015).

    It is `first` before the first update.
    """
    if not isinstance(settings, DecayingForcing):
        return first
    num_updates = settings.num_updates
    if settings.kind == "linear":
        left = max(0.0, 1 - update / num_updates)
    elif settings.kind == "exponential":
        left = 0.01 ** (update / num_updates)
    else:
        k = _solve_k_log_k(num_updates / 2)
        left = (k + 1) / (k + math.exp(min(update / k, 700)))
    return settings.final_ratio + (first - settings.final_ratio) * left


def _solve_k_log_k(product: float) -> float:
    """Return the k with k · ln k = product, by Newton's method."""
    k = 1 + product
    for _ in range(50):
        k -= (k * math.log(k) - product) / (math.log(k) + 1)
    return k
