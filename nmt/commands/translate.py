"""`nmt translate`: check the files first, then translate lines as they come."""

import logging
import os
import time

from nmt.config import TranslateSettings
from nmt.data.lines import STANDARD_INPUT
from nmt.data.mixture import TAG_END, TAG_START, known_tags, tag_of, tagged
from nmt.data.shards import Shard
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.stream import STANDARD_OUTPUT, is_file, is_same, translate_stream
from nmt.decoding.translator import Translator
from nmt.device import choose_precision, prepare_device
from nmt.errors import DataError
from nmt.runs.directory import RunDirectory

logger = logging.getLogger(__name__)


def main(settings: TranslateSettings) -> None:
    """Translate a file or standard input, line by line, to a file or standard output."""
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    run = RunDirectory.existing(settings.run)
    source = choose_input(settings)
    target = choose_output(settings, source)
    span = None
    if settings.shard is not None:
        span = Shard.parse(settings.shard).span(str(source), "input")
    model, tokenizer = run.load_model(settings.checkpoint)
    tag = choose_tag(settings.target_language, tokenizer)
    translator = Translator(model, tokenizer, settings.decoding, device, dtype)

    def translate(lines: list[str], num_before: int) -> list[str]:
        given = lines if tag is None else [tagged(line, tag) for line in lines]
        return translator.translate_chunk(given, num_before)

    began = time.monotonic()
    num_lines = translate_stream(translate, source, target, settings.resume, settings.encoding, span)
    translator.warn()
    if target != STANDARD_OUTPUT:
        seconds = time.monotonic() - began
        speed = translator.num_tokens / seconds
        logger.info("%s: %d lines in %.1f s, %.0f target tokens a second", target, num_lines, seconds, speed)


def choose_tag(language: str | None, tokenizer: Tokenizer) -> str | None:
    """Return what each line begins with for a model of many languages; None for any other model.

    Raises DataError for a language that the model does not know, and for none where it needs one.
    """
    known = [tag[len(TAG_START) : -len(TAG_END)] for tag in known_tags(tokenizer.source.pieces)]
    if language is None and not known:
        return None
    if language not in known:
        there = f"one of {', '.join(known)}" if known else "null"
        raise DataError(f"target_language: {there} is needed for this run; got {language or 'null'}")
    return tag_of(language)


def choose_input(settings: TranslateSettings) -> str | int:
    """Return the file to read, or the descriptor of standard input. Raises DataError if there is none.

    It is not opened for that: a pipe can be opened only once.
    """
    if settings.input is None:
        return STANDARD_INPUT
    if not os.path.exists(settings.input):
        raise DataError(f"input: no such file: {settings.input}")
    if os.path.isdir(settings.input):
        raise DataError(f"input: a file is needed; got the folder {settings.input}")
    return settings.input


def choose_output(settings: TranslateSettings, source: str | int) -> str | int:
    """Return the file to write, or the descriptor of standard output. Raises DataError if it must not be written."""
    path = settings.output
    if path is not None and settings.shard is not None:
        path = Shard.parse(settings.shard).of_output(path)
    # It has other names: /dev/stdout, which may well be a file.
    is_standard = path is None or is_same(path, STANDARD_OUTPUT)
    target = STANDARD_OUTPUT if path is None or is_standard else path
    if os.path.isfile(source) and is_same(source, target):
        raise DataError(f"output: another file than the input is needed; got {path or source}")
    if settings.resume and not is_file(target):
        raise DataError(f"output: a file is needed with resume=true; got {path}")
    if is_file(target) and os.path.exists(target) and not (settings.overwrite or settings.resume):
        raise DataError(
            f"output: a new file is needed, or overwrite=true, or resume=true to go on; got {path}, which exists"
        )
    return target
