"""The error rate of an alignment, against its definition; the links made by hand are of words that exist."""

import sys

import pytest
from command_line import SCRIPTS, run_script


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    yield __import__("alignment_error")
    sys.modules.pop("alignment_error")


def test_the_links_made_by_hand_are_of_words_of_the_pairs(module):
    pairs = module.read_aligned(module.HAND_MADE)
    assert len(pairs) == 30
    for pair in pairs:
        assert pair.sure < pair.possible or pair.sure == pair.possible
        assert {target for _, target in pair.possible} == set(range(len(pair.target.split())))
        assert all(0 <= source < len(pair.source.split()) for source, _ in pair.possible)


def test_the_error_rate_is_that_of_its_definition(module):
    pair = module.Aligned("a b", "c d", {(0, 0)}, {(0, 0), (1, 1)})
    assert module.error_rate([{(0, 0), (1, 1)}], [pair]) == (0.0, 1.0, 1.0)
    error, precision, recall = module.error_rate([{(0, 1), (1, 1)}], [pair])
    assert (error, precision, recall) == (pytest.approx(1 - 1 / 3), 0.5, 0.0)


def test_a_run_is_measured(module, trained_run, tmp_path):
    done = run_script("alignment_error", ["--run", str(trained_run)], tmp_path)
    assert done.returncode == 0, done.stderr
    rate = float(done.stdout.split("error rate ")[1].split(",")[0])
    assert 0.3 < rate < 1, "an untrained model knows nothing"
    done = run_script("alignment_error", ["--run", "nowhere"], tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "nmt: run: the folder of a run is needed; got nowhere: no such folder\n",
    )
