"""A search for good settings by Optuna (Akiba et al. 2019), whose state is lines of JSON in the sweep's folder."""

import logging
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import OptunaSweep
from nmt.errors import RunError, one_line
from nmt.files.reading import read_whole_lines
from nmt.sweeps.results import JobRecord
from nmt.versions import importing

JOURNAL = "study.jsonl"
NAME = "sweep"
PRUNED = "pruned"

logger = logging.getLogger(__name__)


Space = Mapping[str, Any]
"""One of Optuna's distributions for each searched key: of numbers, or of values as they would be typed."""


def ends(space: Space) -> Iterator[dict[str, str]]:
    """Yield values of runs that together have the ends and the middle of each range, and each value of each list.

    The middle of a range of real numbers is none that a key of integers takes.
    """
    lists = {key: getattr(one, "choices", None) or _sample(one) for key, one in space.items()}
    for place in range(max(map(len, lists.values()))):
        yield _typed({key: values[min(place, len(values) - 1)] for key, values in lists.items()})


def _sample(numbers: Any) -> tuple[float, ...]:
    """Return both ends of a range, and a number between them where it has all numbers that are there."""
    is_continuous = isinstance(numbers.low, float) and numbers.step is None
    inner = numbers.low + (numbers.high - numbers.low) / math.pi
    return (numbers.low, numbers.high, *([inner] if is_continuous else []))


class Search:
    """The study of a sweep, in this process; others may have it open as well."""

    def __init__(self, settings: OptunaSweep, folder: Path) -> None:
        optuna = self.optuna = require_optuna()
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.path = folder / JOURNAL
        self.settings = settings
        lock = JournalFileOpenLock(str(self.path))
        backend = JournalFileBackend(str(self.path), lock)
        _cut_torn_line(self.path, lock)
        try:
            self.study = optuna.create_study(
                storage=optuna.storages.JournalStorage(backend),
                study_name=NAME,
                direction="maximize",
                load_if_exists=True,
                pruner=(
                    optuna.pruners.MedianPruner(n_startup_trials=settings.prune_after_trials)
                    if settings.prune
                    else optuna.pruners.NopPruner()
                ),
            )
        except Exception as error:  # Optuna trusts the file: what it raises depends on what is wrong there
            raise RunError(
                f"run: a readable {JOURNAL} is needed; got {self.path}: {type(error).__name__}: {error}"
            ) from None

    def begun(self, space: Space) -> list[tuple[int, dict[str, str]]]:
        """Return number and values of each proposed run without an outcome; mark half-written ones as failed."""
        runs, states = dict(self.all(space)), self.optuna.trial.TrialState
        running = [trial.number for trial in self.study.get_trials(deepcopy=False, states=[states.RUNNING])]
        for number in running:
            if number not in runs:
                self.study.tell(number, state=states.FAIL)
        return [(number, runs[number]) for number in running if number in runs]

    def all(self, space: Space) -> list[tuple[int, dict[str, str]]]:
        """Return the numbers and the values of all runs, without those whose values a kill left half written.

        Raises RunError where the values are not of this space.
        """
        trials = self.study.get_trials(deepcopy=False)
        return [self._read(trial, space) for trial in trials if not self._is_half(trial, space)]

    def ask(self, space: Space) -> tuple[int, dict[str, str]]:
        """Return the number and the values of a new run.

        The values depend only on the seed and on what is known of earlier runs, so a search that was interrupted
        goes on as if it had not been.
        """
        seed = np.random.SeedSequence([self.settings.seed, len(self.all(space))]).generate_state(1)[0]
        self.study.sampler = self.optuna.samplers.TPESampler(
            seed=int(seed),
            n_startup_trials=self.settings.random_trials,
            constant_liar=self.settings.at_once > 1,
        )
        trial = self.study.ask(dict(space))
        return self._read(self.study.get_trials(deepcopy=False)[trial.number], space)

    def _is_half(self, trial: Any, space: Space) -> bool:
        """Say whether a run has only some of its values, which Optuna writes one after the other."""
        states = self.optuna.trial.TrialState
        return trial.state in (states.RUNNING, states.FAIL) and trial.distributions.items() < space.items()

    def _read(self, trial: Any, space: Space) -> tuple[int, dict[str, str]]:
        """Return the number and the values of a run.

        The values become overrides of Hydra, and the file may be a stranger's: only values that this search could have
        proposed pass. Raises RunError for anything else.
        """
        if trial.distributions != space or trial.params.keys() != space.keys():
            got = ", ".join(f"{key}={value}" for key, value in trial.params.items()) or "none"
            raise self._wrong(
                f"values of {', '.join(space)} are needed, as the sweep searches them", got, trial
            )
        for key, value in trial.params.items():
            low, high = getattr(space[key], "low", None), getattr(space[key], "high", None)
            if low is not None and not (type(value) in (int, float) and low <= value <= high):
                raise self._wrong(f"{key} from {low} to {high} is needed", value, trial)
        return trial.number, _typed(trial.params)

    def _wrong(self, needed: str, got: object, trial: Any) -> RunError:
        return RunError(f"run: {needed}; got {one_line(got)} for run {trial.number} in {self.path}")

    def tell(self, number: int, record: JobRecord, validation_bleu: float | None) -> None:
        """Tell Optuna the outcome of a run, which is then not tried again."""
        states = self.optuna.trial.TrialState
        if record.state == "pruned":
            self.study.tell(number, state=states.PRUNED)
        elif record.state == "finished" and validation_bleu is not None:
            self.study.tell(number, validation_bleu)
        else:
            self.study.tell(number, state=states.FAIL)

    def pruner(self, number: int) -> "Pruner":
        """Return the pruner of a run of this search."""
        return Pruner(self, number)


class Pruner:
    """Says after each validation whether a run is hopeless beside the others."""

    def __init__(self, search: Search, number: int) -> None:
        frozen = search.study.get_trials(deepcopy=False)[number]
        self.trial = search.optuna.trial.Trial(search.study, frozen._trial_id)
        self.reported = set(frozen.intermediate_values)
        self.has_pruned = PRUNED in frozen.user_attrs

    def __call__(self, update: int, bleu: float) -> bool:
        """Report validation BLEU after an update to Optuna; return whether the run is to end."""
        if update not in self.reported:  # else the run went on from an earlier checkpoint
            self.trial.report(bleu, update)
            self.reported.add(update)
        if self.trial.should_prune():
            # A resumed sweep reads this if a kill comes before the job records how it ended.
            self.trial.set_user_attr(PRUNED, True)
            self.has_pruned = True
        return self.has_pruned


def require_optuna() -> Any:
    """Import Optuna. Raises UserError, with the extra, where it is not there."""
    with importing("optuna", "sweep"):
        import optuna
    return optuna


def _cut_torn_line(path: Path, lock: Any) -> None:
    """Cut off the line that a kill left incomplete, since Optuna would append the next one to it.

    Under the lock, no other process has written half a line.
    """
    lock.acquire()
    try:
        length = max((end for _, end in read_whole_lines(path)), default=0)
        if length < path.stat().st_size:
            os.truncate(path, length)
    finally:
        lock.release()


def _typed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values as they would be typed; floats have four significant digits, which suffice and are easy to read."""
    return {
        key: repr(float(f"{value:.4g}")) if isinstance(value, float) else str(value)
        for key, value in values.items()
    }
