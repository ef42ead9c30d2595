"""Measures of a corpus as a page with plots."""

import numpy as np

from nmt.data.cleaning import describe
from nmt.reports.corpus.corpus_findings import find
from nmt.reports.corpus.corpus_measures import CorpusMeasures, SplitMeasures, Texts
from nmt.reports.corpus.corpus_text import PAIR_ROWS, side_rows
from nmt.reports.corpus.sides import CharacterCount, Lengths, is_control
from nmt.reports.drawing.charts import Bins, Line, histogram, line_chart, ranking
from nmt.reports.drawing.shapes import Drawing, cut
from nmt.reports.page import Figure, Table, render

# Scripts without spaces between words, so that the number of words says little about a line.
NO_SPACES = ("Han", "Hiragana", "Katakana", "Khmer", "Lao", "Myanmar", "Thai", "Tibetan")
MAX_BARS = 12
MAX_TEXT = 160  # characters of an example
BOTH = 2  # the colour of what belongs to both sides


def as_page(measures: CorpusMeasures, texts: Texts, title: str) -> bytes:
    """Return a page of HTML with the measures of a corpus; examples are from `texts`."""
    splits = measures.splits
    return render(
        "corpus.html",
        command="nmt data",
        title=title,
        subtitle=", ".join(f"{own.num_pairs} {split} pairs" for split, own in splits.items()),
        findings=find(measures),
        numbers=_numbers(measures),
        texts=[(split, f"{split.capitalize()} text") for split in splits],
        charts={split: _charts(own) for split, own in splits.items()},
        writing=_writing(measures),
        near=_near_duplicates(measures, texts),
        filtered=describe(measures.filtered) if measures.filtered else "",
    )


def _numbers(measures: CorpusMeasures) -> Table:
    splits = list(measures.splits.values())
    rows: list[list[str]] = [[name, *(value(own) for own in splits)] for name, value in PAIR_ROWS]
    for side in ("source", "target"):
        rows.append([side])
        rows += side_rows(measures, side)
    return Table(["", *measures.splits], rows)


def _charts(own: SplitMeasures) -> list[Figure]:
    alignment, number, sides = own.alignment, own.num_pairs, (own.source, own.target)
    has_spaces = not any(script in NO_SPACES for side in sides for script in side.main_scripts)
    unit = "words" if has_spaces else "characters"
    lengths: list[Lengths] = [getattr(side, unit) for side in sides]
    step = number / max(len(alignment.correlations), 1)
    marked = [(stretch.first_line, stretch.last_line) for stretch in alignment.stretches]
    middles = [(place + 0.5) * step for place in range(len(alignment.correlations))]
    drift = line_chart(
        "Correlation of lengths along the file",
        [Line("correlation", middles, alignment.correlations, BOTH)],
        "line",
        "correlation",
        (0.0, number),
        (0.0, 1.0),
        marked,
    )
    ratios = histogram(
        "Ratios of lengths",
        own.ratios.edges,
        [Bins("pairs", own.ratios.counts, BOTH)],
        "characters, target : source",
        "pairs",
        True,
    )
    return [
        Figure(
            f"{unit.capitalize()} in a line",
            "Lines beyond the 99th percentile are in the last bar.",
            _lengths(lengths[0], lengths[1], unit),
        ),
        Figure("Length of the target to that of the source", f"Of the whole text {own.ratio:.2f}.", ratios),
        Figure(
            "Do the two sides go together?",
            f"Correlation of the lengths of both sides in windows of {alignment.window} lines"
            + ("; red where they do not." if marked else ". In a file that slipped by a line it would fall."),
            drift,
        ),
    ]


def _lengths(source: Lengths, target: Lengths, label: str) -> Drawing:
    """Draw two histograms of lengths with the wider bins of the two, whose width is a multiple of the other's."""
    one, other = source.histogram, target.histogram
    if one.edges[1] != other.edges[1]:
        # Counts in bins of different widths cannot be compared, so the finer are widened.
        width = max(one.edges[1], other.edges[1])
        one_counts, other_counts = (_widen(h.edges, h.counts, width) for h in (one, other))
    else:
        width, one_counts, other_counts = one.edges[1], list(one.counts), list(other.counts)
    size = max(len(one_counts), len(other_counts))
    one_counts += [0] * (size - len(one_counts))
    other_counts += [0] * (size - len(other_counts))
    edges = [place * width for place in range(size + 1)]
    series = [Bins("source", one_counts), Bins("target", other_counts, 1)]
    return histogram(f"{label.capitalize()} in a line", edges, series, label, "lines")


def _widen(edges: list[float], counts: list[int], width: float) -> list[int]:
    places = (np.array(edges[:-1]) // width).astype(np.int64)
    return [int(count) for count in np.bincount(places, counts)]


def _writing(measures: CorpusMeasures) -> list[Figure]:
    train = measures.splits["train"]
    charts: list[tuple[str, list[tuple[str, float]], int]] = []
    for colour, side in enumerate(("source", "target")):
        own = getattr(train, side)
        charts.append((f"Scripts, {side}", list(own.scripts.items())[:MAX_BARS], colour))
        charts.append((f"Most frequent characters, {side}", _counts(own.frequent), colour))
        if own.controls:
            charts.append((f"Invisible and damaged characters, {side}", _counts(own.controls), colour))
        for split, held_out in measures.splits.items():
            if unseen := getattr(held_out, side).unseen:
                charts.append((f"Not in training, {split} {side}", _counts(unseen), colour))
    return [Figure(title, "", ranking(title, items, colour)) for title, items, colour in charts]


def _counts(counts: list[CharacterCount]) -> list[tuple[str, float]]:
    return [(_shown(count), count.count) for count in counts[:MAX_BARS]]


def _shown(count: CharacterCount) -> str:
    if count.character == " ":
        return "space"
    return count.name if is_control(count.character) else count.character


def _near_duplicates(measures: CorpusMeasures, texts: Texts) -> Table:
    rows = []
    for near in measures.near_duplicates or []:
        what = "one before" if near.split == near.of_split else f"one of {near.of_split}"
        rows.append([f"{near.split}: {near.num_pairs} as {what}"])
        for line, of_line in near.examples[:3]:
            one, other = texts[near.split], texts[near.of_split]
            rows.append(
                [
                    f"{line}, {of_line}",
                    cut(one.source[line - 1], MAX_TEXT),
                    cut(other.source[of_line - 1], MAX_TEXT),
                ]
            )
    return Table(["lines", "source", "source of the earlier pair"], rows, (1, 2))
