"""Runs of a sweep: one after the other, several at once on this machine, or in the queue of a cluster."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli.compose import compose
from nmt.cli.hydra_config import TRAIN
from nmt.cli.main import log_to_stderr, terminate
from nmt.cli.value_types import as_string
from nmt.config import GridSweep, OptunaSweep, TrainSettings
from nmt.data.lines import MAX_WAIT
from nmt.errors import SweepError, UserError, one_line
from nmt.ray_map import RayMap
from nmt.sweeps.results import JobRecord, read_record, write_record
from nmt.sweeps.study import Search
from nmt.sweeps.sweep_folder import OF_SUBMITIT
from nmt.versions import importing

if TYPE_CHECKING:
    from nmt.training.ranks import Ranks

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One run: its number, the values that distinguish it, and all of its overrides."""

    number: int
    setting: str
    overrides: list[str]


@dataclass(frozen=True)
class JobRunner:
    """Trains runs of one sweep; a copy is sent to each process that trains one."""

    folder: Path
    settings: GridSweep | OptunaSweep
    config_directory: str | None

    def run(self, job: Job, ranks: "Ranks | None" = None) -> None:
        """Train one run in its folder, or go on there, and record how it ended. A failure ends no other run.

        Where several `ranks` train it, the first one writes the record.
        """
        from nmt.runs.directory import RunDirectory
        from nmt.training.ranks import Ranks
        from nmt.training.session import train

        ranks = ranks or Ranks()
        done = read_record(self.folder, job.number)
        if done is not None and done.state != "failed":
            return
        logger.info("job %d        %s", job.number, one_line(job.setting))
        path = os.path.join(self.folder, str(job.number))
        pruner = None
        if isinstance(self.settings, OptunaSweep):
            pruner = Search(self.settings, self.folder).pruner(job.number)
        state, reason = "finished", None
        try:
            overrides = [*job.overrides, f"run={as_string(path)}", "resume=true"]
            settings = compose(TRAIN, overrides, self.config_directory).settings()
            assert isinstance(settings, TrainSettings)
            if pruner is None or not pruner.has_pruned:
                train(settings, RunDirectory(path), ranks, pruner)
            if pruner is not None and pruner.has_pruned:
                state = "pruned"
        except UserError as error:
            state, reason = "failed", one_line(error)
            logger.warning("job %d failed: %s", job.number, reason)
        except Exception as error:
            state, reason = "failed", one_line(f"{type(error).__name__}: {error}")
            logger.exception("job %d failed", job.number)
        if ranks.is_first:
            write_record(self.folder, job.number, JobRecord(setting=job.setting, state=state, error=reason))

    def run_all(self, jobs: Sequence[Job]) -> None:
        """Train these runs where the settings of the sweep say, and as many at once as they say."""
        if self.settings.cluster == "ray":
            self._run_on_ray(jobs)
        elif self.settings.cluster is not None:
            self._run_on_cluster(jobs)
        elif self.settings.at_once > 1:  # also a single run, whose share of the cores stays the same
            self._run_side_by_side(jobs)
        else:
            for job in jobs:
                self.run(job)

    def _run_side_by_side(self, jobs: Sequence[Job]) -> None:
        """Train runs in processes of their own. When this process ends, they save their work and end, too."""
        context = multiprocessing.get_context("spawn")  # a forked process cannot use a GPU
        waiting = list(reversed(jobs))
        running: dict[Any, SpawnProcess] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.settings.at_once:
                    process = context.Process(target=self._run_in_process, args=(waiting.pop(),))
                    process.start()
                    running[process.sentinel] = process
                for sentinel in wait(list(running), MAX_WAIT):
                    running.pop(sentinel).join()
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.join()

    def _run_in_process(self, job: Job) -> None:
        """Train one of several runs at once, with its share of the cores; its number begins each line of its log."""
        # A terminal sends these signals to all processes; the parent handles them.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, terminate)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // self.settings.at_once))
        log_to_stderr()
        for handler in logging.getLogger("nmt").handlers:
            handler.setFormatter(logging.Formatter(f"[{job.number}] %(message)s"))
        try:
            self.run(job)
        except (UserError, OSError) as error:  # the run has no record, and so counts as interrupted
            logger.error("job %d: %s", job.number, one_line(error))
            sys.exit(2)

    def _run_on_ray(self, jobs: Sequence[Job]) -> None:
        """Train runs on a Ray cluster, and wait for them; a run whose machine is lost goes on elsewhere."""
        runner = replace(self, folder=self.folder.absolute())
        settings = self.settings
        with RayMap(
            _loaded, runner, settings.at_once, True, "sweep.at_once", settings.cluster_options
        ) as ray:
            for job, error in ray.run_each(jobs):
                if error is not None:  # the run has no record, and so counts as interrupted
                    logger.warning("job %d was lost: %s", job.number, one_line(error))

    def _run_on_cluster(self, jobs: Sequence[Job]) -> None:
        """Hand runs to submitit, and wait for them; submitit writes their logs into the folder OF_SUBMITIT.

        When this process is interrupted, the runs are cancelled, so that none goes on beside the next sweep.
        """
        submitit = require_submitit()
        try:
            executor = submitit.AutoExecutor(self.folder / OF_SUBMITIT, cluster=self.settings.cluster)
            executor.update_parameters(slurm_array_parallelism=self.settings.at_once)
            executor.update_parameters(**(self.settings.cluster_options or {}))
            submitted = executor.map_array(self._run_on_node, jobs)
        except (AssertionError, NameError, TypeError, ValueError, RuntimeError, OSError) as error:
            raise SweepError(
                f"sweep.cluster: what submitit can submit is needed; got {one_line(error)}"
            ) from None
        try:
            for one in submitted:
                one.wait()
        except (KeyboardInterrupt, SystemExit):
            for one in submitted:
                one.cancel(check=False)
            for one in submitted:
                one.wait()
            raise

    def _run_on_node(self, job: Job) -> None:
        """Train one run as a job of a cluster; the tasks that submitit gives to a job are the ranks of its run."""
        from submitit import JobEnvironment
        from submitit.helpers import TorchDistributedEnvironment

        from nmt.training.ranks import Place, joined

        # Submitit's own handlers ignore SIGTERM, and end the work at SIGUSR2, which comes before a time limit.
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGUSR2, lambda *_: signal.raise_signal(signal.SIGTERM))
        log_to_stderr()
        if JobEnvironment().num_tasks > 1:
            TorchDistributedEnvironment().export(overwrite=True)
        with joined(Place.of_process()) as ranks:
            self.run(job, ranks)


def _loaded(runner: JobRunner) -> Callable[[Job], None]:
    """Return the function that trains a run in a process of Ray."""
    log_to_stderr()
    return runner.run


def require_submitit() -> Any:
    """Import submitit. Raises UserError, with the extra, where it is not there."""
    with importing("submitit", "sweep.cluster"):
        import submitit
    return submitit


def _end_with_parent() -> None:
    """Wait for the end of the parent process, then have this one save and end."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
