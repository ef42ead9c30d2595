"""`nmt translate`: lines in, as many lines out, as they come; or a document, whose markup stays."""

import codecs
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

from nmt.commands.bulk import Done, choose_input, choose_output, do_in_bulk, load_model_of
from nmt.config import TranslateSettings
from nmt.data.characters import is_wordless
from nmt.data.table import is_table
from nmt.decoding.chunks import Chunk
from nmt.decoding.stream import open_output
from nmt.decoding.translation import Translation
from nmt.documents.document import Document, lines_of, write_translated
from nmt.documents.formats import SUFFIXES, has_other_markup, markup_suffix, read_document
from nmt.errors import DataError, SettingsError
from nmt.versions import importing
from nmt.wording import counted

logger = logging.getLogger(__name__)


def main(settings: TranslateSettings) -> None:
    """Translate a file or standard input to a file or standard output, line by line; a document, as a whole."""
    if settings.input is not None and (suffix := markup_suffix(settings.input)) is not None:
        translate_document(settings, settings.input, suffix)
    else:
        _require_lines(settings)
        do_in_bulk(settings, load_worker, column=settings.column, beside=("prefix", settings.prefix))


def _require_lines(settings: TranslateSettings) -> None:
    """Raise UserError for markup that is not read, or a table of which no column is named: neither is lines of text."""
    path = settings.input
    if path is not None and has_other_markup(path):
        known = ", ".join(SUFFIXES)
        raise DataError(
            f"input: lines, or a document ({known}), are needed; got {path}; < {path} translates its lines"
        )
    if path is not None and settings.column is None and is_table(path) and os.path.isfile(path):
        raise SettingsError(
            f"column: the name of a column is needed with a table; got null with {path}; "
            "a file of another ending is lines"
        )


def load_worker(settings: TranslateSettings) -> Callable[[Chunk], Done]:
    """Return a function that translates a chunk with the model of settings. Raises UserError if it cannot be loaded."""
    is_detailed = settings.format == "jsonl"
    translator = load_model_of(settings).translator(
        settings.decoding, settings.num_hypotheses, is_detailed, settings.target_language
    )

    def translate(chunk: Chunk) -> Done:
        translator.begin()
        found = translator.translate_chunk(chunk)
        if is_detailed:
            numbered = enumerate(found, chunk.num_before + 1)
            lines = [json.dumps(one.as_dict(number), ensure_ascii=False) for number, one in numbered]
        else:
            lines = [one.text for one in found]
        return Done(lines, translator.num_tokens, 0.0, translator.remarks)

    return translate


def translate_document(settings: TranslateSettings, path: str, suffix: str) -> None:
    """Translate a file with markup. Raises UserError for a file that is no document, or for keys of lines alone."""
    _refuse_keys_of_lines(settings, suffix)
    target = choose_output(settings, {"input": choose_input("input", path)})
    document = _read(path, suffix)
    with open_output(target, resume=False, is_whole=True) as output:
        translator = load_model_of(settings).translator(
            settings.decoding, details=True, target_language=settings.target_language
        )
        lines = lines_of(document)
        found = translator.translations(lines)
        written = write_translated(document, map(_with_words, lines, found))
        output.write_bytes(written.encode() if isinstance(written, str) else written)
    translator.remarks.log()
    if isinstance(target, str):
        logger.info("%s: a document with %s of text", target, counted(len(document.blocks), "line"))


def _with_words(line: str, found: Translation) -> Translation:
    """Return the translation of a line; one without a word stays as it is."""
    return Translation.unchanged(line) if is_wordless(line) else found


def _refuse_keys_of_lines(settings: TranslateSettings, suffix: str) -> None:
    """Raise SettingsError for a key that applies to lines alone."""
    for key, needed, given in (
        ("column", "null", settings.column or "null"),
        ("prefix", "null", settings.prefix or "null"),
        ("encoding", "utf-8", codecs.lookup(settings.encoding).name),
        ("num_hypotheses", "1", str(settings.num_hypotheses)),
        ("format", "text", settings.format),
        ("shard", "null", settings.shard or "null"),
        ("engine", "local", settings.engine),
        ("resume", "false", "true" if settings.resume else "false"),
    ):
        if given != needed:
            hint = f"standard input (< {settings.input}) is always lines"
            if key == "encoding":
                hint = f"`iconv -f {given} -t utf-8` makes it so"
            raise SettingsError(
                f"{key}: {needed} is needed with a document ({suffix}), which is translated as a whole; got {given}; "
                f"{hint}"
            )


def _read(path: str, suffix: str) -> Document:
    if not path.lower().endswith(suffix):
        raise DataError(f"input: a document ({suffix}) that is not compressed is needed; got {path}")
    try:
        with importing("serve", "input"):
            return read_document(suffix, Path(path).read_bytes())
    except DataError as error:
        raise DataError(f"input: {str(error).removeprefix('file: ')}: {path}") from None
