"""Pages ask for nothing but themselves, and whatever a text holds, it stays text."""

import re
from html.parser import HTMLParser

import pytest
from browser import find_chromium, look_at, schemes

from nmt.reports.drawing.charts import Line, line_chart, ranking
from nmt.reports.drawing.escaping import text
from nmt.reports.drawing.heat_map import heat_map
from nmt.reports.drawing.page import (
    figure,
    figures,
    folded,
    heading,
    legend,
    maps,
    notes,
    page,
    paragraph,
    section,
    table,
    tiles,
)

HOSTILE = "<script>alert('x')</script> <img src=x onerror=alert(1)> \"&amp; \x00\x1b[31m \u202eabc </style>"
VOID = {"meta", "br", "link", "img"}


class Balance(HTMLParser):
    """Fails where a tag is closed that is not the last one open; keeps the text, tags and attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_holds_text_of_strangers_as_text():
    parts = [
        figure(HOSTILE, HOSTILE, ranking(HOSTILE, [(HOSTILE, 1)]), folded(HOSTILE, maps(heading(HOSTILE)))),
        figures(table([HOSTILE, HOSTILE], [[HOSTILE], [HOSTILE, HOSTILE]], (1,))),
        notes([(HOSTILE, HOSTILE, HOSTILE)], HOSTILE),
        notes([], HOSTILE),
        paragraph(HOSTILE),
        tiles((HOSTILE, HOSTILE)),
        legend([HOSTILE, HOSTILE]),
    ]
    sections = [section(HOSTILE, HOSTILE, HOSTILE, *parts)]
    html = page(HOSTILE, HOSTILE, HOSTILE, sections, paragraph(HOSTILE)).decode()
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert not {"script", "img", "link"} & set(parser.tags)
    assert parser.tags.count("style") == 1
    assert not [key for key, _ in parser.attributes if key.startswith("on")]
    assert all(value.startswith("#") for key, value in parser.attributes if key in ("href", "src"))
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", html)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", html)
    shown = (
        "<script>alert('x')</script> <img src=x onerror=alert(1)> \"&amp; \ufffd\ufffd[31m \ufffdabc </style>"
    )
    assert " ".join(parser.text).count(shown) >= 25


def test_a_page_forbids_all_that_it_does_not_hold():
    html = page("nmt data", "Corpus", "", [section("one", "One", ""), section("two", "Two", "")]).decode()
    assert html.startswith("<!DOCTYPE html>")
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src' in html
    assert '<a href="#one">One</a><a href="#two">Two</a>' in html
    assert "<title>Corpus – nmt data</title>" in html


def test_hostile_text_is_escaped():
    assert not set("<>\"'\x00\x1b\u202e") & set(text(HOSTILE))


@pytest.mark.parametrize("kept", ["\u00a0", "\u200c", "日本語", "é", "🙂", "\u3000"])
def test_what_languages_need_stays(kept):
    assert text(kept) == kept


def test_cells_of_a_table():
    shown = table(["key", "value", "said"], [["group"], ["a", "1", "b"]], [2])
    assert '<tr class="group"><th colspan="3">group</th></tr>' in shown
    assert '<td>a</td><td>1</td><td class="text" dir="auto">b</td>' in shown
    assert "<td>one</td>" in table(["key"], [["one"]])


def test_a_legend_is_for_more_than_one():
    assert legend(["a"]) == ""
    assert legend(["a", "b"]).count("swatch") == 2


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
def test_nothing_is_wider_than_a_phone(tmp_path):
    long, wide = "x" * 300, [["1234567"] * 20]
    weights = [[0.5] * 60] * 3
    parts = [
        figures(figure(long, long, line_chart(long, [Line(long, [0, 1], [1e9, 1.1e9])], long, long))),
        maps(
            figure(
                long,
                long,
                heat_map(long, weights),
                folded(long, maps(figure("", "", heat_map(long, weights)))),
            )
        ),
        figures(figure("map", "", heat_map("map", weights))),
        table(["a"] * 20, wide),
        table([long, long], [[long, long], [long]], [0, 1]),
        folded("more", table(["a"] * 20, wide)),
        notes([(long, long, long)], long),
        tiles((long, long), ("1", "2")),
        legend([long, long]),
        heading(long),
        paragraph(long),
    ]
    path = tmp_path / "page.html"
    path.write_bytes(page("nmt", long, long, [section("one", long, long, *parts)]))
    assert schemes(look_at(path, tmp_path / "browser")) == {"file"}
