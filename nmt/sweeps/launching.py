"""`nmt train -m`: which runs a sweep has, and the table that it ends with."""

import itertools
import logging
import re
from collections.abc import Mapping

from nmt.cli.compose import compose, new_name
from nmt.cli.hydra_config import TRAIN, compose_sweep
from nmt.cli.main import log_to_stderr
from nmt.cli.overrides import LAUNCH, is_of, parse, typed_value
from nmt.cli.run_settings import OTHER_RUNS
from nmt.config import GridSweep, OptunaSweep, SweepSettings
from nmt.config.check import check
from nmt.data.cache import content_key
from nmt.errors import SettingsError, SweepError
from nmt.files.writing import to_json
from nmt.ray_map import require_ray
from nmt.runs.migration import FORMAT
from nmt.sweeps.jobs import Job, JobRunner, require_submitit
from nmt.sweeps.results import RunResult, print_results, read_record, read_result, write_results
from nmt.sweeps.study import Search, ends
from nmt.sweeps.sweep_folder import SWEEPS, choose_folder, held
from nmt.sweeps.values import distribution_of, values_of

logger = logging.getLogger(__name__)

# Keys that say where and how a sweep runs, and not what its runs are.
OF_THE_LAUNCH = (*LAUNCH, "sweep.trials", "sweep.at_once", "sweep.cluster", "sweep.cluster_options")


def run_sweep(overrides: list[str], config_directory: str | None) -> None:
    """Train every combination of values, or search for good ones; print the table and the best run.

    Raises UserError, before any run begins, for wrong settings or a wrong folder; SweepError where runs have failed.
    """
    from nmt.training.ranks import Place  # imports torch, which importing this module should not cost

    if (size := Place.of_process().size) > 1:
        raise SettingsError(
            f"-m: a process of its own is needed; got {size} ranks; with sweep.cluster=... "
            "and sweep.cluster_options={tasks_per_node: N} each run has N"
        )
    sweep = Sweep(overrides, config_directory)
    log_to_stderr()
    with held(sweep.folder, sweep.identity, sweep.settings_hash):
        try:
            sweep.launch()
        except (KeyboardInterrupt, SystemExit):
            logger.info("sweep        %s; the same command with resume=true goes on", sweep.folder)
            raise
        finally:
            results = sweep.write()
    print_results(results, sweep.folder)
    failed = [result for result in results if result.state not in ("finished", "pruned")]
    if failed:
        told = "; ".join(f"{one.job} ({one.error or 'ended from outside'})" for one in failed)
        raise SweepError(f"sweep: {len(failed)} of {len(results)} runs failed: {told}; resume=true goes on")


class Sweep:
    """The runs of one sweep, checked before any of them begins.

    Raises UserError for what is wrong with one of them, or with the folder.
    """

    def __init__(self, overrides: list[str], config_directory: str | None) -> None:
        typed = parse(overrides, TRAIN, is_sweep=True)
        given = typed_value(typed, "run")
        self.identity = [str(one.input_line) for one in typed if not is_of(one, *OF_THE_LAUNCH)]
        self.folder = choose_folder(
            None if given is None else str(given),
            f"{SWEEPS}/{new_name()}",
            self.identity,
            typed_value(typed, "resume") is True,
        )
        values, of_runs = compose_sweep(typed, config_directory)
        self.settings = check(SweepSettings, {"sweep": values}).sweep
        if self.settings.cluster == "ray":
            require_ray("sweep.cluster")
        elif self.settings.cluster is not None:
            require_submitit()
        self.runner = JobRunner(self.folder, self.settings, config_directory)
        self.search: Search | None = None
        # The last value of a key counts, as in a training without a sweep.
        latest = {override.get_key_element(): override for override in of_runs}
        swept = [override for override in latest.values() if override.is_sweep_override()]
        self.fixed = [str(override.input_line) for override in of_runs if not override.is_sweep_override()]
        if isinstance(self.settings, GridSweep):
            lists = {override.get_key_element(): values_of(override) for override in swept}
            self.grid = [dict(zip(lists, row, strict=True)) for row in itertools.product(*lists.values())]
            tried = self.grid
        else:
            if not swept:
                raise SettingsError("sweep: a key to search is needed, such as model.dropout=interval(0,0.4)")
            self.space = {override.get_key_element(): distribution_of(override) for override in swept}
            tried = list(ends(self.space))
        for override in of_runs:
            key, _, value = str(override.input_line).partition("=")
            if key in OTHER_RUNS and "last" in re.split(r"[^\w./-]+", value):
                raise SettingsError(
                    f"{key}: a folder is needed in a sweep, whose runs become the last; got last"
                )
        # Checks all combinations, or the ends of a search, so that the last run does not fail after the others.
        made = []
        for row in tried:
            composed = compose(TRAIN, self._job(0, row).overrides, config_directory)
            composed.settings()
            made.append(to_json(composed.values))
        # Another version of nmt may have more keys, and another hash: it goes on with the sweeps of older ones.
        self.settings_hash = f"{FORMAT}-{content_key(*made)}"

    def _job(self, number: int, values: Mapping[str, str]) -> Job:
        swept = [f"{key}={value}" for key, value in values.items()]
        return Job(number, " ".join(swept), [*self.fixed, *swept])

    def jobs(self) -> list[Job]:
        """Return all runs that are known up to now: of a search, those that Optuna has proposed."""
        if isinstance(self.settings, GridSweep):
            return [self._job(number, values) for number, values in enumerate(self.grid)]
        if self.search is None:
            return []
        return [self._job(number, values) for number, values in self.search.all(self.space)]

    def launch(self) -> None:
        """Begin the sweep, or go on with it, until all runs have ended, in a folder that this process holds."""
        logger.info("sweep        %s", self.folder)
        if isinstance(self.settings, OptunaSweep):
            self._search(self.settings)
        else:
            self.runner.run_all(self.jobs())

    def write(self) -> list[RunResult]:
        """Write the results that all runs have up to now, and return them."""
        if isinstance(self.settings, OptunaSweep) and self.search is None:
            return []  # it could not be read, and says nothing of its runs
        results = [read_result(self.folder, job.number, job.setting) for job in self.jobs()]
        write_results(self.folder, results)
        return results

    def _search(self, settings: OptunaSweep) -> None:
        self.search = Search(settings, self.folder)
        begun = self.search.begun(self.space)
        while True:
            batch, begun = begun[: settings.at_once], begun[settings.at_once :]
            num_runs = len(self.search.all(self.space))
            for _ in range(min(settings.at_once - len(batch), settings.trials - num_runs)):
                batch.append(self.search.ask(self.space))
            if not batch:
                return
            self.runner.run_all([self._job(number, values) for number, values in batch])
            for number, _ in batch:
                record = read_record(self.folder, number)
                if record is not None and record.state != "failed":  # else it stays open, to be tried again
                    result = read_result(self.folder, number, record.setting)
                    self.search.tell(number, record, result.validation_bleu)
