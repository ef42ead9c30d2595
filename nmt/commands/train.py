"""`nmt train`: train and test, or print the plan of a training."""

from nmt.config import TrainSettings
from nmt.evaluation.tables import evaluation_table
from nmt.runs.directory import RunDirectory
from nmt.training import session
from nmt.training.plan import plan_and_time


def main(settings: TrainSettings) -> None:
    """Train, and print the scores of the test split and the command to translate with."""
    directory = _directory(settings)
    evaluation = session.train(settings, directory)
    if evaluation is not None:
        print(evaluation_table(evaluation), flush=True)
    print(f"to translate: nmt translate run={directory.path} input=FILE output=FILE")


def plan(settings: TrainSettings) -> None:
    """Print what a training would do and how long it would take; the run gets no folder."""
    for line in plan_and_time(settings, _directory(settings)):
        print(line)


def _directory(settings: TrainSettings) -> RunDirectory:
    assert settings.run is not None, "the command line names a run of its own"
    return RunDirectory(settings.run)
