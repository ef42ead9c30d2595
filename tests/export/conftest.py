"""What the tests of exports share: a tokenizer of letters, and models that prefer forbidden tokens."""

import pytest
import torch

from nmt.config import TokenizerSettings
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import obtain_tokenizer

PAD, _, BOS, EOS = range(4)


def make_char_tokenizer(source="abcdef", target=None, symbols=()):
    """Make a tokenizer of letters: a special token or a letter for each of the 11 ids of tiny models."""
    settings = TokenizerSettings(
        kind="char", vocabulary_size=40, joint=target is None, character_coverage=1.0, byte_fallback=False,
        normalization="identity", model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, ParallelText([source], [target or source]), symbols)


@pytest.fixture(scope="session")
def char_tokenizer():
    """Return the maker of tokenizers of letters."""
    return make_char_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    """Return the tokenizer of tiny models."""
    return make_char_tokenizer()


@pytest.fixture
def strange_model(tiny_model):
    """Return a function that makes Transformers whose most probable tokens are PAD and BOS.

    The higher `end` is, the sooner their translations end.
    """

    def make(end=1.0, **options):
        model = tiny_model("transformer", max_relative_distance=2, **options)
        with torch.no_grad():
            model.output.bias[[PAD, BOS]] = 20.0
            model.output.bias[EOS] += end
        return model

    return make
