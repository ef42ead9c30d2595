"""What is exported to CTranslate2 computes and translates as the model that it was made of."""

import sys

import pytest
import torch
from found import best
from pairwise import pairwise

from nmt.data.batching import Batch
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.beam import Beam
from nmt.decoding.beam_search import beam_search, power_penalty
from nmt.decoding.ctranslate2_engine import TokenNames, load_ctranslate2
from nmt.decoding.greedy_search import greedy_search
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.errors import RunError, UserError
from nmt.export.ctranslate2.format import write_model

ctranslate2 = pytest.importorskip("ctranslate2")

PAD, UNK, BOS, EOS = range(4)
OPTIONS = {
    "norm": ("pre", "post"),
    "normalization": ("layer", "rms"),
    "positions": ("sinusoidal", "learned", "rotary", "relative"),
    "activation": ("relu", "gelu", "silu", "swiglu"),
    "attention_bias": (False, True),
    "num_key_value_heads": (None, 1, 2),
    "num_heads": (4, 2),
    "tied": ("none", "two_way", "three_way"),
    "num_encoder_layers": (2, 1),
}
VARIANTS = [*pairwise(OPTIONS), {"num_encoder_layers": 1, "num_decoder_layers": 3}]
every_model = pytest.mark.parametrize(
    "options", VARIANTS, ids=["-".join(map(str, options.values())) for options in VARIANTS]
)
LIMIT = 12


@pytest.fixture
def exported(tmp_path, tokenizer):
    """Return a function that exports a model and loads it in CTranslate2."""

    def export(model, quantization="float32", of=tokenizer):
        folder = tmp_path / quantization
        folder.mkdir()
        write_model(folder, model, of, quantization)
        compute_type = "float32" if quantization == "float16" else quantization
        return ctranslate2.Translator(str(folder), compute_type=compute_type, intra_threads=1)

    return export


def names_of(rows, lengths, names):
    """Return the names of tokens (B, …) without the EOS at the end."""
    return [
        [names[i] for i in row[: length - 1]]
        for row, length in zip(rows.tolist(), lengths.tolist(), strict=True)
    ]


def given(model, batch, min_length=0):
    limits = torch.full((len(batch.source),), LIMIT)
    rules = [
        ForbidTokens(torch.tensor([PAD, BOS, UNK])),
        MinimumLength(EOS, min_length),
        EndAtLimit(EOS, limits, limits.device),
    ]
    with torch.no_grad():
        state = model.start(batch.source, batch.source_lengths)
    return (model, state, LIMIT, BOS, EOS), rules


def translate(translator, batch, tokenizer, **options):
    """Return target ids and scores."""
    names = TokenNames.of(tokenizer)
    results = translator.translate_batch(
        names_of(batch.source, batch.source_lengths, names.source),
        disable_unk=True, max_decoding_length=LIMIT, return_scores=True, **{"min_decoding_length": 0, **options},
    )  # fmt: skip
    ids = {name: i for i, name in enumerate(names.target)}
    return [[ids[name] for name in result.hypotheses[0]] for result in results], [
        r.scores[0] for r in results
    ]


def log_probs(model, batch, forbidden=(PAD, BOS), min_length=0):
    with torch.no_grad():
        logits = model.project(model(batch).outputs)
    logits[..., list(forbidden)] = -torch.inf
    logits[:, :min_length, EOS] = -torch.inf
    return logits.log_softmax(-1).gather(2, batch.target_out.unsqueeze(2)).squeeze(2)  # (B, T)


def distance(translator, model, batch, tokenizer):
    """Return the largest difference between log-probabilities of the tokens of given targets."""
    names = TokenNames.of(tokenizer)
    theirs = translator.score_batch(
        names_of(batch.source, batch.source_lengths, names.source),
        names_of(batch.target_out, batch.target_lengths, names.target),
    )
    ours = log_probs(model, batch)
    pairs = [
        (ours[i, : int(length)], torch.tensor(theirs[i].log_probs))
        for i, length in enumerate(batch.target_lengths)
    ]
    assert all(len(a) == len(b) for a, b in pairs)
    return max(float((a - b).abs().max()) for a, b in pairs)


@every_model
def test_float32_is_the_same(options, strange_model, tiny_batch, tokenizer, exported):
    model = strange_model(**options)
    translator = exported(model)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(4, 6, 1, 30))
    assert distance(translator, model, batch, tokenizer) < 1e-5
    arguments, rules = given(model, batch)
    found, _ = translate(translator, batch, tokenizer, beam_size=1)
    assert found == best(greedy_search(*arguments, rules))


@every_model
def test_a_beam_without_length_penalty_finds_the_same(
    options, strange_model, tiny_batch, tokenizer, exported
):
    # The translations end soon, since nmt and CTranslate2 treat a limit differently.
    model = strange_model(end=4.0, **options)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(2,) * 4)
    arguments, rules = given(model, batch, min_length=3)
    ours = best(beam_search(*arguments, Beam(4), power_penalty(0.0), rules))
    found, _ = translate(
        exported(model), batch, tokenizer, beam_size=4, length_penalty=0, min_decoding_length=3
    )
    assert found == ours
    assert all(3 <= len(tokens) < LIMIT for tokens in ours)


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_the_length_of_a_score_counts_the_end_on_both_sides(
    power, strange_model, tiny_batch, tokenizer, exported
):
    model = strange_model(end=2.0)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(2,) * 4)
    options = {"beam_size": 4, "length_penalty": power, "return_end_token": True, "min_decoding_length": 3}
    found, scores = translate(exported(model), batch, tokenizer, **options)
    arguments, rules = given(model, batch, min_length=3)
    ours = best(beam_search(*arguments, Beam(4), power_penalty(power), rules))
    assert sum(tokens[-1] == EOS for tokens in found) > 1
    for i, (theirs, score, own) in enumerate(zip(found, scores, ours, strict=True)):
        if theirs[-1] == EOS:
            assert score_of(model, batch, i, theirs, 3, power) == pytest.approx(score, abs=1e-5)
            if len(own) < LIMIT:  # up to the limit nmt goes on while a better score is possible
                assert score_of(model, batch, i, [*own, EOS], 3, power) >= score - 1e-5


def score_of(model, batch, row, tokens, min_length, power):
    """Return the score of a hypothesis, EOS included, of one sentence of a batch."""
    length, num_tokens = batch.source_lengths[row : row + 1], torch.tensor([len(tokens)])
    one = Batch(
        batch.source[row : row + 1, : int(length)], length, torch.tensor([[BOS, *tokens[:-1]]]),
        torch.tensor([tokens]), num_tokens, (length, num_tokens),
    )  # fmt: skip
    return float(log_probs(model, one, (PAD, BOS, UNK), min_length).sum()) / len(tokens) ** power


# CTranslate2's weights of 8 bits are less exact on a processor without VNNI.
INT8_TOLERANCE = 0.5 if torch.cpu._is_vnni_supported() else 1.0


@pytest.mark.parametrize(("quantization", "tolerance"), [("int8", INT8_TOLERANCE), ("float16", 0.02)])
@pytest.mark.parametrize("options", VARIANTS[:4], ids=str)
def test_fewer_bits_are_nearly_the_same(
    quantization, tolerance, options, strange_model, tiny_batch, tokenizer, exported
):
    model = strange_model(end=-3.0, **options)
    translator = exported(model, quantization)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(4, 6, 1, 30))
    assert 0 < distance(translator, model, batch, tokenizer) < tolerance
    for beam_size in (1, 4):
        found, _ = translate(translator, batch, tokenizer, beam_size=beam_size)
        assert any(found)
        assert not {PAD, BOS, UNK} & {i for tokens in found for i in tokens}


@pytest.mark.parametrize("tied", ["two_way", "three_way"])
def test_a_start_from_zeros_is_one_there_too(tied, strange_model, tiny_batch, tokenizer, exported):
    model = strange_model(tied=tied)
    model.target_embedding.zero_id = BOS
    batch = tiny_batch(source_lengths=(5, 3), target_lengths=(4, 6))
    assert distance(exported(model), model, batch, tokenizer) < 1e-5


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "relative"])
def test_the_last_position_is_there(positions, tiny_model, tiny_batch, tokenizer, exported):
    model = tiny_model("transformer", positions=positions, max_relative_distance=2)
    batch = tiny_batch(source_lengths=(64, 2), target_lengths=(64, 63))
    assert distance(exported(model), model, batch, tokenizer) < 1e-5


def test_two_vocabularies(char_tokenizer, tiny_model, tiny_batch, exported):
    tokenizer = char_tokenizer("abcdef", "uvwxyzabc")
    model = tiny_model("transformer", sizes=(tokenizer.source.size, tokenizer.target.size))
    batch = tiny_batch(source_lengths=(5, 3), target_lengths=(4, 6))
    assert tokenizer.source.size == 11 < tokenizer.target.size
    translator = exported(model, of=tokenizer)
    assert distance(translator, model, batch, tokenizer) < 1e-5
    arguments, rules = given(model, batch)
    assert translate(translator, batch, tokenizer, beam_size=1)[0] == best(greedy_search(*arguments, rules))


def test_special_tokens_behind_the_pieces_and_names_that_are_taken(tmp_path):
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["abc"] * 9), model_prefix=str(tmp_path / "given"), model_type="char",
        user_defined_symbols=["<pad>"], eos_id=-1, vocab_size=20, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    given = Tokenizer.of_models((tmp_path / "given.model").read_bytes())
    names = TokenNames.of(given)
    vocabulary = given.source
    assert vocabulary.pad_id >= vocabulary.num_pieces
    assert names.source[vocabulary.pad_id] == "<pad>_"
    assert names.source[vocabulary.eos_id] == names.eos == "</s>"
    assert len(set(names.source)) == vocabulary.size
    assert names.source == names.target


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_recurrent_models_are_refused(kind, tiny_model, tokenizer, tmp_path):
    with pytest.raises(RunError, match=rf"no recurrent layers .*; got {kind}$"):
        write_model(tmp_path, tiny_model(kind), tokenizer)
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"pip install 'nmt\[export\]'"):
        load_ctranslate2()
