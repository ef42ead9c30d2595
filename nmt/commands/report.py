"""`nmt report`: measure a run, or two, and write one page about them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nmt.config import ReportSettings
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.device import choose_precision, prepare_device
from nmt.errors import RunError, naming
from nmt.evaluation.significance import compare
from nmt.files.writing import require_new_file, write_atomically
from nmt.reports.page import render
from nmt.reports.run import sections
from nmt.reports.run.log import RunLog, curves, facts_of, training_page
from nmt.reports.run.maps import attention, choose_sentences
from nmt.reports.run.measures import Measures, ReportText, measure
from nmt.reports.run.origin import origin
from nmt.reports.run.sentences import sentences
from nmt.runs.directory import RunDirectory
from nmt.runs.provenance import warn_of_other_text
from nmt.runs.text import corpus_of_run, data_of_run, require_split, tagged_for

KEYS = ("run", "against")


def main(settings: ReportSettings) -> None:
    """Write a page about a run, beside another one where one is named; print where it is."""
    runs = [RunDirectory.existing(settings.run)]
    if settings.against is not None:
        runs.append(RunDirectory.existing(settings.against, "against"))
    output = Path(settings.output) if settings.output is not None else runs[0].path / "report.html"
    require_new_file("output", str(output), settings.overwrite)
    logs = []
    for key, run, name in zip(KEYS, runs, _names(runs), strict=False):
        with naming(key):
            if run.is_exported:
                raise RunError(
                    f"run: a run that has its training log is needed; got {run.path}, which was exported"
                )
            logs.append(RunLog.read(run, name))
    is_measured = all(one.has_ended for one in logs) if settings.translate == "auto" else settings.translate
    content = _measured(runs, logs, settings) if is_measured else training_page(logs)
    write_atomically(output, content)
    print(output)


def _measured(runs: Sequence[RunDirectory], logs: Sequence[RunLog], settings: ReportSettings) -> bytes:
    """Translate a text with each run, and return the page about what they make of it."""
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    corpus = corpus_of_run(runs[0])
    text = require_split(corpus.texts.get(settings.split), settings.split)
    warn_of_other_text(runs[0], settings.split, text)
    shared = ReportText.of(
        text, settings.split, training_text(runs[0], corpus), settings.evaluation, settings.num_resamples
    )
    measured, sources = [], []
    for key, run, log in zip(KEYS, runs, logs, strict=False):
        with naming(key):
            search = settings.decoding or run.read_model_settings().decoding
            own = replace(shared, text=tagged_for(run, shared.text, shared.split))
            sources.append(own.text.source)
            measured.append(measure(run, log, settings.checkpoint, search, own, device, dtype))
    this, *others = measured
    comparisons = [
        comparison
        for other in others
        for comparison in compare(
            this.hypotheses,
            other.hypotheses,
            [shared.text.target],
            settings.evaluation,
            settings.num_resamples,
            settings.num_trials,
        )
    ]
    lines = choose_sentences(this, shared.text.source, settings.num_maps)
    return render(
        "run.html",
        command="nmt report",
        title=" against ".join(one.name for one in measured),
        subtitle=_subtitle(measured, shared),
        names=[one.name for one in measured],
        headline=sections.headline(measured, comparisons),
        scores=sections.scores(measured, comparisons, shared),
        curves=curves(logs),
        kinds=sections.kinds(measured, shared),
        signs=sections.signs(measured, shared),
        confidence=sections.confidence(measured),
        sentences=sentences(measured, shared, settings.num_sentences),
        attention=[attention(one, source, lines) for one, source in zip(measured, sources, strict=True)],
        made=origin([(one.name, one.log.config, _facts(one)) for one in measured]),
    )


def training_text(run: RunDirectory, corpus: Corpus) -> ParallelText:
    """Return the training text that a run's filters left of its corpus, without tags, which are no words."""
    groups = corpus.groups and replace(corpus.groups, tags=None)
    return prepare_corpus(replace(corpus, groups=groups), data_of_run(run).filter).corpus.train


def _facts(one: Measures) -> dict[str, str]:
    own = {"checkpoint": one.checkpoint, "search": one.search, "parameters": f"{one.num_parameters:,}"}
    return facts_of(one.log) | own


def _names(runs: Sequence[RunDirectory]) -> list[str]:
    """Return short names that differ: as many of the last parts of the folders' paths as that takes."""
    parts = [run.path.resolve().parts for run in runs]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(of_run[-length:]) for of_run in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({letter})" for name, letter in zip(names, "AB", strict=False)]


def _subtitle(runs: Sequence[Measures], shared: ReportText) -> str:
    said = "; ".join(
        f"{one.name} is a model of kind {one.log.config['model']['kind']}, checkpoint {one.checkpoint}, "
        f"search {one.search}"
        for one in runs
    )
    whose, number = runs[0].name, len(shared.text.source)
    return f"{said}. The {number} lines of {shared.split} text of {whose} were translated for this page."
