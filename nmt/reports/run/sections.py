"""The sections of a page about one run, or two: each turns measures into what its template shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.evaluation.buckets import count_words
from nmt.evaluation.scoring import Score
from nmt.evaluation.significance import Comparison
from nmt.evaluation.tables import comparison_cells, show_interval
from nmt.reports.drawing.charts import Bar, Line, bar_chart, line_chart
from nmt.reports.drawing.shapes import show
from nmt.reports.page import Figure, Table
from nmt.reports.run.measures import Measures, ReportText
from nmt.reports.run.sentences import SIGNS

MAX_EXAMPLES = 5
LEAST_P = 0.001  # smaller ones are not told apart
# Ratios of the number of words of a translation to that of its reference: the ends of the bars, and their names.
RATIOS = (0.5, 0.7, 0.8, 0.9, 0.97, 1.03, 1.1, 1.2, 1.5)
RATIO_NAMES = ("<.5", ".5", ".7", ".8", ".9", "1", "1.03", "1.1", "1.2", ">1.5")


@dataclass(frozen=True)
class Scores:
    """The scores of one run, or of two with the significance of their difference."""

    note: str
    table: Table
    signatures: Table


@dataclass(frozen=True)
class Signs:
    """How often translations show signs of a fault."""

    num_numbers: int
    lengths: Figure
    table: Table
    examples: list[tuple[str, Table]]  # by run


@dataclass(frozen=True)
class Confidence:
    """How far the confidence of runs can be relied on."""

    table: Table
    figures: list[Figure]


def headline(runs: Sequence[Measures], comparisons: Sequence[Comparison]) -> list[tuple[str, str]]:
    """Return the figures that one wants to know first, and what they are."""
    if comparisons:
        first = comparisons[0]
        return [
            (f"{first.value:.2f}", f"{first.name} of {runs[0].name}"),
            (f"{first.other_value:.2f}", f"{first.name} of {runs[1].name}"),
            (f"{first.difference:+z.2f}", f"difference in {first.name}"),
            (show_p(first.p_bootstrap), "p by paired bootstrap"),
            (show_p(first.p_randomisation), "p by approximate randomisation"),
        ]
    one = runs[0]
    found = [
        (f"{score.value:.2f}", f"{score.name}, 95 % in {show_interval(score.interval)}")
        for score in one.evaluation.scores[:2]
    ]
    if one.evaluation.perplexity is not None:
        found.append((show(one.evaluation.perplexity), "perplexity per target token"))
    found.append((f"{one.num_parameters:,}", "parameters"))
    if one.log.minutes is not None:
        found.append((f"{one.log.minutes:.1f}", "minutes of training"))
    return found


def show_p(value: float) -> str:
    """Return a p-value as text, which is never zero."""
    return f"< {LEAST_P}" if value < LEAST_P else f"{value:.3f}"


def scores(runs: Sequence[Measures], comparisons: Sequence[Comparison], shared: ReportText) -> Scores:
    """Return the scores of one run, or of two beside each other."""
    note = (
        f"On the {len(shared.text.source)} lines of the {shared.split} text, by sacreBLEU. Intervals hold 95 % "
        f"of the scores of {shared.num_resamples} texts drawn from it anew. Higher is better, but for TER."
    )
    if comparisons:
        note += " A small p says that a difference of this size would be rare between two equally good translations."
        head = [
            "",
            runs[0].name,
            "95 %",
            runs[1].name,
            "95 %",
            "difference",
            "p bootstrap",
            "p randomisation",
        ]
        rows = [
            [one.name, *comparison_cells(one)[:5], show_p(one.p_bootstrap), show_p(one.p_randomisation)]
            for one in comparisons
        ]
        signatures = [[one.name, one.signature] for one in comparisons]
    else:
        found = runs[0].evaluation
        head = ["", "score", "95 %"]
        rows = [[one.name, f"{one.value:.2f}", show_interval(one.interval)] for one in found.scores]
        rows.append(["loss", f"{found.loss:.3f}", "nats per target token"])
        signatures = [[one.name, one.signature] for one in found.scores]
    return Scores(note, Table(head, rows), Table(["", "signature"], signatures, [1]))


def kinds(runs: Sequence[Measures], shared: ReportText) -> list[Figure]:
    """Return scores by length and by how rare the words are."""
    by_length = "source length", "words of the source", shared.lengths, [one.by_length for one in runs]
    by_rarity = "rarest source word", "times it was seen", shared.rarities, [one.by_rarity for one in runs]
    found = []
    for name, x_label, buckets, scored in (by_length, by_rarity):
        names = [bucket.name.replace(" or more", "+") for bucket in buckets]
        lines = ", ".join(str(len(bucket.lines)) for bucket in buckets)
        for i, metric in enumerate(("BLEU", "chrF") if buckets else ()):
            bars: list[list[Bar | None]] = [[_bar(scores[i]) for scores in of_run] for of_run in scored]
            title = f"{metric} by {name}"
            drawing = bar_chart(title, names, bars, x_label, metric, highest=100.0)
            found.append(Figure(title, f"Lines in each: {lines}.", drawing))
    recall = [[row for row in one.recall if row[2]] for one in runs]  # the references are the same
    shares: list[list[Bar | None]] = [
        [Bar(100 * there / total) for _, there, total in rows] for rows in recall
    ]
    seen, totals = [name for name, _, _ in recall[0]], ", ".join(str(total) for _, _, total in recall[0])
    note = (
        "Of the words of the references, how many are in the translation of their line, by how often each was seen "
        f"in training. Words in each: {totals}."
    )
    x_label = "times seen in the training text"
    found.append(
        Figure("Words found", note, bar_chart("Words found", seen, shares, x_label, "%", highest=100.0))
    )
    return found


def _bar(score: Score) -> Bar:
    return Bar(score.value, score.interval)


def signs(runs: Sequence[Measures], shared: ReportText) -> Signs:
    """Return how long translations are, how often each sign is seen, and examples."""
    total = len(shared.text.source)
    rows = []
    for sign, name in SIGNS.items():
        counts = [len(getattr(one.signs, sign)) for one in runs]
        rows.append([name, *(f"{number} ({100 * number / total:.1f} %)" for number in counts)])
    head = ["lines with", *(one.name for one in runs)]
    examples = [
        (one.name, Table(["sign", "line", "what", "translation"], _examples(one), [2, 3])) for one in runs
    ]
    return Signs(
        runs[0].signs.num_numbers,
        _lengths(runs, shared),
        Table(head, rows),
        [(name, found) for name, found in examples if found.rows],
    )


def confidence(runs: Sequence[Measures]) -> Confidence | None:
    """Return how reliable the confidence of runs is, as measured when they ended; None where it was not measured."""
    rows, charted = [], []
    for colour, one in enumerate(runs):
        found = one.calibration
        if found is not None and found.test is not None:
            errors = [f"{found.test.words.error:.4f}", f"{found.test.lines.error:.4f}"]
            rows.append(
                [one.name, f"{found.num_words:,} in {found.num_lines:,} lines", found.search, *errors]
            )
            charted.append((one.name, found.test, colour))
    if not rows:
        return None
    even = Line("as confident as right", (0.0, 1.0), (0.0, 1.0), len(runs), is_dashed=True)
    figures = []
    for kind in ("words", "lines"):
        lines, notes = [even], []
        for name, test, colour in charted:
            bins = getattr(test, kind).bins
            shares = [one.right for one in bins]
            lines.append(Line(name, [one.confidence for one in bins], shares, colour, is_dotted=True))
            notes.append(f"{name}: {', '.join(f'{one.number:,}' for one in bins)}")
        title = f"Reliability of {kind}"
        drawing = line_chart(
            title, lines, "confidence", "share that is right", y_holds=(0.0, 1.0), highest=1.0
        )
        figures.append(Figure(title, f"{kind.capitalize()} of each point, {'; '.join(notes)}.", drawing))
    head = ["", "words fitted on", "search", "calibration error of words", "of lines"]
    return Confidence(Table(head, rows), figures)


def _lengths(runs: Sequence[Measures], shared: ReportText) -> Figure:
    wanted = count_words(shared.text.target)
    groups: list[list[Bar | None]] = []
    totals = []
    for one in runs:
        there = count_words(one.hypotheses)
        counts = [0] * len(RATIO_NAMES)
        for words, reference in zip(there, wanted, strict=True):
            if reference:
                counts[sum(words / reference >= bound for bound in RATIOS)] += 1
        groups.append([Bar(100 * count / len(wanted)) for count in counts])
        totals.append(f"{one.name}: {sum(there) / max(1, sum(wanted)):.3f}")
    x_label = "words of translation for one of the reference"
    drawing = bar_chart("Length ratios", RATIO_NAMES, groups, x_label, "% of lines", highest=100.0)
    note = f"Each bar begins at its number. All words together, {'; '.join(totals)}."
    return Figure("Length ratios", note, drawing)


def _examples(one: Measures) -> list[list[str]]:
    found = one.signs
    rows = []
    for name, lines in (("copy", found.copies), ("repetition", found.repetitions)):
        rows += [[name, str(i + 1), "", one.hypotheses[i]] for i in lines[:MAX_EXAMPLES]]
    for name, words in (("left as it was", found.untranslated), ("number lost", found.numbers_lost)):
        rows += [
            [name, str(i + 1), ", ".join(of_line), one.hypotheses[i]]
            for i, of_line in list(words.items())[:MAX_EXAMPLES]
        ]
    return rows
