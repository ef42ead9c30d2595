"""Measures of a corpus as text for a terminal."""

from collections.abc import Callable

from nmt.data.cleaning import describe
from nmt.reports.corpus.corpus_findings import find
from nmt.reports.corpus.corpus_measures import CorpusMeasures, SplitMeasures
from nmt.reports.corpus.sides import CharacterCount, SideMeasures

Row = tuple[str, Callable[[SplitMeasures], str]]
SideRow = tuple[str, Callable[[SideMeasures], str]]
PAIR_ROWS: list[Row] = [
    ("pairs", lambda own: f"{own.num_pairs}"),
    ("with a blank side", lambda own: f"{own.num_empty}"),
    ("identical sides", lambda own: f"{own.num_identical}"),
    ("repeated pairs", lambda own: f"{own.duplicates['pair']}"),
    ("repeated source lines", lambda own: f"{own.duplicates['source']}"),
    ("repeated target lines", lambda own: f"{own.duplicates['target']}"),
    ("longer than max_length", lambda own: f"{own.num_too_long}"),
    ("target : source characters", lambda own: f"{own.ratio:.2f}"),
]
SIDE_ROWS: list[SideRow] = [
    ("words", lambda own: f"{own.num_words}"),
    ("characters", lambda own: f"{own.num_characters}"),
    ("words a line: mean", lambda own: f"{own.words.mean:.1f}"),
    ("… median", lambda own: f"{own.words.median:g}"),
    ("… 99 % up to", lambda own: f"{own.words.percentile_99:.0f}"),
    ("… longest", lambda own: f"{own.words.max}"),
    ("tokens a word", lambda own: f"{own.tokens_per_word:.2f}"),
    ("unknown tokens", lambda own: f"{own.num_unknown_tokens}"),
    ("distinct characters", lambda own: f"{own.num_distinct_characters}"),
    ("… not in training text", lambda own: f"{own.num_unseen}"),
    ("script", lambda own: ", ".join(own.main_scripts)),
]
NAME_WIDTH = 28


def as_text(measures: CorpusMeasures) -> str:
    """Return a table of the splits, what the filters leave out, and what asks for attention."""
    splits = list(measures.splits.items())
    lines = [_row("", [split for split, _ in splits])]
    lines += [_row(name, [value(own) for _, own in splits]) for name, value in PAIR_ROWS]
    for side in ("source", "target"):
        lines += ["", _row(side, [""] * len(splits))]
        lines += [_row(name, values) for name, *values in side_rows(measures, side)]
        train: SideMeasures = getattr(measures.splits["train"], side)
        lines.append(f"{'most frequent':{NAME_WIDTH}} {_characters(train.frequent[:20])}")
    if measures.filtered:
        lines += ["", f"data.filter would leave out {describe(measures.filtered)}"]
    findings = find(measures)
    lines += ["", "to look at" if findings else "nothing that asks for attention was found"]
    lines += [f"  {finding}" for finding in findings]
    if measures.num_compared < measures.num_candidates:
        lines.append(
            f"  near duplicates: of {measures.num_candidates} candidates {measures.num_compared} were compared"
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def side_rows(measures: CorpusMeasures, side: str) -> list[list[str]]:
    """Return a row for each number that was measured of a side: what it is, and its value in each split."""
    sides = [getattr(own, side) for own in measures.splits.values()]
    return [[name, *map(value, sides)] for name, value in SIDE_ROWS]


def _row(name: str, values: list[str]) -> str:
    return f"{name:{NAME_WIDTH}}" + "".join(f" {value:>12}" for value in values)


def _characters(counts: list[CharacterCount]) -> str:
    return " ".join(
        "␣" if count.character == " " else count.character
        for count in counts
        if count.character.isprintable()
    )
