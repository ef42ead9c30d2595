"""The formats that a run can be made of, and what reads each."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from nmt.imports.imported import Imported

READERS = {"huggingface": "nmt.imports.huggingface", "marian": "nmt.imports.marian"}


def reader_of(name: str) -> Callable[[Path], Imported]:
    """Return the function that reads a folder of a format, one of `READERS`. It raises RunError for any other."""
    read: Callable[[Path], Imported] = import_module(READERS[name]).read
    return read
