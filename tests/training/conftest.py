"""A trainer so small that a test can follow it by hand."""

import pytest
import torch

from nmt.cli.compose import compose
from nmt.config import TokenizerSettings, TrainSettings
from nmt.config.check import check
from nmt.data.corpus import ParallelText
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.tokenizer import obtain_tokenizer
from nmt.models.build import build_model
from nmt.runs.directory import RunDirectory
from nmt.training.pairs import training_pairs
from nmt.training.ranks import Ranks
from nmt.training.session import train
from nmt.training.step import TrainingStep
from nmt.training.trainer import Trainer

# Epochs of a few updates, updates of a few batches, and intervals that do not coincide.
SMALL_RUN = (
    "data.num_train=240", "data.num_validation=6", "data.num_test=4", "tokenizer.vocabulary_size=200", "data.max_length=24",
    "training.update_tokens=450", "training.max_tokens=150", "training.max_updates=9", "training.checkpoint_every=2",
    "training.validate_every=5", "training.log_every=3", "training.patience=null", "training.keep_checkpoints=20",
    "decoding.beam_size=1", "device=cpu", "precision=float32",
)  # fmt: skip

SMALL_MODELS = {
    "transformer": ("model.d_model=8", "model.d_ff=8", "model.num_heads=2"),
    "attention": ("model.d_embedding=8", "model.d_hidden=6", "model.attention.d_attention=4"),
}
SOURCE = ["a b c", "d e", "f g h i j", "k", "a c e g"] * 4
TARGET = ["x y", "z", "u v w x", "y z", "v w"] * 4


@pytest.fixture(scope="module")
def tokenizer():
    """Return a tokenizer of the letters of the small text."""
    values = {"character_coverage": 1.0, "byte_fallback": False, "normalization": "identity", "model": None}
    settings = TokenizerSettings(kind="char", vocabulary_size=40, joint=True, **values)
    return obtain_tokenizer(settings, ParallelText(SOURCE, TARGET))


@pytest.fixture
def make_trainer(tokenizer, tmp_path):
    """Return a function that makes a trainer of a small model in float64."""

    def make(*overrides, kind="transformer"):
        small = [f"model={kind}", *SMALL_MODELS[kind], "model.dropout=0.0", "schedule=constant"]
        settings = check(TrainSettings, compose("train", [*small, *overrides], None).values)
        text = ParallelText(SOURCE, TARGET)
        dataset = load_dataset(text, tokenizer)
        torch.manual_seed(0)
        model = build_model(settings.model, tokenizer).double()
        selected, _ = select_pairs(dataset, 100)
        pairs = training_pairs(settings, dataset, selected, tokenizer, torch.device("cpu"))
        step = TrainingStep(settings, model, tokenizer, pairs, torch.device("cpu"), torch.float32, Ranks())
        return Trainer(step, RunDirectory(tmp_path), text)

    return make


@pytest.fixture
def train_in(tmp_path, tiny_training, monkeypatch, caplog):
    """Return a function that trains or resumes a tiny run in this process, given its name and overrides."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", "nmt")

    def train_run(name, *overrides, kind="transformer"):
        small = [*tiny_training(kind), *SMALL_RUN]
        if "data=files" in overrides:
            small = [override for override in small if not override.startswith(("data.", "tokenizer."))]
        given = [f"run={name}", "resume=true", *small, *overrides]
        settings = compose("train", given, None).settings()
        train(settings, RunDirectory(name), Ranks())
        return tmp_path / name

    return train_run
