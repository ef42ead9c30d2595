"""Whether an exported model translates as the one that it was made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from nmt.config import DecodingSettings, EvaluationSettings, Quantization
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.translator import Translator
from nmt.errors import DeviceError, ExportError
from nmt.evaluation.model import validation_search
from nmt.evaluation.scoring import corpus_bleu
from nmt.export.output import TokenNames
from nmt.export.specification import load_ctranslate2
from nmt.models.interface import Seq2Seq

NUM_LINES = 200
# In float32 one translation in so many may differ: where two words are as probable as each other.
LINES_PER_DIFFERENCE = 100
LARGEST_LOSS = 0.3  # of BLEU, with fewer bits

TokenLists = list[list[int]]


@dataclass(frozen=True)
class ExportComparison:
    """Translations of the same lines by both sides, in greedy search."""

    quantization: Quantization
    compute_type: str  # what the exported model computed in
    num_lines: int
    num_identical: int  # token by token
    bleu: float
    exported_bleu: float
    has_map: bool = False  # the run searched with its shortlist, and the export with its vocabulary map

    def report(self) -> str:
        """Return the figures, for people."""
        own, others = (", with its shortlist", ", with use_vmap") if self.has_map else ("", "")
        return (
            f"{'lines':10} {self.num_lines:6d}  of validation text, in greedy search without UNK\n"
            f"{'identical':10} {self.num_identical:6d}  token by token, {self.demand}\n"
            f"{'BLEU':10} {self.bleu:6.2f}  of the run, in float32{own}\n"
            f"{'BLEU':10} {self.exported_bleu:6.2f}  of the export, weights in {self.quantization}, "
            f"computed in {self.compute_type}{others}"
        )

    @property
    def is_exact(self) -> bool:
        """Whether both sides compute the same."""
        return self.quantization == "float32" and not self.has_map

    @property
    def least_identical(self) -> int:
        """How many translations are to be identical in float32."""
        return self.num_lines - self.num_lines // LINES_PER_DIFFERENCE

    @property
    def demand(self) -> str:
        """The likeness that the export has to reach, in words.

        What a shortlist holds depends on the lines of a batch, and batches are not the same on both sides.
        """
        if self.is_exact:
            return f"at least {self.least_identical} are needed"
        return f"BLEU may be lower by {LARGEST_LOSS}"

    def require(self) -> None:
        """Raise ExportError unless the translations are as good as the same."""
        if self.is_exact:
            is_same, got = self.num_identical >= self.least_identical, f"{self.num_identical}"
        else:
            loss = self.bleu - self.exported_bleu
            is_same, got = loss <= LARGEST_LOSS, f"{loss:.2f}"
        if not is_same:
            raise ExportError(
                f"quantization={self.quantization}: {self.demand}; got {got}; nothing was written"
            )


def compare(
    folder: Path,
    model: Seq2Seq,
    tokenizer: Tokenizer,
    text: ParallelText,
    decoding: DecodingSettings,
    evaluation: EvaluationSettings,
    quantization: Quantization,
    device: str = "cpu",
    with_map: bool = False,
) -> ExportComparison:
    """Translate the first lines of a text with a model and with what was exported of it to `folder`.

    Blank lines do not count, and long ones are cut as in `nmt translate`. With `with_map` the model has its shortlist,
    and the exported one its vocabulary map. Raises DeviceError where the exported model
    cannot compute on `device`.
    """
    search = validation_search(decoding).model_copy(update={"shortlist": with_map})
    translator = Translator(model, tokenizer, search, torch.device("cpu"), torch.float32)
    encoded, _ = translator.pairs.join([], translator.pairs.read(text.source))
    kept = [i for i, ids in enumerate(encoded) if ids][:NUM_LINES]
    references = [text.target[i] for i in kept]
    source = [encoded[i][: translator.max_source_tokens] for i in kept]
    own = translator.search(source)
    compute_type, exported = _search_exported(folder, source, translator, device, quantization)
    bleus = [
        corpus_bleu([tokenizer.target.decode(tokens) for tokens in side], references, evaluation)
        for side in (own, exported)
    ]
    num_identical = sum(ours == theirs for ours, theirs in zip(own, exported, strict=True))
    return ExportComparison(
        quantization, compute_type, len(kept), num_identical, bleus[0], bleus[1], with_map
    )


def _search_exported(
    folder: Path, source: Sequence[Sequence[int]], ours: Translator, device: str, quantization: str
) -> tuple[str, TokenLists]:
    """Return the type that the exported model computes in, and the target ids that it finds."""
    library, names, settings = load_ctranslate2(), TokenNames.of(ours.tokenizer), ours.settings
    if device == "cuda" and not library.get_cuda_device_count():
        raise DeviceError("device: cpu is needed, since CTranslate2 finds no GPU here; got cuda")
    supported = library.get_supported_compute_types(device)
    compute_type = quantization if quantization in supported else "float32"
    lengths = torch.tensor([len(ids) + 1 for ids in source])
    limits = ours.batch_search.limits(lengths).tolist()
    longest = max(limits)
    try:
        translator = library.Translator(str(folder), device=device, compute_type=compute_type)
        results = translator.translate_batch(
            [[names.source[i] for i in ids] for ids in source],
            max_batch_size=settings.max_tokens,
            batch_type="tokens",
            beam_size=1,
            max_input_length=0,
            max_decoding_length=longest,
            min_decoding_length=min(settings.min_length, longest),
            repetition_penalty=settings.repetition_penalty,
            no_repeat_ngram_size=settings.no_repeat_ngram_size or 0,
            disable_unk=True,
            use_vmap=settings.shortlist,
        )
    except RuntimeError as error:
        if device == "cpu":
            raise
        raise DeviceError(
            f"device: one that CTranslate2 can compute on is needed; got {device}: {error}"
        ) from None
    target_ids = {name: i for i, name in enumerate(names.target)}
    found = [[target_ids[name] for name in result.hypotheses[0]] for result in results]
    # In greedy search a lower limit cuts, and changes nothing before.
    return compute_type, [ids[:limit] for ids, limit in zip(found, limits, strict=True)]
