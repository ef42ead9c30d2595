"""Figures for MLflow."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.tracking.trackers import name_of
from nmt.versions import importing

MAX_PARAMETERS_AT_ONCE = 100  # that MLflow takes
MAX_CHARACTERS = 500  # of the value of one


class MLflow:
    """One run of an experiment; `run_id` is the name that MLflow gives it, or gave it before."""

    def __init__(
        self, folder: Path, experiment: str, run_id: str | None, settings: Mapping[str, Any]
    ) -> None:
        # The figures are plain files in the run's folder; MLflow still supports them, but only if this asks for it.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        # Training waits for each answer: MLflow would try for many minutes to reach a server that has gone.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        with importing("mlflow", "tracking"):
            from mlflow import entities
            from mlflow.tracking import MlflowClient
        self.entities = entities
        uri = os.environ.get("MLFLOW_TRACKING_URI") or (folder / "mlflow").resolve().as_uri()
        self.client = MlflowClient(tracking_uri=uri)
        self.shown_before: dict[str, int] = {}
        if run_id is not None:
            self.run_id = run_id
            self.client.update_run(run_id, status="RUNNING")
            return
        found = self.client.get_experiment_by_name(experiment)
        number = self.client.create_experiment(experiment) if found is None else found.experiment_id
        self.run_id = self.client.create_run(number, run_name=name_of(folder)).info.run_id
        parameters = [
            self.entities.Param(key, str(value)[:MAX_CHARACTERS]) for key, value in settings.items()
        ]
        for first in range(0, len(parameters), MAX_PARAMETERS_AT_ONCE):
            self.client.log_batch(self.run_id, params=parameters[first : first + MAX_PARAMETERS_AT_ONCE])

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Write or send figures, except those that MLflow has already.

        MLflow itself is asked for them: a process can be killed between the first and the last figure of an update.
        """
        now = int(time.time() * 1000)
        self.client.log_batch(
            self.run_id,
            metrics=[
                self.entities.Metric(name, value, now, update)
                for name, value in figures.items()
                if update > self._last_shown(name)
            ],
        )

    def close(self, failed: bool = False) -> None:
        """Say that the run has ended, and how."""
        self.client.set_terminated(self.run_id, status="FAILED" if failed else "FINISHED")

    def _last_shown(self, name: str) -> int:
        """Return the last update for which an earlier process showed the figure `name`, or -1."""
        if name not in self.shown_before:
            history = self.client.get_metric_history(self.run_id, name)
            self.shown_before[name] = max((metric.step for metric in history), default=-1)
        return self.shown_before[name]
