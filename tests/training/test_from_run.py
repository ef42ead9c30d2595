"""A run that starts from another: what it takes over, what is typed instead, and that it needs the other no more."""

import json
import re
import shutil

import pytest
import safetensors.torch
import yaml
from command_line import run_command

SOURCE = ["a b c", "d e", "f g h i j", "k l m n", "a c e g i"] * 6
TARGET = ["x y z w", "z y x w v", "u v w x y", "y z x u", "v w z y"] * 6
# Settings that a child does not take over.
SHORT = (
    "training.max_updates=2", "training.validate_every=2", "training.checkpoint_every=2", "training.log_every=1",
    "decoding=greedy", "decoding.max_length_ratio=1", "decoding.max_length_extra=1", "device=cpu",
    "precision=float32", "optimizer.learning_rate=1e-30",
)  # fmt: skip
PARENT = (
    "model=transformer", "model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.num_encoder_layers=1",
    "model.num_decoder_layers=1", "tokenizer=unigram", "tokenizer.vocabulary_size=30",
    "tokenizer.normalization=nfkc", "data=files", "data.train.source=old.s", "data.train.target=old.t",
    "data.validation.source=valid.s", "data.validation.target=valid.t",
)  # fmt: skip
NEW_TEXT = ("data.train.source=new.s", "data.train.target=new.t")


@pytest.fixture(scope="module")
def parent_folder(tmp_path_factory):
    """Train a tiny parent."""
    folder = tmp_path_factory.mktemp("family")
    for name, part in (("old", slice(0, 20)), ("new", slice(9, 30)), ("valid", slice(0, 4))):
        (folder / f"{name}.s").write_text("\n".join(SOURCE[part]) + "\n")
        (folder / f"{name}.t").write_text("\n".join(TARGET[part]) + "\n")
    done = run_command(["train", "run=parent", *PARENT, *SHORT], folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture
def family(parent_folder, tmp_path):
    """Give each test a parent of its own."""
    shutil.copytree(parent_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def config_of(run):
    return json.loads((run / "config.json").read_text())


def weights_of(run):
    return safetensors.torch.load_file(run / "checkpoints" / "step-000002" / "model.safetensors")


def test_two_new_files_are_all_that_a_child_needs(nmt, family):
    done = nmt("train", "training.from_run=parent", *NEW_TEXT, "run=child", *SHORT)
    parent, child = config_of(family / "parent"), config_of(family / "child")
    assert child["model"] == parent["model"]
    assert child["tokenizer"] == parent["tokenizer"]
    assert child["data"]["train"] == {"source": "new.s", "target": "new.t"}
    assert child["data"]["validation"] == parent["data"]["validation"]
    assert (family / "child" / "tokenizer.model").read_bytes() == (
        family / "parent" / "tokenizer.model"
    ).read_bytes()
    before, after = weights_of(family / "parent"), weights_of(family / "child")
    assert before.keys() == after.keys()
    assert all(before[name].allclose(after[name], rtol=0, atol=1e-20) for name in before)
    assert f"from parent: {len(before)} tensors whole, 0 in part (0 rows), 0 left" in done.stderr.decode()
    # The parent is needed no more.
    shutil.rmtree(family / "parent")
    nmt("train", "run=child", "resume=true", "training.max_updates=3")
    assert nmt("translate", "run=child", stdin=b"a b c\n").stdout.count(b"\n") == 1


def test_text_may_move_while_a_run_rests_but_not_change(nmt, family):
    (family / "moved").mkdir()
    for name in ("old.s", "old.t", "valid.s", "valid.t"):
        (family / name).rename(family / "moved" / name)
    files = {"train": "old", "validation": "valid"}
    typed = [
        f"data.{split}.{side}=moved/{files[split]}.{side[0]}"
        for split in files
        for side in ("source", "target")
    ]
    done = nmt("train", "run=parent", "resume=true", "training.max_updates=4", *typed)
    assert "data.train.source: old.s before, moved/old.s now" in done.stderr.decode()
    assert config_of(family / "parent")["data"]["train"] == {"source": "moved/old.s", "target": "moved/old.t"}
    for other, message in (
        (
            NEW_TEXT,
            "data.train: that of the run's start, 20 pairs, is needed to go on; got another, of 21 pairs",
        ),
        (
            ("data.test.source=moved/valid.s", "data.test.target=moved/valid.t"),
            "data.test: none is needed to go on; got",
        ),
    ):
        refused = nmt("train", "run=parent", "resume=true", "training.max_updates=6", *other, code=2)
        assert f"nmt: {message}" in refused.stderr.decode()
    refused = nmt("train", "run=parent", "resume=true", "training.max_updates=6", "data.max_length=9", code=2)
    assert (
        "nmt: data.max_length: 256, the run's own value, is needed to go on; got 9" in refused.stderr.decode()
    )


@pytest.mark.parametrize(("learning_rate", "is_warned"), [("0.3", True), ("1e-30", False)])
def test_a_child_that_only_forgets_is_warned_of(nmt, family, learning_rate, is_warned):
    learning = (
        "schedule=constant",
        "training.max_updates=60",
        "training.validate_every=60",
        "model.dropout=0",
    )
    nmt("train", *PARENT, *SHORT, *learning, "run=learned", "optimizer.learning_rate=0.03")
    old = ("data.train.source=old.s", "data.train.target=old.t", "schedule=constant")
    done = nmt(
        "train",
        "training.from_run=learned",
        *old,
        "run=child",
        *SHORT,
        f"optimizer.learning_rate={learning_rate}",
    )
    of = {name: (family / name / "metrics.jsonl").read_text().splitlines() for name in ("learned", "child")}
    validations = {
        name: [row for row in map(json.loads, of[name]) if row["kind"] == "validation"] for name in of
    }
    (learned,) = validations["learned"]
    start, *later = validations["child"]
    assert (start["update"], start["bleu"]) == (0, pytest.approx(learned["bleu"]))
    assert [row["update"] for row in later] == [2]
    assert start["bleu"] > 30
    best = json.loads((family / "child" / "best.json").read_text())["step"]
    assert best > 0, "the parent is not a checkpoint of its child"
    assert (f"BLEU was {start['bleu']:.2f} before the first update" in done.stderr.decode()) == is_warned


def test_what_was_typed_lies_on_top(nmt, family):
    typed = ("model.dropout=0.25", "tokenizer.vocabulary_size=28")
    done = nmt("train", "training.from_run=parent", *NEW_TEXT, "run=child", *typed, *SHORT)
    parent, child = config_of(family / "parent"), config_of(family / "child")
    assert child["model"] == {**parent["model"], "dropout": 0.25}
    assert child["tokenizer"] == {**parent["tokenizer"], "vocabulary_size": 28}
    before, after = weights_of(family / "parent"), weights_of(family / "child")
    of_pieces = {name for name in before if len(before[name]) != len(after[name])}
    assert {len(after[name]) for name in of_pieces} == {28}
    assert all(before[name].allclose(after[name], rtol=0, atol=1e-20) for name in before.keys() - of_pieces)
    assert f"{len(before) - len(of_pieces)} tensors whole, {len(of_pieces)} in part" in done.stderr.decode()


@pytest.mark.parametrize("options", [(), ("--plan",)])
def test_a_child_that_computes_otherwise_with_the_same_weights_is_told_so(nmt, family, options):
    typed = ("training.from_run=parent", *NEW_TEXT, "run=child", *SHORT)
    others = (
        "model.positions=rotary",
        "model.norm=post",
        "model.normalization=rms",
        "model.attention_dropout=0.1",
        "model.initial_gain=2",
        "model.zero_start=true",
    )
    done = nmt("train", *options, *typed, *others)
    (note,) = re.findall(r"note +(parent.*)", (done.stdout + done.stderr).decode())
    assert note == (
        "parent computes otherwise with these weights: model.norm=pre there, post here; "
        "model.normalization=layer there, rms here; "
        "model.positions=sinusoidal there, rotary here; "
        "model.zero_start=false there, true here"
    )


def test_another_group_that_was_typed_takes_the_place_of_the_parents(nmt, family):
    done = nmt("train", "training.from_run=parent", "data=grammar", "tokenizer=bpe", "--cfg", "job")
    assert "num_train: 20000" in done.stdout.decode()
    assert "kind: bpe" in done.stdout.decode()
    assert "d_model: 16" in done.stdout.decode()


@pytest.mark.parametrize("options", [(), ("--plan",)])
def test_a_child_that_takes_nothing_over_is_refused(nmt, family, options):
    typed = ("model=attention", "model.d_embedding=8", "model.d_hidden=8")
    done = nmt("train", *options, "training.from_run=parent", *NEW_TEXT, "run=child", *typed, *SHORT, code=2)
    assert done.stderr.decode() == (
        "nmt: training.from_run: a run with matrices of the model's names and shapes is needed; got parent, which "
        "has none; without model=... and model.KEY=... its own model is taken\n"
    )
    assert done.stdout == b""
    assert not (family / "child").exists()


def test_the_plan_says_what_is_taken_over(nmt, family):
    done = nmt("train", "--plan", "training.from_run=parent", *NEW_TEXT, "run=child", *SHORT)
    assert (
        f"start        from parent: {len(weights_of(family / 'parent'))} tensors whole"
        in done.stdout.decode()
    )
    assert not (family / "child").exists()


def test_each_run_of_a_sweep_takes_over_the_same(nmt, family):
    typed = ("training.from_run=parent", *NEW_TEXT, "model.dropout=0.1,0.2", "run=sweep", *SHORT)
    nmt("train", "-m", *typed)
    for number, dropout in enumerate((0.1, 0.2)):
        child = config_of(family / "sweep" / str(number))
        assert child["model"] == {**config_of(family / "parent")["model"], "dropout": dropout}
        assert child["tokenizer"] == config_of(family / "parent")["tokenizer"]
        assert child["data"]["train"]["source"] == "new.s"
    nmt("train", "-m", *typed, "resume=true")
    done = nmt("train", "-m", *typed[1:-1], *SHORT, "training.from_run=last", "run=other", code=2)
    assert done.stderr.startswith(b"nmt: training.from_run: a folder is needed in a sweep")


def test_a_damaged_parent_is_named_by_the_key_that_was_typed(nmt, family):
    (family / "parent" / "config.json").write_text("{}")
    done = nmt("train", "training.from_run=parent", *NEW_TEXT, "run=child", *SHORT, code=2)
    assert done.stderr.startswith(b"nmt: training.from_run: settings of format")
    assert done.stderr.count(b"\n") == 1


def test_a_recipe_without_text_leaves_that_of_the_parent(nmt, family):
    typed = ("train", "training.from_run=parent", "experiment=small", "run=child", "--cfg", "job")
    child = yaml.safe_load(nmt(*typed).stdout)
    assert child["data"] == config_of(family / "parent")["data"]
    recipe = yaml.safe_load(nmt("train", "experiment=small", "--cfg", "job").stdout)
    assert (child["model"], child["tokenizer"]) == (recipe["model"], recipe["tokenizer"])
    # The text of a recipe counts also where it is the default text.
    for name in ("grammar_rnn", "grammar_attention"):
        assert (
            yaml.safe_load(nmt(*typed[:2], f"experiment={name}", *typed[3:]).stdout)["data"]["kind"]
            == "grammar"
        )
    with_text = yaml.safe_load(nmt(*typed[:2], "experiment=demo", *typed[3:]).stdout)
    assert with_text["data"]["kind"] == "grammar"


def test_a_recipe_that_names_a_run_takes_over_from_it(nmt, family):
    (family / "mine" / "experiment").mkdir(parents=True)
    recipe = family / "mine" / "experiment" / "tune.yaml"
    recipe.write_text("# @package _global_\ntraining:\n  from_run: parent\n  max_updates: 2\n")
    typed = ("train", "--config-dir", "mine", "experiment=tune", "run=child", "--cfg", "job")
    child, parent = yaml.safe_load(nmt(*typed).stdout), config_of(family / "parent")
    assert {key: child[key] for key in ("data", "tokenizer", "model")} == {
        key: parent[key] for key in ("data", "tokenizer", "model")
    }
    assert (child["training"]["from_run"], child["training"]["max_updates"]) == ("parent", 2)
    without = yaml.safe_load(nmt(*typed[:-2], "training.from_run=null", *typed[-2:]).stdout)
    assert without["data"]["kind"] == "grammar"
    recipe.write_text("# @package _global_\ntraining:\n  from_run: nowhere\n")
    assert b"training.from_run" in nmt(*typed[:5], "--plan", code=2).stderr


def test_the_figure_that_checkpoints_are_compared_by_stays(nmt, family):
    done = nmt(
        "train", "run=parent", "resume=true", "training.max_updates=3", "evaluation.tokenize=char", code=2
    )
    assert done.stderr == (
        b"nmt: evaluation.tokenize: 13a, the run's own value, is needed to go on; got char\n"
    )
