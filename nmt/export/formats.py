"""The formats that a run can be exported to: the interface of a format, its inputs and its results."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nmt.config import DecodingSettings, ExportSettings, TokenizerSettings, TransformerSettings
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.shortlist import Shortlist
from nmt.evaluation.translating import validation_search
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory

if TYPE_CHECKING:
    from nmt.export.comparison import Comparison

TokenLists = list[list[int]]
# The settings of a search without rules for what it may write.
NO_RULES: dict[str, Any] = {"min_length": 0, "repetition_penalty": 1.0, "no_repeat_ngram_size": None}


@dataclass(frozen=True)
class Exported:
    """The input of a format: a run, what was loaded from it (the model in float32, on the CPU), and the settings."""

    run: RunDirectory
    model: Seq2Seq
    tokenizer: Tokenizer
    shortlist: Shortlist | None
    settings: ExportSettings


class Work(NamedTuple):
    """What the export has to translate: a search, source token ids without EOS, and the most target tokens of each."""

    search: DecodingSettings
    source: Sequence[Sequence[int]]
    limits: Sequence[int]


class Found(NamedTuple):
    """The translations of the export: target token ids of each source, and the number type that computed them.

    `is_same_search` is False where the export may stop before it has found the best hypothesis. The figures of the
    comparison are then shown, and no agreement is demanded.
    """

    target: TokenLists
    computed_in: str
    is_same_search: bool = True


def plain_search(exported: Exported) -> DecodingSettings:
    """Return greedy search with the length limits of the run and no other rule: every program can do that."""
    return validation_search(exported.settings.decoding).model_copy(update=NO_RULES)


class NewModel(NamedTuple):
    """The settings of a model that is still to be trained."""

    model: TransformerSettings
    tokenizer: TokenizerSettings


class Format(Protocol):
    """A format of another program."""

    def require(self, new: NewModel | None = None) -> None:
        """Raise UserError where a library is missing, with the extra that has it.

        Raise RunError, too, where the format could not hold a model of the settings `new`.
        """

    def write(self, folder: Path, exported: Exported) -> None:
        """Write all but the page. Raises RunError for what the format cannot hold, with the reason."""

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        """Return the searches in which the two sides are compared."""

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        """Translate with the model that was written to `folder`."""

    def page(self, exported: Exported, comparisons: Sequence["Comparison"]) -> str:
        """Return the page of the folder, in Markdown: how the two sides compare, and how to translate with it."""


# The module and the class of each format.
FORMATS = {
    "ctranslate2": "nmt.export.ctranslate2.format:CTranslate2",
    "argos": "nmt.export.argos.format:Argos",
    "onnx": "nmt.export.onnx.format:ONNX",
    "web": "nmt.export.web.format:Web",
    "huggingface": "nmt.export.huggingface.format:HuggingFace",
    "marian": "nmt.export.marian:Marian",
}


def format_of(name: str) -> Format:
    """Return a format by its name, one of `FORMATS`."""
    module, _, class_name = FORMATS[name].partition(":")
    found: Format = getattr(import_module(module), class_name)()
    return found
