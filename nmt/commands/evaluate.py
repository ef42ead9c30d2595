"""`nmt evaluate`: scores of a run or of a finished translation, alone or against another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.config import EvaluateSettings, as_list
from nmt.data.corpus import ParallelText
from nmt.data.lines import read_lines
from nmt.data.mixture import known_tags, require_tags, without_tag
from nmt.decoding.loading import load_translator
from nmt.errors import DataError, naming
from nmt.evaluation.buckets import count_words, score_bucket, sort_into_buckets
from nmt.evaluation.comet import Comet
from nmt.evaluation.plain_text import require_plain_text
from nmt.evaluation.resampling import require_sacrebleu_seed
from nmt.evaluation.scoring import Evaluation, Statistics, require_same_length, score_against
from nmt.evaluation.significance import compare
from nmt.evaluation.tables import (
    BucketRow,
    bucket_table,
    comparison_as_dict,
    comparison_table,
    evaluation_table,
    rows_as_dict,
)
from nmt.evaluation.translating import mean_loss, name_search, translate_text
from nmt.files.writing import require_new_file, to_json, write_atomically
from nmt.runs.directory import RunDirectory
from nmt.runs.provenance import warn_of_other_text
from nmt.runs.text import tagged_for, text_of_run


@dataclass(frozen=True)
class TestText:
    """The text to score against: lines of the source, where it is known, and one reference or several.

    The lines to `translate` begin with a tag where they were typed for a model of many languages; `source` has none.
    """

    source: Sequence[str] | None
    references: Sequence[Sequence[str]]
    translate: Sequence[str] | None = None


@dataclass(frozen=True)
class System:
    """A translation of the text, the name of what made it, and its loss where known."""

    name: str
    hypotheses: list[str]
    loss: float | None = None


def main(settings: EvaluateSettings) -> None:
    """Score a run or a finished translation; print the scores, and write them as JSON where asked."""
    read = {
        key: as_list(files)
        for key in ("source", "reference", "hypothesis", "against")
        if (files := getattr(settings, key)) is not None
    }
    require_new_file("json", settings.json_file, settings.overwrite, read)
    if settings.num_resamples is not None:
        require_sacrebleu_seed()
    comet = None if settings.comet is None else Comet(settings.comet, settings.comet_program)
    run = None if settings.run is None else RunDirectory.existing(settings.run)
    text = _test_text(settings, run)
    other = None
    if run is not None and settings.against is not None and _is_run(settings.against):
        other = RunDirectory.existing(settings.against, "against")
    this = _finished("hypothesis", settings.hypothesis, text, settings.encoding)
    against = None if other else _finished("against", settings.against, text, settings.encoding)
    if run is not None:
        this = _translate(run, text, settings)
        if other is not None:
            with naming("against"):
                against = _translate(other, text, settings, "against")
    assert this is not None, "either a run or a hypothesis is given"
    found = _report(this, against, text, comet, settings)
    if settings.json_file is not None:
        write_atomically(Path(settings.json_file), to_json(found))


def _is_run(name: str) -> bool:
    """Whether a name is that of a run; it is a file's otherwise, also of a pipe or of one that is missing."""
    return Path(name).is_dir() or (name == "last" and not Path(name).exists())


def _report(
    this: System, against: System | None, text: TestText, comet: Comet | None, settings: EvaluateSettings
) -> dict[str, object]:
    """Print what is known of one translation or two; return the same for JSON."""
    systems = [this] if against is None else [this, against]
    scores = score_against(this.hypotheses, text.references, settings.evaluation, settings.num_resamples)
    evaluation = Evaluation(scores, len(this.hypotheses), this.loss)
    found = evaluation.as_dict()
    if against is None:
        print(evaluation_table(evaluation))
    else:
        assert settings.num_resamples is not None
        comparisons = compare(
            this.hypotheses,
            against.hypotheses,
            text.references,
            settings.evaluation,
            settings.num_resamples,
            settings.num_trials,
        )
        print(comparison_table(comparisons, this.name, against.name, len(this.hypotheses)))
        found |= {"against": comparison_as_dict(comparisons)}
    if comet is not None:
        assert text.source is not None
        figures = [comet.score(text.source, one.hypotheses, text.references[0]) for one in systems]
        for one, figure in zip(systems, figures, strict=True):
            print(f"{'COMET':10} {figure:6.4f}  {one.name}, {Path(comet.model).name}")
        found |= {"comet": figures[0] if against is None else figures}
    if settings.length_buckets:
        rows = _by_length(systems, text, settings)
        of = "source" if text.source is not None else "reference"
        print(bucket_table(rows, f"{of} words", [one.name for one in systems]))
        found |= {"by_length": {"words_of": of, "buckets": rows_as_dict(rows)}}
    return found


def _by_length(systems: Sequence[System], text: TestText, settings: EvaluateSettings) -> list[BucketRow]:
    lengths = count_words(text.references[0] if text.source is None else text.source)
    counted = [Statistics(one.hypotheses, text.references, settings.evaluation) for one in systems]
    return [
        BucketRow(bucket.name, len(bucket.lines), [score_bucket(bucket, one) for one in counted])
        for bucket in sort_into_buckets(lengths, settings.length_buckets, lowest=0)
        if bucket.lines
    ]


def _read_text(path: str, key: str, encoding: str) -> list[str]:
    lines = read_lines(path, key, encoding)
    require_plain_text(lines, key, path)
    return lines


def _test_text(settings: EvaluateSettings, run: RunDirectory | None) -> TestText:
    """Read the source and the references, before any time is spent on translating."""
    source = None if settings.source is None else read_lines(settings.source, "source", settings.encoding)
    if settings.reference is None:
        assert run is not None
        text = text_of_run(settings.split, run, with_tags=False)
        warn_of_other_text(run, settings.split, text)
        require_plain_text(text.target, "split", f"the {settings.split} text of {run.path}")
        return TestText(text.source, [text.target])
    paths = as_list(settings.reference)
    references = [_read_text(path, "reference", settings.encoding) for path in paths]
    for path, lines in zip(paths[1:], references[1:], strict=True):
        if len(lines) != len(references[0]):
            raise DataError(
                f"reference: as many lines as in {paths[0]} are needed, {len(references[0])}; "
                f"got {len(lines)} in {path}"
            )
    if source is not None and len(source) != len(references[0]):
        raise DataError(
            f"reference: as many lines as in source are needed, {len(source)}; got {len(references[0])}"
        )
    if source is None or run is None:
        return TestText(source, references)
    tags = known_tags(run.read_tokenizer().source.pieces)
    return TestText([without_tag(line, tags) for line in source], references, source)


def _finished(key: str, path: str | None, text: TestText, encoding: str) -> System | None:
    """Read a finished translation, where there is one."""
    if path is None:
        return None
    if Path(path).is_dir():
        raise DataError(
            f"{key}: a file is needed beside a finished translation; got {path}, a folder; "
            "run=FOLDER against=FILE compares a run with a file"
        )
    lines = _read_text(path, key, encoding)
    require_same_length(lines, text.references, key)
    return System(path, lines)


def _translate(run: RunDirectory, text: TestText, settings: EvaluateSettings, key: str = "run") -> System:
    decoding = settings.decoding or run.read_model_settings().decoding
    name, ensemble = str(run.path), settings.ensemble if key == "run" else []
    loaded = load_translator(name, settings.checkpoint, settings.device, settings.precision, ensemble)
    translator = loaded.with_search(decoding)
    assert text.source is not None
    if text.translate is None:
        pairs = tagged_for(run, ParallelText(text.source, text.references[0]), settings.split)
    else:
        pairs = ParallelText(text.translate, text.references[0])
        require_tags(pairs.source, known_tags(translator.tokenizer.source.pieces), "source")
    hypotheses = translate_text(translator, pairs.source)
    require_plain_text(hypotheses, key, f"what {run.path} translates")
    # Losses are per piece: those of two models with different pieces cannot be compared.
    loss = None if settings.against is not None else mean_loss(translator, pairs)
    runs = " + ".join([name, *ensemble])
    return System(f"{runs}, {settings.checkpoint}, {name_search(decoding)}", hypotheses, loss)
