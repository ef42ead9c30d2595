"""Segmentations that are drawn: always the same for the same arguments, always of the same text."""

import io
import itertools
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch

from nmt.data import subword_sampling
from nmt.data.dataset import Dataset, Ids
from nmt.data.subword_sampling import sample_dataset
from nmt.data.tokenizer import Tokenizer
from nmt.errors import SettingsError

SOURCE = [
    "das kleine Haus steht am kleinen Fluss", "", "der Hund schläft im Haus", "wir lesen ein kleines Buch",
    "sie kauft Brot und Käse im Laden", "kleine Hunde lesen keine Bücher",
] * 20  # fmt: skip
TARGET = [
    "the small house stands by the small river", "x", "the dog sleeps in the house", "",
    "she buys bread and cheese in the shop", "small dogs read no books",
] * 20  # fmt: skip


def train_model(kind, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in options.pop("text", SOURCE + TARGET) if line]), model_writer=model, model_type=kind,
        vocab_size=options.pop("vocab_size", 90), hard_vocab_limit=False, character_coverage=1.0, minloglevel=2,
        normalization_rule_name="identity", pad_id=0, unk_id=1, bos_id=2, eos_id=3, **options,
    )  # fmt: skip
    return model.getvalue()


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request):
    return Tokenizer.of_models(train_model(request.param))


def segment(tokenizer, source=SOURCE, target=TARGET):
    return Dataset(Ids.of(tokenizer.source.encode(source)), Ids.of(tokenizer.target.encode(target)))


def sentences(ids):
    return [ids.tokens[a:b].tolist() for a, b in zip(ids.offsets[:-1], ids.offsets[1:], strict=True)]


def draw(tokenizer, alpha=0.3, seed=1, epoch=1, max_length=1000, plain=None):
    plain = segment(tokenizer) if plain is None else plain
    dataset = sample_dataset(plain, tokenizer, alpha, seed, epoch, max_length)
    assert dataset.source.tokens.dtype == dataset.target.tokens.dtype == torch.int32
    assert dataset.source.offsets.dtype == dataset.target.offsets.dtype == np.int64
    return sentences(dataset.source), sentences(dataset.target)


def test_words_and_order_stay(tokenizer):
    source, target = draw(tokenizer)
    assert [tokenizer.source.decode(ids) for ids in source] == SOURCE
    assert [tokenizer.target.decode(ids) for ids in target] == TARGET
    assert source != sentences(segment(tokenizer).source)
    assert source[1] == target[3] == []


def test_seed_epoch_and_side_decide(tokenizer):
    first = draw(tokenizer)
    np.random.seed(3)  # noqa: NPY002
    tokenizer.source.encode(SOURCE)
    assert draw(tokenizer) == first
    others = [draw(tokenizer, epoch=2), draw(tokenizer, seed=2), draw(tokenizer, seed=2, epoch=2)]
    for i, one in enumerate([first, *others]):
        for another in [first, *others][i + 1 :]:
            assert one[0] != another[0]
            assert one[1] != another[1]
    text = segment(tokenizer, SOURCE, SOURCE)
    assert np.not_equal(*(np.array(list(map(len, side))) for side in draw(tokenizer, plain=text))).any()


def test_another_process_draws_the_same(tokenizer, tmp_path):
    (tmp_path / "model").write_bytes(tokenizer.source.model)
    program = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from test_subword_sampling import *\n"
        "print(draw(Tokenizer.of_models(open(sys.argv[1], 'rb').read())))"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "model"), str(Path(__file__).parent)]
    done = subprocess.run(arguments, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == str(draw(tokenizer))


def test_chunks_and_repeated_sentences_are_drawn_apart(tokenizer, monkeypatch):
    monkeypatch.setattr(subword_sampling, "SENTENCES_AT_ONCE", 6)
    source, target = draw(tokenizer)
    assert [tokenizer.source.decode(ids) for ids in source] == SOURCE
    assert [tokenizer.target.decode(ids) for ids in target] == TARGET
    assert len({tuple(source[i]) for i in range(0, len(source), 6)}) > 10


def test_limits_of_alpha(tokenizer):
    plain = segment(tokenizer)
    as_before = (sentences(plain.source), sentences(plain.target))
    is_bpe = tokenizer.source.kind == "bpe"
    assert draw(tokenizer, alpha=0.0 if is_bpe else 1000.0) == as_before
    if is_bpe:
        pieces = tokenizer.source.pieces
        letters = [[pieces[i] for i in ids] for ids in draw(tokenizer, alpha=1.0)[0]]
        assert all(len(piece) == 1 for ids in letters for piece in ids)


def drop_merges(vocabulary, word, alpha, generator):
    """Return ids as algorithm 1 of Provilkov et al. draws them: each step drops each merge with probability alpha."""
    scores = dict(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    split = list(word)
    while True:
        merges = [
            (scores[left + right], -i)
            for i, (left, right) in enumerate(itertools.pairwise(split))
            if left + right in scores and generator.random() >= alpha
        ]
        if not merges:
            return [vocabulary.pieces.index(piece) for piece in split]
        _, first = max(merges)
        split[-first : 2 - first] = ["".join(split[-first : 2 - first])]


def test_segmentations_are_as_frequent_as_those_of_the_papers(tokenizer):
    word, times, alpha = "kleine", 4000, 0.3
    plain = segment(tokenizer, [word] * times, [""] * times)
    ours, _ = draw(tokenizer, alpha=alpha, plain=plain)
    if tokenizer.source.kind == "bpe":
        generator = random.Random(0)
        theirs = [drop_merges(tokenizer.source, f"▁{word}", alpha, generator) for _ in range(times)]
    else:  # sampled by SentencePiece
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(tokenizer.source.model)
        options = {"enable_sampling": True, "alpha": alpha, "nbest_size": -1, "num_threads": 1}
        theirs = processor.encode([word] * times, **options)
    kinds = sorted(set(map(tuple, ours)) | set(map(tuple, theirs)))
    assert len(kinds) > 5
    for kind in kinds:
        shares = [sum(tuple(ids) == kind for ids in drawn) / times for drawn in (ours, theirs)]
        error = np.sqrt(2 * max(shares) * (1 - max(shares)) / times)
        assert abs(shares[0] - shares[1]) < 6 * error + 1e-3


def test_a_side_that_becomes_too_long_stays_plain(tokenizer):
    plain = segment(tokenizer)
    free, limited = draw(tokenizer), draw(tokenizer, max_length=20)
    counts = {"plain": 0, "drawn": 0}
    for side, ids in enumerate((plain.source, plain.target)):
        for before, drawn, got in zip(sentences(ids), free[side], limited[side], strict=True):
            assert got == (before if len(drawn) > 20 else drawn)
            counts["plain" if len(drawn) > 20 else "drawn"] += before != drawn
    assert counts["plain"] > 10
    assert counts["drawn"] > 10


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_what_has_one_segmentation_keeps_it(kind, byte_fallback):
    model = train_model(
        kind, vocab_size=360, byte_fallback=byte_fallback, user_defined_symbols=["<sep>", "Haus"]
    )
    tokenizer = Tokenizer.of_models(model)
    lines = ["das Haus<sep> 日本 🙂🙂lesen", "<sep>", " ", "kleine  Hunde"] * 50
    plain = segment(tokenizer, lines, lines)
    for side, ids in zip(draw(tokenizer, alpha=0.5, plain=plain), (plain.source, plain.target), strict=True):
        assert side != sentences(ids)
        normal = tokenizer.source.is_normal
        for before, drawn, line in zip(sentences(ids), side, lines, strict=True):
            assert [i for i in drawn if not normal[i]] == [i for i in before if not normal[i]]
            assert tokenizer.source.decode(drawn) == tokenizer.source.decode(before)
            if byte_fallback:
                assert tokenizer.source.decode(drawn) == " ".join(line.split())
        first = {tuple(drawn) for drawn in side[::4]}
        assert len({drawn[-4:] for drawn in first}) > 3  # the text behind such a character is still drawn


def test_special_tokens_do_not_come_from_text(tokenizer):
    """Text that spells them out is segmented as any other text."""
    lines = ["das <s> </s> <unk> Haus"] * 50
    model = train_model(tokenizer.source.kind, text=[*SOURCE, "< s > </ unk"])
    tokenizer = Tokenizer.of_models(model)
    for side in draw(tokenizer, plain=segment(tokenizer, lines, lines)):
        assert [tokenizer.source.decode(ids) for ids in side] == lines
        assert all(min(ids) > 3 for ids in side)


def test_sentences_that_do_not_start_like_words_stay_apart(tokenizer):
    tokenizer = Tokenizer.of_models(train_model(tokenizer.source.kind, add_dummy_prefix=False))
    source, target = draw(tokenizer)
    assert [tokenizer.source.decode(ids) for ids in source] == SOURCE
    assert [tokenizer.target.decode(ids) for ids in target] == TARGET


def test_letters_that_are_no_pieces_do_not_come_out(tokenizer):
    letter, other = (b"\n\x01%c\x15" % letter for letter in b"h@")  # one-letter piece and tag of its score
    model = tokenizer.source.model
    assert model.count(letter) == 1
    tokenizer = Tokenizer.of_models(model.replace(letter, other))
    plain = segment(tokenizer)
    for before, side in zip((plain.source, plain.target), draw(tokenizer), strict=True):
        assert sentences(before) != side
        decode = tokenizer.source.decode
        assert [decode(ids) for ids in side] == [decode(ids) for ids in sentences(before)]
        assert min(map(min, filter(None, side))) >= 0


def test_text_without_spaces(tokenizer):
    lines = ["".join(line.split()) for line in SOURCE]
    plain = segment(tokenizer, lines, lines)
    source, _ = draw(tokenizer, plain=plain)
    assert [tokenizer.source.decode(ids) for ids in source] == lines
    assert sum(map(len, source)) > 1.02 * len(plain.source.tokens)


def test_no_text_at_all(tokenizer):
    assert draw(tokenizer, plain=segment(tokenizer, [], [])) == ([], [])
    assert draw(tokenizer, plain=segment(tokenizer, ["", ""], ["", ""])) == ([[], []], [[], []])


@pytest.mark.parametrize("kind", ["word", "char"])
def test_models_with_one_segmentation_are_refused(kind):
    tokenizer = Tokenizer.of_models(train_model(kind))
    with pytest.raises(SettingsError, match=rf"^training.subword_sampling: .*; got one of kind {kind}$"):
        draw(tokenizer)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_what_a_vocabulary_says_of_itself(kind):
    vocabulary = Tokenizer.of_models(train_model(kind, user_defined_symbols=["<sep>"])).source
    assert vocabulary.kind == kind
    assert vocabulary.pieces[:5] == ["<pad>", "<unk>", "<s>", "</s>", "<sep>"]
    not_normal = {
        piece for piece, normal in zip(vocabulary.pieces, vocabulary.is_normal, strict=True) if not normal
    }
    assert not_normal - {"▁<sep>"} == set(vocabulary.pieces[:5])
    assert len(vocabulary.pieces) == len(vocabulary.scores) == vocabulary.size


def test_special_tokens_after_the_pieces_have_a_text_too():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SOURCE[:1]),
        model_writer=model,
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    vocabulary = Tokenizer.of_models(model.getvalue()).source
    assert vocabulary.pad_id == vocabulary.size - 1
    assert vocabulary.pieces[-1] == "<pad>"
    assert not vocabulary.is_normal[-1]
