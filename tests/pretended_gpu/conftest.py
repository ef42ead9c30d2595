"""What the tests on the pretended GPU share."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nmt.cli.compose import compose
from nmt.config import TokenizerSettings, TrainSettings
from nmt.config.check import check
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import obtain_tokenizer
from nmt.models.build import build_model

SIZES = {
    "transformer": (
        "model.d_model=16",
        "model.d_ff=16",
        "model.num_heads=2",
        "model.num_encoder_layers=1",
        "model.num_decoder_layers=1",
    ),
    "rnn": ("model.d_embedding=8", "model.d_hidden=12"),
    "attention": ("model.d_embedding=8", "model.d_hidden=12", "model.attention.d_attention=8"),
}


@pytest.fixture(scope="session")
def tokenizer():
    """Return a tokenizer of letters."""
    values = {"character_coverage": 1.0, "byte_fallback": False, "normalization": "identity", "model": None}
    settings = TokenizerSettings(kind="char", vocabulary_size=40, joint=True, **values)
    return obtain_tokenizer(settings, ParallelText(["abcdefghijk"] * 4, ["uvwxyz"] * 4))


@pytest.fixture
def make(tokenizer):
    """Return a function that makes settings and a small model of a kind, always with the same weights."""

    def make_model(kind, *overrides):
        given = [f"model={kind}", *SIZES[kind], "schedule=constant", *overrides]
        settings = check(TrainSettings, compose("train", given, None).values)
        torch.manual_seed(0)
        return SimpleNamespace(
            settings=settings, model=build_model(settings.model, tokenizer), tokenizer=tokenizer
        )

    return make_model


@pytest.fixture(scope="session")
def sentences(tokenizer):
    """Return a function that draws sentences of letters."""

    def draw(count, seed=1, longest=12):
        generator = np.random.default_rng(seed)
        sizes = generator.integers(2, longest, count)
        return [generator.integers(4, tokenizer.source.size, size).tolist() for size in sizes]

    return draw


@pytest.fixture(scope="session")
def dataset(sentences):
    """Return 24 pairs of sentences."""
    return Dataset(Ids.of(sentences(24, 1)), Ids.of(sentences(24, 2)))
