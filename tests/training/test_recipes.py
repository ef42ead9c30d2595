"""Which experiment is proposed for so many pairs, and when."""

import pytest

from nmt.cli.compose import compose
from nmt.training.recipes import NUM_PAIRS, far_from_recipe

FILES = [
    "data=files",
    "data.train.source=a",
    "data.train.target=b",
    "data.validation.source=c",
    "data.validation.target=d",
]


def settings_of(*overrides):
    return compose("train", [*FILES, *overrides], None).settings()


@pytest.mark.parametrize("name", NUM_PAIRS)
def test_an_experiment_is_composed_with_any_text_and_is_near_itself_alone(name):
    settings = settings_of(f"experiment={name}")
    assert settings.data.kind == "files"
    assert far_from_recipe(settings, NUM_PAIRS[name]) is None
    others = [far_from_recipe(settings, number) for other, number in NUM_PAIRS.items() if other != name]
    assert sum(found is not None for found in others) >= 2, "small and medium are near each other"


@pytest.mark.parametrize("name", NUM_PAIRS)
def test_a_model_that_is_typed_has_its_own_sizes(name):
    for model in ("transformer_tiny", "transformer_big"):
        own, beside = (
            settings_of(f"model={model}").model,
            settings_of(f"experiment={name}", f"model={model}").model,
        )
        sizes = ("d_model", "d_ff", "num_heads", "num_encoder_layers", "num_decoder_layers")
        assert [getattr(own, size) for size in sizes] == [getattr(beside, size) for size in sizes]


@pytest.mark.parametrize(
    ("num_pairs", "name"),
    [
        (1, "low_resource"),
        (12_000, "low_resource"),
        (13_000, "small"),
        (80_000, "medium"),
        (900_000, "large"),
    ],
)
def test_the_experiment_of_the_nearest_size_is_proposed(num_pairs, name):
    found = far_from_recipe(settings_of("tokenizer.vocabulary_size=200000"), num_pairs)
    assert found.startswith(f"experiment={name} is made for about {NUM_PAIRS[name]:,} pairs: ")
    assert (
        f"tokenizer.vocabulary_size={settings_of(f'experiment={name}').tokenizer.vocabulary_size} there, 200000 here"
        in found
    )


def test_what_has_no_such_size_is_left_alone():
    assert far_from_recipe(settings_of("tokenizer=char"), 30_000) is None
    assert (
        far_from_recipe(settings_of("training.from_run=x", "tokenizer.vocabulary_size=200000"), 30_000)
        is None
    )
    assert far_from_recipe(compose("train", ["experiment=demo"], None).settings(), 50_000) is None
    assert "d_model" not in far_from_recipe(
        settings_of("model=rnn", "tokenizer.vocabulary_size=200000"), 30_000
    )


def test_the_plan_says_so(nmt, tmp_path, tiny_training):
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_text("ein kleiner Hund schläft im Haus\n" * 30)
    small = [one for one in tiny_training() if not one.startswith(("data", "tokenizer"))]
    done = nmt("train", "--plan", *small, *FILES, "tokenizer.vocabulary_size=30", "device=cpu")
    assert b"note         experiment=low_resource is made for about 5,000 pairs: tokenizer.voc" in done.stdout
    assert b"tokenizer.vocabulary_size=4000 there, 30 here" in done.stdout
