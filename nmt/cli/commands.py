"""The table of commands: their settings, their functions and their help. Imports nothing heavy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt.config import Settings

Rows = tuple[tuple[str, str], ...]
"""Pairs of a line to type and its effect."""

OPTIONS: Rows = (
    ("--help TOPIC", "more on a group (model), choice (model=rnn) or key (model.dropout), or all"),
    ("--cfg job", "print the settings that would be used, and stop"),
    ("--config-dir DIR", "look for settings of your own in DIR, too"),
)


@dataclass(frozen=True)
class Command:
    """A command: settings in conf/NAME.yaml, code in nmt/commands/NAME.py, or NAME_.py for a Python keyword."""

    name: str
    settings_name: str  # of the class in nmt.config
    examples: Rows
    options: Rows = OPTIONS
    listed_key: str | None = None  # the key whose values are the words without `=`
    # By option, what to run instead: module:function.
    instead: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings_class(self) -> "type[Settings]":
        """The class that checks the settings; getting it imports pydantic."""
        return getattr(import_module("nmt.config"), self.settings_name)

    def function(self, option: str | None = None) -> Callable[..., None]:
        """Return the function of the command, or of an option that takes its place; getting it may import torch."""
        name = f"{self.name}_" if iskeyword(self.name) else self.name
        where = f"nmt.commands.{name}:main" if option is None else self.instead[option]
        module, _, function = where.partition(":")
        return getattr(import_module(module), function)


TRAIN_EXAMPLES = (
    ("nmt train experiment=demo", "the built-in corpus, a few minutes on a laptop"),
    ("nmt train model=attention model.cell=gru", "another model, one of its keys changed"),
    ("nmt train run=outputs/mine resume=true", "go on where a run stopped"),
    ("nmt train -m model=rnn,attention seed=1,2", "every combination, and a table of results"),
)
DATA_EXAMPLES = (
    ("nmt data data=files data.train.source=a.de ...", "the keys of a training, before it"),
    ("nmt data data=multi30k html=corpus.html", "a page with charts"),
    ("nmt data data=opus data.corpora=[] ...", "the corpora that OPUS has for two languages"),
)
TRANSLATE_EXAMPLES = (
    ("nmt translate run=outputs/mine < in.de > out.en", "as many lines out as in, in order"),
    ("nmt translate run=last input=in.de output=out.en", "the newest run under outputs/, files"),
    ("nmt translate run=last decoding=greedy < in.de", "another search than the run's own"),
)
SCORE_EXAMPLES = (
    ("nmt score run=last source=in.de target=in.en", "log-probability of each line, and the perplexity"),
    ("nmt score run=last source=in.de target=in.en format=jsonl", "that of each token"),
)
ALIGN_EXAMPLES = (
    ("nmt align run=last source=in.de target=in.en", "links 0-0 1-2 ...: which word goes back to which"),
)
SERVE_EXAMPLES = (("nmt serve run=outputs/mine", "http://127.0.0.1:5000, as LibreTranslate has it"),)
JOIN_EXAMPLES = (
    ("nmt join input=in.de output=out.en shards=8", "after nmt translate ... shard=1/8 to shard=8/8"),
)
EVALUATE_EXAMPLES = (
    ("nmt evaluate run=outputs/mine", "translate the run's test text, and score it"),
    ("nmt evaluate run=last source=in.de reference=in.en", "other text"),
    ("nmt evaluate hypothesis=out.en reference=in.en", "a finished translation"),
)
REPORT_EXAMPLES = (
    ("nmt report run=outputs/mine", "report.html in the folder of the run"),
    ("nmt report run=outputs/mine against=outputs/other", "two runs side by side"),
)
COMPARE_EXAMPLES = (
    ("nmt compare outputs/a outputs/b html=runs.html", "a table of what they recorded, and a page"),
)
VERIFY_EXAMPLES = (("nmt verify run=outputs/mine", "text, weights and scores as they were recorded"),)
SHORTLIST_EXAMPLES = (("nmt shortlist run=outputs/mine", "for nmt translate ... decoding.shortlist=true"),)
EXPORT_EXAMPLES = (("nmt export run=outputs/mine output=exported", "needs: pip install 'nmt[export]'"),)
IMPORT_EXAMPLES = (("nmt import format=huggingface input=A output=B", "a folder of OPUS-MT, say"),)
DISTIL_EXAMPLES = (
    ("nmt distil teacher=outputs/mine student=small", "a fast model that learns from it"),
    ("nmt distil teacher=[a,b] student=c model=student_tiny", "of several teachers"),
)
TRAIN_OPTIONS = (
    *OPTIONS,
    ("--plan", "what would be trained and for how long; makes no folder"),
    ("-m, --multirun", "run every combination of comma-separated values"),
)
INSTEAD = {"--plan": "nmt.commands.train:plan", "--multirun": "nmt.sweeps.launching:run_sweep"}

TABLE = (
    Command("data", "DataReportSettings", DATA_EXAMPLES),
    Command("train", "TrainSettings", TRAIN_EXAMPLES, TRAIN_OPTIONS, instead=INSTEAD),
    Command("distil", "DistilSettings", DISTIL_EXAMPLES),
    Command("translate", "TranslateSettings", TRANSLATE_EXAMPLES),
    Command("score", "ScoreSettings", SCORE_EXAMPLES),
    Command("align", "AlignSettings", ALIGN_EXAMPLES),
    Command("serve", "ServeSettings", SERVE_EXAMPLES),
    Command("join", "JoinSettings", JOIN_EXAMPLES),
    Command("evaluate", "EvaluateSettings", EVALUATE_EXAMPLES),
    Command("report", "ReportSettings", REPORT_EXAMPLES),
    Command("compare", "CompareSettings", COMPARE_EXAMPLES, listed_key="runs"),
    Command("verify", "VerifySettings", VERIFY_EXAMPLES),
    Command("shortlist", "ShortlistSettings", SHORTLIST_EXAMPLES),
    Command("export", "ExportSettings", EXPORT_EXAMPLES),
    Command("import", "ImportSettings", IMPORT_EXAMPLES),
)
COMMANDS = {command.name: command for command in TABLE}
