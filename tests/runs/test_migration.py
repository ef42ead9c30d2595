"""Runs that an older version wrote stay of use."""

import json

import pytest
import safetensors.torch

from nmt.cli.compose import compose
from nmt.decoding.search_settings import choose_search
from nmt.files.writing import MANIFEST, file_facts
from nmt.runs.directory import MODEL_WEIGHTS, TRAINING_TENSORS, RunDirectory
from nmt.runs.migration import FORMAT, current_name, migrate

# Keys that format 1 did not know.
NEW_OF_MODEL = (
    "num_key_value_heads", "normalization", "max_relative_distance", "attention_dropout", "activation_dropout",
    "layer_dropout", "initial_gain",
)  # fmt: skip
NEW_OF_ATTENTION = (
    "location_positions", "num_heads", "span", "window", "choice", "temperature", "coverage",
)  # fmt: skip
NEW_OF_TRAINING = (
    "subword_sampling", "ema_decay", "from_run", "source_vectors", "target_vectors", "freeze",
    "max_updates_skipped", "guided_alignment", "guided_alignment_weight", "teacher", "teacher_weight",
)  # fmt: skip


def old_name(name):
    """Return what format 1 called a parameter."""
    for side, positions in (("encoder", "source"), ("decoder", "target")):
        name = name.replace(f"{side}.positions.table.", f"{positions}_positions.")
        name = name.replace(f"{side}.layers.", f"{side}.").replace(f"{side}.norm.", f"{side}_norm.")
    return name


def test_a_run_keeps_the_normalisation_that_it_was_trained_with(nmt, trained_run, tmp_path):
    config = json.loads((trained_run / "config.json").read_text())
    config["tokenizer"]["normalization"] = "identity"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    done = nmt("train", "run=run", "resume=true", "--cfg", "job")
    assert b"normalization: identity" in done.stdout


def make_old(run):
    """Turn a run into what format 1 would have written."""
    config = json.loads((run / "config.json").read_text())
    for key in ("teacher_forcing", "consistency", "deterministic"):
        del config[key]
    del config["data"]["filter"], config["data"]["augment"]
    for key in NEW_OF_MODEL:
        config["model"].pop(key, None)
    for key in NEW_OF_ATTENTION:
        config["model"].get("attention", {}).pop(key, None)
    del config["evaluation"]["ter_case_sensitive"]
    for key in NEW_OF_TRAINING:
        del config["training"][key]
    (run / "config.json").write_text(json.dumps(config | {"format": 1}))
    for folder in (run / "checkpoints").iterdir():
        weights = safetensors.torch.load_file(folder / MODEL_WEIGHTS)
        if config["model"]["kind"] == "transformer":
            weights = {old_name(name): tensor for name, tensor in weights.items()}
        safetensors.torch.save_file(weights, folder / MODEL_WEIGHTS)
        state = safetensors.torch.load_file(folder / TRAINING_TENSORS)
        if config["model"]["kind"] == "transformer":
            state = {old_name(name): tensor for name, tensor in state.items()}
        safetensors.torch.save_file(state, folder / TRAINING_TENSORS)
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest |= {name: file_facts(folder / name) for name in (MODEL_WEIGHTS, TRAINING_TENSORS)}
        (folder / MANIFEST).write_text(json.dumps(manifest))
    return weights


def goes_on_and_averages(nmt, run):
    """Train on, so that checkpoints of both formats are there."""
    nmt("train", "run=run", "resume=true", "training.max_updates=6")
    state = safetensors.torch.load_file(run / "checkpoints" / "step-000006" / TRAINING_TENSORS)
    assert {float(value) for name, value in state.items() if name.endswith("/step")} == {6.0}
    assert nmt("translate", "run=run", "checkpoint=average", stdin=b"Hund\n").stdout.count(b"\n") == 1


@pytest.mark.slow
def test_an_older_transformer_translates_as_before(nmt, tmp_path, tiny_training):
    nmt("train", "run=run", *tiny_training(), "model.positions=learned")
    before = nmt("translate", "run=run", stdin="Der Hund schläft.\n".encode()).stdout
    weights = make_old(tmp_path / "run")
    assert {"encoder.0.self_attention.query_key_value.weight", "decoder_norm.weight"} <= weights.keys()
    assert "source_positions.weight" in weights
    assert nmt("translate", "run=run", stdin="Der Hund schläft.\n".encode()).stdout == before
    assert b"BLEU" in nmt("evaluate", "run=run").stdout
    goes_on_and_averages(nmt, tmp_path / "run")


@pytest.mark.slow
def test_an_older_attention_run_translates_as_before(nmt, tmp_path, tiny_training):
    nmt("train", "run=run", *tiny_training("attention"))
    before = nmt("translate", "run=run", stdin=b"Hund\n").stdout
    make_old(tmp_path / "run")
    assert nmt("translate", "run=run", stdin=b"Hund\n").stdout == before
    goes_on_and_averages(nmt, tmp_path / "run")


@pytest.mark.parametrize("command", ["translate", "train"])
def test_hard_attention_by_the_score_function_is_refused_with_what_to_do(
    command, main, tmp_path, monkeypatch, tiny_training
):
    monkeypatch.chdir(tmp_path)
    run = RunDirectory("run")
    run.path.mkdir()
    run.write_config(compose("train", [*tiny_training("attention")], None).settings())
    config = json.loads(run.config_path.read_text())
    config["model"]["attention"]["choice"] = "score_function"
    run.config_path.write_text(json.dumps(config))
    code, out, error = main(command, "run=run", *(["resume=true"] if command == "train" else []))
    assert code == 2
    assert error == (
        "nmt: run: model.attention.choice of soft or straight_through is needed, since hard attention by the score "
        "function is no longer there; got score_function in run/config.json; a new run with "
        "model.attention.choice=straight_through learns hard attention\n"
    )
    assert [path.name for path in run.path.iterdir()] == ["config.json"]
    assert out == ""


@pytest.mark.parametrize("lowercase", [False, True])
def test_ter_of_an_older_run_stays_as_it_was(lowercase):
    """Its TER was case-sensitive where its BLEU was."""
    config = {"format": 4, "model": {}, "training": {}, "evaluation": {"lowercase": lowercase}}
    assert migrate(config)["evaluation"] == {"lowercase": lowercase, "ter_case_sensitive": not lowercase}


def test_an_older_student_learns_as_before():
    config = {"format": 10, "model": {}, "training": {"log_every": 7}, "distillation": {"original": True}}
    found = migrate(config)
    assert found["distillation"] == {"original": True, "words": False, "server_temperature": None}
    assert found["training"].items() >= {"log_every": 7, "teacher": None}.items()


@pytest.mark.parametrize("kind", ["beam", "greedy"])
def test_an_older_run_searches_as_before(kind):
    config = {"format": 5, "model": {}, "training": {}, "decoding": {"kind": kind, "max_length_extra": 7}}
    decoding = migrate(config)["decoding"]
    assert decoding["max_length_extra"] == 7
    assert (decoding["repetition_penalty"], decoding["no_repeat_ngram_size"]) == (1.0, None)
    assert decoding["shortlist"] is False
    assert decoding.get("early_stopping") is (True if kind == "beam" else None)
    assert decoding.keys() <= choose_search(kind).model_dump().keys()


def test_settings_of_this_format_and_names_of_this_version_stay():
    config = {"format": FORMAT, "model": {"kind": "transformer"}}
    assert migrate(config) == config
    assert migrate({"format": 99}) == {"format": 99}
    hub = {"format": 3, "model": {}, "training": {}, "data": {"kind": "hub", "path": "x"}}
    assert migrate(hub)["data"].items() >= {"path": "x", "streaming": False, "num_train": None}.items()
    augmented = hub | {"format": 11, "data": {"kind": "hub", "augment": {"typos": 0.1}}}
    assert migrate(augmented)["data"]["augment"].items() >= {"typos": 0.1, "exchange": 0.0}.items()
    for name in (
        "encoder.layers.0.self_attention.output.weight",
        "decoder.norm.weight",
        "encoder.0.weight_ih_l0",
    ):
        assert current_name(name) == name
