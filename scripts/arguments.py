"""What the programs here read from their command lines alike."""

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """Read a number that is at least 1."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def file_to_write(text: str) -> Path:
    """Read a file's name; a folder that is not there is better found before training than after it."""
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"an existing folder is needed; got {Path(text).parent}")
    return Path(text)
