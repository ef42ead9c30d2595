"""A check that an exported model translates as the model of its run does."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch

from nmt.config import DecodingSettings, Quantization
from nmt.data.corpus import ParallelText
from nmt.decoding.engine import Sentence, limit_of
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import ExportError
from nmt.evaluation.scoring import corpus_bleu
from nmt.evaluation.translating import name_search
from nmt.export.formats import Exported, Format, Work

NUM_LINES = 200
# In float32, one translation in this many may differ, where two words are equally probable.
LINES_PER_DIFFERENCE = 100


@dataclass(frozen=True)
class Comparison:
    """How far the run and its export translate the same lines alike, both with the same settings of search."""

    quantization: Quantization
    tolerance: float  # BLEU points that quantisation or a shortlist may cost
    computed_in: str  # number type that the export computes in
    search: str
    num_lines: int
    num_identical: int  # token by token
    bleu: float
    exported_bleu: float
    has_shortlist: bool = False  # both sides searched only among its words
    is_same_search: bool = True  # False: the export may stop before it has found the best

    def report(self) -> str:
        """Return the figures, for people."""
        own, others = (", with its shortlist", ", with its map") if self.has_shortlist else ("", "")
        return (
            f"{'lines':10} {self.num_lines:6d}  of validation text, {self.search} search without UNK\n"
            f"{'identical':10} {self.num_identical:6d}  token by token, {self.demand}\n"
            f"{'BLEU':10} {self.bleu:6.2f}  of the run, in float32{own}\n"
            f"{'BLEU':10} {self.exported_bleu:6.2f}  of the export, weights in {self.quantization}, "
            f"computed in {self.computed_in}{others}"
        )

    @property
    def is_exact(self) -> bool:
        """Whether both sides compute the same."""
        return self.quantization == "float32" and not self.has_shortlist

    @property
    def least_identical(self) -> int:
        """How many translations are to be identical in float32."""
        return self.num_lines - self.num_lines // LINES_PER_DIFFERENCE

    @property
    def demand(self) -> str:
        """The agreement that the export has to reach, in words.

        With a shortlist, translations may differ: its words depend on the batch, and the two sides batch differently.
        """
        if not self.is_same_search:
            return "of which some may differ: the other side stops its search earlier"
        if self.is_exact:
            return f"at least {self.least_identical} are needed"
        return f"BLEU may be lower by {self.tolerance:g}"

    def require(self) -> None:
        """Raise ExportError where the agreement is less than demanded; an export whose search stops earlier passes."""
        if not self.is_same_search:
            return
        loss = self.bleu - self.exported_bleu
        if self.is_exact and self.num_identical < self.least_identical:
            raise ExportError(
                f"quantization={self.quantization}: at least {self.least_identical} translations as those of the run "
                f"are needed; got {self.num_identical}; nothing was written"
            )
        if not self.is_exact and loss > self.tolerance:
            shortlist = " and the shortlist" if self.has_shortlist else ""
            raise ExportError(
                f"tolerance: a loss of at most {self.tolerance:g} BLEU is needed with "
                f"quantization={self.quantization}{shortlist}; got {loss:.2f}; nothing was written; "
                f"tolerance={math.ceil(10 * loss) / 10:g} accepts that"
            )


def compare(
    folder: Path, to: Format, exported: Exported, text: ParallelText, search: DecodingSettings
) -> Comparison:
    """Translate the first lines of a text with a model and with its export in `folder`, and compare the translations.

    Blank lines do not count, and long ones are cut. Raises UserError where the other side cannot translate here.
    """
    tokenizer = exported.tokenizer
    translator = Translator(
        TorchEngine(exported.model, tokenizer, torch.device("cpu"), torch.float32, exported.run), search
    )
    encoded, _ = translator.pairs.read_with_context(text.source)
    kept = [i for i, ids in enumerate(encoded) if ids][:NUM_LINES]
    source = [encoded[i][: translator.max_source_tokens] for i in kept]
    limits = [limit_of(len(ids), search, exported.model.max_positions) for ids in source]
    own = [one.hypotheses[0].tokens for one in translator.search([Sentence(ids) for ids in source])]
    found = to.translate(folder, exported, Work(search, source, limits))
    references = [text.target[i] for i in kept]
    bleu, exported_bleu = [
        corpus_bleu(
            [tokenizer.target.decode(tokens) for tokens in side], references, exported.settings.evaluation
        )
        for side in (own, found.target)
    ]
    return Comparison(
        exported.settings.quantization,
        exported.settings.tolerance,
        found.computed_in,
        name_search(search),
        len(kept),
        sum(ours == theirs for ours, theirs in zip(own, found.target, strict=True)),
        bleu,
        exported_bleu,
        search.shortlist,
        found.is_same_search,
    )
