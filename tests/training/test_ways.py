"""Ways of training, combined: every pair of them trains, and resumes after a stop as if there had been none."""

import functools
import math

import pytest
import torch
from pairwise import pairwise

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.sources import load_corpus
from nmt.data.tokenizer import obtain_tokenizer
from nmt.errors import SettingsError
from nmt.models.build import build_model
from nmt.runs.directory import RunDirectory
from nmt.training.checkpoint import load_checkpoint, save_checkpoint
from nmt.training.initialisation import freeze
from nmt.training.pairs import training_pairs
from nmt.training.ranks import Ranks
from nmt.training.step import TrainingStep
from nmt.training.trainer import Trainer

MODELS = {
    "rnn": ("model=rnn", "model.d_embedding=8", "model.d_hidden=8"),
    "soft": ("model=attention", "model.d_embedding=8", "model.d_hidden=8", "model.attention.d_attention=8"),
    "hard": (
        "model=attention", "model.d_embedding=8", "model.d_hidden=8", "model.attention.d_attention=8",
        "model.attention.choice=straight_through",
    ),
    "transformer": (
        "model=transformer", "model.d_model=8", "model.d_ff=8", "model.num_heads=2", "model.layer_dropout=0.2",
        "model.num_encoder_layers=2", "model.num_decoder_layers=2", "model.attention_dropout=0.1",
    ),
}  # fmt: skip
WAYS = {
    "model": tuple(MODELS),
    "teacher_forcing": ("constant", "linear", "exponential", "inverse_sigmoid"),
    "consistency": ("none", "r_drop", "simcut"),
    "training.subword_sampling": ("null", "0.1"),
    "tokenizer": ("bpe", "unigram"),
    "training.ema_decay": ("null", "0.9"),
    "training.freeze": ("[]", "[encoder]"),
    "training.max_tokens": ("1000", "40"),
    "training.label_smoothing": ("0", "0.1"),
}
SAMPLES_SOON = "teacher_forcing.num_updates=4"


@functools.cache
def text_and_tokenizer(data, tokenizer):
    """Read a corpus and train a tokenizer once: no way of training changes them."""
    corpus = load_corpus(data)
    return corpus, obtain_tokenizer(tokenizer, corpus.train)


def make_trainer(ways, folder):
    overrides = [*MODELS[ways["model"]], *(f"{key}={value}" for key, value in ways.items() if key != "model")]
    small = [
        "data.num_train=300", "data.num_validation=5", "data.num_test=5", "tokenizer.vocabulary_size=200",
        "training.update_tokens=240", "schedule=constant",
        *([] if ways["teacher_forcing"] == "constant" else [SAMPLES_SOON]),
    ]  # fmt: skip
    settings = check(TrainSettings, compose("train", [*small, *overrides], None).values)
    corpus, tokenizer = text_and_tokenizer(settings.data, settings.tokenizer)
    dataset, device = load_dataset(corpus.train, tokenizer), torch.device("cpu")
    selected, _ = select_pairs(dataset, 20)
    torch.manual_seed(0)
    model = build_model(settings.model, tokenizer)
    freeze(model, settings.training.freeze)
    pairs = training_pairs(settings, dataset, selected, tokenizer, device)
    validation = (corpus.validation, load_dataset(corpus.validation, tokenizer))
    step = TrainingStep(settings, model, tokenizer, pairs, device, torch.float32, Ranks())
    return Trainer(step, RunDirectory(folder), validation)


def weights(trainer):
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}


@pytest.mark.parametrize("ways", pairwise(WAYS), ids=lambda ways: "-".join(ways.values()))
def test_every_pair_of_ways_learns_and_goes_on_as_if_never_stopped(ways, tmp_path):
    trainer = make_trainer(ways, tmp_path)
    first, updates = weights(trainer), iter(trainer._updates())
    for number in (1, 2, 3):
        figures = trainer.step.run(number, next(updates))
        assert math.isfinite(figures.total)
        assert 0 < figures.gradient_norm < math.inf
    trainer.progress.update = 3
    now = weights(trainer)
    is_frozen = {name: name.startswith("encoder.") and ways["training.freeze"] != "[]" for name in now}
    moved = [name for name in now if not torch.equal(now[name], first[name])]
    assert not any(is_frozen[name] for name in moved)
    assert len(moved) > 0.7 * (len(now) - sum(is_frozen.values()))  # layers may have been left out
    save_checkpoint(trainer.run, trainer.step.weights(), trainer.step.state(), trainer.progress, keep=2)
    again = make_trainer(ways, tmp_path)
    again.progress = load_checkpoint(again.run, again.step, {})
    others = iter(again._updates())
    for number in range(4, 8):  # beyond the end of an epoch
        figures, of_again = (
            each.step.run(number, next(rest)) for each, rest in ((trainer, updates), (again, others))
        )
        assert torch.equal(figures.total, of_again.total)
    assert again.progress.epoch > 0
    expected, found = ({**each.step.weights(), **each.step.state()} for each in (trainer, again))
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []


def test_what_only_watches_the_weights_does_not_change_them(tmp_path):
    plain = {name: values[0] for name, values in WAYS.items()} | {"model": "soft"}
    trained = []
    for ways in (plain, plain | {"training.ema_decay": "0.9"}):
        trainer = make_trainer(ways, tmp_path)
        for number, update in enumerate(trainer.enter(0), start=1):
            trainer.step.run(number, update)
        trained.append(weights(trainer))
    assert all(torch.equal(trained[0][name], trained[1][name]) for name in trained[0])


def test_a_model_of_words_is_not_segmented_anew_even_if_its_file_is_given(tmp_path):
    words = make_trainer({name: values[0] for name, values in WAYS.items()} | {"tokenizer": "word"}, tmp_path)
    (tmp_path / "word.model").write_bytes(words.step.tokenizer.source.model)
    ways = {name: values[0] for name, values in WAYS.items()} | {
        "training.subword_sampling": "0.1",
        "tokenizer.model": str(tmp_path / "word.model"),
        "tokenizer.joint": "true",
    }
    with pytest.raises(SettingsError, match="a tokenizer of kind bpe or unigram is needed"):
        make_trainer(ways, tmp_path)
