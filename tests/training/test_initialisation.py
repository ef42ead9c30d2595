"""Weights that come from elsewhere, and weights that stay."""

import io
from pathlib import Path

import pytest
import sentencepiece
import tiny_models
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.errors import RunError, SettingsError
from nmt.models.layers import Embedding
from nmt.training.initialisation import copy_matching, freeze, set_word_vectors

ORIGIN = Path("outputs/other")
ROWS = {"source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias"}


def make_vocabulary_model(text, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text] * 5), model_writer=model, model_type="word", vocab_size=50,
        hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    return model.getvalue()


SPECIAL_FIRST = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
ENGLISH = make_vocabulary_model("one two two three three three four eight", **SPECIAL_FIRST)
MORE = make_vocabulary_model(
    "five one one three three three three zero two two two six four seven", **SPECIAL_FIRST
)
GERMAN = make_vocabulary_model("eins zwei zwei", **SPECIAL_FIRST)
NO_PAD = make_vocabulary_model("one three three")  # <unk> <s> </s>, and <pad> after the pieces


def make_model(tokenizer, tied="none", seed=0, width=8, **sizes):
    options = {"num_encoder_layers": 1, "num_decoder_layers": 1, **sizes}
    vocabularies = (tokenizer.source.size, tokenizer.target.size)
    return tiny_models.make_model("transformer", width, tied, seed, vocabularies, **options).float()


def weights(model):
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def everywhere(model):
    return dict(model.named_parameters(remove_duplicate=False))


@pytest.mark.parametrize("tied", ["none", "two_way", "three_way"])
def test_all_is_copied_where_all_agrees(tied):
    tokenizer, again = Tokenizer.of_models(ENGLISH), Tokenizer.of_models(ENGLISH)
    model, other = make_model(tokenizer, tied), make_model(again, tied, seed=1)
    copied = copy_matching(model, tokenizer, weights(other), again, ORIGIN)
    assert all(torch.equal(parameter, weights(other)[name]) for name, parameter in model.named_parameters())
    assert (copied.whole, copied.in_part, copied.left) == (len(weights(other)), 0, 0)
    assert str(copied) == f"{copied.whole} tensors whole, 0 in part (0 rows), 0 left as they were"


@pytest.mark.parametrize("their_model", [MORE, NO_PAD], ids=["more words", "special tokens elsewhere"])
def test_rows_go_with_their_pieces(their_model):
    tokenizer, theirs = Tokenizer.of_models(ENGLISH, GERMAN), Tokenizer.of_models(their_model, GERMAN)
    model, other = make_model(tokenizer), make_model(theirs, seed=1)
    before = weights(model)
    copied = copy_matching(model, tokenizer, weights(other), theirs, ORIGIN)
    shared = [piece for piece in tokenizer.source.pieces if piece in theirs.source.pieces]
    assert {"<pad>", "<unk>", "<s>", "</s>", "▁one", "▁three"} <= set(shared)
    assert len(shared) < tokenizer.source.size
    assert (copied.in_part, copied.num_rows, copied.left) == (1, len(shared), 0)
    rows = model.source_embedding.weight
    for i, piece in enumerate(tokenizer.source.pieces):
        if piece in shared:
            assert torch.equal(rows[i], other.source_embedding.weight[theirs.source.pieces.index(piece)])
        else:
            assert torch.equal(rows[i], before["source_embedding.weight"][i])
    assert torch.equal(model.output.weight, other.output.weight)  # German, as before


def test_special_tokens_go_with_what_they_stand_for_however_they_are_written():
    special = Tokenizer.of_models(make_vocabulary_model("one two", unk_piece="<sep>"))
    plain = Tokenizer.of_models(make_vocabulary_model("one two", user_defined_symbols=["<sep>"]))
    for tokenizer, theirs in ((special, plain), (plain, special)):
        model, other = make_model(tokenizer), make_model(theirs, seed=1)
        before = weights(model)["source_embedding.weight"]
        copy_matching(model, tokenizer, weights(other), theirs, ORIGIN)
        ours, of = model.source_embedding.weight, other.source_embedding.weight
        for name in ("pad_id", "unk_id", "bos_id", "eos_id"):
            assert torch.equal(ours[getattr(tokenizer.source, name)], of[getattr(theirs.source, name)])
    index = plain.source.pieces.index("<sep>")
    assert torch.equal(ours[index], before[index])


def test_every_layer_of_the_target_goes_with_its_pieces():
    tokenizer, theirs = Tokenizer.of_models(GERMAN, ENGLISH), Tokenizer.of_models(GERMAN, MORE)
    model, other = make_model(tokenizer), make_model(theirs, seed=1)
    copied = copy_matching(model, tokenizer, weights(other), theirs, ORIGIN)
    assert copied.in_part == 3
    ours, of = (each.target.pieces.index("▁four") for each in (tokenizer, theirs))
    assert ours != of
    for name in ROWS - {"source_embedding.weight"}:
        assert torch.equal(weights(model)[name][ours], weights(other)[name][of])


def test_vocabularies_of_one_size_are_not_taken_for_the_same():
    swapped = make_vocabulary_model("one one two two two three four four four four eight", **SPECIAL_FIRST)
    tokenizer, theirs = Tokenizer.of_models(ENGLISH), Tokenizer.of_models(swapped)
    assert tokenizer.source.size == theirs.source.size
    assert tokenizer.source.pieces != theirs.source.pieces
    model, other = make_model(tokenizer), make_model(theirs, seed=1)
    assert copy_matching(model, tokenizer, weights(other), theirs, ORIGIN).in_part == 4
    for i, piece in enumerate(tokenizer.source.pieces):
        index = theirs.source.pieces.index(piece)
        assert torch.equal(model.source_embedding.weight[i], other.source_embedding.weight[index])


@pytest.mark.parametrize("tied", ["two_way", "three_way"])
def test_what_was_shared_there_goes_to_each_here(tied):
    tokenizer = Tokenizer.of_models(ENGLISH)
    model, other = make_model(tokenizer), make_model(tokenizer, tied, seed=1)
    assert copy_matching(model, tokenizer, weights(other), tokenizer, ORIGIN).left == 0
    assert all(torch.equal(everywhere(model)[name], everywhere(other)[name]) for name in ROWS)


def test_what_is_shared_here_takes_the_pieces_of_both_sides_there():
    both = make_vocabulary_model("one two eins zwei neun", **SPECIAL_FIRST)
    tokenizer, theirs = Tokenizer.of_models(both), Tokenizer.of_models(ENGLISH, GERMAN)
    model, other = make_model(tokenizer, "three_way"), make_model(theirs, seed=1)
    before = weights(model)["source_embedding.weight"]
    copied = copy_matching(model, tokenizer, weights(other), theirs, ORIGIN)
    rows = model.source_embedding.weight
    for i, piece in enumerate(tokenizer.source.pieces):
        if piece in theirs.source.pieces:
            assert torch.equal(rows[i], other.source_embedding.weight[theirs.source.pieces.index(piece)])
        elif piece in theirs.target.pieces:
            assert torch.equal(rows[i], other.target_embedding.weight[theirs.target.pieces.index(piece)])
        else:
            assert piece == "▁neun"
            assert torch.equal(rows[i], before[i])
    assert copied.left == 0


def test_what_does_not_fit_stays():
    tokenizer, theirs = Tokenizer.of_models(ENGLISH), Tokenizer.of_models(MORE)
    model, other = make_model(tokenizer, num_encoder_layers=2), make_model(theirs, seed=1, d_ff=10)
    before = weights(model)
    copied = copy_matching(model, tokenizer, weights(other), theirs, ORIGIN)
    changed = {
        name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])
    }
    assert len(changed) == copied.whole + copied.in_part
    assert len(before) == copied.whole + copied.in_part + copied.left
    expected = {
        name for name in before
        if name in ROWS or (name in weights(other) and weights(other)[name].shape == before[name].shape)
    }  # fmt: skip
    assert changed == expected
    assert len(expected) < len(before)


@pytest.mark.parametrize("their_vocabulary", [ENGLISH, MORE])
def test_nothing_that_fits_is_an_error(their_vocabulary):
    tokenizer, theirs = Tokenizer.of_models(ENGLISH), Tokenizer.of_models(their_vocabulary)
    model, other = make_model(tokenizer), make_model(theirs)
    before = weights(model)
    renamed = {f"x.{name}": tensor for name, tensor in weights(other).items()}
    with pytest.raises(RunError, match=rf"^training.from_run: .*; got {ORIGIN}, which has none; "):
        copy_matching(model, tokenizer, renamed, theirs, ORIGIN)
    wider = {name: torch.zeros(*tensor.shape, 2) for name, tensor in weights(other).items()}
    with pytest.raises(RunError, match=rf"^training.from_run: .*; got {ORIGIN}, which has none; "):
        copy_matching(model, tokenizer, wider, theirs, ORIGIN)
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())


def frozen(model):
    return {name for name, parameter in everywhere(model).items() if not parameter.requires_grad}


def test_freezing_parts():
    model = make_model(Tokenizer.of_models(ENGLISH))
    freeze(model, ["encoder", "output.bias", "encoder.layers"])
    assert frozen(model) == {name for name in everywhere(model) if name.startswith("encoder.")} | {
        "output.bias"
    }
    untouched = make_model(Tokenizer.of_models(ENGLISH))
    freeze(untouched, [])
    assert not frozen(untouched)


def test_what_is_shared_is_frozen_by_any_of_its_names():
    model = make_model(Tokenizer.of_models(ENGLISH), "three_way")
    freeze(model, ["target_embedding"])
    assert frozen(model) == {"source_embedding.weight", "target_embedding.weight", "output.weight"}


@pytest.mark.parametrize("part", ["encode", "encoder.", "", "encoder.layers.9", "weight"])
def test_a_part_that_names_nothing_is_an_error(part):
    model = make_model(Tokenizer.of_models(ENGLISH))
    expected = "source_embedding, target_embedding, output, encoder, decoder, or a part of them, is needed"
    with pytest.raises(SettingsError, match=f"^training.freeze: {expected}; got {part}$"):
        freeze(model, ["decoder", part])
    assert not frozen(model)


def test_something_must_learn():
    model = make_model(Tokenizer.of_models(ENGLISH), "three_way")
    with pytest.raises(
        SettingsError, match=r"^training.freeze: .*; got encoder, decoder, output, which is all$"
    ):
        freeze(model, ["encoder", "decoder", "output"])
    assert not frozen(model)


def test_an_embedding_returns_the_vectors_that_were_set():
    embedding = Embedding(6, 4).double()
    before = embedding.weight.detach().clone()
    ids, vectors = torch.tensor([4, 1]), torch.randn(2, 4)
    set_word_vectors(embedding, ids, vectors)
    assert embedding(ids).dtype == torch.float64
    torch.testing.assert_close(embedding(ids).float(), vectors)
    assert torch.equal(embedding.weight[[0, 2, 3, 5]], before[[0, 2, 3, 5]])
