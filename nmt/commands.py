"""What the commands do, once their settings are checked; what translating does is in nmt/translation.py."""

import logging
import os
from pathlib import Path

from nmt.check import check
from nmt.config import DataReportSettings, EvaluateSettings, ExportSettings, RunData, TrainSettings
from nmt.data.corpus import ParallelText, load_corpus, require_files
from nmt.data.lines import read_lines
from nmt.data_report.command import report_on_data
from nmt.device import choose_device, choose_precision
from nmt.errors import DataError, RunError
from nmt.evaluation.scoring import Evaluation, score
from nmt.export.comparison import compare
from nmt.export.folder import check_output, new_folder, write_model
from nmt.export.readme import readme
from nmt.export.specification import load_ctranslate2
from nmt.run_directory import RunDirectory, to_json, write_atomically
from nmt.training.session import train
from nmt.training.validation import evaluate_model

logger = logging.getLogger(__name__)


def run_train(settings: TrainSettings, run: RunDirectory) -> None:
    """Train, and print the scores of the test split and the command to translate with."""
    evaluation = train(settings, run)
    if evaluation is not None:
        print_evaluation(evaluation)
    print(f"to translate: nmt translate run={run.path} input=FILE output=FILE")


def run_evaluate(settings: EvaluateSettings) -> None:
    """Score a run or a finished translation; print the scores, and write them as JSON where asked."""
    if settings.json_file is not None and not settings.overwrite and os.path.exists(settings.json_file):
        raise DataError(
            f"json: a new file is needed, or overwrite=true; got {settings.json_file}, which exists"
        )
    if settings.json_file is not None and not Path(settings.json_file).absolute().parent.is_dir():
        raise DataError(f"json: a file in an existing folder is needed; got {settings.json_file}")
    if settings.run is not None:
        evaluation = _evaluate_run(settings, RunDirectory.existing(settings.run))
    else:
        assert settings.hypothesis is not None
        assert settings.reference is not None
        hypotheses = read_lines(settings.hypothesis, "hypothesis")
        references = read_lines(settings.reference, "reference")
        evaluation = Evaluation(score(hypotheses, references, settings.evaluation), len(references))
    print_evaluation(evaluation)
    if settings.json_file is not None:
        write_atomically(Path(settings.json_file), to_json(evaluation.as_dict()))


def run_data(settings: DataReportSettings) -> None:
    """Print what a corpus is like."""
    print(report_on_data(settings), end="")


def run_export(settings: ExportSettings) -> None:
    """Write a run as a model of another program, and print how well its translations agree with the run's.

    Raises ExportError, and writes nothing, where they do not.
    """
    run, output = RunDirectory.existing(settings.run), Path(settings.output)
    load_ctranslate2()
    check_output(output, settings.overwrite)
    model, tokenizer = run.load_model(settings.checkpoint)
    with new_folder(output) as folder:
        write_model(folder, model, tokenizer, settings.quantization)
        comparison = compare(
            folder,
            model,
            tokenizer,
            text_of_run("validation", run),
            settings.decoding,
            settings.evaluation,
            settings.quantization,
            settings.device,
        )
        print(comparison.report(), flush=True)
        comparison.require()
        assert model.max_positions is not None
        page = readme(
            run.path.resolve().name,
            settings.checkpoint,
            tokenizer,
            settings.decoding,
            comparison,
            model.max_positions,
        )
        write_atomically(folder / "README.md", page.encode())
    print(f"to translate: the lines of Python in {output / 'README.md'}")


def print_evaluation(evaluation: Evaluation) -> None:
    """Print scores for people."""
    for figure in evaluation.scores:
        print(f"{figure.name:10} {figure.value:6.2f}  {figure.signature}")
    if evaluation.loss is not None:
        print(f"{'loss':10} {evaluation.loss:6.3f}  nats per target token")
        print(f"{'perplexity':10} {evaluation.perplexity:6.2f}")
    print(f"{'lines':10} {evaluation.num_lines:6d}", flush=True)


def _evaluate_run(settings: EvaluateSettings, run: RunDirectory) -> Evaluation:
    device = choose_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    if settings.source is not None and settings.reference is not None:
        text = ParallelText(
            read_lines(settings.source, "source"), read_lines(settings.reference, "reference")
        )
        if len(text.source) != len(text.target):
            raise DataError(
                f"reference: as many lines as in source are needed, {len(text.source)}; got {len(text.target)}"
            )
    else:
        text = text_of_run(settings.split, run)
    model, tokenizer = run.load_model(settings.checkpoint)
    return evaluate_model(model, tokenizer, text, settings.decoding, settings.evaluation, device, dtype)


def text_of_run(split: str, run: RunDirectory) -> ParallelText:
    """Load the `test` or `validation` text that a run was made with. Raises UserError if it cannot be had."""
    settings = check(RunData, run.read_config(), f"run: {run.config_path}: ").data
    require_files(settings)
    corpus = load_corpus(settings).tagged()
    text = corpus.validation if split == "validation" else corpus.test
    if text is None:
        raise RunError(f"split: this run has no {split} text; give source and reference")
    return text
