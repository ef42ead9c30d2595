"""Files of a stranger's folder, each checked as it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.errors import RunError
from nmt.files.reading import parse_json, read_plain, require_plain
from nmt.runs.directory import MAX_TOKENIZER_BYTES


def require_folder(folder: Path, names: list[str]) -> None:
    """Raise RunError unless a folder holds only folders and plain files, the files `names` among them."""
    if not folder.is_dir():
        raise RunError(f"run: a folder is needed; got {folder}, which is none")
    require_plain(folder)
    for name in names:
        if not (folder / name).is_file():
            raise RunError(f"run: a folder with {name} is needed; got {folder}, which has none")


def read_model(path: Path) -> bytes:
    """Return the bytes of a SentencePiece model, not yet parsed. Raises RunError for a file that is too large."""
    return read_plain(path, MAX_TOKENIZER_BYTES)


def read_numbers(path: Path) -> dict[str, int]:
    """Return the numbers of N pieces from a JSON file. Raises RunError unless they are 0 to N - 1, each once."""
    return require_numbers(parse_json(read_plain(path, MAX_TOKENIZER_BYTES), path), path)


def require_numbers(numbers: Mapping[Any, Any], path: Path) -> dict[str, int]:
    """Return the numbers of N pieces. Raises RunError unless they are 0 to N - 1, each once."""
    if not all(isinstance(piece, str) and type(number) is int for piece, number in numbers.items()):
        raise RunError(f"run: a number for each piece is needed; got something else in {path}")
    if sorted(numbers.values()) != list(range(len(numbers))):
        raise RunError(f"run: each number from 0 to {len(numbers) - 1} once is needed; got others in {path}")
    return dict(numbers)
