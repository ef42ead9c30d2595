"""A text and its lines: how a model is given them, and how their translations are put together."""

import asyncio
import threading

import pytest

from nmt.decoding.translation import Candidate, Translation
from nmt.errors import SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.languages import code_of, language
from nmt.serving import language_pairs
from nmt.serving.batching import Batcher
from nmt.serving.language_pairs import Asked, Pair, _name_of, asked
from nmt.serving.metrics import Metrics
from nmt.serving.text import translate_text


class Model:
    """Translates a line to upper case, and as an alternative to the line twice; `short` has no alternative."""

    def __init__(self):
        self.given = []

    def __call__(self, lines, wanted):
        self.given.append(lines)
        return [
            Translation(line, [Candidate(line.upper()), *([] if line == "short" else [Candidate(line * 2)])])
            for line in lines
        ]


@pytest.mark.parametrize(
    ("typed", "tags", "expected"),
    [
        ("fr", ["<2fr>", "<2fr-CA>"], "fr"),
        ("fr_ca", ["<2fr>", "<2fr-CA>"], "fr-CA"),
        ("sr-Latn:Srpski", ["<2sr-Cyrl>", "<2sr-Latn>"], "sr-Latn"),
        ("sr", ["<2sr-Cyrl>", "<2sr-Latn>"], None),
        ("en", ["<2en_GB>", "<2de>"], "en_GB"),
        ("es", ["<2en>"], None),
        (None, ["<2en>"], "en"),
    ],
)
def test_the_tag_is_the_one_that_was_typed_or_the_only_one_of_its_language(typed, tags, expected, tmp_path):
    def name():
        return _name_of(code_of((typed or "en").partition(":")[0]), typed, tags, RunDirectory(tmp_path))

    if expected is None:
        with pytest.raises(SettingsError, match=r"^target_language: one of "):
            name()
    else:
        assert name() == expected


def pair_of(model, max_lines=2, has_context=False):
    return Pair(
        (language("de"), language("en")), 2, has_context, Batcher(model, max_lines, 0, 100, Metrics())
    )


def test_a_text_is_put_together_from_its_lines():
    pair = pair_of(Model())
    found = asyncio.run(translate_text(pair, "a\r\n\n  \nshort\n🙂\nc", 1))
    assert found[:2] == ("A\r\n\n  \nSHORT\n🙂\nC", ["aa\r\n\n  \nSHORT\n🙂\ncc"])
    assert asyncio.run(translate_text(pair, "short", 1))[:2] == ("SHORT", []), "others are distinct"


@pytest.mark.parametrize("between", [". ", " ", "", " " * 5000])
def test_a_very_long_line_goes_through_the_queue_in_pieces(between):
    model = Model()
    line = between.join(["Hund"] * (3000 if len(between) < 5 else 20))
    found = asyncio.run(translate_text(pair_of(model, max_lines=4), f"a\n{line}\nb"))
    assert "".join(found.text.split()) == "".join(f"A{line.upper()}B".split())
    assert found.text.count("\n") == 2
    assert len(model.given) > 2
    assert max(len(piece) for some in model.given for piece in some) <= 2000


def test_lines_that_are_read_with_lines_before_them_stay_together_with_blank_ones():
    model = Model()
    assert asyncio.run(translate_text(pair_of(model, has_context=True), "a\n\nb\nc"))[:2] == ("A\n\nB\nC", [])
    assert model.given == [["a", "", "b", "c", ""]]


def test_blank_lines_beside_a_very_long_one_still_say_where_a_document_ends():
    model = Model()
    long = "Hund. " * 400
    asyncio.run(translate_text(pair_of(model, has_context=True), f"a\n\n{long}\nb"))
    (given,) = model.given
    assert given[:2] == ["a", ""]
    assert "".join(given[2:-2]) == long
    assert given[-2:] == ["b", ""]


def test_lines_of_about_one_length_go_together_and_others_have_room_beside_them():
    model = Model()
    pair = pair_of(model, 8)
    lines = ["a", "aaaa", "aaa", "", "aaaaaa", "aa", "aaaaa"]
    text = "\n".join(lines)
    assert asyncio.run(translate_text(pair, text))[:2] == (text.upper(), [])
    parts = [line for some in model.given for line in some]  # a blank line behind each
    assert parts == ["aaaaaa", "aaaaa", "", "aaaa", "aaa", "", "aa", "a", ""]


@pytest.mark.parametrize("is_one_text", [True, False])
def test_a_book_does_not_hold_up_others_nor_they_the_book(is_one_text):
    """Other requests keep coming: each translated batch brings another batch of them."""
    model, turns, go_on = Model(), [], threading.Event()

    async def main():
        pair, small = pair_of(model, 4), []
        inner = pair.batcher.translate

        def translate(lines, wanted):
            assert go_on.wait(60)
            turns.append({line[:1] for line in lines} - {""})
            if len(turns) < 200:
                small.extend(pair.batcher.submit([f"s{number}"], wanted) for number in range(4))
            return inner(lines, wanted)

        pair.batcher.translate = translate
        asked.set(Asked())
        texts = ["\n".join(["b"] * 40)] if is_one_text else ["b"] * 40
        begun = asyncio.gather(*(translate_text(pair, text) for text in texts))
        await asyncio.sleep(0.1)  # until all of the book waits
        go_on.set()
        assert "".join(found.text for found in await begun).count("B") == 40
        await asyncio.gather(*map(asyncio.wrap_future, small))

    asyncio.run(asyncio.wait_for(main(), 60))
    last = max(number for number, turn in enumerate(turns) if "b" in turn)
    assert all("s" in turn for turn in turns[2:last]), "others were not held up"
    assert last < 60, "nor was the book"


def test_a_book_of_one_line_is_joined_beside_other_requests(monkeypatch):
    threads = []

    def joined(line, pieces, join=language_pairs._joined):
        threads.append(threading.current_thread())
        return join(line, pieces)

    async def found(lines, wanted):
        return [Translation(line, [Candidate(line.upper())]) for line in lines]

    pair = Pair((None, None), None, False, None)
    monkeypatch.setattr(pair, "_find", found)
    monkeypatch.setattr(language_pairs, "_joined", joined)
    book = " ".join(["wort"] * language_pairs.LONG_LINE)
    (translation,) = asyncio.run(pair.find([book], None))
    assert translation.text.split() == book.upper().split()
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
