"""The built-in corpus with default settings, made once for all of its tests."""

import csv
from pathlib import Path

import pytest

from nmt.grammar import Pair, generate

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def corpus() -> dict[str, list[Pair]]:
    return generate()


@pytest.fixture(scope="session")
def pairs(corpus) -> list[Pair]:
    """The pairs that are written with care."""
    return [pair for split in corpus.values() for pair in split if is_careful(pair)]


def is_careful(pair: Pair) -> bool:
    return pair.source.endswith((".", "?")) and not pair.source.isupper() and not pair.source.islower()


@pytest.fixture(scope="session")
def table():
    """Return a function that reads a table of this folder, written by hand."""

    def read(name: str) -> list[dict[str, str]]:
        with (HERE / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    return read


@pytest.fixture(scope="session")
def careful():
    """Return a function that says whether a pair is written with care."""
    return is_careful
