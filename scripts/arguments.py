"""Types of command-line arguments that several programs here share."""

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """Read a whole number that is at least 1. Raises ValueError for any other text."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def file_to_write(text: str) -> Path:
    """Read the name of a file to write. Raises ArgumentTypeError, before any training, if it cannot be written."""
    if Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"a file is needed; got {text}, which is a folder")
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"an existing folder is needed; got {Path(text).parent}")
    return Path(text)
