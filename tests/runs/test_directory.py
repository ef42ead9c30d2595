"""Which checkpoints a run has, by the numbers in their names."""

import pytest

from nmt.cli.compose import compose
from nmt.files.writing import MANIFEST
from nmt.runs.directory import RunDirectory


@pytest.fixture
def make_run(tmp_path):
    """Return a function that makes a run with empty checkpoints of given updates; its setting is to keep two."""

    def make(*updates):
        run = RunDirectory(tmp_path)
        for update in updates:
            run.step_path(update).mkdir(parents=True)
            (run.step_path(update) / MANIFEST).write_text("{}")
        run.write_config(compose("train", ["run=run", "training.keep_checkpoints=2"], None).settings())
        return run

    return make


def test_updates_are_in_the_order_of_their_numbers_not_of_their_names(make_run):
    run = make_run(1_000_000, 999_999)
    assert run.steps() == [999_999, 1_000_000]
    assert run.find_checkpoints("last") == [run.step_path(1_000_000)]


def test_averaged_are_as_many_of_the_newest_as_are_kept(make_run):
    run = make_run(2, 8, 10)
    assert run.find_checkpoints("average") == [run.step_path(8), run.step_path(10)]
