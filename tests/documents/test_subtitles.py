"""Subtitles: what is a line of them, and that times, places and looks stay as they stood."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.document import lines_of
from nmt.documents.subtitles import read_srt, read_vtt
from nmt.documents.wrapping import wrap
from nmt.errors import DataError

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Der alte Mann\r\nschläft</i>.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000 X1:1\r\n{\\an8}- Wer ist da?\r\n- Nur ich,\r\nder Hund.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n♪\r\n"
)
VTT = (
    "WEBVTT - Ein Film\n\nNOTE das hier bleibt\n\nSTYLE\n::cue { color: red }\n\n"
    "erster\n00:01.000 --> 00:02.000 align:start\n<v Anna>Käse &amp; <c.gelb>Brot</c></v>\n\n"
    "00:00:03.000 --> 00:00:04.000\nIch <00:03.500>gehe\n"
)


def test_subtitles_keep_times_and_places_and_the_number_of_rows(translate, turned):
    document = read_srt(SRT)
    assert lines_of(document) == ["Der alte Mann schläft.", "Wer ist da?", "Nur ich, der Hund.", "♪"]
    found = translate(document, turned)
    kept = re.compile(r"^(\d+|.*-->.*|)$", re.MULTILINE)
    assert kept.findall(found.replace("\r", "")) == kept.findall(SRT.replace("\r", ""))
    assert "<i>SCHLÄFT. MANN\r\nALTE DER</i>" in found
    assert "{\\an8}- DA? IST WER\r\n- HUND. DER\r\nICH, NUR" in found
    assert found.count("\r\n") == found.count("\n") == SRT.count("\n")


def test_what_each_speaker_says_is_a_line_of_its_own(translate, turned):
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n{}\n"
    document = read_srt(cue.format("<i>- Wer ist da?</i>", "<b><i>- Nur ich.</i></b>"))
    assert lines_of(document) == ["- Wer ist da?", "- Nur ich."]
    assert translate(document, turned) == cue.format("<i>DA? IST WER -</i>", "<b><i>ICH. NUR -</i></b>")
    document = read_vtt("WEBVTT\n\n" + cue.format("<v Bob>Wer ist da?", "<v.laut Mary>Nur ich."))
    assert lines_of(document) == ["Wer ist da?", "Nur ich."]
    assert lines_of(read_srt(cue.format("<i>Wer ist", "da? - Nur ich</i>"))) == ["Wer ist da? - Nur ich"]


def test_cues_without_blank_lines_between_are_cues():
    text = "1\n00:00:01,000 --> 00:00:02,000\neins\n2\n00:00:03,000 --> 00:00:04,000\nzwei\n"
    assert lines_of(read_srt(text)) == ["eins", "zwei"]


@pytest.mark.parametrize(
    "times", ["00:00:03 --> 00:00:04", "-00:00:01,000 --> 00:00:01,000", "0:03.5-->0:04"]
)
def test_times_are_known_without_milliseconds_and_before_the_beginning(times, translate):
    text = f"1\n{times}\neins\n\n2\n00:00:05,000 --> 00:00:06,000\nzwei\n\n3\n{times}\ndrei\n"
    document = read_srt(text)
    assert lines_of(document) == ["eins", "zwei", "drei"]
    assert translate(document) == text.replace("eins", "EINS").replace("zwei", "ZWEI").replace("drei", "DREI")


def test_vtt_keeps_notes_styles_names_and_entities(translate):
    document = read_vtt(VTT)
    assert lines_of(document) == ["Käse & Brot", "Ich gehe"]
    assert translate(document) == (
        VTT.replace("Käse &amp; <c.gelb>Brot", "KÄSE &amp; <c.gelb>BROT").replace(
            "Ich <00:03.500>gehe", "ICH <00:03.500>GEHE"
        )
    )


def test_what_has_no_times_is_no_subtitles():
    for text in ("", "Der Hund", "1\n00:00:01 -> 00:00:02\nHund"):
        with pytest.raises(DataError, match="subtitles with times"):
            read_srt(text)


@given(st.text("ab ", max_size=60), st.integers(1, 6))
def test_rows_are_as_short_as_they_can_be(text, number):
    """Against all ways to divide the words."""
    words = text.split(" ")
    lines = wrap(text, number)
    assert " ".join(lines) == text
    assert len(lines) <= number

    def best(words, number):
        if number == 1 or len(words) == 1:
            return len(" ".join(words))
        ways = [max(len(" ".join(words[:i])), best(words[i:], number - 1)) for i in range(1, len(words))]
        return min([*ways, len(" ".join(words))])

    if len(words) <= 8:
        assert max(map(len, lines)) == best(words, number)


def test_a_long_cue_is_wrapped_in_time():
    words = ["wort"] * 400_000
    assert wrap(" ".join(words), 1) == [" ".join(words)]
    first, second = wrap(" ".join(words), 2)
    assert len(first) == len(second)


def test_blank_lines_within_a_cue_of_srt_leave_no_text_behind(translate):
    text = "1\n00:00:01,000 --> 00:00:02,000\neins\n\nzwei\n\n\n2\n00:00:03,000 --> 00:00:04,000\ndrei\n\n"
    document = read_srt(text)
    assert lines_of(document) == ["eins", "zwei", "drei"]
    assert translate(document) == text.replace("eins", "EINS").replace("zwei", "ZWEI").replace("drei", "DREI")


def test_a_cue_of_many_lines_is_read_in_time():
    text = f"1\n00:00:01,000 --> 00:00:02,000\n{'a' * 30}\n" + f"{'b' * 30}\n" * 400_000
    document = read_srt(text)
    assert document.write(document.blocks) == text
