"""The sections of a report, each from what was measured to HTML."""

from collections.abc import Sequence

from nmt.evaluation.buckets import Bucket, count_words
from nmt.evaluation.scoring import Score
from nmt.evaluation.significance import Comparison
from nmt.evaluation.tables import comparison_cells, show_interval
from nmt.reports.drawing.charts import Bar, Line, bar_chart, line_chart
from nmt.reports.drawing.drawing import show
from nmt.reports.drawing.page import Section, figure, figures, folded, legend, section, table, tiles
from nmt.reports.run.measures import Context, Measures

MAX_EXAMPLES = 5
FROM_ZERO = (0.0,)  # axes of what can be compared by its height


def headline(runs: Sequence[Measures], comparisons: Sequence[Comparison]) -> str:
    """Return the figures that one wants to know first."""
    if comparisons:
        first = comparisons[0]
        return tiles(
            (f"{first.value:.2f}", f"{first.name} of {runs[0].name}"),
            (f"{first.other_value:.2f}", f"{first.name} of {runs[1].name}"),
            (f"{first.difference:+.2f}", f"difference in {first.name}"),
            (f"{first.p_bootstrap:.3f}", "p by paired bootstrap"),
            (f"{first.p_randomisation:.3f}", "p by approximate randomisation"),
        )
    one = runs[0]
    found = [
        (f"{score.value:.2f}", f"{score.name}, 95 % in {show_interval(score.interval)}")
        for score in one.evaluation.scores[:2]
    ]
    if one.evaluation.perplexity is not None:
        found.append((show(one.evaluation.perplexity), "perplexity per target token"))
    found.append((f"{one.num_parameters:,}", "parameters"))
    if minutes := one.minutes:
        found.append((minutes, "minutes of training"))
    return tiles(*found)


def scores(runs: Sequence[Measures], comparisons: Sequence[Comparison], context: Context) -> Section:
    """Return the scores of one run, or of two with what chance would make of their difference."""
    note = (
        f"On the {len(context.text.source)} lines of the {context.split} text, by sacreBLEU. Intervals hold 95 % "
        f"of the scores of {context.num_resamples} texts drawn from it anew. Higher is better, but for TER."
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
        rows = [[one.name, *comparison_cells(one)] for one in comparisons]
        signatures = [[one.name, one.signature] for one in comparisons]
    else:
        found = runs[0].evaluation
        head = ["", "score", "95 %"]
        rows = [[one.name, f"{one.value:.2f}", show_interval(one.interval)] for one in found.scores]
        rows.append(["loss", f"{found.loss:.3f}", "nats per target token"])
        signatures = [[one.name, one.signature] for one in found.scores]
    details = folded("Signatures", table(["", "signature"], signatures, [1]))
    return section("scores", "Scores", note, table(head, rows), details)


def curves(runs: Sequence[Measures]) -> Section:
    """Return how training went, as its log says."""

    def over(kind: str, name: str, is_dashed: bool = False, is_dotted: bool = False) -> list[Line]:
        return [
            Line(f"{one.name}, {kind}", *one.series(kind, name), colour, is_dashed, is_dotted)
            for colour, one in enumerate(runs)
        ]

    charts = [
        figure(
            "Loss",
            "Nats per target token: training as a line, validation dashed with dots.",
            line_chart(
                "Loss",
                [*over("training", "negative_log_likelihood"), *over("validation", "loss", True, True)],
                "updates",
                "nats",
            ),
        ),
        figure(
            "BLEU",
            "Greedy, on the validation text.",
            line_chart(
                "Validation BLEU",
                over("validation", "bleu", is_dotted=True),
                "updates",
                "BLEU",
                y_holds=FROM_ZERO,
            ),
        ),
        figure(
            "Learning rate",
            "",
            line_chart(
                "Learning rate", over("training", "learning_rate"), "updates", "rate", y_holds=FROM_ZERO
            ),
        ),
        figure(
            "Speed",
            "Target tokens a second, validation left out.",
            line_chart(
                "Speed", over("training", "tokens_per_second"), "updates", "tokens/s", y_holds=FROM_ZERO
            ),
        ),
        figure(
            "Norm of the gradient",
            "Before it is cut to its limit.",
            line_chart(
                "Norm of the gradient",
                over("training", "gradient_norm"),
                "updates",
                "norm",
                y_holds=FROM_ZERO,
            ),
        ),
        figure(
            "BLEU over time",
            "The same validations, by minutes of training: what it costs to get there.",
            line_chart(
                "Validation BLEU over minutes", _over_minutes(runs), "minutes", "BLEU", y_holds=FROM_ZERO
            ),
        ),
    ]
    return section(
        "training",
        "Training",
        "From metrics.jsonl of the run.",
        legend([one.name for one in runs]),
        figures(*charts),
    )


def _over_minutes(runs: Sequence[Measures]) -> list[Line]:
    lines = []
    for colour, one in enumerate(runs):
        seconds, bleu = one.series("validation", "bleu", "seconds")
        lines.append(Line(one.name, [value / 60 for value in seconds], bleu, colour, is_dotted=True))
    return lines


def kinds_of_sentences(runs: Sequence[Measures], context: Context) -> Section:
    """Return scores by length and by how rare the words are."""
    parts = []
    for buckets, name, x_label, chosen in (
        (context.lengths, "source length", "words of the source", [one.by_length for one in runs]),
        (
            context.rarities,
            "rarest source word",
            "times the rarest word was seen",
            [one.by_rarity for one in runs],
        ),
    ):
        for i, metric in enumerate(("BLEU", "chrF")):
            if buckets:
                parts.append(_bucket_figure(f"{metric} by {name}", metric, i, buckets, chosen, x_label))
    bars: list[list[Bar | None]] = [
        [Bar(100 * found / total) if total else None for _, found, total in one.recall] for one in runs
    ]
    names = [name for name, _, _ in runs[0].recall]
    parts.append(
        figure(
            "Words found",
            "Of the words of the references, how many are in the translation of their line, by how often each was seen "
            f"in training. Words in each: {', '.join(str(total) for _, _, total in runs[0].recall)}.",
            bar_chart("Words found by frequency", names, bars, "times seen in the training text", "%"),
        )
    )
    note = (
        "Sentences and words sorted by what makes them hard; whiskers hold 95 %, groups of fewer than 5 lines are left "
        f"out. How often a word was seen is counted in the training text of {runs[0].name}."
    )
    return section(
        "kinds", "Long sentences, rare words", note, legend([one.name for one in runs]), figures(*parts)
    )


def _bucket_figure(
    title: str,
    metric: str,
    index: int,
    buckets: Sequence[Bucket],
    chosen: Sequence[Sequence[Sequence[Score]]],
    x_label: str,
) -> str:
    groups: list[list[Bar | None]] = [
        [Bar(one.value, one.interval.bounds if one.interval else None) for one in of_run]
        for of_run in ([scores[index] for scores in every] for every in chosen)
    ]
    names = [bucket.name.replace(" or more", "+") for bucket in buckets]
    lines = ", ".join(str(len(bucket.lines)) for bucket in buckets)
    return figure(title, f"Lines in each: {lines}.", bar_chart(title, names, groups, x_label, metric))


def lengths(runs: Sequence[Measures], context: Context) -> str:
    """Return how long translations are, beside their references."""
    wanted = count_words(context.text.target)
    bounds = [0.5, 0.7, 0.8, 0.9, 0.97, 1.03, 1.1, 1.2, 1.5]
    names = ["<.5", ".5", ".7", ".8", ".9", "1", "1.03", "1.1", "1.2", ">1.5"]
    groups: list[list[Bar | None]] = []
    totals = []
    for one in runs:
        there = count_words(one.hypotheses)
        counts = [0] * (len(bounds) + 1)
        for words, reference in zip(there, wanted, strict=True):
            if reference:
                counts[sum(words / reference >= bound for bound in bounds)] += 1
        groups.append([Bar(100 * count / len(wanted)) for count in counts])
        totals.append(f"{one.name}: {sum(there) / max(1, sum(wanted)):.3f}")
    drawing = bar_chart(
        "Length ratios", names, groups, "words of translation for one of the reference", "% of lines"
    )
    return figure(
        "Length ratios",
        f"Each bar begins at its number. All words together, {'; '.join(totals)}.",
        drawing,
    )


def signs(runs: Sequence[Measures], context: Context) -> Section:
    """Return how often translations show what a good one does not, with examples."""
    total = len(context.text.source)
    names = {
        "empty": "nothing at all",
        "copies": "a copy of the source",
        "repetitions": "a word three times, or a phrase twice, in a row",
        "untranslated": "a word of the source left as it was",
        "numbers_lost": "a number lost",
    }
    rows = []
    for field, name in names.items():
        counts = [len(getattr(one.findings, field)) for one in runs]
        rows.append([name, *(f"{number} ({100 * number / total:.1f} %)" for number in counts)])
    head = ["lines with", *(one.name for one in runs)]
    shared = runs[0].findings.num_numbers
    note = (
        "Signs that need no judge; what the reference does likewise does not count. Numbers that are in both source "
        f"and reference, so that a translation should have them: {shared}."
    )
    examples = "".join(_examples(one) for one in runs)
    return section(
        "signs",
        "Lengths and telling signs",
        note,
        figures(lengths(runs, context)),
        table(head, rows),
        examples,
    )


def _examples(one: Measures) -> str:
    found = one.findings
    rows = []
    for name, lines in (("copy", found.copies), ("repetition", found.repetitions)):
        rows += [[name, str(i + 1), "", one.hypotheses[i]] for i in lines[:MAX_EXAMPLES]]
    for name, words in (("left as it was", found.untranslated), ("number lost", found.numbers_lost)):
        rows += [
            [name, str(i + 1), ", ".join(of_line), one.hypotheses[i]]
            for i, of_line in list(words.items())[:MAX_EXAMPLES]
        ]
    if not rows:
        return ""
    body = table(["sign", "line", "what", "translation"], rows, [2, 3])
    return folded(f"Examples of {one.name}", body)
