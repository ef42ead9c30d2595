"""Two runs that read the lines before a line, each of seconds: one has learned from them, the other has hardly begun."""

import random

import pytest
from command_line import run_command
from lines_before import TRAINING, TWO_LINES, names_of, write_documents, write_lines


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Train a model that reads the line before, within seconds; the folder holds the run and its text."""
    folder, draw = tmp_path_factory.mktemp("documents"), random.Random(0)
    for split, size in (("train", 100), ("validation", 5), ("test", 20)):
        write_documents(folder, split, size, draw)
    done = run_command(["train", "run=run", *names_of(folder), *TRAINING], folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture(scope="module")
def whole(learned):
    """The translation of the test text by the real command line."""
    done = run_command(["translate", "run=run", f"input={learned}/test.source"], learned)
    return done.stdout.decode().split("\n")[:-1]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, tiny_training):
    """Train a model that reads up to two lines before each line for two updates; what it says is of no worth."""
    folder = tmp_path_factory.mktemp("tiny")
    for split, size in (("train", 300), ("validation", 30), ("test", 40)):
        write_lines(folder, split, size)
    sizes = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    done = run_command(
        [
            "train",
            "run=run",
            *names_of(folder),
            *sizes,
            *TWO_LINES,
            "training.max_updates=2",
            "precision=float32",
        ],
        folder,
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder
