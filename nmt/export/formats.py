"""The formats that a run can be exported to: what each has to do, and what it is given for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nmt.config import DecodingSettings, ExportSettings, TransformerSettings
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.shortlist import Shortlist
from nmt.evaluation.translating import validation_search
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory

if TYPE_CHECKING:
    from nmt.export.comparison import Comparison

TokenLists = list[list[int]]


@dataclass(frozen=True)
class Exported:
    """What a format is given: a run, its model in float32 on the CPU, and what was asked for."""

    run: RunDirectory
    model: Seq2Seq
    tokenizer: Tokenizer
    shortlist: Shortlist | None
    settings: ExportSettings


class Work(NamedTuple):
    """What the other side is to translate: by which search, sources as ids without EOS, how long each may become."""

    search: DecodingSettings
    source: Sequence[Sequence[int]]
    limits: Sequence[int]


class Found(NamedTuple):
    """What the other side found: target ids of each source, and what it computed them in.

    It is not the same search where the other side may stop before it has found the best: the figures are shown then,
    and nothing is demanded of them.
    """

    target: TokenLists
    computed_in: str
    is_same_search: bool = True


def plain_search(exported: Exported) -> DecodingSettings:
    """Return greedy search without any rule but the limits of the run's own, which every program has."""
    plain = {"min_length": 0, "repetition_penalty": 1.0, "no_repeat_ngram_size": None}
    return validation_search(exported.settings.decoding).model_copy(update=plain)


class Format(Protocol):
    """A format of another program."""

    def require(self, new: TransformerSettings | None = None) -> None:
        """Raise UserError where a library is missing, with the extra that has it.

        Raise RunError, too, where a `new` model of these settings would have no place in the format.
        """

    def write(self, folder: Path, exported: Exported) -> None:
        """Write all but the page. Raises RunError for what the format cannot hold, with the reason."""

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        """Return the searches under which both sides are to translate the same."""

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        """Translate by what was written alone."""

    def page(self, exported: Exported, comparisons: Sequence["Comparison"]) -> str:
        """Return the page of the folder, in Markdown: how the two sides compare, and how to translate with it."""


# The class of each format, by the module that has it.
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
