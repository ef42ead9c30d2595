"""Phrases that a translation must have: against the list of all translations, and for any phrases."""

import itertools
import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.batching import Batch
from nmt.decoding.batch_search import BatchSearch, Sentence
from nmt.decoding.search_settings import choose_search
from nmt.models.ensemble import Ensemble

PAD, UNK, BOS, EOS = range(4)
WORDS = [4, 5, 6]
LONGEST = 4  # tokens of a translation without phrases
SIZES = (11, 4 + len(WORDS))
PIECES = ["<pad>", "<unk>", "<s>", "</s>", "▁a", "▁b", "▁c"]
VOCABULARY = SimpleNamespace(pad_id=PAD, unk_id=UNK, bos_id=BOS, eos_id=EOS, pieces=PIECES)
TOKENIZER = SimpleNamespace(source=VOCABULARY, target=VOCABULARY)
CPU = torch.device("cpu")
SOURCES = [[4, 9, 5], [10], [6, 6, 8, 7, 5]]
KINDS = ["rnn", "attention", "transformer", "ensemble"]


def make(tiny_model, kind, seed=0):
    if kind == "ensemble":
        return Ensemble([tiny_model("rnn", sizes=SIZES), tiny_model("transformer", seed=3, sizes=SIZES)])
    return tiny_model(kind, sizes=SIZES, seed=seed)


def log_prob(model, source, translations):
    """Return the log-probabilities of tokens, EOS last, of translations of one length; PAD, UNK, BOS are forbidden."""
    length = len(translations[0])
    inputs = torch.tensor([[BOS, *row] for row in translations])
    outputs = torch.tensor([[*row, EOS] for row in translations])
    ids = torch.tensor([[*source, EOS]] * len(translations))
    lengths = torch.full((len(ids),), len(source) + 1), torch.full((len(ids),), length + 1)
    batch = Batch(ids, lengths[0], inputs, outputs, lengths[1], lengths)

    def shares(member):
        return member.project(member(batch).outputs).softmax(-1)

    with torch.no_grad():
        members = model.members if isinstance(model, Ensemble) else [model]
        found = sum(shares(member) for member in members) / len(members)
    found[..., [PAD, UNK, BOS]] = 0
    return (found / found.sum(-1, keepdim=True)).gather(2, outputs.unsqueeze(2)).squeeze(2).log()


def has_apart(words, phrases):
    """Return whether all phrases stand in a translation, in any order and without overlap."""
    if not phrases:
        return True
    first, *others = phrases
    size = len(first)
    return any(
        tuple(words[i : i + size]) == tuple(first)
        and has_apart((*words[:i], *[None] * size, *words[i + size :]), others)
        for i in range(len(words) - size + 1)
    )


def placings(words, phrases, begun=(), free=()):
    """Yield the positions that phrases take, for each way to place them; free words never spell out one to come."""
    if not words:
        if len(begun) == len(phrases):
            yield ()
        return
    word, *rest = words
    now = (*free, word)
    if not any(now[-len(phrase) :] == tuple(phrase) for i, phrase in enumerate(phrases) if i not in begun):
        for others in placings(rest, phrases, begun, now):
            yield (False, *others)
    for i, phrase in enumerate(phrases):
        if i not in begun and list(words[: len(phrase)]) == phrase:
            for others in placings(words[len(phrase) :], phrases, (*begun, i)):
                yield (*[True] * len(phrase), *others)


def all_with(model, source, phrases, limit):
    """Return the translations that have all phrases, with the best score of each, best first."""
    found = {}
    for length in range(limit + 1):
        rows = [row for row in itertools.product(WORDS, repeat=length) if has_apart(row, phrases)]
        for row, each in zip(rows, log_prob(model, source, rows) if rows else [], strict=True):
            values = each.tolist()
            values[-1] *= length < limit  # at the limit nothing but EOS is allowed
            found[row] = max(
                sum(x for x, has_phrase in zip(values, [*placing, False], strict=True) if not has_phrase)
                / (length + 1)
                + sum(x for x, has_phrase in zip(values, placing, strict=False) if has_phrase)
                / (len(source) + 1)
                for placing in placings(list(row), phrases)
            )
    return sorted(found.items(), key=lambda item: -item[1])


def search(model, sentences, count=1, longest=LONGEST, **options):
    found = choose_search("beam", max_length_ratio=0, max_length_extra=longest, **options)
    return BatchSearch(model, TOKENIZER, found, CPU, count)([sentences])


PHRASES = [
    ([[5]], [[6, 4]], [[4], [4]]),
    ([[4, 4, 5]], [[4, 5], [4, 6]], [[5, 5]]),
    ([[4, 5], [5, 6]], [[5], [5, 4]], []),
    ([[6], [5], [4]], [[4, 4]], [[4, 5, 6, 4]]),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phrases", PHRASES, ids=str)
def test_a_wide_beam_finds_the_best_of_all_translations_with_the_phrases(tiny_model, kind, phrases):
    model = make(tiny_model, kind)
    longest = 1
    sentences = [Sentence(*given) for given in zip(SOURCES, [()] * 3, range(3), phrases, strict=True)]
    found = search(model, sentences, 30, longest, beam_size=1000)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        limit = longest + sentence.num_given
        expected = all_with(model, sentence.source, sentence.phrases, limit)
        if set(map(tuple, sentence.phrases)) == {(4,)}:  # nothing tells equal phrases apart
            assert len({tuple(one.tokens) for one in hypotheses}) == len(hypotheses)
        # Other phrases can be placed in two ways in the same words, which are then found twice.
        distinct = {tuple(one.tokens): one.score for one in reversed(hypotheses)}
        distinct = sorted(distinct.items(), key=lambda item: -item[1])
        assert [words for words, _ in distinct] == [words for words, _ in expected[: len(distinct)]]
        assert [score for _, score in distinct] == pytest.approx(
            [score for _, score in expected[: len(distinct)]], abs=1e-5
        )
        assert len(distinct) >= min(10, len(expected))


words_of_a_phrase = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
some_phrases = st.lists(words_of_a_phrase, max_size=6)


@settings(max_examples=40)
@given(
    st.sampled_from(["rnn", "attention", "transformer"]),
    st.integers(0, 5),
    st.lists(st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), some_phrases), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from([{}, {"min_length": 3}, {"no_repeat_ngram_size": 2}, {"repetition_penalty": 3.0}]),
    st.booleans(),
)
def test_every_phrase_is_there_apart_from_the_others_and_where_it_is_said_to_be(
    tiny_model, kind, seed, wanted, beam_size, options, early_stopping
):
    sentences = [Sentence(SOURCES[i % 3], prefix, i, phrases) for i, (prefix, phrases) in enumerate(wanted)]
    model = make(tiny_model, kind, seed)
    found = search(model, sentences, beam_size, beam_size=beam_size, early_stopping=early_stopping, **options)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        assert hypotheses
        for one in hypotheses:
            assert tuple(one.tokens[: len(sentence.prefix)]) == tuple(sentence.prefix)
            assert not set(one.tokens) & {PAD, UNK, BOS, EOS}
            if any(map(any, (phrases for _, phrases in wanted))):
                for number, phrase in enumerate(sentence.phrases):
                    places = [i for i, belongs in enumerate(one.phrases) if belongs == number]
                    assert [one.tokens[i] for i in places] == phrase
                    assert places == list(range(places[0], places[0] + len(phrase)))
                    assert places[0] >= len(sentence.prefix)


def test_phrases_come_on_top_of_the_longest_translation_and_what_it_begins_with_does_not(tiny_model):
    settings = choose_search("beam", max_length_ratio=1.5, max_length_extra=2)
    search, source = BatchSearch(make(tiny_model, "rnn"), TOKENIZER, settings, CPU, 1), [4] * 5
    phrases = [[5, 6], [4]]
    given = [(), (4, 4)]
    sentences = [Sentence(source, prefix, phrases=some) for prefix in given for some in ([], phrases)]
    assert search._limits_of(sentences).tolist() == [9, 9 + 3] * 2


def test_what_no_rule_allows_comes_all_the_same_in_a_phrase(tiny_model):
    model = make(tiny_model, "transformer")
    ((found,),) = search(model, [Sentence([4], phrases=[[4, UNK, 4]])], beam_size=2, no_repeat_ngram_size=1)
    assert [found.tokens[i] for i, phrase in enumerate(found.phrases) if phrase == 0] == [4, UNK, 4]
    assert math.isfinite(found.score)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_without_phrases_is_found_beside_others_as_by_itself(tiny_model, kind):
    model = make(tiny_model, kind)
    for beam_size in (1, 2, 5):
        alone = search(model, [Sentence(source) for source in SOURCES], beam_size, 8, beam_size=beam_size)
        others = [Sentence(source) for source in SOURCES] + [Sentence([4, 4], phrases=[[5, 6], [4]])]
        beside = search(model, others, beam_size, 8, beam_size=beam_size)[:3]
        assert [[one.tokens for one in some] for some in beside] == [
            [one.tokens for one in some] for some in alone
        ]


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_sentence_with_phrases_is_found_beside_others_with_more_as_by_itself(tiny_model, early_stopping):
    many = Sentence([4, 4], phrases=[[5, 6], [4], [4, 5], [6], [4, 4], [5, 5], [6, 6], [6, 5]])
    for seed in range(10):
        model = make(tiny_model, "rnn", seed)
        for beam_size, penalty in itertools.product((1, 2, 3), (1.0, 2.0)):
            options = {
                "beam_size": beam_size, "early_stopping": early_stopping, "length_penalty": penalty
            }  # fmt: skip
            # The last ones begin alike, so that hypotheses of the same tokens have equal scores.
            for phrases in ([], [[5]], [[4, 5], [6]], [[4, 5, 6], [4, 5, 4], [4, 6]]):
                sentence = Sentence([4, 9, 5], phrases=phrases)
                ((alone,),) = search(model, [sentence], 1, 8, **options)
                (beside,), _ = search(model, [sentence, many], 1, 8, **options)
                assert beside.tokens == alone.tokens
                assert beside.score == pytest.approx(alone.score, abs=1e-5)


def test_no_word_is_made_longer_behind_a_phrase(tiny_model, monkeypatch):
    model = make(tiny_model, "rnn")
    monkeypatch.setattr(VOCABULARY, "pieces", [*PIECES[:5], "b", "c"])
    for seed in range(10):
        model = make(tiny_model, "rnn", seed)
        ((found,),) = search(model, [Sentence([4, 5], phrases=[[4]])], beam_size=2, longest=6, min_length=3)
        behind = found.tokens[found.phrases.index(0) + 1 :]
        assert behind[:1] in ([], [4])
