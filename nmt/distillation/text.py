"""The text of a student: lines for its teachers, and the pairs that are chosen from their translations.

The translations of training sources take the place of their references (Kim & Rush 2016). A teacher of the reverse
direction translates the references; its translations are added as further sources (Sennrich et al. 2016). With both and
the original pairs, a model learns from its own text three times over (data diversification, Nguyen et al. 2020).
"""

import filecmp
import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from nmt.config import DistillationSettings, DistilSettings, FilesData
from nmt.config.check import check
from nmt.config.defaults import read_defaults
from nmt.data.cache import cached_folder, entry_name, has_folder
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.encoding import UTF_8
from nmt.data.lines import iterate_lines
from nmt.data.mixture import require_tags
from nmt.data.shards import count_lines
from nmt.data.sources import load_corpus
from nmt.decoding.chunks import Chunk, number_chunks, put_beside, text_chunks
from nmt.decoding.expected_utility import expected_utility
from nmt.decoding.stream import write_stream
from nmt.decoding.translator import Translator
from nmt.decoding.word_alignment import to_pharaoh
from nmt.distillation.folder import StudentFolder
from nmt.distillation.teachers import Teacher
from nmt.errors import DataError, SettingsError
from nmt.files.writing import being_written, file_facts

logger = logging.getLogger(__name__)

READ, REFERENCE = "read.source", "read.target"
TRANSLATIONS, REVERSED = "translations.jsonl", "reversed.jsonl"
SOURCE, TARGET, LINKS = "train.source", "train.target", "train.links"


def write_text(folder: StudentFolder, settings: DistilSettings, tags: Sequence[str]) -> dict[str, Any]:
    """Write the text that the teachers translate, and the validation and test text; return how much there is.

    The training pairs are those that `data.filter` leaves. Sources and references have a file each, in which the
    monolingual lines of that side come last. Raises UserError for text that is not there, or whose source lines lack
    the `tags` of the teachers.
    """
    prepared = prepare_corpus(load_corpus(settings.data), settings.data.filter)
    prepared.log()
    corpus = prepared.corpus
    for pairs in corpus.texts.values():
        require_tags(pairs.source, tags, "data")
    tags = tags or (corpus.groups.symbols if corpus.groups else ())
    if tags and settings.reverse_teachers:
        raise SettingsError(
            "distillation.reverse: null is needed with source lines that begin with tags, which its translations lack; "
            f"got {', '.join(settings.reverse_teachers)}"
        )
    num_more = {
        key: _write_lines(folder.text(name), chain(side, _more(settings.distillation, key, needed)))
        - len(side)
        for key, name, side, needed in (
            ("monolingual", READ, corpus.train.source, tags),
            ("monolingual_target", REFERENCE, corpus.train.target, ()),
        )
    }
    held_out = _held_out(corpus)
    for split, text in held_out.items():
        _write_lines(folder.text(f"{split}.source"), text.source)
        _write_lines(folder.text(f"{split}.target"), text.target)
    return {"pairs": len(corpus.train.source), **num_more, "splits": list(held_out)}


def _more(settings: DistillationSettings, key: str, tags: Sequence[str]) -> Iterator[str]:
    """Return the monolingual lines that `key` names. Raises DataError if they lack the tags of other source lines."""
    paths, name = getattr(settings, key), f"distillation.{key}"
    if paths is None:
        return iter(())
    require_tags(iterate_lines(paths, name), tags, name)
    return iterate_lines(paths, name)


def _held_out(corpus: Corpus) -> dict[str, ParallelText]:
    return {split: text for split, text in corpus.texts.items() if split != "train"}


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    with being_written(path) as file:
        return sum(file.write(f"{line}\n".encode()) > 0 for line in lines)


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
        logger.info("cache        has the translations of %s by these teachers: %s", read, made.parent)
        with made.open("rb") as whole, being_written(path) as file:
            shutil.copyfileobj(whole, file)
    return _count(path)


def _name_in_cache(folder: StudentFolder, teacher: Teacher, read: str, written: str) -> str | None:
    """Return the name of the translations in the cache, made or to be made; None where they are not cached."""
    if teacher.origin is None:
        return None
    name = entry_name("translations", teacher.origin, file_facts(folder.text(read))["sha256"])
    by = f"teachers of {written}"
    if not folder.text(written).exists():
        folder.finish(by, teacher.origin)
    # Runs that got better after a stop translate the later lines only, so the whole file is of no use to others.
    return name if folder.outcome(by) == teacher.origin or has_folder(name) else None


def _translate(folder: StudentFolder, teacher: Teacher, read: str, path: Path) -> None:
    def work(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
        for chunk in chunks:
            yield [json.dumps(texts, ensure_ascii=False) for texts in teacher.translate(chunk)]

    lines = _cut(text_chunks(str(folder.text(read)), "student"), teacher.lines_at_once)
    chunks = number_chunks(lines, teacher.num_context)
    write_stream(work, chunks, str(path), resume=True)
    teacher.tell()


def _cut(chunks: Iterable[list[str]], size: int | None) -> Iterator[list[str]]:
    for chunk in chunks:
        yield from (
            chunk[start : start + (size or len(chunk))] for start in range(0, len(chunk), size or len(chunk))
        )


def _count(path: Path) -> int:
    return count_lines(str(path), 0, path.stat().st_size)[0]


@dataclass
class TranslationChooser:
    """Chooses the translations of a line to learn from, and counts those that are left out, by reason.

    `usual_ratio` is the number of characters that translations usually have for each character of the source: about a
    quarter from English to Chinese, four from Chinese to English.
    """

    settings: DistillationSettings
    left_out: Counter[str]
    usual_ratio: float = 1.0
    num_compared: int = 0  # with a reference
    num_disagreeing: int = 0

    def choose(self, source: str, reference: str | None, translations: Sequence[str]) -> list[str]:
        """Return the translations that agree with the reference, if there is one, and are about as long as is usual.

        Each comes once, in the given order; with choose=closest, only the one most like the reference is considered.
        """
        written = [text for text in translations if text.strip() and source.strip()]
        texts = list(dict.fromkeys(written))
        self.left_out["blank"] += len(translations) - len(written)
        self.left_out["equal"] += len(written) - len(texts)
        if not texts:
            return []
        if reference is not None and reference.strip():
            agreement = expected_utility(texts, [reference], "chrf").tolist()
            if self.settings.choose == "closest":
                best = max(range(len(texts)), key=agreement.__getitem__)
                self.left_out["not the closest"] += len(texts) - 1
                texts, agreement = [texts[best]], [agreement[best]]
            pairs = zip(texts, agreement, strict=True)
            agreeing = [text for text, one in pairs if one >= self.settings.min_agreement]
            self.num_compared += len(texts)
            self.num_disagreeing += len(texts) - len(agreeing)
            texts = self._passing(texts, agreeing, "min_agreement")
        return self._passing(texts, [text for text in texts if self._is_alike(source, text)], "max_ratio")

    def warn(self, name: str) -> None:
        """Warn where most of the translations in the file `name` disagree with their references."""
        if self.num_disagreeing > self.num_compared / 2:
            logger.warning(
                "distilled    %d of the %d translations with a reference in %s have a chrF below "
                "distillation.min_agreement=%g: who made them is weak on this text, and there is little to learn from",
                self.num_disagreeing, self.num_compared, name, self.settings.min_agreement,
            )  # fmt: skip

    def _passing(self, texts: list[str], passing: list[str], name: str) -> list[str]:
        self.left_out[name] += len(texts) - len(passing)
        return passing

    def _is_alike(self, source: str, text: str) -> bool:
        if self.settings.max_ratio is None:
            return True
        lengths = len(source.strip()) * self.usual_ratio, len(text.strip())
        return max(lengths) <= self.settings.max_ratio * min(lengths)


def choose_pairs(folder: StudentFolder, settings: DistillationSettings) -> dict[str, Any]:
    """Write the pairs to learn from; return their number, that of all translations, and of those left out, by reason.

    Pairs from `distillation.reverse` come last. Raises DataError if no pair is left.
    """
    left_out, num_pairs, num_translations = Counter[str](), 0, 0
    with ExitStack() as stack:
        files = [stack.enter_context(being_written(folder.text(name))) for name in (SOURCE, TARGET)]
        for read, beside, written in ((READ, REFERENCE, TRANSLATIONS), (REFERENCE, READ, REVERSED)):
            if not folder.text(written).exists():
                continue
            is_reversed = written == REVERSED
            chooser = TranslationChooser(settings, left_out, _usual_ratio(folder, read, beside, written))
            for line, reference, texts in _translated(folder, read, beside, written):
                num_translations += len(texts)
                chosen = chooser.choose(line, reference, texts)
                if settings.original and reference is not None:
                    # The original pair is written once, even where a teacher makes it, too.
                    chosen = [text for text in chosen if text != reference] + [reference] * (not is_reversed)
                for text in chosen:
                    for file, side in zip(files, (text, line) if is_reversed else (line, text), strict=True):
                        file.write(f"{side}\n".encode())
                num_pairs += len(chosen)
            chooser.warn(written)
        if not num_pairs:
            raise DataError(f"distillation: a translation that passes is needed; got none: {_told(left_out)}")
    given = {name: number for name, number in left_out.items() if number}
    logger.info(
        "distilled    %d pairs of %d translations%s%s",
        num_pairs,
        num_translations,
        "; left out: " + _told(given) if given else "",
        ", with the original pairs" if settings.original else "",
    )
    return {"pairs": num_pairs, "translations": num_translations, "left_out": given}


def _translated(
    folder: StudentFolder, read: str, beside: str, written: str
) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield each line that was translated, the other side of its pair (None for further text), and its translations."""
    lines, others, translations = (
        iterate_lines(str(folder.text(name)), "student", UTF_8) for name in (read, beside, written)
    )
    references = chain(islice(others, folder.outcome("text")["pairs"]), repeat(None))
    for line, reference, texts in zip(lines, references, translations):  # noqa: B905
        yield line, reference, _texts(texts, written)


def _usual_ratio(folder: StudentFolder, read: str, beside: str, written: str) -> float:
    """Return how many characters translations have for each character that was translated; 1 if there are none."""
    num_read = num_written = 0
    for line, _, texts in _translated(folder, read, beside, written):
        written_of_line = [len(text.strip()) for text in texts if text.strip()]
        num_read += len(line.strip()) * len(written_of_line)
        num_written += sum(written_of_line)
    return num_written / num_read if num_read and num_written else 1.0


def _texts(line: str, name: str) -> list[str]:
    """Return the translations in a line of the file `name`. Raises DataError where it is no JSON list of strings."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise DataError(f"student: {name} as it was written is needed; got a line that is no list of texts")
    return found


def _told(left_out: dict[str, int]) -> str:
    return ", ".join(
        f"{number} {name if ' ' in name or name in ('blank', 'equal') else f'by {name}'}"
        for name, number in left_out.items()
    )


def link_words(folder: StudentFolder, translator: Translator) -> int:
    """Write word links of each pair, by a teacher's attention, after the lines there; return the number of lines."""
    reader = translator.with_settings().pairs

    def work(chunks: Iterator[Chunk]) -> Iterator[list[str]]:
        for chunk in chunks:
            found = reader.align(chunk.lines, chunk.beside or [], chunk.num_before)
            yield [to_pharaoh(one.alignment or []) for one in found]

    sources = number_chunks(text_chunks(str(folder.text(SOURCE)), "student"))
    path = str(folder.text(TARGET))
    chunks = put_beside(sources, iterate_lines(path, "student", UTF_8), f"student: {path}", is_end=True)
    write_stream(work, chunks, str(folder.text(LINKS)), resume=True)
    return _count(folder.text(LINKS))


def data_of_student(folder: StudentFolder, settings: DistilSettings) -> FilesData:
    """Return the data settings of the student: the distilled text, without a filter."""
    splits = folder.outcome("text")["splits"]
    pairs = {
        split: {
            side: str(folder.text(f"{split}.{side}")) if split in splits else None
            for side in ("source", "target")
        }
        for split in ("train", "validation", "test")
    }
    pairs["train"] = {"source": str(folder.text(SOURCE)), "target": str(folder.text(TARGET))}
    same = settings.data.model_dump(include={"max_length", "context", "augment"})
    return check(
        FilesData,
        {"kind": "files", "encoding": UTF_8, "filter": read_defaults("data/filter/none"), **pairs, **same},
    )
