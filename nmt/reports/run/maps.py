"""Attention of chosen sentences, positions and masks: what a model looked at, as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from nmt.data.batching import Batch, collate
from nmt.data.context import Context, encode_lines
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.decoding.engine import most_read
from nmt.models.interface import AttentionMap, Seq2Seq
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import EncoderLayer
from nmt.reports.drawing.alignment_lines import alignment
from nmt.reports.drawing.heat_map import heat_map
from nmt.reports.drawing.shapes import Drawing
from nmt.reports.page import Figure
from nmt.reports.run.measures import Measures

MAX_READ = 65_536  # tokens, by a model without a limit of its own
MAX_TOKENS = 40  # of a sentence whose attention is drawn
NUM_POSITIONS, NUM_COLUMNS = 40, 64
MASK = 0.6  # the shade of what can be seen
SMALL_CELL = 10  # pixels
FEW_SHADES = 20  # of maps that are many


@dataclass(frozen=True)
class DrawnSentence:
    """Attention in one sentence, as it is shown."""

    title: str
    alignment: Drawing
    map: Drawing
    note: str
    heads: list[tuple[str, list[Figure]]]  # by where attention goes from and to


@dataclass(frozen=True)
class DrawnModel:
    """Attention of a run."""

    name: str
    settings: dict[str, Any]  # of the model
    sentences: list[DrawnSentence]
    figures: list[Figure]


@dataclass(frozen=True)
class SentenceMaps:
    """A sentence as its tokens, and where attention was while its translation was written."""

    source: list[str]
    target_in: list[str]
    target_out: list[str]
    batch: Batch
    maps: list[AttentionMap]

    @property
    def crossing(self) -> list[AttentionMap]:
        """The maps of attention from the target to the source."""
        return [one for one in self.maps if one.kind == "cross"]


def attention(one: Measures, source: Sequence[str], lines: Sequence[int]) -> DrawnModel:
    """Return drawings of a run's attention in some lines of a text, as the run was given them."""
    context = Context.of(one.tokenizer.source).num_lines
    found = [
        sentence_maps(one.model, one.tokenizer, source[i], one.hypotheses[i], source[max(0, i - context) : i])
        for i in lines
    ]
    drawn = [
        draw_sentence(one, maps, f"Line {i + 1}, chrF {one.sentence_scores[i]:.0f}")
        for i, maps in zip(lines, found, strict=True)
        if maps.crossing
    ]
    rest = draw_positions(one) + draw_masks([f"line {i + 1}" for i in lines], found)
    return DrawnModel(one.name, one.log.config["model"], drawn, rest)


def choose_sentences(one: Measures, source: Sequence[str], number: int) -> list[int]:
    """Return lines to draw: of those that are short enough, the best, the worst, and some at even ranks between them.

    Of equally good lines the longest comes first: it has most to look at.
    """
    read = [len(ids) for ids in one.tokenizer.source.encode(source)]
    written = [len(ids) for ids in one.tokenizer.target.encode(one.hypotheses)]
    short = [i for i in range(len(read)) if 3 <= read[i] < MAX_TOKENS and 0 < written[i] < MAX_TOKENS]
    ranked = sorted(short, key=lambda i: (-one.sentence_scores[i], -read[i], i))
    if len(ranked) <= number:
        return ranked
    return [ranked[round(k * (len(ranked) - 1) / max(1, number - 1))] for k in range(number)]


def sentence_maps(
    model: Seq2Seq, tokenizer: Tokenizer, source: str, hypothesis: str, before: Sequence[str] = ()
) -> SentenceMaps:
    """Return the attention of a model that reads `source`, with the lines `before` it, and writes `hypothesis`."""
    vocabularies = tokenizer.source, tokenizer.target
    longest, with_context = most_read(model, MAX_READ)
    *earlier, own = encode_lines(tokenizer.source, [*before, source])
    (read,), _ = Context.of(tokenizer.source).join(earlier, [own], with_context)
    (written_ids,) = tokenizer.target.encode([hypothesis])
    source_ids, target_ids = read[:longest], written_ids[:longest]
    batch = collate(Dataset(Ids.of([source_ids]), Ids.of([target_ids])), np.array([0]), tokenizer)
    written = _labels(vocabularies[1], target_ids)
    return SentenceMaps(
        [*_labels(vocabularies[0], source_ids), "END"],
        ["START", *written],
        [*written, "END"],
        batch,
        model.attention_maps(batch),
    )


def draw_sentence(one: Measures, found: SentenceMaps, title: str) -> DrawnSentence:
    """Return attention to the source, the mean of all layers and heads, and all maps of a Transformer one by one."""
    several = len(found.crossing) > 1 or found.crossing[0].weights.shape[1] > 1
    return DrawnSentence(
        title,
        # Without the ends of both sentences, which are no words.
        alignment(
            f"{title}: from each word of the translation to what was looked at in the source",
            found.source[:-1],
            found.target_out[:-1],
            _mean(found)[:-1, :-1].tolist(),
        ),
        draw_crossing(found, title),
        "Rows are written, columns are read." + " The mean of all layers and heads." * several,
        _all_heads(found, title) if isinstance(one.model, Transformer) else [],
    )


def draw_crossing(found: SentenceMaps, title: str) -> Drawing:
    """Return a map of the attention to the source: the mean of all layers and heads."""
    mean, is_seen = _mean(found), found.crossing[0].is_seen
    return heat_map(
        f"{title}: attention from each target token to each source token",
        mean.tolist(),
        found.target_out,
        found.source,
        hidden=None if is_seen is None else (~is_seen[0].any(0)).tolist(),
        chosen=bool(((mean == 0) | (mean == 1)).all()),
    )


def _mean(found: SentenceMaps) -> Tensor:
    return torch.stack([one.weights[0].mean(0) for one in found.crossing]).mean(0)


def _all_heads(found: SentenceMaps, title: str) -> list[tuple[str, list[Figure]]]:
    """Return small maps of every head of every layer."""
    words = {
        "cross": ("From target to source", found.target_out, found.source),
        "decoder": ("Within the target, as far as it is written", found.target_out, found.target_in),
        "encoder": ("Within the source", found.source, found.source),
    }
    groups = []
    for kind, (name, rows, columns) in words.items():
        drawn = []
        for one in (other for other in found.maps if other.kind == kind):
            for head, weights in enumerate(one.weights[0], start=1):
                place = f"layer {one.layer}, head {head}"
                drawing = heat_map(
                    f"{title}: {name}, {place}", weights.tolist(), rows, columns, SMALL_CELL, FEW_SHADES
                )
                drawn.append(Figure(place, "", drawing))
        groups.append((name, drawn))
    return groups


def draw_positions(one: Measures) -> list[Figure]:
    """Return pictures of how a Transformer tells positions apart; nothing for other models."""
    if not isinstance(one.model, Transformer):
        return []
    kind, stack = one.model.options.positions, one.model.encoder
    with torch.no_grad():
        number = min(NUM_POSITIONS, one.model.max_positions or NUM_POSITIONS)
        numbers = torch.arange(number)
        if kind in ("sinusoidal", "learned"):
            vectors = stack.positions.add_to(torch.zeros(number, one.model.options.d_model), numbers, number)
            likeness = torch.nn.functional.cosine_similarity(
                vectors.unsqueeze(1), vectors.unsqueeze(0), dim=-1
            )
            said = "Added to the vector of the word at that position; blue is positive, orange negative."
        elif kind == "rotary":
            rotation = stack.positions.rotation(numbers)
            assert rotation is not None
            vectors = rotation[0].squeeze(1)
            likeness = None
            said = "Cosines of the angles by which queries and keys are turned at each position."
        else:
            first = cast(EncoderLayer, stack.layers[0])
            assert first.self_attention.relative is not None
            vectors = first.self_attention.relative.keys.weight.detach()
            likeness = None
            said = "What each distance adds to the keys, in layer 1 of the encoder, as it was learned."
    step = -(-vectors.shape[1] // NUM_COLUMNS)
    shown = vectors[:, ::step]
    rows = "distance" if kind == "relative" else "position"
    every = f" One in {step} of the {vectors.shape[1]} dimensions is drawn." if step > 1 else ""
    drawn = [
        (f"Positions: {kind}", f"{said} Each row is a {rows}, each column a dimension.{every}", shown, step)
    ]
    if likeness is not None:
        note = "Cosine between the vectors of two positions: the nearer, the more alike."
        drawn.append(("Which positions are alike", note, likeness, 1))
    first_row = -(len(vectors) // 2) if kind == "relative" else 0
    return [
        Figure(title, note, _numbered(title, matrix / (float(matrix.abs().max()) or 1.0), step, first_row))
        for title, note, matrix, step in drawn
    ]


def _numbered(title: str, matrix: Tensor, step: int, first_row: int) -> Drawing:
    """Return a map whose rows are counted from `first_row` on, and whose columns are counted by steps."""
    rows, columns = _counted(len(matrix), first=first_row), _counted(matrix.shape[1], step)
    return heat_map(title, matrix.tolist(), rows, columns, cell=7, shades=FEW_SHADES)


def draw_masks(names: Sequence[str], found: Sequence[SentenceMaps]) -> list[Figure]:
    """Return drawings of the masks: padding, with the named sentences as one batch, and the decoder's for the first."""
    if not found or not found[0].maps:
        return []
    longest = max(len(one.source) for one in found)
    words = [[MASK] * len(one.source) + [0.0] * (longest - len(one.source)) for one in found]
    note = (
        "A row for each sentence drawn above, side by side in a batch: blue is read, the rest is padding, which "
        "nothing sees."
    )
    figures = [Figure("Padding", note, heat_map("Padding", words, names, _counted(longest), cell=12))]
    within = [one.weights[0] for one in found[0].maps if one.kind == "decoder"]
    if within:
        seen = ((torch.stack(within).amax((0, 1)) > 0) * MASK).tolist()
        drawing = heat_map("No look ahead", seen, found[0].target_out, found[0].target_in, cell=12)
        note = (
            "In the decoder, a row for each word that is written: blue is what came before, and can be seen."
        )
        figures.append(Figure("No look ahead", note, drawing))
    return figures


def _counted(number: int, step: int = 1, first: int = 0) -> list[str]:
    """Return labels of rows or columns that are counted: every tenth has its number."""
    return [str(i * step) if i % 10 == 0 else "" for i in range(first, first + number)]


def _labels(vocabulary: Vocabulary, ids: list[int]) -> list[str]:
    """Return pieces as readable labels: a dot stands before a piece that goes on with a word."""
    pieces = [vocabulary.pieces[number] for number in ids]
    return [piece[1:] or "␣" if piece.startswith("▁") else f"·{piece}" for piece in pieces]
