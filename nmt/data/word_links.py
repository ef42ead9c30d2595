"""Word links of the training text, for attention to learn: from Pharaoh files, or by eflomal."""

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from tqdm import tqdm

from nmt.config import Files, as_list
from nmt.data.arrays import BoolArray
from nmt.data.cache import cached_folder, entry_name
from nmt.data.cleaning import PreparedCorpus
from nmt.data.context import emptied
from nmt.data.corpus import ParallelText
from nmt.data.dataset import LINES_ENCODED_AT_ONCE, Links, load_ids, save_ids
from nmt.data.lines import iterate_lines, read_text, require_reader
from nmt.data.tokenizer import SENTENCEPIECE, Tokenizer, Vocabulary, word_numbers
from nmt.errors import DataError
from nmt.files.reading import read_json
from nmt.files.writing import to_json
from nmt.versions import importing
from nmt.wording import LineNumbers

KEY = "training.guided_alignment"
EFLOMAL = "eflomal"
LINK = re.compile("([0-9]{1,9})-([0-9]{1,9})")
FACTS = "facts.json"
MAX_SHOWN = 40  # characters of what is no link

logger = logging.getLogger(__name__)


def load_links(files: Files, text: PreparedCorpus, tokenizer: Tokenizer) -> Links:
    """Return the word links of the training pairs that stay, from files with a line for each pair that was read.

    Links are read once, into the cache. Raises DataError for files with another number of lines or with anything but
    links of words that the pair has, SettingsError where `eflomal` is asked for and not installed.
    """
    train, kept = text.corpus.train, text.kept
    numbers = np.flatnonzero(kept) + 1  # in the text as it was read
    num_tags = int(text.corpus.groups is not None and text.corpus.groups.tags is not None)
    if files == EFLOMAL:
        files, kept = str(_align(train, num_tags)), np.ones(len(train.source), bool)
    for path in as_list(files):
        if Path(path).exists() and not Path(path).is_file():  # a pipe or a device need not end
            raise DataError(f"{KEY}: a file is needed; got {path}")

    def make(folder: Path) -> None:
        for side, tags in (("source", num_tags), ("target", 0)):
            chunks = _words(getattr(train, side), getattr(tokenizer, side), tags, f"words of {side}")
            save_ids(folder / side, chunks)
        recounted = LineNumbers()
        links = _read_links(files, kept, train, num_tags)
        pairs = zip(map(int, numbers), train.source, train.target, links, strict=True)
        found = (
            _without_recounted(links_of_pair, number, sides, tokenizer, recounted)
            for number, *sides, links_of_pair in pairs
        )
        save_ids(folder / "words", iter(lambda: list(islice(found, LINES_ENCODED_AT_ONCE)), []))
        (folder / FACTS).write_bytes(to_json({"count": recounted.count, "first": recounted.first}))

    content = iterate_lines(files, KEY)
    facts = np.packbits(kept).tobytes(), train.source, train.target, bytes([num_tags])
    folder = cached_folder(entry_name("links", SENTENCEPIECE, *tokenizer.models, *facts, content), make)
    recounted = LineNumbers()
    recounted.count, recounted.first = (read_json(folder / FACTS)[name] for name in ("count", "first"))
    if recounted.count:
        told = recounted.tell("of another number of words after tokenizer.normalization")
        logger.warning("links        %s; their links are left out", told)
    return Links(*(load_ids(folder / name) for name in ("source", "target", "words")))


def require_aligner(files: Files) -> None:
    """Raise SettingsError if the library that finds the links, or that reads their files, is not installed."""
    if files == EFLOMAL:
        with importing(EFLOMAL, KEY, "a file of links"):
            import eflomal  # noqa: F401
    else:
        require_reader(files, KEY)


def _words(
    lines: Sequence[str], vocabulary: Vocabulary, num_tags: int, label: str
) -> Iterator[list[list[int]]]:
    """Yield, by chunks of lines, the number of the word, from 1, of each piece; 0 for tags before the words.

    `label` names the progress bar.
    """
    starts = range(0, len(lines), LINES_ENCODED_AT_ONCE)
    for start in tqdm(starts, label, unit=" x 10k lines", disable=None, leave=False):
        segmented = vocabulary.segment(emptied(lines[start : start + LINES_ENCODED_AT_ONCE]))
        yield [np.maximum(word_numbers(pieces) + 1 - num_tags, 0).tolist() for pieces in segmented]


def _without_recounted(
    links: list[int], number: int, sides: Sequence[str], tokenizer: Tokenizer, recounted: LineNumbers
) -> list[int]:
    """Return the links of a pair; none, and note the pair, if normalisation changes the number of words of a side."""
    vocabularies = tokenizer.source, tokenizer.target
    if all(own.num_words(line) == len(line.split()) for own, line in zip(vocabularies, sides, strict=True)):
        return links
    recounted.add(number)
    return []


def _read_links(files: Files, kept: BoolArray, text: ParallelText, num_tags: int) -> Iterator[list[int]]:
    """Yield a flat list of the links of each pair that stays: source word and target word, both from 1, in turn."""
    written = _lines_of(files, kept)
    for source, target, (where, line) in zip(text.source, text.target, written, strict=True):
        sizes = max(0, len(source.split()) - num_tags), len(target.split())
        links = []
        for link in line.split():
            if (found := LINK.fullmatch(link)) is None:
                raise DataError(f"{KEY}: links such as 0-0 1-2 are needed; got {link[:MAX_SHOWN]} in {where}")
            ends = int(found[1]), int(found[2])
            if ends[0] >= sizes[0] or ends[1] >= sizes[1]:
                raise DataError(
                    f"{KEY}: words of the pair, from 0, are needed, of {sizes[0]} in the source and {sizes[1]} in the "
                    f"target; got {link} in {where}"
                )
            links += [ends[0] + 1, ends[1] + 1]
        yield links


def _lines_of(files: Files, kept: BoolArray) -> Iterator[tuple[str, str]]:
    """Yield place and text of the line of each kept pair. Raises DataError for more or fewer lines than pairs."""
    num_lines = 0
    for path in as_list(files):
        for number, line in enumerate(read_text(path, KEY), 1):
            if num_lines < len(kept) and kept[num_lines]:
                yield f"{path}, line {number}", line
            num_lines += 1
    if num_lines != len(kept):
        names = " + ".join(as_list(files))
        raise DataError(
            f"{KEY}: a line for each of the {len(kept)} training pairs is needed; got {num_lines} lines in {names}"
        )


def _align(text: ParallelText, num_tags: int) -> Path:
    """Return a Pharaoh file of the links that eflomal (Östling & Tiedemann 2016) finds in both directions.

    It draws at random, so that another run would find other links; those it found stay in the cache.
    """
    require_aligner(EFLOMAL)
    from eflomal import Aligner

    def make(folder: Path) -> None:
        logger.info("links        eflomal aligns %d training pairs", len(text.source))
        paths = [folder / "forward", folder / "reverse"]
        without_tags = (line.split(maxsplit=num_tags)[-1] if line.strip() else "" for line in text.source)
        # White space that separates words only for Python, or only for eflomal, would shift all words after it.
        sides = ([" ".join(line.split()) for line in side] for side in (without_tags, text.target))
        Aligner().align(*sides, *map(str, paths))
        with open(folder / "links", "w", encoding="ascii") as file:
            for forward, reverse in zip(*(read_text(str(path), KEY) for path in paths), strict=True):
                both = set(reverse.split())
                file.write(" ".join(link for link in forward.split() if link in both) + "\n")

    return cached_folder(entry_name(EFLOMAL, bytes([num_tags]), text.source, text.target), make) / "links"
