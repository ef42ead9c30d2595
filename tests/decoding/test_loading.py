"""A run in a Python program: lists and streams, threads, what is said of each token, and nothing on the screen."""

import itertools
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sacrebleu

import nmt
from nmt.errors import UserError

LINES = ["Der Hund schläft.", "", "Die Lehrerin kauft ein Buch.", "Ein Mann liest."] * 3
SEARCHES = [
    {},
    {"decoding": "greedy"},
    {"decoding": "beam", "beam_size": 4, "num_groups": 2},
    {"decoding": "sampling", "seed": 3},
    {"decoding": "mbr", "num_samples": 4, "utility": "bleu"},
    {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2, "min_length": 2},
]


@pytest.fixture(scope="module")
def model(trained_run):
    return nmt.load(str(trained_run), precision="float32")


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_list_in_gives_a_list_and_a_stream_gives_a_stream(model, search):
    listed = model.translate(LINES, **search)
    assert [one.source for one in listed] == LINES
    assert [one.text for one in listed if not one.source] == [""] * 3

    def stream():
        yield from LINES
        raise AssertionError("all of a stream is not asked for at first")

    streamed = model.translate(stream(), **search)
    assert iter(streamed) is streamed
    in_pieces = [one.text for piece in (LINES[:5], LINES[5:]) for one in model.translate(piece, **search)]
    if search.get("decoding") not in ("sampling", "mbr"):  # whose draws depend on the number of the line
        assert in_pieces == [one.text for one in listed]


@pytest.mark.parametrize("decoding", ["greedy", "beam", "sampling"])
def test_a_translation_ends_where_its_rules_leave_no_token(model, decoding):
    """The shortest translation is longer than the vocabulary, and no token may come twice."""
    rules = {"no_repeat_ngram_size": 1, "min_length": 220, "max_length_ratio": 0, "max_length_extra": 240}
    (found,) = model.translate(LINES[:1], decoding=decoding, details=True, **rules)
    tokens = found.hypotheses[0].tokens
    assert tokens[-1] == "</s>"
    assert len(set(tokens)) == len(tokens) > 180
    assert "<pad>" not in tokens


@pytest.mark.parametrize("search", [{}, {"decoding": "beam", "beam_size": 6, "length_penalty": 0.3}], ids=str)
def test_of_several_the_first_is_the_best_and_all_are_different(model, search):
    search = {"decoding": "beam", "beam_size": 4} | search
    several = model.translate(LINES, num_hypotheses=4, **search)
    for one, many in zip(model.translate(LINES, **search), several, strict=True):
        assert many.text == one.text
        if many.source:
            scores = [candidate.score for candidate in many.hypotheses]
            assert scores == sorted(scores, reverse=True)
            assert len({candidate.text for candidate in many.hypotheses}) == len(many.hypotheses)
    assert any(len(many.hypotheses) > 1 for many in several)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_translation_scores_what_was_said_of_it_when_it_was_made(model, search):
    """The prefix leaves no room for more words, and its tokens are those that the tokenizer gives for the text."""
    whole = ["the dog sleeps .", "", "the teacher buys a book .", "a man reads ."] * 3
    short = {"max_length_ratio": 0, "max_length_extra": 2}
    found = model.translate(LINES, prefixes=whole, details=True, **(search | short))
    scored = model.score(list(zip(LINES, whole, strict=True)))
    for one, other, text in zip(found, scored, whole, strict=True):
        best = one.hypotheses[0]
        assert best.text == other.text == text
        if not text:
            assert best.log_prob is None
            continue
        assert best.tokens == other.tokens
        assert len(best.tokens) > 3
        assert best.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)
        assert best.log_prob == pytest.approx(math.fsum(best.token_log_probs))


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_minimum_risk_takes_the_sample_that_is_most_like_all(model, utility):
    score = {"chrf": sacrebleu.sentence_chrf, "bleu": sacrebleu.sentence_bleu}[utility]
    search = {"temperature": 0.3, "seed": 5}
    drawn = model.translate(LINES, decoding="sampling", num_hypotheses=8, **search)
    found = model.translate(LINES, decoding="mbr", num_samples=8, utility=utility, num_hypotheses=3, **search)
    is_first = set()
    for one, samples in zip(found, drawn, strict=True):
        texts = [sample.text for sample in samples.hypotheses]
        mean = {text: sum(score(text, [other]).score for other in texts) / len(texts) for text in texts}
        expected = sorted(mean.values(), reverse=True)[:3]
        if one.source:
            assert [candidate.score for candidate in one.hypotheses] == pytest.approx(expected)
            assert [mean[candidate.text] for candidate in one.hypotheses] == pytest.approx(expected)
            is_first.add(one.text == texts[0])
    assert is_first == {True, False}


def test_translations_begin_with_what_is_given(model):
    prefixes = ["the dog", "", "a teacher", ""] * 3
    for one, prefix in zip(model.translate(LINES, prefixes=prefixes), prefixes, strict=True):
        assert one.text.startswith(prefix if one.source else "")
    prefixes = ["Ω 漢 dog", "the 漢", "漢"] * 4  # with letters that the vocabulary lacks
    for one, prefix in zip(model.translate(LINES, prefixes=prefixes, details=True), prefixes, strict=True):
        best = one.hypotheses[0]
        assert best.text.startswith(prefix if one.source else "")
        assert "⁇" not in best.text
        assert len(best.word_log_probs) == len(best.text.split())
    awkward = model.translate(LINES, prefixes=["é 漢\u200bx\n ´y"] * 12, details=True)
    for one in awkward:
        best = one.hypotheses[0]
        assert best.text.startswith("é 漢 x" if one.source else "")
        assert "\n" not in best.text
        assert max((target for _, target in best.alignment or []), default=-1) < len(best.text.split())
    with pytest.raises(UserError, match="prefixes: as many lines as the text has are needed; got only 2"):
        model.translate(LINES, prefixes=["a", "b"])
    with pytest.raises(UserError, match="prefixes: as many lines as the text has are needed, 12; got 13"):
        model.translate(LINES, prefixes=["a"] * 13)
    assert [one.text for one in model.translate(LINES, prefixes=itertools.repeat(""))] == [
        one.text for one in model.translate(LINES)
    ]


def test_threads_get_what_they_would_get_one_after_the_other(model):
    work = [(LINES[i % 4 :], SEARCHES[i % len(SEARCHES)]) for i in range(24)]

    def texts(given):
        return [one.text for one in model.translate(given[0], **given[1])]

    expected = [texts(given) for given in work]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(texts, work)) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.translate(["a"], beam_sice=3), "beam_sice: no such key of decoding=beam"),
        (lambda model: model.translate(["a"], beam_size=0), "beam_size"),
        (
            lambda model: model.translate(["a"], decoding="beem"),
            "decoding: one of greedy, beam, sampling, mbr",
        ),
        (lambda model: model.translate(["a"], num_hypotheses=9), "num_hypotheses: at most 2 is needed"),
        (lambda model: model.translate(["a"], target_language="fr"), "target_language: null is needed"),
        (lambda model: nmt.load("nowhere"), "nowhere"),
        (lambda model: nmt.load("a" * 5000), "run: the folder of a run is needed; got aaa.*: no such folder"),
        (
            lambda model: nmt.load("nowhere", device="cuda:0"),
            "device: one of auto, cpu, cuda, mps is needed; got cuda:0",
        ),
        (
            lambda model: nmt.load("nowhere", precision="int8"),
            "precision: one of auto, float32, bfloat16, float16 is",
        ),
        (
            lambda model: model.translate(["a"], num_hypotheses=0),
            "num_hypotheses: an integer of at least 1 is needed; got 0",
        ),
        (
            lambda model: model.translate(["a"], num_hypotheses=True),
            "num_hypotheses: an integer of at least 1 is needed; got True",
        ),
        (
            lambda model: model.translate(["a"], num_hypotheses="2"),
            "num_hypotheses: an integer of at least 1 is needed; got '2'",
        ),
        (lambda model: model.translate(["a"], kind="greedy"), "kind: no such key of decoding=beam$"),
        (lambda model: model.translate(["a", None, "b"]), "lines: text is needed; got None in line 2"),
        (lambda model: model.translate([b"a"]), "lines: text is needed; got b'a' in line 1"),
        (
            lambda model: model.translate(["a", "ä\ud800"]),
            r"lines: whole characters are needed; got '\\ud800' in line 2",
        ),
        (
            lambda model: model.translate(["a"], prefixes=[None]),
            "prefixes: text is needed; got None in line 1",
        ),
        (
            lambda model: model.score(["ab"]),
            "pairs: a source and its translation are needed; got 'ab' in line 1",
        ),
        (
            lambda model: model.align([("a", "b"), ("a", "b", "c")]),
            "pairs: a source and its translation are needed",
        ),
        (lambda model: model.score([("a", None)]), "pairs: text is needed; got None in line 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(model, call, message):
    with pytest.raises(UserError, match=message) as error:
        call(model)
    assert "\n" not in str(error.value)


def test_one_string_is_not_taken_for_many_lines(model):
    with pytest.raises(TypeError, match="a list of lines"):
        model.translate("Der Hund schläft.")
    with pytest.raises(TypeError, match="a list of prefixes"):
        model.translate(["Der Hund schläft."], prefixes="The dog")
    with pytest.raises(TypeError, match="ensemble: a list of folders is needed; got 'other'"):
        nmt.load("nowhere", ensemble="other")
    with pytest.raises(TypeError, match="checkpoint: text is needed; got None"):
        nmt.load("nowhere", checkpoint=None)


def test_a_program_imports_little_and_writes_nothing(trained_run):
    code = (
        "import sys, nmt\n"
        "assert 'torch' not in sys.modules\n"
        f"model = nmt.load({str(trained_run)!r})\n"
        "found = model.translate(['Der Hund schläft.'], details=True, num_hypotheses=2)\n"
        "model.score([('Der Hund schläft.', found[0].text)])\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('hydra', 'datasets', 'sacrebleu')]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
