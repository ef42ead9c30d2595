"""Measures of a run for its report: taken when the report is written, but for the log and the calibration."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics.chrf import CHRF

from nmt.config import DecodingSettings, EvaluationSettings
from nmt.data.corpus import ParallelText
from nmt.data.mixture import without_tag
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.confidence import Calibration, calibration_of
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.buckets import Bucket, count_words, score_bucket, sort_into_buckets
from nmt.evaluation.scoring import Evaluation, Score, Statistics
from nmt.evaluation.signs import Signs, count_tokens, find_signs, rarest, tokens, word_recall
from nmt.evaluation.translating import mean_loss, name_search, translate_text
from nmt.models.interface import Seq2Seq
from nmt.reports.run.log import RunLog
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

LENGTHS = (5, 10, 15, 20, 25, 30, 40, 60)
# Bounds on how often the rarest word of a sentence, or a word, was seen in training.
RARITIES = (0, 2, 5, 10, 20, 50, 100)
MIN_LINES = 5  # of a bucket, below which its BLEU says nothing


@dataclass(frozen=True)
class ReportText:
    """What two runs in one report share: the text, its sentences in buckets, and counts of target words in training."""

    text: ParallelText
    split: str
    lengths: list[Bucket]  # by words of the source
    rarities: list[Bucket]  # by training sentences with the rarest word of the source
    target_frequencies: Counter[str]
    evaluation: EvaluationSettings
    num_resamples: int

    @classmethod
    def of(
        cls,
        text: ParallelText,
        split: str,
        train: ParallelText,
        evaluation: EvaluationSettings,
        num_resamples: int,
    ) -> "ReportText":
        """Sort the sentences of a text into buckets; the training text says which words are rare."""
        frequencies = count_tokens(train.source)
        # A line without a word has no rarest one, and is in no bucket.
        rarest_words = [rarest(line, frequencies) if tokens(line) else -1 for line in text.source]
        return cls(
            text,
            split,
            _with_lines(sort_into_buckets(count_words(text.source), LENGTHS)),
            _with_lines(sort_into_buckets(rarest_words, RARITIES, 0)),
            count_tokens(train.target),
            evaluation,
            num_resamples,
        )


@dataclass(frozen=True)
class Measures:
    """All that is known of one run."""

    log: RunLog
    model: Seq2Seq
    tokenizer: Tokenizer
    checkpoint: str
    search: str
    hypotheses: list[str]
    sentence_scores: list[float]  # chrF of each line
    evaluation: Evaluation
    signs: Signs
    by_length: list[list[Score]]
    by_rarity: list[list[Score]]
    recall: list[tuple[str, int, int]]
    calibration: Calibration | None

    @property
    def name(self) -> str:
        """Name of the run in the page."""
        return self.log.name

    @property
    def num_parameters(self) -> int:
        """How many numbers the model learned."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def measure(
    run: RunDirectory,
    log: RunLog,
    checkpoint: str,
    decoding: DecodingSettings,
    shared: ReportText,
    device: torch.device,
    dtype: torch.dtype,
) -> Measures:
    """Translate the text of a report with a run, and measure all that the report says of it."""
    model, tokenizer = load_model(run, checkpoint)
    text, references = shared.text, [shared.text.target]
    translator = Translator(TorchEngine(model, tokenizer, device, dtype, run), decoding)
    hypotheses = translate_text(translator, text.source)
    statistics = Statistics(hypotheses, references, shared.evaluation)
    scores = statistics.score(shared.num_resamples)
    loss = mean_loss(translator, text)
    metric = CHRF(lowercase=shared.evaluation.lowercase)
    words = [without_tag(line, translator.line_tags) for line in text.source]  # tags are none

    def by(buckets: Sequence[Bucket]) -> list[list[Score]]:
        return [score_bucket(bucket, statistics, shared.num_resamples) for bucket in buckets]

    folders = run.find_checkpoints(checkpoint)
    return Measures(
        log,
        model.to("cpu").eval(),
        tokenizer,
        " + ".join(folder.name for folder in folders),
        name_search(decoding),
        hypotheses,
        [
            float(metric.sentence_score(line, [reference]).score)
            for line, reference in zip(hypotheses, text.target, strict=True)
        ],
        Evaluation(scores, len(hypotheses), loss),
        find_signs(words, hypotheses, text.target),
        by(shared.lengths),
        by(shared.rarities),
        word_recall(hypotheses, text.target, shared.target_frequencies, RARITIES),
        calibration_of(run, checkpoint),
    )


def _with_lines(buckets: list[Bucket]) -> list[Bucket]:
    return [bucket for bucket in buckets if len(bucket.lines) >= MIN_LINES]
