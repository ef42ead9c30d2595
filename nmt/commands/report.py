"""What `nmt report` does: measure a run, or two, and write one page about it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nmt.config import ReportSettings
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.device import choose_device, choose_precision
from nmt.errors import naming
from nmt.evaluation.significance import Comparison, compare
from nmt.files.writing import write_atomically
from nmt.reports.drawing.page import Section, figures, heading, legend, maps, page, paragraph, section
from nmt.reports.run import origin, sections
from nmt.reports.run.maps import (
    choose_sentences,
    draw_masks,
    draw_positions,
    draw_sentence,
    kind_of_attention,
    sentence_maps,
)
from nmt.reports.run.measures import Context, Measures, measure
from nmt.reports.run.sentences import examples
from nmt.runs.directory import RunDirectory, require_new_file
from nmt.runs.text import corpus_of_run, data_of_run, select_split, tagged_for


def main(settings: ReportSettings) -> None:
    """Write a page about a run, beside another one where one is named; print where it is."""
    run = RunDirectory.existing(settings.run)
    other = None if settings.against is None else RunDirectory.existing(settings.against, "against")
    output = Path(settings.output) if settings.output is not None else run.path / "report.html"
    require_new_file("output", str(output), settings.overwrite)
    device = choose_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    corpus = corpus_of_run(run)
    context = Context.of(
        select_split(corpus, settings.split),
        settings.split,
        training_text(run, corpus),
        settings.evaluation,
        settings.num_resamples,
    )
    own = run.read_model_settings().decoding
    names = _names([run] if other is None else [run, other])
    contexts = [_as_for(run, context)]
    runs = [measure(run, names[0], settings.checkpoint, settings.decoding, contexts[0], device, dtype)]
    comparisons: list[Comparison] = []
    if other is not None:
        with naming("against"):
            typed = settings.decoding if settings.decoding != own else None
            search = typed or other.read_model_settings().decoding
            contexts.append(_as_for(other, context))
            runs.append(measure(other, names[1], settings.checkpoint, search, contexts[1], device, dtype))
        comparisons = compare(
            runs[0].hypotheses,
            runs[1].hypotheses,
            [context.text.target],
            settings.evaluation,
            settings.num_resamples,
            settings.num_trials,
        )
    sources = [one.text.source for one in contexts]
    content = draw(runs, comparisons, context, sources, settings.num_sentences, settings.num_maps)
    write_atomically(output, content)
    print(output)


def training_text(run: RunDirectory, corpus: Corpus) -> ParallelText:
    """Return what a run learned from of its corpus: what its filters left, without tags, which are no words."""
    return prepare_corpus(replace(corpus, groups=None), data_of_run(run).filter).corpus.train


def _as_for(run: RunDirectory, context: Context) -> Context:
    """Return what runs share, with the tags in its text that this one needs."""
    return replace(context, text=tagged_for(run, context.text, context.split))


def draw(
    runs: Sequence[Measures],
    comparisons: Sequence[Comparison],
    context: Context,
    sources: Sequence[Sequence[str]],
    num_sentences: int,
    num_maps: int,
) -> bytes:
    """Return the page about what was measured; `sources` are the lines as each run was given them."""
    title = " against ".join(one.name for one in runs)
    parts = [
        sections.scores(runs, comparisons, context),
        sections.curves(runs),
        sections.kinds_of_sentences(runs, context),
        sections.signs(runs, context),
        examples(runs, context, num_sentences),
        _attention(runs, context, sources, num_maps),
        origin.settings(runs),
    ]
    top = legend([one.name for one in runs]) + sections.headline(runs, comparisons)
    return page("nmt report", title, _subtitle(runs, context), parts, top)


def _attention(
    runs: Sequence[Measures], context: Context, sources: Sequence[Sequence[str]], num_maps: int
) -> Section:
    parts = []
    lines = choose_sentences(runs[0], context.text.source, num_maps)
    for one, source in zip(runs, sources, strict=True):
        if len(runs) > 1:
            parts.append(heading(one.name))
        parts.append(paragraph(kind_of_attention(one.config)))
        found = [sentence_maps(one.model, one.tokenizer, source[i], one.hypotheses[i]) for i in lines]
        drawn = [
            draw_sentence(one, sentence, f"Line {i + 1}, chrF {one.sentence_scores[i]:.0f}")
            for i, sentence in zip(lines, found, strict=True)
        ]
        parts.append(maps(*drawn))
        if rest := draw_positions(one) + draw_masks(one, found):
            parts += [heading("Positions and masks"), figures(rest)]
    note = (
        "What the model looked at while it wrote its own translation: sentences from the best to the worst. "
        "Each row sums to 1."
    )
    return section("attention", "Attention", note, *parts)


def _names(runs: Sequence[RunDirectory]) -> list[str]:
    """Return short names that differ: of the folders, as many of the last parts as it takes."""
    parts = [run.path.resolve().parts for run in runs]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(of_run[-length:]) for of_run in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({letter})" for name, letter in zip(names, "AB", strict=False)]


def _subtitle(runs: Sequence[Measures], context: Context) -> str:
    said = "; ".join(
        f"{one.name} is a model of kind {one.config['model']['kind']}, checkpoint {one.checkpoint}, search {one.search}"
        for one in runs
    )
    return (
        f"{said}. Its {len(context.text.source)} lines of {context.split} text were translated for this page."
    )
