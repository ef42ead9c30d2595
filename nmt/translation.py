"""Translating a stream: what was asked for is checked first, and what is done goes out at once."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from io import FileIO

from nmt.config import TranslateSettings
from nmt.data.encoding import UTF_8
from nmt.data.groups import TAG_END, TAG_START, tag_of, tagged
from nmt.data.lines import BLOCK_SIZE, STANDARD_INPUT, Decoder, follow_lines, in_chunks
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.translator import Translator
from nmt.device import choose_device, choose_precision
from nmt.errors import DataError
from nmt.run_directory import RunDirectory

logger = logging.getLogger(__name__)

STANDARD_OUTPUT = 1
TAG = re.compile(f"{TAG_START}[A-Za-z0-9_-]{{1,20}}{TAG_END}")


def run_translate(settings: TranslateSettings) -> None:
    """Translate a file or standard input, line by line, to a file or standard output."""
    device = choose_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    run = RunDirectory.existing(settings.run)
    source = choose_input(settings)
    target = choose_output(settings, source)
    model, tokenizer = run.load_model(settings.checkpoint)
    tag = choose_tag(settings.target_language, tokenizer)
    translator = Translator(model, tokenizer, settings.decoding, device, dtype)

    def translate(lines: list[str], num_before: int) -> list[str]:
        given = lines if tag is None else [tagged(line, tag) for line in lines]
        return translator.translate_chunk(given, num_before)

    began = time.monotonic()
    num_lines = translate_stream(translate, source, target, settings.resume, settings.encoding)
    translator.warn()
    if target != STANDARD_OUTPUT:
        seconds = time.monotonic() - began
        speed = translator.num_tokens / seconds
        logger.info("%s: %d lines in %.1f s, %.0f target tokens a second", target, num_lines, seconds, speed)


def known_tags(tokenizer: Tokenizer) -> list[str]:
    """Return the tags that lines can begin with for a model of many languages; none for any other model."""
    return [piece for piece in tokenizer.source.pieces if TAG.fullmatch(piece)]


def choose_tag(language: str | None, tokenizer: Tokenizer) -> str | None:
    """Return what each line begins with for a model of many languages; None for any other model.

    Raises DataError for a language that the model does not know, and for none where it needs one.
    """
    known = [tag[len(TAG_START) : -len(TAG_END)] for tag in known_tags(tokenizer)]
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
    # It has other names: /dev/stdout, which may well be a file.
    is_standard = path is None or _is_same(path, STANDARD_OUTPUT)
    target = STANDARD_OUTPUT if path is None or is_standard else path
    if os.path.isfile(source) and _is_same(source, target):
        raise DataError(f"output: another file than the input is needed; got {path or source}")
    if settings.resume and not _is_file(target):
        raise DataError(f"output: a file is needed with resume=true; got {path}")
    if _is_file(target) and os.path.exists(target) and not (settings.overwrite or settings.resume):
        raise DataError(
            f"output: a new file is needed, or overwrite=true, or resume=true to go on; got {path}, which exists"
        )
    return target


def translate_stream(
    translate: Callable[[list[str], int], list[str]],
    source: str | int,
    target: str | int,
    resume: bool,
    encoding: str = UTF_8,
) -> int:
    """Translate what `choose_input` chose to what `choose_output` chose, by chunks of what is there.

    `translate` is given the lines of a chunk, and how many came before it. With `resume`, lines that `target` has are
    kept. Return how many were written. Raises DataError where `target` has more lines than `source`, and where that
    is of another encoding.
    """
    decoder, num_before = Decoder("input", encoding), 0
    with open_output(target, resume) as output:
        num_there = num_kept = output.num_lines
        if num_there:
            logger.info("going on after %d lines of %s", num_there, target)
        # A chunk of which some lines are there is translated again: what is translated together may make a
        # difference in the last digit, and the file is to be that of a translation without interruption.
        for chunk in in_chunks(follow_lines(source, "input", encoding)):
            if not num_before:
                decoder.require_text(chunk)
            if num_kept < len(chunk):
                lines = [decoder.decode(raw, number) for number, raw in enumerate(chunk, num_before + 1)]
                output.write(translate(lines, num_before)[num_kept:])
            num_kept -= min(num_kept, len(chunk))
            num_before += len(chunk)
        if num_kept:
            raise DataError(
                f"output: at most as many lines as in the input are needed, {num_there - num_kept}; "
                f"got {num_there} in {target}"
            )
    decoder.warn()
    return output.num_lines - num_there


class Output:
    """An open file for lines; `num_lines` are in it, of `size` bytes together.

    What it replaces stays as it is until the first line is there to be written: the input may turn out to be wrong.
    """

    def __init__(self, file: FileIO, is_replaced: bool) -> None:
        self.num_lines = self.size = 0
        self.is_replaced = is_replaced
        self._file = file

    def skip_lines(self) -> None:
        """Go behind the whole lines that are there, and drop what follows them."""
        position = 0
        while block := self._file.read(BLOCK_SIZE):
            self.num_lines += block.count(b"\n")
            if b"\n" in block:
                self.size = position + block.rindex(b"\n") + 1
            position += len(block)
        self.drop_rest()

    def drop_rest(self) -> None:
        """Drop what is not of the whole lines."""
        self._file.truncate(self.size)
        self._file.seek(self.size)
        self.is_replaced = False

    def write(self, lines: Sequence[str]) -> None:
        """Write lines so that whoever reads them has them at once."""
        if self.is_replaced:
            self.drop_rest()
        content = "".join(f"{line}\n" for line in lines).encode("utf-8")
        rest = memoryview(content)
        while rest:
            rest = rest[self._file.write(rest) :]
        self.num_lines += len(lines)
        self.size += len(content)


@contextlib.contextmanager
def open_output(target: str | int, resume: bool) -> Iterator[Output]:
    """Open what `choose_output` chose, with `resume` behind the lines that it holds.

    However it ends, a file is left with whole lines, and how to go on is said.
    Raises DataError where nothing can be written, or nothing more.
    """
    can_go_on = _is_file(target)
    advice = (
        "; the same command with resume=true goes on"
        if can_go_on
        else "; only output=FILE can be gone on with"
    )
    output = None
    try:
        is_there = can_go_on and os.path.exists(target)
        with FileIO(target, "r+b" if is_there else "wb", closefd=target != STANDARD_OUTPUT) as file:
            output = Output(file, is_replaced=is_there and not resume)
            if resume:
                output.skip_lines()
            try:
                yield output
                if output.is_replaced:  # by no lines at all
                    output.drop_rest()
            except BaseException:
                if isinstance(target, str) and can_go_on and not output.is_replaced:
                    output.drop_rest()
                    if not output.size:
                        os.unlink(target)
                raise
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if target == STANDARD_OUTPUT else target
        done = f" after {output.num_lines} lines{advice}" if output else ""
        raise DataError(
            f"output: a place that takes all lines is needed; got {name}: {error.strerror}{done}"
        ) from None
    except (KeyboardInterrupt, SystemExit):
        if output:
            logger.warning("stopped after %d lines%s", output.num_lines, advice)
        raise


def _is_file(path: str | int) -> bool:
    """Whether a path is that of a file, or of none yet."""
    return isinstance(path, str) and (os.path.isfile(path) or not os.path.exists(path))


def _is_same(path: str | int, other: str | int) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)
