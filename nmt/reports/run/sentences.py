"""Single sentences: the worst and the best, with what is missing and what is too much."""

import difflib
from collections.abc import Sequence

from nmt.reports.drawing.escaping import text
from nmt.reports.drawing.page import Section, heading, section
from nmt.reports.run.measures import Context, Measures

MAX_CHARACTERS = 2000  # of a sentence that is shown


def examples(runs: Sequence[Measures], context: Context, number: int) -> Section:
    """Return the worst and best sentences of one run, or those in which two runs differ most."""
    note = (
        "Sorted by chrF of the sentence. Struck words of the reference are missing in the translation, "
        "marked words of the translation are not in the reference."
    )
    first = runs[0].sentence_scores
    if len(runs) == 1:
        ranked = sorted(range(len(first)), key=lambda i: (first[i], i))
        groups = {"The worst": ranked[:number], "The best": ranked[::-1][:number]}
    else:
        second = runs[1].sentence_scores
        ranked = sorted(range(len(first)), key=lambda i: (second[i] - first[i], i))
        groups = {
            f"Where {runs[0].name} gains most": ranked[:number],
            f"Where {runs[1].name} gains most": ranked[::-1][:number],
        }
    parts = [
        heading(title) + "".join(_sentence(runs, context, i) for i in lines)
        for title, lines in groups.items()
    ]
    return section("sentences", "Sentences", note, *parts)


def _sentence(runs: Sequence[Measures], context: Context, line: int) -> str:
    reference = context.text.target[line]
    rows = [(f"line {line + 1}", text(_cut(context.text.source[line])))]
    shown, _ = word_diff(reference, runs[0].hypotheses[line])
    rows.append(("reference", shown if len(runs) == 1 else text(_cut(reference))))
    for one in runs:
        _, shown = word_diff(reference, one.hypotheses[line])
        name = "translation" if len(runs) == 1 else one.name
        rows.append((f"{name}, {one.sentence_scores[line]:.0f}", shown or "<i>nothing</i>"))
    body = "".join(f"<dt>{text(name)}</dt><dd dir='auto'>{shown}</dd>" for name, shown in rows)
    return f'<dl class="sentence">{body}</dl>'


def word_diff(reference: str, hypothesis: str) -> tuple[str, str]:
    """Return both as HTML: missing words of the reference as deleted, new ones of the hypothesis as inserted."""
    wanted, there = _cut(reference).split(), _cut(hypothesis).split()
    sides: tuple[list[str], list[str]] = ([], [])
    for what, i, end_i, j, end_j in difflib.SequenceMatcher(
        None, wanted, there, autojunk=False
    ).get_opcodes():
        for side, words, tag in ((sides[0], wanted[i:end_i], "del"), (sides[1], there[j:end_j], "ins")):
            if words:
                shown = text(" ".join(words))
                side.append(shown if what == "equal" else f"<{tag}>{shown}</{tag}>")
    return " ".join(sides[0]), " ".join(sides[1])


def _cut(line: str) -> str:
    return line if len(line) <= MAX_CHARACTERS else f"{line[:MAX_CHARACTERS]} …"
