"""A trainer so small that a test can follow it by hand."""

import pytest
import torch

from nmt.check import check
from nmt.composition import Command, compose
from nmt.config import TokenizerSettings, TrainSettings
from nmt.data.corpus import ParallelText
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.tokenizer import obtain_tokenizer
from nmt.models.build import build_model
from nmt.run_directory import RunDirectory
from nmt.training.pairs import training_pairs
from nmt.training.trainer import Trainer

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
    """Return a function that makes a trainer of a small Transformer in float64."""

    def make(*overrides):
        small = [
            "model.d_model=8",
            "model.d_ff=8",
            "model.num_heads=2",
            "model.dropout=0.0",
            "schedule=constant",
        ]
        settings = check(TrainSettings, compose(Command.TRAIN, [*small, *overrides], None).values)
        text = ParallelText(SOURCE, TARGET)
        dataset = load_dataset(text, tokenizer)
        torch.manual_seed(0)
        model = build_model(settings.model, tokenizer).double()
        selected, _ = select_pairs(dataset, 100)
        pairs = training_pairs(settings, dataset, selected, tokenizer, torch.device("cpu"))
        return Trainer(
            settings, RunDirectory(tmp_path), model, tokenizer, pairs, (text, dataset),
            torch.device("cpu"), torch.float32,
        )  # fmt: skip

    return make
