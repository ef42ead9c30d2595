"""Settings of trackers, which show the figures of a training: conf/tracking/."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.config.kinds import Number, Settings, matching

ProjectName = Annotated[
    str,
    matching(
        "[A-Za-z0-9][A-Za-z0-9_.-]{0,127}",
        "a name of at most 128 letters, digits, _, . and -, of which a letter or digit is the first,",
    ),
]


class NoTracking(Settings):
    """See conf/tracking/none.yaml."""

    kind: Literal["none"]


class TensorBoardTracking(Settings):
    """See conf/tracking/tensorboard.yaml."""

    kind: Literal["tensorboard"]


class PageTracking(Settings):
    """See conf/tracking/page.yaml."""

    kind: Literal["page"]
    refresh_seconds: Annotated[int, Number, Field(ge=1, le=3600)]


class WandbTracking(Settings):
    """See conf/tracking/wandb.yaml."""

    kind: Literal["wandb"]
    project: ProjectName


class MLflowTracking(Settings):
    """See conf/tracking/mlflow.yaml."""

    kind: Literal["mlflow"]
    experiment: ProjectName


TrackingSettings = Annotated[
    NoTracking | PageTracking | TensorBoardTracking | WandbTracking | MLflowTracking,
    Field(discriminator="kind"),
]
