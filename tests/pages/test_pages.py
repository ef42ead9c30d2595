"""Charts show the numbers that they are given, and pages ask for nothing but themselves."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from nmt.pages.charts import Axis, bars, histogram, lines, short
from nmt.pages.page import Section, figure, grid, notes, page, table

VOID = {"meta", "br", "link", "img"}


def attributes(svg, tag, *names):
    root = ElementTree.fromstring(svg)
    return [[float(part.get(name)) for name in names] for part in root.iter(tag) if part.get(names[0])]


def test_bars_of_a_histogram_are_as_high_as_the_counts():
    svg = histogram("h", [0, 1, 2, 4], {"one": [5, 10, 0]}, "words")
    found = attributes(svg, "rect", "height", "width")
    heights, widths = [height for height, _ in found], [width for _, width in found]
    assert heights[0] / heights[1] == pytest.approx(0.5, abs=0.01)
    assert heights[2] == 0
    assert widths[2] / widths[0] == pytest.approx(2, abs=0.01)
    assert "<title>one: 10 from 1 to 2</title>" in svg


def test_equal_factors_are_equally_wide_where_an_axis_is_logarithmic():
    found = attributes(histogram("h", [0.25, 1, 4], {"one": [1, 2]}, "ratio", True), "rect", "width")
    assert found[0] == found[1]


def test_a_line_goes_through_its_points_and_is_broken_where_there_is_none():
    svg = lines(
        "l", [0, 5, 10, 15], {"r": [0.0, 1.0, None, 0.5]}, Axis(0, 15, "x"), Axis(0, 1), marked=[(5, 10)]
    )
    (path,) = [path for path in re.findall(r'<path d="(M[^"]*)"', svg) if "L" in path]
    points = [[float(number) for number in point.split()] for point in re.split("[ML]", path)[1:]]
    assert path.count("M") == 2
    assert len(points) == 3
    (left, bottom), (middle, top), (_, half) = points
    assert half == pytest.approx((top + bottom) / 2, abs=0.1)
    (mark,) = attributes(svg, "rect", "x", "width")
    assert mark[0] == middle
    assert mark[1] == pytest.approx(middle - left, abs=0.1)


def test_horizontal_bars_are_as_long_as_their_values():
    found = attributes(bars("b", [("a", 4), ("<b>", 1)]), "rect", "width")
    assert found[0][0] / found[1][0] == pytest.approx(4, abs=0.02)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (950, "950"), (1234, "1.23 k"), (3e6, "3 M"), (0.25, "0.25"), (-2000, "-2 k")],
)
def test_numbers_are_short(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis(0, 10), [0, 2.5, 5, 7.5, 10]),
        (Axis(-0.5, 1), [-0.5, 0, 0.5, 1]),
        (Axis(0.25, 4, "", True), [0.25, 0.5, 1, 2, 4]),
        (Axis(3, 3), [3]),
    ],
)
def test_ticks_are_round_numbers(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)


def test_charts_of_nothing_are_charts():
    for svg in (
        histogram("h", [0, 1], {"one": [0]}, ""),
        lines("l", [], {"r": []}, Axis(0, 0), Axis(0, 1)),
        lines("l", [1], {"r": [0.5]}, Axis(0, 2), Axis(0, 1)),
        bars("b", []),
    ):
        assert ElementTree.fromstring(svg).tag == "svg"


class Balance(HTMLParser):
    """Fails where a tag is closed that is not the last one open; keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_data(self, data):
        self.text.append(data)


def check_page(html):
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import|\son\w+=", html)
    return " ".join(parser.text)


def test_a_page_holds_text_of_strangers_as_text():
    hostile = "<script>alert(1)</script>\"'&"
    blocks = [
        figure(hostile, bars(hostile, [(hostile, 1)]), hostile),
        grid([table([hostile], [[hostile], [hostile, hostile]], (1,))]),
        notes([(hostile, hostile, hostile)], hostile),
        notes([], hostile),
    ]
    text = check_page(page(hostile, hostile, [Section(hostile, blocks, hostile)], hostile))
    assert text.count(hostile) >= 12
