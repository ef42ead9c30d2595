"""The runs of `nmt train -m`, by Hydra's launchers: one after the other, or several at once."""

import functools
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from nmt.cli import compose as composition
from nmt.cli.keys import CONFIG_MODULE
from nmt.cli.overrides import parse, quoted
from nmt.config import GridSweep, OptunaSweep, SweepSettings, TrainSettings
from nmt.config.check import check
from nmt.errors import SettingsError, SweepError, UserError, one_line
from nmt.sweeps import folder as sweep_folder
from nmt.sweeps.results import (
    JobRecord,
    Result,
    print_results,
    read_record,
    read_result,
    write_record,
    write_results,
)
from nmt.sweeps.search import Search, ends, require_optuna
from nmt.sweeps.values import require_values, span_of

logger = logging.getLogger(__name__)

# What says where and how a sweep runs, and not what its runs are.
OF_THE_LAUNCH = ("run", "resume", "sweep.trials", "sweep.at_once")
Job = tuple[int, list[str]]
"""The number of a run, and its overrides."""


def run_sweep(overrides: list[str], config_directory: str | None, set_up_log: Callable[[], None]) -> None:
    """Train every combination of values, or search for good ones; print the table and the best run.

    `set_up_log` is called in each process that trains.
    Raises UserError for what is wrong before anything has begun, SweepError where runs have failed.
    """
    overrides = [quoted(override) for override in overrides]
    search_path = composition.search_path(config_directory)
    with _explained(overrides, search_path):
        sweep = Sweep(overrides, search_path, set_up_log)
    set_up_log()
    try:
        with _explained(overrides, search_path):
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


class Sweep:
    """The runs of one sweep, and how they are launched."""

    def __init__(self, overrides: list[str], search_path: list[str], set_up_log: Callable[[], None]) -> None:
        typed = parse(overrides, is_sweep=True)
        given, resume = _where(typed)
        identity = [str(override.input_line) for override in typed if not _is_of_the_launch(override)]
        fresh = f"{sweep_folder.SWEEPS}/{datetime.now():%Y-%m-%d_%H-%M-%S}"
        self.folder = sweep_folder.choose_folder(given, fresh, identity, resume)
        self.identity = identity
        of_hydra = [str(override.input_line) for override in typed if override.is_hydra_override()]
        of_hydra = [override for override in of_hydra if not override.startswith("hydra.sweep.")]
        # made by hand and not by Hydra's own entry, which would leave it behind as the process's only one
        self.loader = ConfigLoaderImpl(create_config_search_path(f"pkg://{CONFIG_MODULE}"))
        hydra = Hydra("nmt", self.loader)
        self.config = hydra.compose_config(
            "train",
            [*search_path, *of_hydra, quoted(f"hydra.sweep.dir={self.folder}")],
            run_mode=RunMode.MULTIRUN,
            with_log_configuration=False,
        )
        of_sweep = [str(override.input_line) for override in typed if _is_of_the_sweep(override)]
        values = composition.to_values(self.loader.load_sweep_config(self.config, of_sweep))
        self.settings = check(SweepSettings, {"sweep": values["sweep"]}).sweep
        of_runs = [
            override
            for override in OverridesParser.create(self.loader).parse_overrides(overrides)
            if not _is_of_the_launch(override) and not _is_of_the_sweep(override)
        ]
        swept = [override for override in of_runs if override.is_sweep_override()]
        self.typed = frozenset(override.get_key_element() for override in of_runs)
        self.swept = frozenset(override.get_key_element() for override in swept)
        self.search: Search | None = None
        match self.settings:
            case GridSweep():
                self.jobs = self._grid(of_runs)
            case OptunaSweep():
                self.jobs = []
                self.space = {override.get_key_element(): span_of(override) for override in swept}
                self.fixed = [
                    f"{override.get_key_element()}={override.get_value_element_as_str()}"
                    for override in of_runs
                    if not override.is_sweep_override()
                ]
                if not swept:
                    raise SettingsError(
                        ["sweep: a key to search is needed, such as model.dropout=interval(0,0.4)"]
                    )
                require_optuna()
                for values in ends(self.space):  # as for the last job of a grid
                    self._check(self._job(0, values)[1])
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=self.loader, callbacks=Callbacks(self.config)),
            task_function=functools.partial(
                _run_job, self.folder, self.typed, self.swept, set_up_log, self.settings
            ),
            config=self.config,
        )

    def launch(self) -> None:
        """Begin the sweep, or go on with it, until all runs have ended."""
        sweep_folder.begin(self.folder, self.identity)
        logger.info("sweep        %s", self.folder)
        if isinstance(self.settings, GridSweep):
            self._launch(self.jobs)
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
            self._launch([self._job(number, values) for number, values in batch])
            for number, _ in batch:
                record = read_record(self.folder, number)
                if record is not None and record.state != "failed":  # else it stays begun, to be tried again
                    result = read_result(self.folder, number, record.setting)
                    self.search.tell(number, record, result.validation_bleu)

    def write(self) -> list[Result]:
        """Write what all runs have come to up to now, and return it."""
        if self.search is not None:
            self.jobs = [self._job(number, values) for number, values in self.search.all(self.space)]
        results = [read_result(self.folder, number, _setting(job, self.swept)) for number, job in self.jobs]
        write_results(self.folder, results)
        return results

    def _grid(self, of_runs: list[Override]) -> list[Job]:
        for override in of_runs:
            if override.is_sweep_override() and not override.is_discrete_sweep():
                raise SettingsError(
                    [f"{override.key_or_group}: a list of values is needed with sweep=grid; got "
                     f"{override.input_line}; sweep=optuna searches intervals"]
                )  # fmt: skip
            require_values(override)
        (typed,) = BasicSweeper.split_arguments(of_runs, None)
        jobs = [composition.with_inherited(job) for job in typed]
        for job in jobs:  # what is wrong with the last one is said now, not when the others have been trained
            self._check(job)
        return list(enumerate(jobs))

    def _job(self, number: int, values: dict[str, str]) -> Job:
        return number, composition.with_inherited(
            [*self.fixed, *(f"{key}={value}" for key, value in values.items())]
        )

    def _launch(self, jobs: Sequence[Job]) -> None:
        """Launch runs; those of one call of Hydra's have numbers that follow each other."""
        rest = list(jobs)
        while rest:
            first = rest[0][0]
            together = [job for place, (number, job) in enumerate(rest) if number == first + place]
            rest = rest[len(together) :]
            try:
                returns = self.launcher.launch(together, initial_job_idx=first)
            except (UserError, HydraException, OmegaConfBaseException):
                raise
            except Exception as error:  # whatever a launcher raises when one of its processes dies
                reason = (str(error).strip() or type(error).__name__).split("\n")[0]
                raise SweepError(
                    f"hydra/launcher: runs that end by themselves are needed; got {reason}; resume=true goes on"
                ) from error
            for outcome in returns:
                _ = outcome.return_value  # raises what a job did not note itself

    def _check(self, overrides: list[str]) -> None:
        config = self.loader.load_sweep_config(self.config, overrides)
        composition.compose_job(config, _only(self.typed, overrides), str(self.folder)).settings()


def _run_job(
    folder: Path,
    typed: frozenset[str],
    swept: frozenset[str],
    set_up_log: Callable[[], None],
    sweep: GridSweep | OptunaSweep,
    config: DictConfig,
) -> None:
    """Train one run in its folder, or go on there, and note how it ended; what it fails of ends no other."""
    from nmt.runs.directory import RunDirectory
    from nmt.training.session import train

    hydra = HydraConfig.get()
    number, overrides = int(hydra.job.num), list(hydra.overrides.task)
    setting = _setting(overrides, swept)
    done = read_record(folder, number)
    if done is not None and done.state != "failed":
        return
    set_up_log()
    if hydra.runtime.choices.get("hydra/launcher") != "basic":  # several at once: whose line is it?
        for handler in logging.getLogger("nmt").handlers:
            handler.setFormatter(logging.Formatter(f"[{number}] %(message)s"))
    logger.info("job %d        %s", number, one_line(setting))
    path = os.path.join(folder, str(number))
    pruner = Search(sweep, folder).pruner(number) if isinstance(sweep, OptunaSweep) else None
    try:
        composed = composition.compose_job(config, _only(typed, overrides), path)
        settings = composed.settings()
        assert isinstance(settings, TrainSettings)
        if pruner is None or not pruner.has_pruned:
            train(settings, RunDirectory(path), pruner)
    except UserError as error:
        logger.warning("job %d failed: %s", number, one_line(error))
        record = JobRecord(setting=setting, state="failed", error=one_line(error))
    except Exception as error:
        logger.exception("job %d failed", number)
        reason = one_line(f"{type(error).__name__}: {error}")
        record = JobRecord(setting=setting, state="failed", error=reason)
    else:
        is_pruned = pruner is not None and pruner.has_pruned
        record = JobRecord(setting=setting, state="pruned" if is_pruned else "finished")
    write_record(folder, number, record)


@contextmanager
def _explained(overrides: list[str], search_path: list[str]) -> Iterator[None]:
    """Turn what Hydra says of overrides into one line."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise composition.explain_sweep(overrides, search_path, error) from None


def _where(typed: list[Override]) -> tuple[str | None, bool]:
    """Return the folder that was typed, and whether an interrupted sweep is to go on."""
    given, resume = None, False
    for override in typed:
        if override.key_or_group in ("run", "resume", "hydra.sweep.dir"):
            if override.is_sweep_override():
                raise SettingsError(
                    [f"{override.key_or_group}: one value is needed for all of the sweep; got "
                     f"{override.input_line}"]
                )  # fmt: skip
            if override.key_or_group == "resume":
                resume = override.value() is True
            else:
                given = None if override.value() is None else str(override.value())
    return given, resume


def _is_of_the_launch(override: Override) -> bool:
    return override.key_or_group in OF_THE_LAUNCH or override.is_hydra_override()


def _is_of_the_sweep(override: Override) -> bool:
    return override.key_or_group == "sweep" or override.key_or_group.startswith("sweep.")


def _only(keys: frozenset[str], overrides: Sequence[str]) -> list[str]:
    return [override for override in overrides if override.partition("=")[0] in keys]


def _setting(overrides: Sequence[str], swept: frozenset[str]) -> str:
    return " ".join(_only(swept, overrides))
