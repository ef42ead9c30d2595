"""A run that stopped and went on ends where one that never stopped does."""

import json
import shutil

import pytest
from safetensors.torch import load_file


def tensors(run, step):
    folder = run / "checkpoints" / f"step-{step:06d}"
    return {
        f"{name}:{key}": value
        for name in ("model", "training")
        for key, value in load_file(folder / f"{name}.safetensors").items()
    }


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("transformer", ["model.dropout=0.3", "training.max_tokens=90"]),
        ("attention", ["training.teacher_forcing_ratio=0.5"]),
        (
            "transformer",
            [
                "consistency=r_drop",
                "training.subword_sampling=0.1",
                "training.ema_decay=0.9",
                "teacher_forcing=linear",
                "model.layer_dropout=0.2",
                "model.attention_dropout=0.1",
            ],
        ),
        (
            "attention",
            ["model.attention.choice=score_function", "consistency=none", "training.ema_decay=0.9"],
        ),
    ],
)
def test_resumed_run_is_bit_identical(nmt, tmp_path, tiny_training, kind, options):
    shared = [*tiny_training(kind), *options, "device=cpu", "training.update_tokens=900"]
    nmt("train", "run=whole", *shared, "training.max_updates=22", "training.validate_every=5")
    whole = tmp_path / "whole"
    # Stopped within the second epoch, off every interval, and again after one update more.
    for last in (13, 14, 22):
        nmt(
            "train",
            "run=parts",
            "resume=true",
            *shared,
            f"training.max_updates={last}",
            "training.validate_every=5",
        )
    state = json.loads((whole / "checkpoints" / "step-000022" / "state.json").read_text())
    assert state["epoch"] >= 1
    expected, found = tensors(whole, 22), tensors(tmp_path / "parts", 22)
    assert expected.keys() == found.keys()
    assert any(key.startswith("training:") and key.endswith("exp_avg_sq") for key in expected)
    assert [key for key, value in expected.items() if not value.equal(found[key])] == []
    rows = [json.loads(line) for line in (tmp_path / "parts" / "metrics.jsonl").read_text().split("\n")[:-1]]
    losses = {row["update"]: row["loss"] for row in rows if row["kind"] == "training"}
    whole_rows = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert losses == {row["update"]: row["loss"] for row in whole_rows if row["kind"] == "training"}


def test_another_seed_gives_another_model(nmt, tmp_path, tiny_training):
    nmt("train", "run=one", *tiny_training(), "training.max_updates=2")
    nmt("train", "run=two", *tiny_training(), "training.max_updates=2", "seed=2")
    one, two = tensors(tmp_path / "one", 2), tensors(tmp_path / "two", 2)
    assert not any(one[key].equal(two[key]) for key in one if key.endswith("query_key_value.weight"))


def test_best_and_newest_checkpoints_are_kept(nmt, tmp_path, tiny_training):
    nmt("train", "run=run", *tiny_training(), "training.max_updates=12", "training.keep_checkpoints=2",
        "training.patience=null")  # fmt: skip
    steps = sorted(int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").iterdir())
    best = json.loads((tmp_path / "run" / "best.json").read_text())["step"]
    assert steps == sorted({best, 10, 12})
    assert json.loads((tmp_path / "run" / "last.json").read_text()) == {"step": 12}


def test_training_stops_for_want_of_patience_or_time(nmt, tmp_path, tiny_training):
    shared = [option for option in tiny_training() if "max_updates" not in option]
    done = nmt("train", "run=patient", *shared, "training.max_updates=500", "training.patience=2")
    assert b"training.patience=2 validations without a better BLEU" in done.stderr
    done = nmt("train", "run=timed", *shared, "training.max_updates=100000", "training.max_seconds=2",
               "training.validate_every=100000")  # fmt: skip
    assert b"training.max_seconds=2" in done.stderr
    done = nmt("train", "run=epoch", *shared, "training.max_updates=100000", "training.max_epochs=1",
               "training.patience=null")  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "epoch" / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert rows[-1]["epoch"] == 1
    assert b"training.max_epochs=1" in done.stderr


def test_a_run_from_another_starts_from_it_again_where_it_stopped_before_its_first_checkpoint(
    nmt, tmp_path, tiny_training
):
    nmt("train", "run=parent", *tiny_training())
    nmt("train", "run=child", *tiny_training(), "training.from_run=parent")
    rows = (tmp_path / "child" / "metrics.jsonl").read_text().split("\n")
    shutil.rmtree(tmp_path / "child" / "checkpoints")
    (tmp_path / "child" / "last.json").unlink()
    nmt("train", "run=child", "resume=true")
    assert (tmp_path / "child" / "metrics.jsonl").read_text().split("\n")[0].split('"loss"')[1].split(",")[
        0
    ] == (rows[0].split('"loss"')[1].split(",")[0])
    message = nmt("train", "run=child", "resume=true", "training.from_run=null", code=2).stderr
    assert b"training.from_run: parent, the run's own value, is needed to go on; got None" in message
