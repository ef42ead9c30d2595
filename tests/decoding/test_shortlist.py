"""Searches among the words of a shortlist, against searches among all words and against all translations there are."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_models import TINY_SIZES

from nmt.config import TokenizerSettings
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Tokenizer, Vocabulary, obtain_tokenizer
from nmt.decoding.batch_search import BatchSearch, Sentence
from nmt.decoding.search_settings import choose_search
from nmt.decoding.shortlist import ShortDecoder, Shortlist, shortlist_of
from nmt.errors import RunError
from nmt.models.ensemble import Ensemble
from nmt.models.prepare import prepare_for_translating
from nmt.runs.directory import RunDirectory

PAD, UNK, BOS, EOS = range(4)
SIZE = 200  # so large that a shortlist of 64 is short
LONGEST = 3
CPU = torch.device("cpu")
VOCABULARY = SimpleNamespace(
    pad_id=PAD, unk_id=UNK, bos_id=BOS, eos_id=EOS, special_ids=(PAD, UNK, BOS, EOS), size=SIZE
)
TOKENIZER = SimpleNamespace(source=VOCABULARY, target=VOCABULARY)
SOURCES = [[4, 9, 5], [10], [6, 6, 8, 7, 5]]
PREFIXES = [(), (150, 7), (199,)]
LENGTHS = {"max_length_ratio": 0, "max_length_extra": LONGEST}
FULL = Shortlist(VOCABULARY, range(SIZE), Ids.of([[]] * SIZE))
# Each source token has two words of its own.
SHORT = Shortlist(VOCABULARY, [70, 71], Ids.of([[100 + i, 199 - i] if i < 12 else [] for i in range(SIZE)]))
SEARCHES = [
    choose_search("greedy", repetition_penalty=2.0, **LENGTHS),
    choose_search("beam", beam_size=3, no_repeat_ngram_size=2, min_length=2, **LENGTHS),
    choose_search("beam", beam_size=4, num_groups=2, **LENGTHS),
    choose_search("sampling", seed=3, top_k=50, **LENGTHS),
]


@pytest.fixture
def make(tiny_model):
    def model(kind):
        if kind == "ensemble":
            return Ensemble([model("rnn"), tiny_model("transformer", seed=3, sizes=(SIZE, SIZE))])
        return tiny_model(kind, sizes=(SIZE, SIZE))

    return model


every_kind = pytest.mark.parametrize("kind", [*TINY_SIZES, "ensemble"])


def search(model, settings, shortlist, prefixes=PREFIXES, count=1):
    sentences = [
        Sentence(source, prefix, i) for i, (source, prefix) in enumerate(zip(SOURCES, prefixes, strict=True))
    ]
    found = BatchSearch(model, TOKENIZER, settings, CPU, count, shortlist)
    return found([sentences[:2], sentences[2:]])


@every_kind
@pytest.mark.parametrize("settings", SEARCHES, ids=lambda settings: settings.kind)
def test_a_shortlist_of_all_words_changes_nothing(make, kind, settings):
    model = make(kind)
    assert FULL.choose(SOURCES).tolist() == list(range(SIZE))
    expected, found = (search(model, settings, shortlist, count=2) for shortlist in (None, FULL))
    assert [[one.tokens for one in row] for row in found] == [[one.tokens for one in row] for row in expected]
    for row, expected_row in zip(found, expected, strict=True):
        for one, other in zip(row, expected_row, strict=True):
            assert one.score == pytest.approx(other.score)


def test_the_chosen_are_what_can_come_and_fill_blocks():
    words = SHORT.choose(SOURCES[:1], [(150, 7)]).tolist()
    assert words == sorted(set(words))
    likely = {word for token in SOURCES[0] for word in (100 + token, 199 - token)}
    needed = {PAD, UNK, BOS, EOS, 70, 71, 150, 7} | likely
    assert len(words) == 64
    assert needed <= set(words)
    assert set(words) - needed <= set(range(64)), "the first ones fill what is left"
    assert 104 not in SHORT.choose(SOURCES[1:2]), "what is likely for another sentence"


@every_kind
@pytest.mark.parametrize("settings", SEARCHES, ids=lambda settings: settings.kind)
def test_no_other_words_come_and_prefixes_do(make, kind, settings):
    words = set(SHORT.choose(SOURCES, PREFIXES).tolist())
    found = search(make(kind), settings, SHORT)
    assert {token for row in found for one in row for token in one.tokens} <= words - {PAD, UNK, BOS, EOS}
    for prefix, (one,) in zip(PREFIXES, found, strict=True):
        assert tuple(one.tokens[: len(prefix)]) == prefix
    without = search(make(kind), settings, None)
    assert {token for row in without for one in row for token in one.tokens} - words, "others would come"


@pytest.mark.parametrize("settings", SEARCHES, ids=lambda settings: settings.kind)
def test_special_tokens_may_have_any_ids(make, settings):
    """Special tokens that a vocabulary of another program lacks have ids after its pieces."""
    ids = {"pad_id": 197, "unk_id": 30, "bos_id": 198, "eos_id": 196}
    vocabulary = SimpleNamespace(**ids, special_ids=tuple(ids.values()), size=SIZE)
    tokenizer = SimpleNamespace(source=vocabulary, target=vocabulary)
    model = make("transformer")
    with torch.no_grad():
        model.output.bias[[197, 30, 198]] += 20.0
    short = Shortlist(vocabulary, SHORT.frequent, SHORT.likely)
    sentences = [Sentence(source, number=i) for i, source in enumerate(SOURCES)]
    (found,) = zip(*BatchSearch(model, tokenizer, settings, CPU, 1, short)([sentences]), strict=True)
    words = set(short.choose(SOURCES).tolist())
    assert set(ids.values()) <= words
    tokens = {token for one in found for token in one.tokens}
    assert tokens
    assert tokens <= words - set(ids.values())


@every_kind
def test_a_wide_beam_finds_the_best_of_all_translations_of_the_chosen_words(make, kind):
    model, length = make(kind), 2
    settings = choose_search(
        "beam", beam_size=400, length_penalty=0.0, max_length_ratio=0, max_length_extra=length
    )
    found = search(model, settings, SHORT, [()] * 3, count=1)
    chosen = torch.from_numpy(SHORT.choose(SOURCES))
    words = [word for word in chosen.tolist() if word > EOS]
    for source, hypotheses in zip(SOURCES, found, strict=True):
        (first,) = log_probs_after(model, source, [()], chosen)
        second = log_probs_after(model, source, [(word,) for word in words], chosen)
        every = {(): first[EOS]}
        for word, following in zip(words, second, strict=True):
            every[(word,)] = first[word] + following[EOS]
            # At the limit EOS is certain.
            every |= {(word, other): first[word] + following[other] for other in words}
        best = max(every, key=every.get)
        assert tuple(hypotheses[0].tokens) == best
        assert hypotheses[0].score == pytest.approx(every[best], abs=1e-5)


@torch.no_grad()
def log_probs_after(model, source, translated, chosen):
    """Return log-probabilities of the chosen words without PAD, UNK and BOS, after translated words (N, T)."""
    count = len(translated)
    state = model.start(torch.tensor([[*source, EOS]] * count), torch.tensor([len(source) + 1] * count))
    for tokens in torch.tensor([[BOS, *words] for words in translated]).T:
        outputs = model.step(tokens, state).outputs
    if isinstance(model, Ensemble):
        parts = outputs.split([member.output.in_features for member in model.members], -1)
        shares = [
            member.project(part)[:, chosen].softmax(-1)
            for member, part in zip(model.members, parts, strict=True)
        ]
        logits = (sum(shares) / len(shares)).log()
    else:
        logits = model.project(outputs)[:, chosen]
    logits[:, :EOS] = -torch.inf  # PAD, UNK and BOS, the first three of the chosen
    return [dict(zip(chosen.tolist(), row, strict=True)) for row in logits.log_softmax(-1).tolist()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_prepared_layers_give_the_same_for_chosen_words(tiny_model, dtype):
    model = tiny_model("transformer", width=16, sizes=(SIZE, SIZE))
    model = model.to(dtype)
    prepare_for_translating(model)
    state = model.start(torch.tensor([[4, 9, EOS], [6, 7, EOS]]), torch.tensor([3, 3]))
    words = SHORT.choose(SOURCES)
    outputs = model.step(torch.tensor([BOS, BOS]), state).outputs
    decoder = ShortDecoder(model, words, CPU)
    for _ in range(2):
        assert torch.allclose(
            decoder.project(outputs), model.project(outputs)[:, words], atol=1e-5, rtol=1e-2
        )


# Files.


@pytest.fixture(scope="module")
def tokenizer():
    values = {"character_coverage": 1.0, "byte_fallback": False, "normalization": "identity", "model": None}
    settings = TokenizerSettings(kind="char", vocabulary_size=40, joint=True, **values)
    return obtain_tokenizer(settings, ParallelText(["abc déf\u0085"], ["ghi jkl"]), ["<2en>"])


def make_shortlist(tokenizer):
    """Return a shortlist in which each token, also special ones, has some targets."""
    size = tokenizer.source.size
    rows = [[(i * 3 + 1) % size, (i * 5 + 2) % size][: i % 3] for i in range(size)]
    return Shortlist(tokenizer.target, [7, 5, EOS, 6], Ids.of(rows))


def test_a_file_holds_all_but_special_tokens(tokenizer, tmp_path):
    shortlist, path = make_shortlist(tokenizer), tmp_path / "shortlist.txt"
    path.write_bytes(shortlist.to_bytes(tokenizer.source))
    found = Shortlist.read(path, tokenizer)
    assert found.frequent == [7, 5, 6]
    rows = [
        (mine.take(np.array([i])).tokens.tolist() for mine in (shortlist.likely, found.likely))
        for i in range(tokenizer.source.size)
    ]
    for i, (before, after) in enumerate(rows):
        assert after == ([] if i <= EOS else [token for token in before if token > EOS])
    pieces = tokenizer.target.pieces
    assert path.read_text(encoding="utf-8").split("\n")[0] == f"\t{pieces[7]} {pieces[5]} {pieces[6]}"


class Spaced(Vocabulary):
    """A vocabulary of a stranger, with separators in the names of its pieces."""

    pieces = ["<pad>", "<unk>", "<s>", "</s>", "a b", "c\td", "e\nf", "g\rh", "", "i"]

    def __init__(self):
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = range(4)
        self.size = len(self.pieces)


def test_names_with_separators_are_left_out(tmp_path):
    vocabulary, path = Spaced(), tmp_path / "shortlist.txt"
    rows = [[i, 9] if i > EOS else [] for i in range(vocabulary.size)]
    path.write_bytes(Shortlist(vocabulary, range(10), Ids.of(rows)).to_bytes(vocabulary))
    assert path.read_bytes() == b"\ti\ni\ti i\n"
    found = Shortlist.read(path, Tokenizer(vocabulary, vocabulary))
    assert found.frequent == [9]


@pytest.mark.parametrize(
    ("content", "number", "what"),
    [
        (b"", 1, "0 tabs"),
        (b"\ta b\na b\n", 2, "0 tabs"),
        (b"\ta b\na\tb\tc\n", 2, "2 tabs"),
        (b"\ta b\na\tb zz\n", 2, "zz, which is none,"),
        (b"\ta b\nzz\ta\n", 2, "zz, which is none,"),
        (b"\ta b\na b\tc\n", 2, "a b, which is none,"),
        (b"\ta\na\tb\na\tc\n", 3, "for the second time"),
        (b"\ta\n\tb\n", 2, "for the second time"),
        (b"\ta  b\n", 1, ", which is none,"),
        (b"\ta\na\t<s>\n", 2, "<s>, which is none,"),
        (b"\ta\na\tb\r\n", 2, "b\r, which is none,"),
        (b"\ta\na\t\xff\n", 2, "'utf-8' codec"),
        (b"\ta\n\na\tb\n", 2, "0 tabs"),
    ],
)
def test_other_files_are_refused_with_the_line(tokenizer, tmp_path, content, number, what):
    path = tmp_path / "shortlist.txt"
    path.write_bytes(content)
    with pytest.raises(RunError) as caught:
        Shortlist.read(path, tokenizer)
    message = str(caught.value)
    assert message.startswith("decoding.shortlist: ")
    assert f"{what}" in message
    assert message.endswith(f" in line {number} of {path}")
    assert "nmt shortlist run=" in message


def test_a_file_has_a_size_and_is_no_link(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "shortlist.txt"
    path.write_bytes(b"\ta b\n")
    assert Shortlist.read(path, tokenizer).frequent == [tokenizer.target.pieces.index(name) for name in "ab"]
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(RunError, match="a readable link is needed"):
        Shortlist.read(tmp_path / "link", tokenizer)
    monkeypatch.setattr("nmt.decoding.vocabulary_map.MAX_BYTES", 4)
    with pytest.raises(RunError, match="at most 4 bytes"):
        Shortlist.read(path, tokenizer)


def test_a_run_without_a_shortlist_says_how_to_make_one(tokenizer, tmp_path):
    for run in (None, RunDirectory(tmp_path)):
        with pytest.raises(RunError, match=r"^decoding.shortlist: false is needed .*`nmt shortlist run=DIR`"):
            shortlist_of(run, tokenizer)
    assert list(tmp_path.iterdir()) == []


@every_kind
def test_phrases_that_must_come_are_in_a_shortlist(make, kind):
    settings = choose_search("beam", beam_size=3, **LENGTHS)
    vocabulary = SimpleNamespace(**vars(VOCABULARY), pieces=[f"▁{i}" for i in range(SIZE)])
    tokenizer = SimpleNamespace(source=vocabulary, target=vocabulary)
    phrases = [((60, 61),), ((160,), (63,)), ((),)]
    sentences = [
        Sentence(source, (), i, some) for i, (source, some) in enumerate(zip(SOURCES, phrases, strict=True))
    ]
    full, short, none = (
        BatchSearch(make(kind), tokenizer, settings, CPU, 1, shortlist)([sentences])
        for shortlist in (FULL, SHORT, None)
    )
    assert [(one.tokens, one.phrases) for (one,) in full] == [(one.tokens, one.phrases) for (one,) in none]
    words = set(SHORT.choose(SOURCES, [ids for some in phrases for ids in some]).tolist())
    for (one,), some in zip(short, phrases, strict=True):
        assert set(one.tokens) <= words
        labelled = [
            tuple(token for token, of in zip(one.tokens, one.phrases, strict=True) if of == number)
            for number in range(len(some))
        ]
        assert labelled == [tuple(ids) for ids in some]
