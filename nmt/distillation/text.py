"""The text of a student: the lines that its teachers translate, and the data settings of its training."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.config import DistillationSettings, DistilSettings, FilesData
from nmt.config.check import check
from nmt.config.defaults import read_defaults
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.encoding import UTF_8
from nmt.data.lines import iterate_lines
from nmt.data.mixture import require_tags
from nmt.data.sources import load_corpus
from nmt.distillation.folder import LANGUAGES, READ, REFERENCE, SOURCE, TARGET, StudentFolder
from nmt.errors import SettingsError
from nmt.files.writing import being_written
from nmt.runs.languages import NAMES, code_of, names_of
from nmt.wording import counted

logger = logging.getLogger(__name__)


def write_text(folder: StudentFolder, settings: DistilSettings, tags: Sequence[str]) -> dict[str, Any]:
    """Write the text that the teachers translate, and the validation and test text; return how much there is.

    The training pairs are those that `data.filter` leaves. Sources and references have a file each, in which the
    monolingual lines of that side come last. Raises UserError for text that is not there, or whose source lines lack
    the `tags` of the teachers.
    """
    prepared = prepare_corpus(load_corpus(settings.data), settings.data.filter)
    prepared.log()
    corpus = prepared.corpus
    for split, pairs in corpus.texts.items():
        require_tags(pairs.source, tags, f"data.{split}")
    tags = tags or (corpus.groups.symbols if corpus.groups else ())
    if tags and settings.reverse_teachers:
        raise SettingsError(
            "distillation.reverse: null is needed with source lines that begin with tags, which its translations lack; "
            f"got {', '.join(settings.reverse_teachers)}"
        )
    folder.finish(LANGUAGES, languages_of_text(settings))
    held_out, num_more = _held_out(corpus), dict[str, int]()
    for side, key, name, needed in (
        ("source", "monolingual", READ, tags),
        ("target", "monolingual_target", REFERENCE, ()),
    ):
        known = set[str]()
        if settings.data.filter.overlap in (side, "either"):
            known = {line.strip() for text in held_out.values() for line in getattr(text, side)} - {""}
        lines, more = getattr(corpus.train, side), _more(settings.distillation, key, needed, known)
        num_more[key] = _write_lines(folder.text(name), chain(lines, more)) - len(lines)
    for split, text in held_out.items():
        _write_lines(folder.text(f"{split}.source"), text.source)
        _write_lines(folder.text(f"{split}.target"), text.target)
    return {"pairs": len(corpus.train.source), **num_more, "splits": list(held_out)}


def languages_of_text(settings: DistilSettings) -> dict[str, str]:
    """Return the code of the language of each side, where text or settings tell it and both differ."""
    typed = settings.distillation.source_language, settings.distillation.target_language
    told = zip(("source", "target"), names_of(settings.data), typed, strict=True)
    codes = {side: code_of(name or other or "") for side, name, other in told}
    known = {side: code for side, code in codes.items() if code in NAMES}
    return known if len(set(known.values())) == len(known) else {}


def _more(
    settings: DistillationSettings, key: str, tags: Sequence[str], held_out: Collection[str]
) -> Iterator[str]:
    """Yield the monolingual lines that `key` names, without those that are `held_out`, whose number is logged.

    Raises DataError if they lack the tags of other source lines.
    """
    paths, name = getattr(settings, key), f"distillation.{key}"
    if paths is None:
        return
    require_tags(iterate_lines(paths, name), tags, name)
    num_left_out = 0
    for line in iterate_lines(paths, name):
        if line.strip() in held_out:
            num_left_out += 1
        else:
            yield line
    if num_left_out:
        logger.info("filter       left out of %s: %s by overlap", name, counted(num_left_out, "line"))


def _held_out(corpus: Corpus) -> dict[str, ParallelText]:
    return {split: text for split, text in corpus.texts.items() if split != "train"}


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    with being_written(path) as file:
        return sum(file.write(f"{line}\n".encode()) > 0 for line in lines)


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
