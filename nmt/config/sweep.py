"""Settings of sweeps: conf/sweep/. They are no part of a run."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from nmt.config.kinds import Settings


class GridSweep(Settings):
    """See conf/sweep/grid.yaml."""

    kind: Literal["grid"]


class OptunaSweep(Settings):
    """See conf/sweep/optuna.yaml."""

    kind: Literal["optuna"]
    trials: PositiveInt
    at_once: PositiveInt
    random_trials: NonNegativeInt
    prune: bool
    prune_after_trials: NonNegativeInt
    seed: NonNegativeInt


class SweepSettings(Settings):
    """The key `sweep` of nmt train -m."""

    sweep: Annotated[GridSweep | OptunaSweep, Field(discriminator="kind")]
