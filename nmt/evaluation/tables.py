"""Figures as tables for people, and as plain values for JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.evaluation.scoring import Evaluation, Score, key_of
from nmt.evaluation.significance import Comparison


@dataclass(frozen=True)
class BucketRow:
    """The scores of each translation on the lines of a bucket."""

    name: str
    num_lines: int
    scores: list[list[Score]]


def show_interval(interval: tuple[float, float] | None) -> str:
    """Return `[low, high]`, or nothing."""
    return "" if interval is None else "[{:.2f}, {:.2f}]".format(*interval)


def evaluation_table(evaluation: Evaluation) -> str:
    """Return scores with their intervals, loss and number of lines, a figure a line."""
    width = max(10, *(len(figure.name) for figure in evaluation.scores))
    lines = []
    for figure in evaluation.scores:
        interval = f"  {show_interval(figure.interval):16}" if figure.interval else ""
        lines.append(f"{figure.name:{width}} {figure.value:6.2f}{interval}  {figure.signature}")
    if evaluation.loss is not None:
        lines.append(f"{'loss':{width}} {evaluation.loss:6.3f}  nats per target token")
        lines.append(f"{'perplexity':{width}} {evaluation.perplexity:6.2f}")
    lines.append(f"{'lines':{width}} {evaluation.num_lines:6d}")
    return "\n".join(lines)


def comparison_table(comparisons: Sequence[Comparison], this: str, other: str, num_lines: int) -> str:
    """Return a table of two translations: scores, intervals, differences and p-values."""
    rows = [["", "A", "95 % of A", "B", "95 % of B", "A - B", "p bootstrap", "p randomisation"]]
    for one in comparisons:
        is_error = one.name == "TER"
        rows.append([one.name + (" (an error)" if is_error else ""), *comparison_cells(one)])
    names = [f"A          {this}", f"B          {other}", f"lines      {num_lines}"]
    signatures = [f"{one.name:10} {one.signature}" for one in comparisons]
    return "\n".join([*names, "", align_columns(rows), "", *signatures])


def comparison_cells(one: Comparison) -> list[str]:
    """Return what stands in a row about two translations: scores and intervals of both, difference, p-values."""
    return [
        f"{one.value:.2f}",
        show_interval(one.interval),
        f"{one.other_value:.2f}",
        show_interval(one.other_interval),
        f"{one.difference:+z.2f}",
        f"{one.p_bootstrap:.4f}",
        f"{one.p_randomisation:.4f}",
    ]


def bucket_table(rows: Sequence[BucketRow], title: str, names: Sequence[str]) -> str:
    """Return a table of scores by bucket, of one translation, or of two that are called A and B."""
    letters = [""] if len(names) == 1 else [f" {letter}" for letter in "AB"]
    heads = [f"{score.name}{letter}" for score in rows[0].scores[0] for letter in letters]
    table = [[title, "lines", *heads]]
    for row in rows:
        by_metric = zip(*row.scores, strict=True)
        figures = [f"{score.value:.2f}" for of_metric in by_metric for score in of_metric]
        table.append([row.name, str(row.num_lines), *figures])
    return "\n" + align_columns(table)


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as aligned lines: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def comparison_as_dict(comparisons: Sequence[Comparison]) -> dict[str, object]:
    """Return, for JSON, the scores of the other translation, the differences and the p-values."""
    return {
        key_of(one.name): {
            "value": one.other_value,
            "interval": one.other_interval,
            "difference": one.difference,
            "p_bootstrap": one.p_bootstrap,
            "p_randomisation": one.p_randomisation,
            "signature": one.signature,
        }
        for one in comparisons
    }


def rows_as_dict(rows: Sequence[BucketRow]) -> list[dict[str, object]]:
    """Return buckets for JSON."""
    return [
        {
            "words": row.name,
            "num_lines": row.num_lines,
            "scores": [{key_of(one.name): one.value for one in scores} for scores in row.scores],
        }
        for row in rows
    ]
