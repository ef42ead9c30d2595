"""What teachers make of the text of a student, line by line: translations, and links between the words of pairs."""

import filecmp
import json
import logging
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from nmt.data.cache import cached_folder, entry_name, has_folder
from nmt.data.encoding import UTF_8
from nmt.data.lines import iterate_lines
from nmt.data.shards import count_lines
from nmt.decoding.chunks import Chunk, number_chunks, put_beside, text_chunks
from nmt.decoding.stream import write_stream
from nmt.decoding.translator import Translator
from nmt.decoding.word_alignment import to_pharaoh
from nmt.distillation.folder import LINKS, SOURCE, TARGET, TRANSLATIONS, StudentFolder
from nmt.distillation.teachers import Teacher
from nmt.errors import DataError
from nmt.files.writing import being_written, file_facts

logger = logging.getLogger(__name__)

SEVERAL = "several"  # in place of the origin of teachers, where not all lines are by the same ones


def translate(folder: StudentFolder, teacher: Teacher, read: str, written: str) -> int:
    """Write the translations of each line as a JSON list, after the lines that are there; return the number of lines.

    Translations by a teacher with an `origin` are also cached, for the next student of the same teachers; a student
    that needs them meanwhile waits for them.
    """
    path = folder.text(written)
    name = _name_in_cache(folder, teacher, read, written)
    if name is None:
        _translate(folder, teacher, read, path)
        return _count(path)

    def make(entry: Path) -> None:
        _translate(folder, teacher, read, path)
        shutil.copyfile(path, entry / TRANSLATIONS)

    made = cached_folder(name, make) / TRANSLATIONS
    if not path.exists() or not filecmp.cmp(path, made, shallow=False):
        lines = folder.text(read).name
        logger.info("cache        has the translations of %s by these teachers: %s", lines, made.parent)
        with made.open("rb") as whole, being_written(path) as file:
            shutil.copyfileobj(whole, file)
    return _count(path)


def _name_in_cache(folder: StudentFolder, teacher: Teacher, read: str, written: str) -> str | None:
    """Return the name of the translations in the cache, made or to be made; None where they are not cached."""
    by, path = f"teachers of {written}", folder.text(written)
    num_done = _count(path) if path.exists() else 0
    if num_done == 0:
        folder.finish(by, teacher.origin)
    if teacher.origin is not None:
        name = entry_name("translations", teacher.origin, file_facts(folder.text(read))["sha256"])
        if folder.outcome(by) == teacher.origin or has_folder(name):
            return name
    # Teachers that changed after a stop translate the later lines only, so the whole file is of no use to others.
    if folder.outcome(by) not in (teacher.origin, SEVERAL):
        logger.warning(
            "translations those after line %d of %s are by teachers whose weights, search, device, number type or nmt "
            "changed since; a new student begins with the teachers of now",
            *(num_done, folder.text(read).name),
        )
        folder.finish(by, SEVERAL)
    return None


def _translate(folder: StudentFolder, teacher: Teacher, read: str, path: Path) -> None:
    def work(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
        for chunk in _shown(chunks, "translations", folder.text(read), path):
            yield [json.dumps(texts, ensure_ascii=False) for texts in teacher.translate(chunk)]

    lines = _cut(text_chunks(str(folder.text(read)), "student"), teacher.lines_at_once)
    chunks = number_chunks(lines, teacher.num_context)
    write_stream(work, chunks, str(path), resume=True)
    teacher.tell()


def _shown(chunks: Iterator[Chunk], title: str, read: Path, written: Path) -> Iterator[Chunk]:
    """Yield chunks, and show on a terminal how many lines of `read` there are, and are done."""
    num_done = _count(written) if written.exists() else 0
    with tqdm(
        desc=f"{title} of {read.name}",
        total=_count(read),
        initial=num_done,
        unit=" lines",
        disable=None,
        leave=False,
    ) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk.lines))


def _cut(chunks: Iterable[list[str]], size: int | None) -> Iterator[list[str]]:
    for chunk in chunks:
        yield from (
            chunk[start : start + (size or len(chunk))] for start in range(0, len(chunk), size or len(chunk))
        )


def _count(path: Path) -> int:
    return count_lines(str(path), 0, path.stat().st_size)[0]


def read_translations(folder: StudentFolder, read: str, written: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line that was translated, and its translations. Raises DataError where some are not there."""
    num_read, num_written = (_count(folder.text(name)) for name in (read, written))
    if num_written != num_read:
        raise DataError(
            f"student: translations of the {num_read} lines of {folder.text(read).name} are needed; "
            f"got {num_written} in {written}"
        )
    lines, translations = (
        iterate_lines(str(folder.text(name)), "student", UTF_8) for name in (read, written)
    )
    for line, texts in zip(lines, translations, strict=True):
        yield line, _texts(texts, written)


def _texts(line: str, name: str) -> list[str]:
    """Return the translations in a line of the file `name`. Raises DataError where it is no JSON list of strings."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise DataError(f"student: {name} as it was written is needed; got a line that is no list of texts")
    return found


def link_words(folder: StudentFolder, translator: Translator) -> int:
    """Write word links of each pair, by a teacher's attention, after the lines there; return the number of lines."""
    reader = translator.with_settings().pairs

    def work(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
        for chunk in _shown(chunks, "links", folder.text(SOURCE), folder.text(LINKS)):
            found = reader.align(chunk.lines, chunk.beside or [], chunk.num_before)
            yield [to_pharaoh(one.alignment or []) for one in found]

    sources = number_chunks(text_chunks(str(folder.text(SOURCE)), "student"))
    path = str(folder.text(TARGET))
    chunks = put_beside(sources, iterate_lines(path, "student", UTF_8), f"student: {path}", is_end=True)
    write_stream(work, chunks, str(folder.text(LINKS)), resume=True)
    return _count(folder.text(LINKS))
