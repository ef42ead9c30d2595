"""Searches of settings by the real command line."""

import json

import pytest
from sweep_outcomes import results_of


def searched(run):
    return {key: value for key, value in run.items() if key in ("job", "setting", "state", "validation_bleu")}


@pytest.mark.slow
def test_a_search_goes_on_as_if_it_had_not_been_interrupted(nmt, tmp_path, learnable):
    pytest.importorskip("optuna")
    command = [
        *learnable, "sweep=optuna", "sweep.random_trials=2", "sweep.prune_after_trials=1",
        "model.dropout=interval(0,0.4)", "optimizer.learning_rate=tag(log,interval(1e-6,1e-1))",
        "model.num_encoder_layers=int(interval(1,2))", "model.norm=pre,post", "training.validate_every=10",
    ]  # fmt: skip
    nmt("train", "-m", *command, "run=whole", "sweep.trials=4", timeout=250)
    nmt("train", "-m", *command, "run=parts", "sweep.trials=2", timeout=250)
    nmt("train", "-m", *command, "run=parts", "sweep.trials=4", "resume=true", timeout=250)
    whole, parts = (results_of(tmp_path / name)["runs"] for name in ("whole", "parts"))
    assert [searched(run) for run in whole] == [searched(run) for run in parts]
    assert len(whole) == 4
    for run in whole:
        values = dict(part.split("=") for part in run["setting"].split())
        assert 0 <= float(values["model.dropout"]) <= 0.4
        assert 1e-6 <= float(values["optimizer.learning_rate"]) <= 0.1
        assert values["model.num_encoder_layers"] in ("1", "2")
        assert values["model.norm"] in ("pre", "post")
    assert len({run["setting"] for run in whole}) == 4
    assert b"pickle" not in (tmp_path / "whole" / "study.jsonl").read_bytes()
    for line in (tmp_path / "whole" / "study.jsonl").read_text().splitlines():
        json.loads(line)


def test_what_failed_in_a_search_is_tried_again(nmt, tmp_path, learnable):
    pytest.importorskip("optuna")
    command = [
        *learnable, "training.max_updates=2", "sweep=optuna", "sweep.trials=1", "model.dropout=interval(0,0.4)",
        "run=sweep",
    ]  # fmt: skip
    (tmp_path / "train.t").rename(tmp_path / "elsewhere")
    nmt("train", "-m", *command, code=1)
    (failed,) = results_of(tmp_path / "sweep")["runs"]
    assert failed["state"] == "failed"
    (tmp_path / "elsewhere").rename(tmp_path / "train.t")
    nmt("train", "-m", *command, "resume=true")
    (finished,) = results_of(tmp_path / "sweep")["runs"]
    assert (finished["state"], finished["setting"]) == ("finished", failed["setting"])
