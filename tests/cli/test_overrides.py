"""Overrides that cannot be meant: one line that says what is needed, exit code 2, and nothing written."""

import json
import os
import re
from pathlib import Path

import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli.compose import compose
from nmt.cli.keys import said_by
from nmt.cli.run_settings import FIXED
from nmt.cli.value_types import as_string
from nmt.device import require_memory
from nmt.errors import DeviceError, RunError, SettingsError
from nmt.runs.migration import FORMAT

FEW_PAIRS = (
    "data.num_train=100",
    "data.num_validation=4",
    "data.num_test=4",
    "tokenizer.vocabulary_size=100",
)

REFUSED = {
    ("~training",): "training: a value is needed, since no key can be left out; got ~training",
    ("~training.max_updates",): "training.max_updates: a value is needed",
    ("=3",): "KEY=VALUE is needed; got =3",
    ("@=3",): "KEY=VALUE is needed; got @=3",
    (
        "experiment=demo",
        "model=attention",
    ): r"experiment=demo: choices that have model.num_encoder_layers, .*, model.d_ff are needed beside the recipe",
    ("model=attention", "model.dropout=2"): "model.dropout: less than 1 is needed; got 2",
    ("model=attention", "model.attention.score=many"): "model.attention.score: one of .* is needed; got many",
    (
        "model=attention",
        "model.cell=lstn",
    ): r"model.cell: one of lstm, gru, tanh is needed; got lstn; did you mean lstm\?",
    ("optimizer.betas=[0.9]",): r"optimizer.betas: a longer list is needed; got \[0.9\]",
    ("training.max_updates=10k",): "training.max_updates: an integer is needed; got 10k",
    ("training.max_updates=2.5",): "training.max_updates: an integer is needed; got 2.5",
    ("training.label_smoothing=much",): "training.label_smoothing: a number is needed; got much",
    ("deterministic=maybe",): "deterministic: true or false is needed; got maybe",
    ("optimizer.betas=0.9",): r"optimizer.betas: a list, as \[A,B\], is needed; got 0.9",
    ("demo",): "KEY=VALUE is needed; got demo$",
    ("seed", "=", "5"): "KEY=VALUE is needed; got seed; there is no space around =$",
    ("seed=", "5"): "KEY=VALUE is needed; got 5; there is no space around =$",
    (
        "data.train=[a,b",
    ): r'data.train: a value with pairs of quotes and brackets is needed, .*, \["a \(1\)\.de",b\.de\]; got \[a,b$',
    (
        "data=table",
        "data.train=a.tsv,b.tsv",
    ): r"data.train: one value is needed, or a list as data.train=\[A,B\], quotes .* commas, or the option",
    ("model.dropout=0.1,0.2",): "model.dropout: one value is needed, or the option -m for several runs; got",
    (
        "data.filter=clean",
    ): "data.filter: data/filter=NAME is needed for another choice, one of clean, none; got",
    ("device=gpu",): r"device: one of .* is needed; got gpu; did you mean cuda\?",
    ("model.hiden=3",): r"model.hiden: no such key(?!.*\.kind)",
    (
        "model=rnn",
        "model.num_heads=2",
    ): "model.num_heads: no such key with these settings; model=transformer or",
    ("model=null",): "model: one of attention, .* is needed; got null",
    ("experiment=null",): "experiment: one of demo, .* is needed; got null",
    (
        "model.kind=rnn",
    ): "model: model=NAME is needed for another kind, one of attention, .*; got model.kind=rnn",
    ("data.kind=files",): "data: data=NAME is needed for another kind, one of files, .*; got data.kind=files",
    ("run=",): "run: a value is needed, or null where there may be none; got run=",
    ("data/filter=3",): "data/filter: one of clean, none is needed; got 3",
    ("-m", "hydra=null"): "hydra: a key of nmt's is needed, such as sweep.at_once",
    ("-m", "seed=range(1,1)"): r"seed: a choice is needed; got none by seed=range\(1,1\)",
    ("-m", "seed=range(1,2,step=0)"): "seed: a choice is needed; got none by",
    ("-m", "seed=glob(*)"): "seed: a choice is needed; got none by",
    ("-m", "sweep=optuna", "seed=range(1,2,step=0)"): "seed: a choice is needed; got none by",
    ("run=\udcff",): r"run: text in UTF-8 is needed; got '\\udcff'",
    ("tokenizer.model=\udcff",): r"tokenizer.model: text in UTF-8 is needed; got '\\udcff'",
    ("-m", "hydra/launcher=joblib"): "hydra/launcher: a key of nmt's is needed, such as sweep.at_once",
    ("-m", "sweep=grid,optuna"): "sweep: one value is needed for all of the sweep; got sweep=grid,optuna",
    ("hydra.run.dir=xx",): "hydra.run.dir: a key of nmt's is needed, .*; got hydra.run.dir=xx",
    ("sweep.kind=grid",): "sweep.kind: the option -m is needed with it",
    ("training.max_tokens=0",): "training.max_tokens: greater than 0 or auto is needed; got 0",
    ("training.max_tokens=many",): "training.max_tokens: .*integer.* or auto is needed; got many",
    ("optimizer.betas=[1,1]",): r"optimizer.betas: less than 1 is needed; got \[1, 1\]",
    ("optimizer.betas=[0.9,-1]",): r"optimizer.betas: greater than or equal to 0 is needed; got \[0.9, -1\]",
    (
        "decoding.beam_size=4",
        "decoding.num_groups=2",
        "decoding.coverage_penalty=0.1",
    ): "decoding.num_groups: 1 is needed with coverage_penalty, which ranks all hypotheses together; got 2",
    (
        "seed=9223372036854775808",
    ): "seed: less than or equal to 9223372036854775807 is needed; got 9223372036854775808",
    ("decoding.max_length_ratio=0", "decoding.max_length_extra=0"): (
        "decoding.max_length_extra: more than 0 is needed with max_length_ratio=0"
    ),
    (
        "decoding.min_length=9000",
    ): r"decoding.min_length: at most \d+ is needed, the limit of the longest source",
    ("data=hub", "data.path=x", "data.source_column=en"): (
        "data.target_column: another column than that of the source is needed; got en"
    ),
    ("data=multi30k", "data.directory=x", "data.source_language=en"): (
        "data.target_language: another language than that of the source is needed; got en"
    ),
    ("data=files", "data.train.source=x", "data.train.target=x", "data.validation=wmt13:de-en"): (
        "data.train.target: another file than that of the source is needed; got x"
    ),
    ("decoding.protect=[${name}]",): (
        r"decoding.protect: a known name is needed in \$\{…\}, or \\\$\{ for these characters themselves; "
        r"got \[\$\{name\}\]"
    ),
    (
        "model={kind: rnn}",
    ): r"model: model=NAME is needed for another kind, one of attention, .*; got model=\{kind: rnn\}",
    ("model..dropout=0.2",): r"KEY=VALUE is needed; got model\.\.dropout=0\.2",
    (f"seed={'9' * 5000}",): "seed: an integer is needed; got 9",
    ("consistency=r_drop", "model.dropout=0"): "consistency: none is needed with model.dropout=0",
    ("model.d_model=65536", "model.d_ff=65536", *FEW_PAIRS): "model: one that fits into the .* GB of memory",
}

SEARCH = "distillation.search={decoding: beam, beam_size: 3, length_penalty: 0.5}"


@pytest.mark.parametrize(("typed", "expected"), REFUSED.items(), ids=lambda value: value[0])
def test_what_cannot_be_meant_is_refused_in_one_line(main, tmp_path, monkeypatch, typed, expected):
    monkeypatch.chdir(tmp_path)
    code, output, error = main("train", "run=new", "device=cpu", *typed)
    assert (code, output) == (2, "")
    assert re.fullmatch(f"nmt: {expected}.*\n", error), error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option", ["model.attention_dropout=0.1", "model.layer_dropout=0.1", "consistency=simcut"]
)
def test_passes_that_differ_are_a_reason_to_compare_them(option):
    typed = ["consistency=r_drop", "model.dropout=0", option]
    assert compose("train", typed, None).settings()


def test_hard_attention_makes_passes_differ():
    typed = ["consistency=r_drop", "model=attention", "model.dropout=0"]
    with pytest.raises(SettingsError, match="both passes"):
        compose("train", typed, None).settings()
    assert compose("train", [*typed, "model.attention.choice=straight_through"], None).settings()


BEYOND = {
    "schedule=cosine schedule.warmup_updates=100": "schedule.warmup_updates=100 lies beyond training.max_updates=3",
    "schedule=constant teacher_forcing=linear": "teacher_forcing.num_updates=2000 lies beyond training.max_updates=3",
}


@pytest.mark.parametrize(("typed", "note"), BEYOND.items())
def test_what_a_short_training_does_not_reach_is_said(main, tmp_path, monkeypatch, typed, note):
    monkeypatch.chdir(tmp_path)
    common = ["device=cpu", *FEW_PAIRS, "model.d_model=16", "model.d_ff=16", "training.update_tokens=300"]
    told = [
        main("train", "--plan", *common, *typed.split(), f"training.max_updates={number}")
        for number in (3, 2000)
    ]
    assert [code for code, *_ in told] == [0, 0]
    assert [note in output for _, output, _ in told] == [True, False]


def test_who_types_noam_is_told_that_it_sets_the_learning_rate(main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = [
        "schedule=noam",
        "schedule.d_model=100",
        "schedule.warmup_updates=100",
        "optimizer.learning_rate=0.5",
    ]
    _, output, _ = main("train", "--plan", "device=cpu", *FEW_PAIRS, "model=transformer_tiny", *typed)
    assert "schedule=noam sets the learning rate, up to 0.01; optimizer.learning_rate is not used" in output


def test_a_login_is_asked_for_before_anything_is_made(nmt, tmp_path):
    pytest.importorskip("wandb")
    alone = {"WANDB_API_KEY": "", "HOME": str(tmp_path / "home"), "WANDB_MODE": "online"}
    done = nmt("train", "run=new", "tracking=wandb", *FEW_PAIRS, code=2, **alone)
    assert done.stderr.decode().startswith(
        "nmt: tracking: a key of Weights & Biases that its server takes is needed"
    )
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "new").exists()


def test_memory_is_asked_for_as_much_as_a_model_has():
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    require_memory(there // 8, 2, torch.device("cpu"))
    with pytest.raises(
        DeviceError, match=r"model: one that fits into the .* GB of memory of this cpu is needed"
    ):
        require_memory(there // 8 + 1, 2, torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "key", "beside"),
    [
        ("1.10", "run", []),
        ("2024_11_26", "run", []),
        ("1e5", "training.from_run", []),
        ("7", "run", []),
        ("1.10", "data.train", ["data=table"]),
        ("2024_01", "data.directory", ["data=multi30k"]),
        ("12e4567", "data.revision", ["data=hub"]),
        ("1_0", "tokenizer.model", []),
        ("1.0", "training.guided_alignment", []),
        ("1.10", "tracking.project", ["tracking=wandb"]),
        ("1_0", "data.source_column", ["data=table"]),
    ],
)
def test_a_name_is_what_was_typed(name, key, beside):
    values = compose("train", [*beside, f"{key}={name}"], None).values
    for part in key.split("."):
        values = values[part]
    assert str(values) == name


def test_a_path_at_home_is_there_and_quotes_keep_what_they_enclose(monkeypatch):
    monkeypatch.setenv("HOME", "/home/some one")
    typed = ["run=~/runs/a", "data=files", "data.train.source=[~/a.de, ~/b.de]", "data.train.target='~/a.en'"]
    values = compose("train", [*typed, "decoding.protect=['a~/b', 'c,~/d']"], None).values
    assert values["run"] == "/home/some one/runs/a"
    train = values["data"]["train"]
    assert train == {"source": ["/home/some one/a.de", "/home/some one/b.de"], "target": "~/a.en"}
    assert values["decoding"]["protect"] == ["a~/b", "c,~/d"]
    files = compose(
        "train", ["data=hub", "data.path=json", "data.data_files={train: ~/t.jsonl}"], None
    ).values
    assert files["data"]["data_files"] == {"train": "/home/some one/t.jsonl"}


def test_names_in_lists_are_what_was_typed():
    typed = ["training.teacher=[1.10, 2024_11, a]", "data=files", "data.train.source=[1.10,x.de]"]
    values = compose("train", typed, None).values
    assert values["training"]["teacher"] == ["1.10", "2024_11", "a"]
    assert values["data"]["train"]["source"] == ["1.10", "x.de"]
    typed = ["data=files", "data.train.source=[Übung.de, a&b #1.de,x.de]"]
    values = compose("train", typed, None).values
    assert values["data"]["train"]["source"] == ["Übung.de", "a&b #1.de", "x.de"]
    typed = ["data=files", "data.train={source: Übung.de,target: упражнение.en}"]
    values = compose("train", typed, None).values
    assert values["data"]["train"] == {"source": "Übung.de", "target": "упражнение.en"}


def test_names_of_keys_in_braces_and_after_a_plus_are_what_was_typed():
    typed = ["++run=1.10", "data=files", "data.train={source: 1.10,target: 1e5}"]
    values = compose("train", typed, None).values
    assert values["run"] == "1.10"
    assert values["data"]["train"] == {"source": "1.10", "target": "1e5"}
    typed = ["data=hub", "data.path=json", "data.data_files={train: 1.10, validation: '1e5, test: 1_0'}"]
    files = compose("train", [*typed[:2], "data.data_files={train: 1.10, test: x}"], None).values["data"]
    assert files["data_files"] == {"train": "1.10", "test": "x"}
    files = compose("train", typed, None).values["data"]["data_files"]
    assert files["validation"] == "1e5, test: 1_0"
    search = compose("distil", ["data=grammar", "teacher=http://a", "student=b", SEARCH], None).values
    assert search["distillation"]["search"] == {"decoding": "beam", "beam_size": 3, "length_penalty": 0.5}


def test_a_key_of_another_kind_of_data_than_that_of_the_run_is_named(main, tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).write_text("a\n")
    typed = ["data=files"]
    typed += [
        f"data.{split}.{side}={tmp_path / side[0]}"
        for split in ("train", "validation")
        for side in ("source", "target")
    ]
    composed = compose("train", typed, None)
    (tmp_path / "run").mkdir()
    settings = composed.settings().model_dump(mode="json") | {"format": FORMAT}
    (tmp_path / "run" / "config.json").write_text(json.dumps(settings))
    for keys in (["run={}", "resume=true"], ["training.from_run={}"]):
        keys = [key.format(tmp_path / "run") for key in keys]
        code, _, error = main("train", *keys, "data.num_train=5")
        assert (code, error) == (
            2, "nmt: data.num_train: no such key with these settings; data=grammar or data=hub has it\n"
        )  # fmt: skip


def test_files_take_the_place_of_a_test_set_that_the_parent_names(tmp_path):
    typed = ["data=files", "data.train.source=a", "data.train.target=b", "data.validation=wmt13:de-en"]
    settings = compose("train", typed, None).settings().model_dump(mode="json") | {"format": FORMAT}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    own = ["data.validation.source=c", "data.validation.target=d"]
    found = compose("train", [f"training.from_run={tmp_path}", *own], None).settings().data
    assert (found.validation.source, found.validation.target) == ("c", "d")
    assert found.train.source == "a"


def test_a_run_that_a_recipe_names_goes_on_as_one_that_was_typed(main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nrun: mine\nseed: 5\n")
    began = compose("train", ["experiment=mine", "training.update_tokens=300"], str(tmp_path)).settings()
    assert (began.run, began.seed) == ("mine", 5)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text(
        json.dumps(began.model_dump(mode="json") | {"format": FORMAT})
    )
    again = "train", "--config-dir", ".", "experiment=mine", "resume=true", "training.update_tokens=250"
    code, _, error = main(*again)
    message = "nmt: training.update_tokens: 300, the run's own value, is needed to go on; got 250\n"
    assert (code, error) == (2, message)


def test_a_recipe_of_ones_own_is_used_or_refused(main, tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "model").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("training:\n  max_updates: 7\n")
    (tmp_path / "experiment" / "wrong.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /model: nope\n"
    )
    (tmp_path / "model" / "own.yaml").write_text("defaults:\n  - transformer\n  - _self_\nd_model: 64\n")
    for typed, message in (
        (["experiment=mine"], "experiment=mine: a first line `# @package _global_` is needed in its file"),
        (["experiment=wrong"], "In 'train': Could not find 'model/nope'"),
        (["model=own", "mdoel.d_model=1"], "mdoel.d_model: no such key; did you mean model.d_model?"),
        (["model=owm"], "model: one of attention, own, "),
        (["experiment=demoo"], "experiment: one of demo, "),
    ):
        code, _, error = main("train", "--config-dir", str(tmp_path), *typed, "--plan")
        assert (code, error.count("\n")) == (2, 1)
        assert error.startswith(f"nmt: {message}"), error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("training:\n  # max_updates: 7\n", "training: a group of keys is needed; got null"),
        ("training: 5\n", "training: a group of keys is needed; got 5"),
        ("model: 5\n", "model: a group of keys is needed; got 5"),
        ("sweep: 5\n", "sweep: a group of keys is needed; got 5"),
        ("run: [a]\n", "run: text is needed; got [a]"),
        ("training:\n  from_run: {a: 1}\n", "training.from_run: text is needed; got {a: 1}"),
    ],
)
def test_a_recipe_with_another_kind_of_value_is_refused(content, message, main, tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own.yaml").write_text(f"# @package _global_\n{content}")
    code, _, error = main("train", "--config-dir", str(tmp_path), "experiment=own", "--plan")
    assert (code, error) == (2, f"nmt: {message}\n")


# A change of each of the keys that a training which goes on cannot change; `distillation` and the like are a student's.
OTHER_VALUES = {
    "seed": "seed=2",
    "data": "data.num_train=299",
    "tokenizer": "tokenizer.vocabulary_size=150",
    "model": "model.d_model=32",
    "training.update_tokens": "training.update_tokens=999",
    "training.subword_sampling": "training.subword_sampling=0.1",
    "training.from_run": "training.from_run=other",
    "training.source_vectors": "training.source_vectors=x",
    "training.target_vectors": "training.target_vectors=x",
    "evaluation.lowercase": "evaluation.lowercase=true",
    "evaluation.tokenize": "evaluation.tokenize=char",
}


@pytest.mark.parametrize("key", sorted(set(FIXED) - {"distillation", "align"}))
def test_what_decides_a_run_cannot_change_when_it_goes_on(trained_run, key):
    given = [f"run={trained_run}", "resume=true"]
    compose("train", given, None).settings()
    with pytest.raises(
        RunError, match=rf"^{re.escape(key)}[a-z_.]*: .*, the run's own value, is needed to go on; got "
    ):
        compose("train", [*given, OTHER_VALUES[key]], None).settings()


def test_the_page_on_reliability_names_all_that_cannot_change():
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    paragraph = page.split("accepts changes of every setting except")[1].split("Changed settings")[0]
    assert set(re.findall(r"`([a-z_.]+)`", paragraph)) == OTHER_VALUES.keys()


@given(st.text(st.sampled_from("a\\'\" ,=[]{}$"), max_size=12).filter(lambda text: "${" not in text))
def test_a_text_in_quotes_is_read_as_it_was(text):
    read = OverridesParser.create().parse_override(f"run={as_string(text)}")
    assert read.value() == text


def test_words_and_a_list_of_the_same_key_are_not_mixed(main):
    code, output, error = main("compare", "runs=[a]", "b")
    assert (code, output) == (2, "")
    assert error == "nmt: runs: all of them as words, or all as runs=[A,B], are needed; got runs=[a] and b\n"


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [("defaults: 5\nseed: 1\n", {"seed"}), ("run: 2024-02-30\n", set()), ("- seed\n", set())],
)
def test_what_hydra_refuses_in_a_recipe_is_left_to_it(tmp_path, recipe, expected):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(recipe)
    assert said_by("mine", str(tmp_path)) == expected
