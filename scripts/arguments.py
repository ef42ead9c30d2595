"""What several programs here share of a command line: types of arguments, and errors in a line."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import UserError


def positive(text: str) -> int:
    """Read a whole number that is at least 1. Raises ValueError for any other text."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def seed(text: str) -> int:
    """Read a seed of random numbers. Raises ValueError for any other text."""
    if not 0 <= (number := int(text)) < 1 << 63:
        raise ValueError
    return number


def file_to_write(text: str) -> Path:
    """Read the name of a file to write. Raises ArgumentTypeError, before any training, if it cannot be written."""
    if Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"a file is needed; got {text}, which is a folder")
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"an existing folder is needed; got {Path(text).parent}")
    return Path(text)


@contextmanager
def in_one_line() -> Iterator[None]:
    """Within the block, end the program at a UserError with its line instead of a traceback, as `nmt` does."""
    try:
        yield
    except UserError as error:
        print(f"nmt: {error}", file=sys.stderr)
        sys.exit(2)
