"""`nmt translate`: check the files first, then translate lines as they come."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from tqdm import tqdm

from nmt.config import TranslateSettings
from nmt.data.lines import STANDARD_INPUT
from nmt.data.mixture import TAG_END, TAG_START, known_tags, tag_of, tagged
from nmt.data.shards import Shard
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.ray_map import RayMap
from nmt.decoding.stream import STANDARD_OUTPUT, is_file, is_same, translate_stream
from nmt.decoding.translator import Translator, warn_of_cut
from nmt.device import choose_precision, prepare_device
from nmt.errors import DataError, LineNumbers
from nmt.runs.directory import RunDirectory

logger = logging.getLogger(__name__)


Chunk = tuple[list[str], int]  # lines, and how many come before them


class Translated(NamedTuple):
    """The translations of a chunk, how many tokens they have, and which of its lines were cut, to how many tokens."""

    lines: list[str]
    num_tokens: int
    cut: LineNumbers
    max_source_tokens: int


def main(settings: TranslateSettings) -> None:
    """Translate a file or standard input, line by line, to a file or standard output."""
    RunDirectory.existing(settings.run)
    source = choose_input(settings)
    target = choose_output(settings, source)
    span = None
    if settings.shard is not None:
        span = Shard.parse(settings.shard).span(str(source), "input")
    num_tokens, cut, max_source_tokens = 0, LineNumbers(), 0
    with opened_engine(settings) as map_in_order:
        began = time.monotonic()

        def translate(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
            nonlocal num_tokens, max_source_tokens
            for found in map_in_order(chunks):
                num_tokens, max_source_tokens = num_tokens + found.num_tokens, found.max_source_tokens
                cut.join(found.cut)
                yield found.lines

        num_lines = translate_stream(translate, source, target, settings.resume, settings.encoding, span)
    warn_of_cut(cut, max_source_tokens)
    if target != STANDARD_OUTPUT:
        seconds = time.monotonic() - began
        logger.info(
            "%s: %d lines in %.1f s, %.0f target tokens a second",
            target,
            num_lines,
            seconds,
            num_tokens / seconds,
        )


@contextlib.contextmanager
def opened_engine(settings: TranslateSettings) -> Iterator[Callable[[Iterable[Chunk]], Iterator[Translated]]]:
    """Have what translates chunks in their order: this process, or actors on a Ray cluster."""
    if settings.engine == "local":
        yield partial(map, load(settings))
        return
    with RayMap(load, settings, settings.workers, settings.device in ("auto", "cuda"), "workers") as ray:

        def with_progress(chunks: Iterable[Chunk]) -> Iterator[Translated]:
            with tqdm(desc="translated", unit=" lines", unit_scale=True, disable=None, leave=False) as bar:
                for found in ray.map(chunks):
                    bar.update(len(found.lines))
                    yield found

        yield with_progress


def load(settings: TranslateSettings) -> Callable[[Chunk], Translated]:
    """Return what translates a chunk with the model that settings name. Raises UserError if it cannot be had."""
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    model, tokenizer = RunDirectory.existing(settings.run).load_model(settings.checkpoint)
    tag = choose_tag(settings.target_language, tokenizer)
    translator = Translator(model, tokenizer, settings.decoding, device, dtype)

    def translate(chunk: Chunk) -> Translated:
        lines, num_before = chunk
        given = lines if tag is None else [tagged(line, tag) for line in lines]
        translator.cut, translator.num_tokens = LineNumbers(), 0
        translations = translator.translate_chunk(given, num_before)
        return Translated(translations, translator.num_tokens, translator.cut, translator.max_source_tokens)

    return translate


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
