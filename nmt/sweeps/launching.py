"""The runs of `nmt train -m`: one after the other, or several at once by joblib or submitit."""

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nmt.cli.compose import Launcher, compose, compose_sweep
from nmt.cli.main import log_to_stderr
from nmt.cli.overrides import LAUNCH, LAUNCHER, as_string, is_of, parse, typed_value
from nmt.config import GridSweep, OptunaSweep, SweepSettings, TrainSettings
from nmt.config.check import check
from nmt.errors import SettingsError, SweepError, UserError, one_line
from nmt.sweeps.folder import SWEEPS, begin, choose_folder
from nmt.sweeps.results import (
    JobRecord,
    Result,
    print_results,
    read_record,
    read_result,
    write_record,
    write_results,
)
from nmt.sweeps.study import Search, ends
from nmt.sweeps.values import distribution_of, values_of

logger = logging.getLogger(__name__)

LAUNCHERS = "basic|joblib|submitit_local|submitit_slurm"
# Keys that say where and how a sweep runs, and not what its runs are.
HOW = (*LAUNCH, "hydra", "sweep.trials", "sweep.at_once")
# Options that submitit knows for every kind of cluster; the name of any other begins with the kind.
OF_ALL_CLUSTERS = (
    "timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name", "stderr_to_stdout",
)  # fmt: skip


def run_sweep(overrides: list[str], config_directory: str | None) -> None:
    """Train every combination of values, or search for good ones; print the table and the best run.

    Raises UserError for what is wrong before anything has begun, SweepError where runs have failed.
    """
    sweep = Sweep(overrides, config_directory)
    log_to_stderr()
    try:
        sweep.launch()
    except (KeyboardInterrupt, SystemExit):
        sweep.write()
        logger.info("sweep        %s; the same command with resume=true goes on", sweep.folder)
        raise
    results = sweep.write()
    print_results(results, sweep.folder)
    failed = [result for result in results if result.state == "failed"]
    if failed:
        told = "; ".join(f"{result.job} ({result.error})" for result in failed)
        raise SweepError(f"sweep: {len(failed)} of {len(results)} runs failed: {told}")


@dataclass(frozen=True)
class Job:
    """One run of a sweep, as it is sent to the process that trains it."""

    folder: Path  # of the sweep
    number: int
    overrides: list[str]
    setting: str  # of the overrides those that differ between runs
    config_directory: str | None
    search: OptunaSweep | None
    is_alone: bool  # no other runs at the same time

    def settings(self, path: Path) -> TrainSettings:
        """Return the checked settings of a run in `path`, where it goes on if it has begun. Raises UserError."""
        overrides = [*self.overrides, f"run={as_string(path)}", "resume=true"]
        settings = compose("train", overrides, self.config_directory).settings()
        assert isinstance(settings, TrainSettings)
        return settings

    def __call__(self) -> None:
        """Train the run, or go on with it, and note how it ended; what it fails of ends no other."""
        done = read_record(self.folder, self.number)
        if done is not None and done.state != "failed":
            return
        log_to_stderr()
        if not self.is_alone:  # whose line is it?
            for handler in logging.getLogger("nmt").handlers:
                handler.setFormatter(logging.Formatter(f"[{self.number}] %(message)s"))
        logger.info("job %d        %s", self.number, one_line(self.setting))
        try:
            record = JobRecord(setting=self.setting, state="pruned" if self._train() else "finished")
        except UserError as error:
            logger.warning("job %d failed: %s", self.number, one_line(error))
            record = JobRecord(setting=self.setting, state="failed", error=one_line(error))
        except Exception as error:
            logger.exception("job %d failed", self.number)
            reason = one_line(f"{type(error).__name__}: {error}")
            record = JobRecord(setting=self.setting, state="failed", error=reason)
        write_record(self.folder, self.number, record)

    def _train(self) -> bool:
        """Train; say whether the run was ended as hopeless."""
        from nmt.runs.directory import RunDirectory
        from nmt.training.session import train

        path = self.folder / str(self.number)
        pruner = Search(self.search, self.folder).pruner(self.number) if self.search else None
        settings = self.settings(path)
        if pruner is None or not pruner.has_pruned:
            train(settings, RunDirectory(str(path)), pruner)
        return pruner is not None and pruner.has_pruned

    def checkpoint(self) -> Any:
        """Return the same job for submitit, which asks when a cluster takes the machine away."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class Sweep:
    """The runs of one sweep, checked before any of them begins.

    Raises UserError for what is wrong with one of them, or with the folder.
    """

    def __init__(self, overrides: list[str], config_directory: str | None) -> None:
        typed = parse(overrides, is_sweep=True)
        self.identity = [str(override.input_line) for override in typed if not is_of(override, *HOW)]
        given = typed_value(typed, "run", "hydra.sweep.dir")
        fresh = f"{SWEEPS}/{datetime.now():%Y-%m-%d_%H-%M-%S}"
        is_going_on = typed_value(typed, "resume") is True
        self.folder = choose_folder(given and str(given), fresh, self.identity, is_going_on)
        values, self.launcher, of_runs = compose_sweep(typed, config_directory, self.folder)
        self.settings = check(SweepSettings, {"sweep": values}).sweep
        if not re.fullmatch(LAUNCHERS, self.launcher.name):
            raise SettingsError(
                [f"{LAUNCHER}: one of {LAUNCHERS.replace('|', ', ')} is needed; got {self.launcher.name}"]
            )
        self.config_directory = config_directory
        self.search: Search | None = None
        swept = [override for override in of_runs if override.is_sweep_override()]
        self.fixed = [str(override.input_line) for override in of_runs if not override.is_sweep_override()]
        if isinstance(self.settings, GridSweep):
            lists = {override.get_key_element(): values_of(override) for override in swept}
            self.grid = [dict(zip(lists, row, strict=True)) for row in itertools.product(*lists.values())]
            tried = self.grid
        else:
            if not swept:
                raise SettingsError(
                    ["sweep: a key to search is needed, such as model.dropout=interval(0,0.4)"]
                )
            self.space = {override.get_key_element(): distribution_of(override) for override in swept}
            tried = list(ends(self.space))
        for row in tried:  # what is wrong with the last is said now, not when the others have been trained
            job = self._job(0, row)
            if typed_value(parse(job.overrides), "training.from_run") == "last":
                raise SettingsError(
                    ["training.from_run: a folder is needed in a sweep, whose runs become the last; got last"]
                )
            job.settings(self.folder)

    def _job(self, number: int, values: Mapping[str, str]) -> Job:
        swept = [f"{key}={value}" for key, value in values.items()]
        return Job(
            self.folder,
            number,
            [*self.fixed, *swept],
            " ".join(swept),
            self.config_directory,
            self.settings if isinstance(self.settings, OptunaSweep) else None,
            self.launcher.name == "basic",
        )

    def jobs(self) -> list[Job]:
        """Return all runs that are known up to now: of a search, those that were asked for."""
        if isinstance(self.settings, GridSweep):
            return [self._job(number, values) for number, values in enumerate(self.grid)]
        if self.search is None:
            return []
        return [self._job(number, values) for number, values in self.search.all(self.space)]

    def launch(self) -> None:
        """Begin the sweep, or go on with it, until all runs have ended."""
        begin(self.folder, self.identity)
        logger.info("sweep        %s", self.folder)
        if isinstance(self.settings, GridSweep):
            launch(self.launcher, self.jobs())
            return
        self.search = Search(self.settings, self.folder)
        begun = self.search.begun(self.space)
        while True:
            batch, begun = begun[: self.settings.at_once], begun[self.settings.at_once :]
            num_runs = len(self.search.all(self.space))
            for _ in range(min(self.settings.at_once - len(batch), self.settings.trials - num_runs)):
                batch.append(self.search.ask(self.space))
            if not batch:
                return
            launch(self.launcher, [self._job(number, values) for number, values in batch])
            for number, _ in batch:
                record = read_record(self.folder, number)
                if record is not None and record.state != "failed":  # else it stays begun, to be tried again
                    result = read_result(self.folder, number, record.setting)
                    self.search.tell(number, record, result.validation_bleu)

    def write(self) -> list[Result]:
        """Write what all runs have come to up to now, and return it."""
        results = [read_result(self.folder, job.number, job.setting) for job in self.jobs()]
        write_results(self.folder, results)
        return results


def launch(launcher: Launcher, jobs: Sequence[Job]) -> None:
    """Run jobs by one of Hydra's launchers, with its options, until all have ended.

    Raises SweepError where a process of them dies.
    """
    options = launcher.options
    try:
        match launcher.name.split("_"):
            case ["basic"]:
                for job in jobs:
                    job()
            case ["joblib"]:
                import joblib

                numbers = {key: int(value) for key, value in options.items() if str(value).isdecimal()}
                run = joblib.Parallel(**options | numbers | {"backend": "loky"})
                run(joblib.delayed(Job.__call__)(job) for job in jobs)
            case ["submitit", cluster]:
                _submit(cluster, dict(options), jobs)
    except UserError:
        raise
    except Exception as error:  # whatever a library raises when one of its processes dies
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise SweepError(
            f"hydra/launcher: runs that end by themselves are needed; got {reason}; resume=true goes on"
        ) from error


def _submit(cluster: str, options: dict[str, Any], jobs: Sequence[Job]) -> None:
    import submitit

    made = {"folder": options.pop("submitit_folder")}
    if "max_num_timeout" in options:
        made[f"{cluster}_max_num_timeout"] = options.pop("max_num_timeout")
    executor = submitit.AutoExecutor(cluster=cluster, **made)
    executor.update_parameters(
        **{key if key in OF_ALL_CLUSTERS else f"{cluster}_{key}": value for key, value in options.items()}
    )
    with executor.batch():
        submitted = [executor.submit(job) for job in jobs]
    for job in submitted:
        job.results()
