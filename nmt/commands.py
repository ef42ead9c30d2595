"""What the three commands do, once their settings are checked."""

import contextlib
import logging
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from nmt.check import check
from nmt.config import EvaluateSettings, TrainSettings, TranslateSettings
from nmt.data.corpus import (
    BYTE_ORDER_MARK,
    ParallelText,
    load_corpus,
    read_lines,
    read_raw_lines,
    strip_line_end,
)
from nmt.data.dataset import load_dataset
from nmt.decoding.translator import Translator
from nmt.device import choose_device, choose_precision
from nmt.errors import DataError, RunError
from nmt.evaluation.scoring import Evaluation, score
from nmt.run_directory import RunDirectory, to_json, write_atomically
from nmt.training.objective import Objective
from nmt.training.session import train
from nmt.training.validation import mean_loss

logger = logging.getLogger(__name__)


def run_train(settings: TrainSettings, run: RunDirectory) -> None:
    """Train, and print the scores of the test split and the command to translate with."""
    evaluation = train(settings, run)
    if evaluation is not None:
        print_evaluation(evaluation)
    print(f"to translate: nmt translate run={run.path} input=FILE output=FILE")


def run_translate(settings: TranslateSettings) -> None:
    """Translate a file or standard input, line by line, to a file or standard output."""
    device = choose_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    run = RunDirectory.existing(settings.run)
    lines = Utf8Lines(_raw_lines(settings.input))
    if settings.output is not None and not settings.overwrite and os.path.exists(settings.output):
        raise DataError(
            f"output: a new file is needed, or overwrite=true; got {settings.output}, which exists"
        )
    model, tokenizer = run.load_model(settings.checkpoint)
    translator = Translator(model, tokenizer, settings.decoding, device, dtype)
    with _output(settings.output) as file:
        for translation in translator.translate(lines):
            file.write(translation.encode("utf-8") + b"\n")
    if lines.num_replaced:
        logger.warning(
            "%d lines were not UTF-8; what could not be read was replaced by U+FFFD", lines.num_replaced
        )
    if translator.num_cut:
        logger.warning("%d lines were cut to %d tokens", translator.num_cut, translator.max_source_tokens)


def run_evaluate(settings: EvaluateSettings) -> None:
    """Score a run or a finished translation; print the scores, and write them as JSON where asked."""
    if settings.json_file is not None and not settings.overwrite and os.path.exists(settings.json_file):
        raise DataError(
            f"json: a new file is needed, or overwrite=true; got {settings.json_file}, which exists"
        )
    if settings.run is not None:
        evaluation = _evaluate_run(settings, RunDirectory.existing(settings.run))
    else:
        assert settings.hypothesis is not None
        assert settings.reference is not None
        hypotheses = read_lines(settings.hypothesis, "hypothesis")
        references = read_lines(settings.reference, "reference")
        evaluation = Evaluation(score(hypotheses, references, settings.evaluation), len(references))
    if settings.json_file is not None:
        write_atomically(Path(settings.json_file), to_json(evaluation.as_dict()))
    print_evaluation(evaluation)


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
    translator = Translator(model, tokenizer, settings.decoding, device, dtype)
    hypotheses = list(translator.translate(text.source))
    objective = Objective(model.to(device), tokenizer.target.pad_id, label_smoothing=0.0)
    dataset = load_dataset(text, tokenizer)
    loss = mean_loss(objective, dataset, tokenizer, settings.decoding.max_tokens, device, dtype)
    scores = score(hypotheses, text.target, settings.evaluation)
    return Evaluation(scores, len(hypotheses), loss, math.exp(min(loss, 700)))


def text_of_run(split: str, run: RunDirectory) -> ParallelText:
    """Load the `test` or `validation` text that a run was made with. Raises UserError if it cannot be had."""
    config = run.read_config()
    corpus = load_corpus(
        check(TrainSettings, {**config, "run": None, "resume": False}, f"run: {run.config_path}: ").data
    )
    text = corpus.validation if split == "validation" else corpus.test
    if text is None:
        raise RunError(f"split: this run has no {split} text; give source and reference")
    return text


class Utf8Lines:
    """Lines of text from lines of bytes, in which what is not UTF-8 is replaced, and counted."""

    def __init__(self, raw_lines: Iterable[bytes]) -> None:
        self.raw_lines = raw_lines
        self.num_replaced = 0

    def __iter__(self) -> Iterator[str]:
        for raw in self.raw_lines:
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                self.num_replaced += 1
                yield raw.decode("utf-8", "replace")


def _raw_lines(path: str | None) -> Iterable[bytes]:
    if path is None:
        return _standard_input()
    # Complain before anything is written; not by opening it, since a pipe can be opened only once.
    if not os.path.exists(path):
        raise DataError(f"input: no such file: {path}")
    if os.path.isdir(path):
        raise DataError(f"input: a file is needed; got the folder {path}")
    return read_raw_lines(path, "input")


def _standard_input() -> Iterator[bytes]:
    for number, line in enumerate(sys.stdin.buffer):
        yield strip_line_end(line.removeprefix(BYTE_ORDER_MARK) if number == 0 else line)


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with open(path, "wb") as file:
            yield file
    except OSError as error:
        raise DataError(f"output: a file that can be written is needed; got {path}: {error}") from None
