"""The other model learns from the same pairs for a given time, and both are scored as `nmt evaluate` scores a run."""

import json
import shutil

import pytest
from command_line import run_script


def test_a_run_that_the_other_model_cannot_be_compared_with_is_said_in_a_line(nmt, tiny_training, tmp_path):
    pytest.importorskip("transformers")
    nmt("train", "run=rnn", *tiny_training("rnn"), "training.max_updates=1")
    for name, message in (
        ("nowhere", "run: the folder of a run is needed; got nowhere: no such folder"),
        ("rnn", "run: a Transformer with one vocabulary for both sides is needed; got rnn"),
    ):
        done = run_script("compare_huggingface", [name], tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"nmt: {message}\n")


def test_without_a_place_to_keep_what_is_learned_a_run_needs_its_checkpoint_first(
    nmt, tiny_training, tmp_path
):
    pytest.importorskip("transformers")
    nmt("train", "run=run", *tiny_training(), "tokenizer.joint=true", "training.max_updates=1")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    done = run_script("compare_huggingface", ["run", "--seconds", "1000"], tmp_path)
    message = "nmt: run: a run with a checkpoint is needed; got run, which holds no model yet\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.slow
def test_both_translate_both_texts_and_are_scored_alike(nmt, tiny_training, tmp_path):
    pytest.importorskip("transformers")
    nmt("train", "run=run", *tiny_training(), "tokenizer.joint=true")
    arguments = ["run", "--seconds", "2", "--state", "state", "--json", "out.json"]
    done = run_script("compare_huggingface", arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    # Its time is over: nothing more is learned.
    done = run_script("compare_huggingface", arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "out.json").read_text())
    assert again.pop("other")["updates"] == found["other"]["updates"]
    assert again.items() <= found.items()
    arguments[2] = "3"
    done = run_script("compare_huggingface", arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    gone_on = json.loads((tmp_path / "out.json").read_text())["other"]
    assert gone_on["updates"] > found["other"]["updates"]
    assert gone_on["seconds"] >= 3
    done = run_script("compare_huggingface", [*arguments, "--learning-rate", "0.01"], tmp_path)
    assert done.returncode == 2
    assert "the learning rate of now is needed to go on; got that of others in state" in done.stderr
    assert found["other"]["updates"] >= 1
    assert found["other"]["target tokens"] > 0
    own_settings = json.loads((tmp_path / "run" / "config.json").read_text())["model"]
    assert own_settings["activation_dropout"] is None
    assert found["settings of the other"]["activation_dropout"] == own_settings["dropout"] > 0
    for split in ("validation", "test"):
        nmt("evaluate", "run=run", f"split={split}", "json=own.json", "overwrite=true")
        own = json.loads((tmp_path / "own.json").read_text())
        assert found[f"{split} nmt"]["BLEU"] == own["bleu"]
        assert len(found[f"{split} Hugging Face"]["translations"]) == own["num_lines"]
