"""Settings of where figures are shown: conf/tracking/."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.kinds import Settings

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]


class NoTracking(Settings):
    """See conf/tracking/none.yaml."""

    kind: Literal["none"]


class TensorBoardTracking(Settings):
    """See conf/tracking/tensorboard.yaml."""

    kind: Literal["tensorboard"]


class WandbTracking(Settings):
    """See conf/tracking/wandb.yaml."""

    kind: Literal["wandb"]
    project: Name


class MLflowTracking(Settings):
    """See conf/tracking/mlflow.yaml."""

    kind: Literal["mlflow"]
    experiment: Name


TrackingSettings = Annotated[
    NoTracking | TensorBoardTracking | WandbTracking | MLflowTracking, Field(discriminator="kind")
]
