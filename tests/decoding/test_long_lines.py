"""Lines that are longer than those of the training: nothing of them is lost, and they stay one line."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmt as nmt_package
from nmt.data.characters import is_wordless
from nmt.data.learned_lengths import LearnedLengths
from nmt.decoding.long_lines import LineCutter, join_parts
from nmt.decoding.search_settings import choose_search
from nmt.decoding.translation import Candidate
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.runs.text import corpus_of_run

SENTENCES = ["Der Hund schläft.", "Die Lehrerin kauft ein Buch.", "Ein Mann liest."]
PARAGRAPH = " ".join(SENTENCES * 4)


def count_words(text):
    return len(text.split())


LEARNED = LearnedLengths(6, 8)


def cutter(learned=LEARNED, limit=100, **search):
    return LineCutter(choose_search("greedy", **search), learned, count_words, limit)


def cut(line, **how):
    return [part.strip() for part in cutter(**how)(line, count_words(line))]


@pytest.mark.parametrize(
    ("how", "num_words"),
    [
        ({}, [3, 5, 3]),
        ({"split": "none"}, [11]),
        ({"long_line": 11}, [11]),
        ({"long_line": 10}, [3, 5, 3]),
        ({"learned": None}, [11]),
        ({"learned": None, "limit": 10}, [3, 5, 3]),
        ({"learned": None, "split": "sentences"}, [3, 5, 3]),
        ({"long_sentence": 4}, [3, 2, 3, 3]),
    ],
    ids=str,
)
def test_a_line_is_cut_where_it_is_longer_than_the_lines_learned_from(how, num_words):
    line = " ".join(SENTENCES)
    parts = cut(line, **how)
    assert list(map(count_words, parts)) == num_words
    assert " ".join(parts) == line


def test_a_paragraph_is_cut_also_for_a_model_whose_training_text_is_not_known():
    line = " ".join(SENTENCES * 10)
    assert len(cut(line, learned=None, limit=500)) == 30
    assert len(cut(line, learned=None, limit=500, split="none")) == 1


def test_emoji_are_no_part_of_their_own():
    for line in (
        "Der Hund schläft. 🎉🎉🎉",
        "🎉 🎉 Der Hund schläft. 👍 Ein Mann liest. 🎉",
        "🎉. Ein Mann liest.",
    ):
        parts = cutter(split="sentences")(line, count_words(line))
        assert "".join(parts) == line
        assert not any(map(is_wordless, parts)), parts


def test_a_line_is_cut_that_is_longer_than_usual_though_not_than_the_longest():
    line = " ".join(SENTENCES[1:])
    assert LEARNED.usual < count_words(line) <= LEARNED.longest
    assert cut(line) == SENTENCES[1:]


@given(st.text(st.sampled_from("a.,; A!"), max_size=200), st.integers(1, 8))
def test_no_part_is_too_long_and_nothing_is_lost(line, limit):
    parts = cutter(LearnedLengths(1, 20), limit)(line, 1 << 30)
    assert all(count_words(part) <= limit for part in parts)
    assert "".join(parts) == line
    assert all(part.strip() for part in parts) or not line.strip()


def test_space_before_what_stays_whole_is_no_part():
    settings, url = choose_search("greedy"), "x" * 40
    line = f"a b c {url} d e f"
    whole = LineCutter(settings, LearnedLengths(3, 3), len, 100, lambda _: [(6, 46)])
    parts = whole(line, 100)
    assert "".join(parts) == line
    assert any(url in part for part in parts)
    found = [
        [Candidate(part.strip().upper(), alignment=[(i, i) for i in range(len(part.split()))])]
        for part in parts
    ]
    (joined,) = join_parts(parts, found)
    assert joined.alignment == [(i, i) for i in range(7)]


def test_what_stays_whole_may_overlap():
    settings = choose_search("greedy")
    whole = LineCutter(settings, LearnedLengths(3, 3), len, 100, lambda _: [(9, 15), (2, 5), (4, 11)])
    parts = whole("a b c d e f g h i j k l", 100)
    assert "".join(parts) == "a b c d e f g h i j k l"
    assert any("b c d e f g h" in part for part in parts)
    assert len(parts) > 2


def test_a_huge_line_is_not_tokenised_as_a_whole():
    seen = []

    def count(text):
        seen.append(len(text))
        return len(text)

    settings = choose_search("greedy")
    parts = LineCutter(settings, LearnedLengths(10, 10), count, 100)("x" * 100_000, 100_000)
    assert sum(map(len, parts)) == 100_000
    assert max(map(len, parts)) <= 10
    assert max(seen) <= 320


def test_parts_are_joined_with_what_is_known_of_them():
    first = [Candidate("A b", -1.0, ["a", "E"], [-1.0, -2.0], [(0, 0), (1, 1)]), Candidate("A c", -3.0)]
    second = [Candidate("D", -2.0, ["d", "E"], [-3.0, -4.0], [(1, 0)])]
    joined = join_parts(["x y", " z w"], [first, second])
    assert [one.text for one in joined] == ["A b D", "A c D"]
    assert [one.score for one in joined] == [-1.5, -2.5]
    assert joined[0].tokens == ["a", "E", "d", "E"]
    assert joined[0].log_prob == -10
    assert joined[0].alignment == [(0, 0), (1, 1), (3, 2)]
    assert joined[1].alignment is None


@pytest.mark.parametrize("cut", range(1, 8))
def test_the_tag_that_each_part_begins_with_is_the_first_word_of_the_line(cut):
    line = "ab cd ef"
    found, expected, num_words = [], [], 0
    for start, part in ((0, line[:cut]), (cut, line[cut:])):
        words = list(re.finditer(r"\S+", part))
        links = [(0, 0), *((i + 1, i) for i in range(len(words)))]
        found.append([Candidate(" ".join(word[0].upper() for word in words), alignment=links)])
        # A word of the line stands behind the tag and all words that begin before it.
        sources = [0, *(len(line[: start + word.start() + 1].split()) for word in words)]
        targets = [num_words, *range(num_words, num_words + len(words))]
        expected += zip(sources, targets, strict=True)
        num_words += len(words)
    (joined,) = join_parts([f">>x<< {line[:cut]}", f">>x<< {line[cut:]}"], found, ">>x<<")
    assert joined.alignment == expected


def judged(text, *confidences):
    found = Candidate(text, confidence=sum(confidences) / len(confidences) if confidences else None)
    found.word_confidences, found.word_log_probs = list(confidences), [-1 - one for one in confidences]
    return found


def test_words_of_parts_are_as_sure_as_before_and_a_line_as_its_words():
    parts = [judged("A b", 0.5, 0.25), judged(""), judged("C", 0.9)]
    (joined,) = join_parts(["x ", "? ", "y"], [[one] for one in parts])
    assert joined.word_confidences == [0.5, 0.25, 0.9]
    assert joined.confidence == pytest.approx((0.5 + 0.25 + 0.9) / 3)
    assert joined.word_log_probs == [-1.5, -1.25, -1.9]
    (joined,) = join_parts(["x ", "y"], [[judged("今 天。", 0.5, 0.8)], [judged("好 。", 0.5, 0.7)]])
    assert (joined.text, joined.word_confidences) == ("今 天。好 。", [0.5, 0.4, 0.7])
    assert joined.confidence == pytest.approx((0.5 + 0.8 + 0.5 + 0.7) / 4)
    assert joined.word_log_probs == [-1.5, -1.8 - 1.5, -1.7]
    (joined,) = join_parts(["x ", "y"], [[judged("A", 0.5)], [Candidate("B")]])
    assert (joined.confidence, joined.word_confidences, joined.word_log_probs) == (None, [], [])
    (joined,) = join_parts(["x ", "y"], [[judged("")], [judged("")]])
    assert (joined.text, joined.confidence, joined.word_confidences) == ("", None, [])


def test_parts_of_a_language_without_spaces_are_joined_without():
    links = [(0, 0)]
    parts = [Candidate(text, alignment=links) for text in ("今天。", "", "好。")]
    (joined,) = join_parts(["Today. ", "?? ", "Good."], [[one] for one in parts])
    assert (joined.text, joined.alignment) == ("今天。好。", [(0, 0), (1, 1), (2, 0)])
    (joined,) = join_parts(
        ["今天。", "好。"], [[Candidate("Today.", alignment=links)], [Candidate("Good.", alignment=links)]]
    )
    assert (joined.text, joined.alignment) == ("Today. Good.", [(0, 0), (0, 1)])


SEARCHES = [
    {},
    {"decoding": "beam", "beam_size": 3},
    {"decoding": "sampling", "seed": 3, "temperature": 0.1},
    {"decoding": "mbr", "num_samples": 4},
]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_paragraph_is_translated_sentence_by_sentence(trained_run, search):
    model = nmt_package.load(str(trained_run), precision="float32")
    options = {"details": True, "split": "sentences", "max_length_ratio": 1, "max_length_extra": 2} | search
    (whole,) = model.translate([PARAGRAPH], **options)
    assert [part.strip() for part in whole.parts] == SENTENCES * 4
    (last,) = model.translate([SENTENCES[-1]], **options)
    assert last.parts == []
    alone = [one.text for sentence in SENTENCES for one in model.translate([sentence], **options)]
    if search.get("decoding") in ("sampling", "mbr"):  # parts are sampled apart, the first as a line is
        assert whole.text.startswith(alone[0])
    else:
        assert whole.text == " ".join(text for text in alone * 4 if text)
        assert whole.hypotheses[0].tokens[-len(last.hypotheses[0].tokens) :] == last.hypotheses[0].tokens
    words = PARAGRAPH.split()
    assert max(number for number, _ in whole.hypotheses[0].alignment) < len(words)
    num_target = [number for _, number in whole.hypotheses[0].alignment]
    assert num_target == list(range(len(whole.text.split())))


def test_each_part_of_a_line_is_drawn_for_itself(trained_run):
    model = nmt_package.load(str(trained_run), device="cpu", precision="float32")
    drawn = {"decoding": "sampling", "split": "sentences", "temperature": 3.0, "seed": 3}
    sentence = "Der Mann kauft ein Buch."
    (one,) = model.translate([" ".join([sentence] * 3)], **drawn)
    assert [part.strip() for part in one.parts] == [sentence] * 3
    (alone,) = model.translate([sentence], **drawn)
    assert one.text.startswith(alone.text), "the first part is drawn as a line"
    assert one.text != " ".join([alone.text] * 3)


def test_a_run_knows_the_lengths_that_it_learned_from(trained_run):
    run = RunDirectory(trained_run)
    model, tokenizer = load_model(run, "best")
    lengths = sorted(map(len, tokenizer.source.encode(corpus_of_run(run).train.source)))
    usual, longest, _ = model.learned_lengths
    assert longest == lengths[-1]
    num_longer = sum(length > usual for length in lengths)
    assert num_longer <= len(lengths) / 100 < num_longer + lengths.count(usual)


def test_the_command_line_says_how_many_lines_were_split(nmt, trained_run):
    lines = f"{SENTENCES[0]}\n{PARAGRAPH}\n\n{PARAGRAPH}\n".encode()
    done = nmt("translate", f"run={trained_run}", "format=jsonl", stdin=lines)
    found = list(map(json.loads, done.stdout.splitlines()))
    assert [len(one["parts"]) for one in found] == [0, 12, 0, 12]
    assert "2 lines were longer than usual, and translated in parts: lines 2 and 4\n" in done.stderr.decode()
    whole = nmt("translate", f"run={trained_run}", "format=jsonl", "decoding.split=none", stdin=lines)
    assert [json.loads(line)["parts"] for line in whole.stdout.splitlines()] == [[]] * 4
    assert "in parts" not in whole.stderr.decode()
