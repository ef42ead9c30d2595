"""Settings of sweeps: conf/sweep/. They are no part of a run."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.kinds import Count, CountOrZero, Seed, Settings


class GridSweep(Settings):
    """See conf/sweep/grid.yaml."""

    kind: Literal["grid"]


class OptunaSweep(Settings):
    """See conf/sweep/optuna.yaml."""

    kind: Literal["optuna"]
    trials: Count
    at_once: Count
    random_trials: CountOrZero
    prune: bool
    prune_after_trials: CountOrZero
    seed: Seed


class SweepSettings(Settings):
    """The key `sweep` of nmt train -m."""

    sweep: Annotated[GridSweep | OptunaSweep, Field(discriminator="kind")]
