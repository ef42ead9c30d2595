"""The state of a search: what is pruned, and what is found again after a kill."""

import json

import pytest

from nmt.sweeps.launching import Sweep
from nmt.sweeps.results import JobRecord
from nmt.sweeps.sweep_folder import held


def test_a_hopeless_run_is_ended(tmp_path):
    """Two runs finish; the third is ended at its second validation, where it is below their median."""
    distributions = pytest.importorskip("optuna").distributions
    from nmt.config import OptunaSweep
    from nmt.sweeps.study import Search

    settings = OptunaSweep(
        kind="optuna",
        trials=4,
        at_once=1,
        cluster=None,
        cluster_options=None,
        random_trials=10,
        prune=True,
        prune_after_trials=2,
        seed=1,
    )
    search, space = (
        Search(settings, tmp_path),
        {"model.dropout": distributions.CategoricalDistribution(["0.1", "0.2"])},
    )
    for best in (30.0, 20.0):
        number, _ = search.ask(space)
        pruner = search.pruner(number)
        assert not any(pruner(update, best * update / 20) for update in (10, 20))
        search.tell(number, JobRecord(setting="", state="finished"), best)
    number, _ = search.ask(space)
    assert not search.pruner(number)(10, 13.0), "above the median of 15 and 10"
    later = Search(settings, tmp_path)
    assert later.begun(space)[0][0] == number, "what has not ended is known to whoever goes on"
    pruner = later.pruner(number)
    assert not pruner(10, 0.0), "what was reported before the interruption stays"
    assert pruner(20, 14.0)
    assert later.pruner(number).has_pruned, "after one more interruption it is over at once"
    later.tell(number, JobRecord(setting="", state="pruned"), 14.0)
    assert later.begun(space) == []
    assert [number for number, _ in later.all(space)] == [0, 1, 2]


@pytest.fixture
def search(tmp_path):
    """Return a search of a single key, with its space."""
    distributions = pytest.importorskip("optuna").distributions
    from nmt.config import OptunaSweep
    from nmt.sweeps.study import Search

    settings = OptunaSweep(
        kind="optuna",
        trials=4,
        at_once=1,
        cluster=None,
        cluster_options=None,
        random_trials=9,
        prune=True,
        prune_after_trials=2,
        seed=1,
    )
    space = {
        "model.dropout": distributions.FloatDistribution(0, 0.4),
        "seed": distributions.CategoricalDistribution(["1", "2"]),
    }
    return lambda: (Search(settings, tmp_path), space)


def test_what_a_kill_left_of_a_line_is_cut(search, tmp_path):
    first, space = search()
    asked = first.ask(space)
    journal = tmp_path / "study.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code":6,"worker_id"')
    second, _ = search()
    assert second.begun(space) == [asked]
    second.ask(space)
    third, _ = search()
    assert len(third.begun(space)) == 2
    assert third.begun(space)[0] == asked


def test_a_run_that_was_half_asked_for_is_none_and_asked_for_anew(search, tmp_path):
    first, space = search()
    first.ask(space)
    _, lost = first.ask(space)
    journal = tmp_path / "study.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))  # without its second key
    second, _ = search()
    assert [number for number, _ in second.begun(space)] == [0]
    assert second.ask(space) == (2, lost)
    assert [number for number, _ in second.all(space)] == [0, 2]
    assert [number for number, _ in second.begun(space)] == [0, 2]


def test_a_run_that_was_pruned_before_a_kill_is_not_gone_on_with(nmt, search, tmp_path, tiny_training):
    overrides = [*tiny_training(), "sweep=optuna", "model.dropout=interval(0,0.4)", "seed=choice(1,2)"]
    with held(tmp_path, overrides, Sweep(overrides, None).settings_hash):
        pass  # a sweep that ended before its first run
    before, space = search()
    number, _ = before.ask(space)
    before.pruner(number).trial.set_user_attr("pruned", True)
    nmt("train", "-m", *overrides, "sweep.trials=1", f"run={tmp_path}", "resume=true")
    assert json.loads((tmp_path / "results.json").read_text())["runs"][0]["state"] == "pruned"
    assert not (tmp_path / "0" / "config.json").exists()


def test_a_search_that_cannot_be_read_leaves_the_results_that_are_there(tmp_path, tiny_training):
    overrides = [
        *tiny_training(),
        "sweep=optuna",
        "model.dropout=interval(0,0.4)",
        f"run={tmp_path / 'sweep'}",
    ]
    assert Sweep(overrides, None).write() == []
    assert not (tmp_path / "sweep").exists()
