"""`nmt train`: train and test, or print the plan of a training."""

from nmt.config import TrainSettings
from nmt.evaluation.tables import evaluation_table
from nmt.runs.directory import RunDirectory, translating_with
from nmt.training import session
from nmt.training.plan import plan_and_time
from nmt.training.ranks import Place, Ranks, joined


def main(settings: TrainSettings) -> None:
    """Train; print the scores of the test split and the command to translate with. The first rank prints."""
    with joined(Place.of_process()) as ranks:
        directory = _directory(settings, ranks)
        evaluation = session.train(settings, directory, ranks)
        if evaluation is not None:
            print(evaluation_table(evaluation), flush=True)
        if ranks.is_first:
            print(translating_with(directory.path))


def plan(settings: TrainSettings) -> None:
    """Print what a training would do and how long it would take; the run gets no folder."""
    with joined(Place.of_process()) as ranks:
        lines = plan_and_time(settings, _directory(settings, ranks), ranks)
        if ranks.is_first:
            print("\n".join(lines))


def _directory(settings: TrainSettings, ranks: Ranks) -> RunDirectory:
    """Return the run that all ranks share: the first rank's, since a run that is not typed is named after the time."""
    assert settings.run is not None, "the command line names a run of its own"
    return RunDirectory(ranks.gather(settings.run)[0])
