"""The commands: what checks their settings, what runs them, and what help shows of them. Imports nothing heavy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from nmt.errors import UserError, nearest

if TYPE_CHECKING:
    from nmt.config import Settings

Rows = tuple[tuple[str, str], ...]
"""What is typed, and what it does."""

OPTIONS: Rows = (
    (
        "--help TOPIC",
        "more on a group (model), a choice (model=rnn) or a key (model.dropout); all: everything",
    ),
    ("--cfg job", "print the settings that would be used, and stop"),
    ("--config-dir DIR", "look for settings of your own in DIR, too"),
)


@dataclass(frozen=True)
class Command:
    """A command: conf/NAME.yaml holds its settings, nmt/commands/NAME.py does it."""

    name: str
    settings_name: str  # of the class in nmt.config
    examples: Rows
    options: Rows = OPTIONS
    listed_key: str | None = None  # the key that words without `=` are values of
    others: Mapping[str, str] = field(default_factory=dict)  # what an option does instead: module:function

    @property
    def settings_class(self) -> "type[Settings]":
        """What checks the settings; pydantic is imported here."""
        return getattr(import_module("nmt.config"), self.settings_name)

    def function(self, option: str | None = None) -> Callable[..., None]:
        """Return what does the command, or what one of its options does instead; most of them import torch here."""
        where = f"nmt.commands.{self.name}:main" if option is None else self.others[option]
        module, _, name = where.partition(":")
        return getattr(import_module(module), name)


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "data",
            "DataReportSettings",
            (
                ("nmt data data=files data.train.source=a.de ...", "the keys of a training, before it"),
                ("nmt data data=multi30k html=corpus.html", "a page with charts"),
            ),
        ),
        Command(
            "train",
            "TrainSettings",
            (
                ("nmt train experiment=demo", "the built-in corpus, a few minutes on a laptop"),
                ("nmt train model=attention model.cell=gru", "another model, one of its keys changed"),
                ("nmt train run=outputs/mine resume=true", "go on where a run stopped"),
                (
                    "nmt train --plan experiment=demo",
                    "what would be trained and for how long; makes no folder",
                ),
                ("nmt train -m model=rnn,attention seed=1,2", "every combination, and a table of results"),
            ),
            (
                *OPTIONS,
                ("--plan", "print the plan and the estimated time, and stop"),
                ("-m, --multirun", "run every combination of comma-separated values"),
            ),
            others={"--plan": "nmt.commands.train:plan", "-m": "nmt.sweeps.launching:run_sweep"},
        ),
        Command(
            "translate",
            "TranslateSettings",
            (
                ("nmt translate run=outputs/mine < in.de > out.en", "as many lines out as in, in order"),
                ("nmt translate run=last input=in.de output=out.en", "the newest run under outputs/, files"),
                ("nmt translate run=last decoding=greedy < in.de", "another search than the run's own"),
            ),
        ),
        Command(
            "evaluate",
            "EvaluateSettings",
            (
                ("nmt evaluate run=outputs/mine", "translate the run's test text, and score it"),
                ("nmt evaluate run=last source=in.de reference=in.en", "other text"),
                ("nmt evaluate hypothesis=out.en reference=in.en", "a finished translation"),
            ),
        ),
        Command(
            "report",
            "ReportSettings",
            (
                ("nmt report run=outputs/mine", "report.html in the folder of the run"),
                ("nmt report run=outputs/mine against=outputs/other", "two runs side by side"),
            ),
        ),
        Command(
            "compare",
            "CompareSettings",
            (
                (
                    "nmt compare outputs/a outputs/b html=runs.html",
                    "a table of what they recorded, and a page",
                ),
            ),
            listed_key="runs",
        ),
        Command(
            "verify",
            "VerifySettings",
            (("nmt verify run=outputs/mine", "text, weights and scores as they were recorded"),),
        ),
        Command(
            "export",
            "ExportSettings",
            (("nmt export run=outputs/mine output=exported", "needs: pip install 'nmt[export]'"),),
        ),
    )
}


def find(name: str) -> Command:
    """Return the command of a name. Raises UserError if there is none, with the nearest."""
    if name not in COMMANDS:
        raise UserError(f"{name}: one of {', '.join(COMMANDS)} is needed{nearest(name, list(COMMANDS))}")
    return COMMANDS[name]
