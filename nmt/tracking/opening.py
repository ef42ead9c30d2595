"""The tracker that the settings ask for."""

import math
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.config import (
    MLflowTracking,
    NoTracking,
    PageTracking,
    TensorBoardTracking,
    TrackingSettings,
    WandbTracking,
)
from nmt.config.check import flatten
from nmt.errors import UserError, first_line
from nmt.tracking.live_page import Page
from nmt.tracking.mlflow import MLflow
from nmt.tracking.system import WithSystemFigures
from nmt.tracking.tensorboard import TensorBoard
from nmt.tracking.trackers import Lenient, Mark, NoTracker, OnlyNew, Tracker, read_mark, write_mark
from nmt.tracking.wandb import Wandb, require_login
from nmt.versions import importing


def require_tracker(settings: TrackingSettings) -> None:
    """Raise UserError where the library is not there, or a login is missing; called before anything is written."""
    match settings:
        case WandbTracking():
            require_login()
        case MLflowTracking():
            with importing("mlflow", "tracking"):
                import mlflow  # noqa: F401
        case TensorBoardTracking():
            with importing("tensorboard", "tracking"):
                import tensorboard  # noqa: F401


def open_tracker(
    settings: TrackingSettings,
    folder: Path,
    resumed_from: int | None,
    values: Mapping[str, Any],
    device: torch.device,
) -> Tracker:
    """Begin to show the figures of the run in `folder` and of its `device`, or go on after update `resumed_from`.

    `values` are the settings of the run, to be shown beside them. Raises UserError where the library cannot begin.
    """
    if isinstance(settings, NoTracking):
        return NoTracker()
    mark = read_mark(folder, settings.kind)
    shown = {key: value for key, value in flatten(values) if value is not None}
    try:
        match settings:
            case PageTracking():
                tracker: Tracker = Page(folder, settings.refresh_seconds)
            case TensorBoardTracking():
                tracker = TensorBoard(folder / "tensorboard", resumed_from)
            case WandbTracking():
                mark = mark or Mark(kind=settings.kind, id=uuid.uuid4().hex[:12])
                tracker = OnlyNew(Wandb(folder, settings.project, mark.id, shown), folder, mark)
            case MLflowTracking():
                tracker = MLflow(folder, settings.experiment, mark.id if mark else None, shown)
                write_mark(folder, mark or Mark(kind=settings.kind, id=tracker.run_id))
    except UserError:
        raise
    except Exception as error:  # the libraries raise whatever their servers and the network do
        raise UserError(
            f"tracking: {settings.kind} that can begin is needed; got {first_line(error)}; "
            f"run={folder} resume=true tracking=none trains without"
        ) from None
    return Lenient(WithSystemFigures(tracker, device))


def figures_of(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a line of metrics.jsonl by their names in a tracker, such as `validation/bleu`."""
    return {
        f"{row['kind']}/{name}": float(value)
        for name, value in row.items()
        if name not in ("kind", "update") and isinstance(value, int | float) and math.isfinite(value)
    }
