"""The file of a shortlist, a vocabulary map of CTranslate2: likely translations of each source token.

Each line has a source token, a tab, and the target tokens that are likely translations of it; those of the empty source
token are always there.
"""

from collections.abc import Mapping
from pathlib import Path

from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.errors import RunError
from nmt.files.reading import read_plain

# Enough for a vocabulary of a quarter of a million tokens with fifty targets each.
MAX_BYTES = 1 << 27
ANY = -1  # in place of a source id: the targets of all sentences
SEPARATORS = frozenset(" \t\n\r")


def read_map(path: Path, tokenizer: Tokenizer) -> dict[int, list[int]]:
    """Return the target ids of each source id, and of ANY.

    Raises RunError for a file that is not there, or not of this tokenizer.
    """
    source_ids, target_ids = (
        {name: i for i, name in written_names(side).items()} for side in (tokenizer.source, tokenizer.target)
    )
    source_ids[""] = ANY
    found: dict[int, list[int]] = {}
    content = read_plain(path, MAX_BYTES)
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            source_id, ids = _parse(line, source_ids, target_ids)
            if source_id in found:
                raise ValueError("a source token for the second time")
        except ValueError as error:
            raise RunError(
                "decoding.shortlist: a source token, a tab and target tokens of this run are needed in each line "
                f"(`nmt shortlist run=DIR overwrite=true` makes them anew); got {error} in line {number} of {path}"
            ) from None
        found[source_id] = ids
    return found


def written_names(vocabulary: Vocabulary) -> dict[int, str]:
    """Return the names, by id, that a file can hold: not special, not empty, and without separators."""
    return {
        i: name
        for i, name in enumerate(vocabulary.pieces)
        if name and i not in vocabulary.special_ids and SEPARATORS.isdisjoint(name)
    }


def _parse(
    line: bytes, source_ids: Mapping[str, int], target_ids: Mapping[str, int]
) -> tuple[int, list[int]]:
    """Return the source id and the target ids of a line. Raises ValueError, with what is wrong."""
    source, *rest = line.decode("utf-8").split("\t")
    if len(rest) != 1:
        raise ValueError(f"{len(rest)} tabs")
    targets = rest[0].split(" ") if rest[0] else []
    unknown = [name for name in targets if name not in target_ids]
    if source not in source_ids or unknown:
        raise ValueError(f"{[source, *unknown][-1][:100]}, which is none,")
    return source_ids[source], [target_ids[name] for name in targets]
