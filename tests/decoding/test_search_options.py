"""Options of searches with every model, against the list of all translations that there are, made in plain Python."""

import itertools
import math
from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from nmt.data.batching import Batch
from nmt.decoding.batch_search import BatchSearch, Sentence
from nmt.decoding.beam_search import power_penalty, wu_penalty
from nmt.decoding.choice import Sampled
from nmt.decoding.engine import limit_of
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import search_in_batches
from nmt.errors import DeviceError
from nmt.models.ensemble import Ensemble

PAD, UNK, BOS, EOS = range(4)
WORDS = [4, 5, 6]
LONGEST = 4
NUM_TRANSLATIONS = sum(len(WORDS) ** length for length in range(LONGEST + 1))
VOCABULARY = SimpleNamespace(pad_id=PAD, unk_id=UNK, bos_id=BOS, eos_id=EOS)
TOKENIZER = SimpleNamespace(source=VOCABULARY, target=VOCABULARY)
CPU = torch.device("cpu")
SOURCES = [[4, 9, 5], [10], [6, 6, 8, 7, 5]]
LENGTHS = {"max_length_ratio": 0, "max_length_extra": LONGEST}
KINDS = ["rnn", "attention", "transformer", "ensemble"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def make(tiny_model):
    def model(kind):
        sizes = (11, 4 + len(WORDS))
        if kind == "ensemble":
            return Ensemble([model("rnn"), tiny_model("transformer", seed=3, sizes=sizes)])
        return tiny_model(kind, sizes=sizes)

    return model


def logits_after(model, source):
    """Return a function from the tokens of a translation so far to the logits of the next token."""
    rows = list(itertools.product(WORDS, repeat=LONGEST))
    ids = torch.tensor([[*source, EOS]] * len(rows))
    lengths = torch.full((len(rows),), len(source) + 1)
    target_lengths = torch.full((len(rows),), LONGEST + 1)
    inputs = torch.tensor([[BOS, *row] for row in rows])
    ends = torch.full_like(inputs, EOS)
    batch = Batch(ids, lengths, inputs, ends, target_lengths, (lengths, target_lengths))
    with torch.no_grad():
        if isinstance(model, Ensemble):
            own = [member.project(member(batch).outputs) for member in model.members]
            # As large as the members' own, which decides what a penalty for repetition does to them.
            size = sum(one.exp().sum(-1, keepdim=True).log() for one in own) / len(own)
            logits = (sum(one.softmax(-1) for one in own) / len(own)).log() + size
        else:
            logits = model.project(model(batch).outputs)
    table = {
        row[:length]: logits[number, length].tolist()
        for number, row in enumerate(rows)
        for length in range(LONGEST + 1)
    }
    return lambda words: table[tuple(words)]


def allowed(logits, words, options, prefix=()):
    """Return {token: logit} of the tokens that may follow `words`."""
    if len(words) < len(prefix):
        return {prefix[len(words)]: 0.0}
    if len(words) == LONGEST:
        return {EOS: 0.0}
    logits, penalty = (
        {token: logits[token] for token in [*WORDS, EOS]},
        options.get("repetition_penalty", 1.0),
    )
    for token in set(words):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    size = options.get("no_repeat_ngram_size")
    if size is not None:
        there = {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}
        for token in WORDS:
            if (*words, token)[-size:] in there:
                del logits[token]
    if len(words) < options.get("min_length", 0):
        del logits[EOS]
    return logits


def normalised(logits, temperature=1.0):
    largest = max(logits.values())
    weights = {token: math.exp((x - largest) / temperature) for token, x in logits.items()}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


def all_translations(after, options, prefix=(), choose=lambda probabilities: probabilities):
    """Return each translation with its probability."""
    found, open_ones = {}, [((), 1.0)]
    while open_ones:
        words, probability = open_ones.pop()
        logits = allowed(after(words), words, options, prefix)
        for token, share in choose(normalised(logits, options.get("temperature", 1.0))).items():
            if token == EOS:
                found[words] = probability * share
            else:
                open_ones.append(((*words, token), probability * share))
    return found


def search(model, settings, count, prefixes=((), (), ()), number=0):
    found = BatchSearch(model, TOKENIZER, settings, CPU, count)
    sentences = [
        Sentence(source, prefix, number + i)
        for i, (source, prefix) in enumerate(zip(SOURCES, prefixes, strict=True))
    ]
    return found([sentences[:2], sentences[2:]])


@every_kind
@pytest.mark.parametrize(
    ("options", "prefixes"),
    [
        ({}, ((), (), ())),
        ({"length_penalty": 0.0}, ((), (), ())),
        ({"length_penalty": 2.0, "length_penalty_kind": "wu", "min_length": 2}, ((), (), ())),
        ({"repetition_penalty": 3.0, "min_length": 2}, ((), (), ())),
        ({"no_repeat_ngram_size": 1}, ((), (), ())),
        ({"no_repeat_ngram_size": 2, "min_length": 3}, ((), (), ())),
        ({}, ((4, 4), (), (5, 6, 4, 5))),
        ({"no_repeat_ngram_size": 2, "min_length": 2}, ((4, 4, 4), (6,), ())),
    ],
    ids=str,
)
def test_a_beam_for_all_translations_finds_the_best_of_them_in_order(make, kind, options, prefixes):
    model = make(kind)
    settings = choose_search("beam", beam_size=NUM_TRANSLATIONS, **LENGTHS, **options)
    penalty = wu_penalty if settings.length_penalty_kind == "wu" else power_penalty
    penalty = penalty(settings.length_penalty)
    for source, prefix, hypotheses in zip(
        SOURCES, prefixes, search(model, settings, 20, prefixes), strict=True
    ):
        every = all_translations(logits_after(model, source), options, prefix)
        assert sum(every.values()) == pytest.approx(1)
        scores = {words: math.log(value) / penalty(len(words) + 1) for words, value in every.items()}
        expected = sorted(scores, key=lambda words: -scores[words])[:20]
        assert [tuple(one.tokens) for one in hypotheses] == expected
        assert [one.score for one in hypotheses] == pytest.approx(
            [scores[words] for words in expected], abs=1e-5
        )


@pytest.mark.parametrize(
    ("size", "max_positions", "limit"), [(4, None, 8), (5, None, 9), (4, 16, 8), (99, 16, 15), (0, None, 2)]
)
def test_a_translation_is_as_long_as_its_source_and_the_positions_of_the_model_allow(
    size, max_positions, limit
):
    settings = choose_search("greedy", max_length_ratio=1.5, max_length_extra=2)
    assert limit_of(size, settings, max_positions) == limit


@every_kind
@pytest.mark.parametrize("size", [1, 2, 3])
def test_greedy_search_obeys_the_same_rules(make, kind, size):
    model = make(kind)
    settings = choose_search("greedy", no_repeat_ngram_size=size, min_length=2, **LENGTHS)
    prefixes = ((), (4, 4), (5,))
    for source, prefix, (found,) in zip(SOURCES, prefixes, search(model, settings, 1, prefixes), strict=True):
        after, words = logits_after(model, source), ()
        while not words or words[-1] != EOS:
            logits = allowed(after(words), words, settings.model_dump(), prefix)
            words = (*words, max(logits, key=logits.get))
        assert (*found.tokens, EOS) == words


def among(top_k, top_p):
    """Return a function that keeps the tokens that may be drawn, with probabilities that sum to 1."""

    def choose(probabilities):
        kept, total = {}, 0.0
        for token in sorted(probabilities, key=lambda token: -probabilities[token])[:top_k]:
            if top_p is not None and total >= top_p:
                break
            kept[token] = probabilities[token]
            total += probabilities[token]
        return {token: value / total for token, value in kept.items()}

    return choose


@every_kind
@pytest.mark.parametrize(
    "drawn", [{}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.7}], ids=str
)
def test_translations_are_drawn_as_often_as_they_are_probable(make, kind, drawn):
    model, count = make(kind), 3000
    settings = choose_search("sampling", seed=7, **drawn, **LENGTHS)
    for source, hypotheses in zip(SOURCES, search(model, settings, count), strict=True):
        choose = among(drawn.get("top_k"), drawn.get("top_p"))
        expected = all_translations(logits_after(model, source), drawn, choose=choose)
        found = Counter(tuple(one.tokens) for one in hypotheses)
        assert found.keys() <= expected.keys(), "what cannot be drawn"
        for words, probability in expected.items():
            deviation = math.sqrt(count * probability * (1 - probability))
            # A rare translation may come up to 3 times too often.
            assert abs(found[words] - count * probability) <= 5 * deviation + 3


def test_what_is_drawn_depends_on_the_seed_and_the_number_of_the_line_alone(make):
    model = make("rnn")
    settings = choose_search("sampling", seed=7, **LENGTHS)

    def drawn(settings, numbers):
        found = BatchSearch(model, TOKENIZER, settings, CPU, 5)
        return [
            [one.tokens for one in row] for row in found([[Sentence(SOURCES[0], (), n) for n in numbers]])
        ]

    together = drawn(settings, range(8))
    assert [drawn(settings, [number])[0] for number in range(8)] == together
    assert len({str(row) for row in together}) > 4
    others = drawn(choose_search("sampling", seed=8, **LENGTHS), range(8))
    assert sum(one == other for one, other in zip(others, together[1:], strict=False)) < 7, (
        "no seed is another, moved"
    )


def test_the_first_line_of_the_first_seed_is_drawn_like_others():
    choice = Sampled(torch.arange(4), 3, 0, 1.0, None, None, CPU)
    drawn = torch.stack([choice._uniform(position) for position in range(2000)])
    assert ((drawn > 0) & (drawn < 1)).all()
    assert ((drawn.mean(0) - 0.5).abs() < 5 * (1 / 12 / 2000) ** 0.5).all()
    assert len(set(drawn[0].flatten().tolist())) == 12


@pytest.mark.parametrize("beam_size", [1, 8])
def test_the_tokens_of_all_hypotheses_of_a_batch_are_at_most_so_many(beam_size):
    settings, sizes = choose_search("beam", beam_size=beam_size, max_tokens=800, **LENGTHS), []

    def note_size(batch):
        sizes.append(sum(map(len, batch)) * beam_size * 10)
        return [[]] * sum(map(len, batch))

    note_size.width, note_size.settings = beam_size, settings
    note_size.tokenizer = SimpleNamespace(target=SimpleNamespace(size=100))
    search_in_batches(note_size, [Sentence([4] * 9)] * 200)
    assert sum(sizes) == 200 * beam_size * 10
    assert max(sizes) == 800


@pytest.mark.parametrize("kind", ["rnn", "attention", "transformer"])
@pytest.mark.parametrize("decoding", ["greedy", "beam", "sampling", "mbr"])
def test_an_ensemble_of_one_is_that_one(make, kind, decoding):
    model, settings = make(kind), choose_search(decoding, **LENGTHS)
    count = 5 if decoding == "beam" else 1
    expected = search(model, settings, count)
    for found, other in zip(search(Ensemble([model]), settings, count), expected, strict=True):
        assert [one.tokens for one in found] == [one.tokens for one in other]


@pytest.mark.parametrize("penalty", [0.5, 1.5, 3.0])
def test_an_ensemble_of_a_model_with_itself_is_penalised_as_that_model_is(make, penalty):
    model = make("transformer")
    settings = choose_search("greedy", **LENGTHS | {"repetition_penalty": penalty})
    for (found,), (other,) in zip(
        search(Ensemble([model, model]), settings, 1), search(model, settings, 1), strict=True
    ):
        assert found.tokens == other.tokens


def test_an_ensemble_writes_no_more_than_the_smallest_of_its_models_can(tiny_model):
    members = [
        tiny_model("transformer", sizes=(11, 4 + len(WORDS)), positions="learned", max_positions=size)
        for size in (64, 7)
    ]
    settings = choose_search("greedy", max_length_ratio=0, max_length_extra=30, min_length=30)
    for some in (members, members[::-1]):
        for (found,) in search(Ensemble(some), settings, 1):
            assert len(found.tokens) == 7 - 1, "all but the position of EOS"


def test_an_ensemble_aligns_by_the_mean_of_the_members_that_have_attention(tiny_model, tiny_batch):
    one, two, other = (
        tiny_model(kind, seed=seed) for seed, kind in enumerate(("attention", "transformer", "rnn"))
    )
    batch = tiny_batch()
    with torch.inference_mode():
        first, second = one.alignment(batch), two.alignment(batch)
        assert not torch.allclose(first, second)
        torch.testing.assert_close(Ensemble([one, two]).alignment(batch), (first + second) / 2)
        torch.testing.assert_close(Ensemble([other, one]).alignment(batch), first)
        assert Ensemble([other]).alignment(batch) is None


def test_lines_are_fewer_at_once_where_a_vocabulary_is_large_and_a_lack_of_memory_is_one_line(monkeypatch):
    settings, sizes = choose_search("greedy", max_tokens=800, **LENGTHS), []

    def search(batch):
        sizes.append(sum(map(len, batch)))
        if sizes[-1] > 8:
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate\nmore"
            )
        return [[]] * sizes[-1]

    search.width, search.settings = 2, settings
    search.tokenizer = SimpleNamespace(target=SimpleNamespace(size=1000))
    monkeypatch.setattr("nmt.decoding.torch_engine.LOGITS_AT_ONCE", 8 * 2 * 1000)
    search_in_batches(search, [Sentence([4])] * 100)
    assert sum(sizes) == 100
    assert max(sizes) == 8
    monkeypatch.setattr("nmt.decoding.torch_engine.LOGITS_AT_ONCE", 1 << 27)
    with pytest.raises(
        DeviceError, match=r"^decoding.max_tokens: fewer tokens .*; got 800, and .* can't allocate memory.*$"
    ):
        search_in_batches(search, [Sentence([4])] * 100)
