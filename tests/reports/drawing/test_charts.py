"""What is drawn is what was given: places of points and bars, shades of cells, and words that say the same."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from nmt.reports.drawing.alignment_lines import alignment
from nmt.reports.drawing.charts import Bar, Bins, Line, bar_chart, histogram, line_chart, ranking
from nmt.reports.drawing.heat_map import heat_map
from nmt.reports.drawing.shapes import (
    BOTTOM,
    CHARACTER,
    HEIGHT,
    LEFT,
    RIGHT,
    TINY,
    TOP,
    WIDTH,
    Axis,
    show,
    show_ticks,
    ticks,
)
from nmt.reports.page import svg

HOSTILE = "<script>alert(1)</script>\"'&\x00\u202e"


def parse(drawing):
    """Return a drawing parsed as XML, and assert that it has a size and a text alternative."""
    root = ElementTree.fromstring(svg(drawing).replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert float(root.get("width")) > 0
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    return root


def cells(path):
    """Return the cells (row, column) that a path covers."""
    found = set()
    for column, row, width in re.findall(r"M(\d+) (\d+)h(\d+)", path):
        found |= {(int(row), int(column) + i) for i in range(int(width))}
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 25, 50, 75, 100]),
        (0, 10, [0, 2.5, 5, 7.5, 10]),
        (-0.5, 1, [-0.5, 0, 0.5, 1]),
        (0, 1, [0, 0.25, 0.5, 0.75, 1]),
        (3.2, 9, [2, 4, 6, 8, 10]),
    ],
)
def test_ticks_are_round_and_hold_everything(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high"),
    [(5, 5), (0, 0), (-1, 1e9), (1e-7, 2e-7), (-3, -2), (0, 5e-324), (1e17, 1e17 + 16), (-1e99, 1e99)],
)
def test_ticks_of_anything(low, high):
    found = ticks(low, high)
    assert found[0] - TINY <= low <= high <= found[-1] + TINY
    assert 2 <= len(found) <= 8


def test_points_are_where_the_numbers_say():
    root = parse(
        line_chart("Loss", [Line("run", [0, 50, 100], [4, 3, 0], is_dotted=True)], "updates", "nats")
    )
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter("circle")]
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    assert places[0] == pytest.approx((LEFT, TOP), abs=0.1)
    assert places[1] == pytest.approx((LEFT + width / 2, TOP + height / 4), abs=0.1)
    assert places[2] == pytest.approx((LEFT + width, TOP + height), abs=0.1)
    assert root.get("aria-label") == "Loss. nats over updates: run from 4 to 0"


def test_axes_along_a_page_end_where_the_numbers_end():
    axis = Axis.horizontal([0, 620])
    assert (axis.place(0), axis.place(620)) == (LEFT, WIDTH - RIGHT)
    assert axis.ticks == [0, 200, 400, 600]


def test_logarithmic_axes_have_powers_of_two():
    axis = Axis.horizontal([0.25, 4], is_logarithmic=True)
    assert axis.ticks == [0.25, 0.5, 1, 2, 4]
    assert axis.place(1) == pytest.approx((LEFT + WIDTH - RIGHT) / 2)
    assert len(Axis.horizontal([1e-9, 1e9], is_logarithmic=True).ticks) <= 9
    assert "1/4" in svg(histogram("h", [0.25, 1, 4], [Bins("one", [1, 2])], "ratio", "pairs", True))


def test_a_line_is_broken_where_there_is_none_and_ranges_stand_out():
    line = Line("r", [0, 5, 10, 15], [0.0, 1.0, None, 0.5])
    root = parse(line_chart("l", [line], "x", "y", y_holds=(0, 1), marked=[(5, 10)]))
    (path,) = (part.get("d") for part in root.iter("path") if part.get("class") == "line a")
    (left, bottom), (middle, top), (_, half) = (
        [float(number) for number in point.split()] for point in re.split("[ML]", path)[1:]
    )
    assert path.count("M") == 2
    assert half == pytest.approx((top + bottom) / 2, abs=0.1)
    assert len(list(root.iter("circle"))) == 1, "a point between gaps is seen"
    (mark,) = (part for part in root.iter("rect") if part.get("class") == "marked")
    assert float(mark.get("x")) == middle
    assert float(mark.get("width")) == pytest.approx(middle - left, abs=0.1)


def test_what_is_no_number_is_left_out():
    nan, inf = float("nan"), float("inf")
    root = parse(line_chart("x", [Line("run", [0, 1, 2, 3], [1, nan, inf, 2], is_dotted=True)], "x", "y"))
    assert len(list(root.iter("circle"))) == 2
    assert "nothing was measured" in svg(line_chart("x", [Line("run", [0], [nan])], "x", "y"))
    assert "nothing was measured" in svg(bar_chart("x", ["a"], [[None]], "x", "y"))


def test_long_lines_keep_their_ends():
    root = parse(line_chart("x", [Line("run", range(100_000), range(100_000))], "x", "y"))
    (path,) = (part.get("d") for part in root.iter("path") if part.get("class") == "line a")
    assert path.count("L") == 399
    assert path.startswith(f"M{LEFT:.1f} ")
    assert path.split("L")[-1].startswith(f"{WIDTH - RIGHT:.1f} ")


def test_bars_are_as_tall_as_the_numbers_say():
    root = parse(
        bar_chart("BLEU", ["1–5", "6+"], [[Bar(50, (25, 75)), Bar(100)], [None, Bar(0)]], "words", "BLEU")
    )
    bars = [part for part in root.iter("rect") if part.get("class").startswith("bar")]
    height = HEIGHT - TOP - BOTTOM
    assert [float(bar.get("height")) for bar in bars] == pytest.approx([height / 2, height, 0], abs=0.1)
    assert [bar.get("class") for bar in bars] == ["bar a", "bar a", "bar b"]
    (whisker,) = (part.get("d") for part in root.iter("path") if part.get("class") == "whisker")
    low, high = re.match(r"M\S+ (\S+?)V([\d.]+)", whisker).groups()
    assert (float(low), float(high)) == pytest.approx((TOP + height * 0.75, TOP + height * 0.25), abs=0.1)
    assert bars[0][0].text == "1–5: 50, 95 % between 25 and 75"


def boxes(drawing):
    return [
        (float(part.get("height")), float(part.get("width")))
        for part in parse(drawing).iter("rect")
        if part.get("class").split()[0] in ("bin", "bar")
    ]


def test_bins_of_a_histogram_are_as_high_as_the_counts():
    drawing = histogram("h", [0, 1, 2, 4], [Bins("one", [5, 10, 0])], "words", "lines")
    heights, widths = zip(*boxes(drawing), strict=True)
    assert heights[0] / heights[1] == pytest.approx(0.5, abs=0.01)
    assert heights[2] == 0
    assert widths[2] / widths[0] == pytest.approx(2, abs=0.01)
    assert "<title>one: 10 from 1 to 2</title>" in svg(drawing)


def test_equal_factors_are_equally_wide_where_an_axis_is_logarithmic():
    (_, first), (_, second) = boxes(histogram("h", [0.25, 1, 4], [Bins("one", [1, 2])], "x", "y", True))
    assert first == second


def test_rows_are_as_long_as_their_values():
    (_, first), (_, second) = boxes(ranking("b", [("a", 4), ("<b>", 1)], 1))
    assert first / second == pytest.approx(4, abs=0.02)


def test_charts_of_nothing_are_charts():
    for drawing in (
        histogram("h", [0, 1], [Bins("one", [0])], "", ""),
        histogram("h", [1, 1], [Bins("one", [0])], "", "", True),
        line_chart("l", [], "x", "y"),
        line_chart("l", [Line("r", [], [])], "x", "y"),
        line_chart("l", [Line("r", [1], [None])], "x", "y"),
        line_chart("l", [Line("r", [1], [0.5])], "x", "y"),
        line_chart("l", [Line("r", [0], [0])], "x", "y"),
        bar_chart("b", [], [], "x", "y"),
        ranking("r", []),
        ranking("r", [("a", 0)]),
        heat_map("m", []),
        alignment("a", ["no", "line"], ["here"], [[0.0, 0.0]]),
    ):
        parse(drawing)


def test_cells_are_as_dark_as_the_weights():
    weights = [[0.0, 0.25, 0.25], [1.0, -0.5, 0.0]]
    root = parse(
        heat_map("x", weights, ["a", "b"], ["c", "d", "e"], hidden=[[True, False, False], [False] * 3])
    )
    found = {
        (group.get("class"), float(part.get("stroke-opacity")), part.findtext("title")): cells(part.get("d"))
        for group in root.iter("g")
        if group.get("class", "").startswith("cell")
        for part in group
    }
    assert found == {
        ("cell a", 0.25, "0.25"): {(0, 1), (0, 2)},
        ("cell a", 1.0, "1.00"): {(1, 0)},
        ("cell b", 0.5, "-0.50"): {(1, 1)},
    }
    (unseen,) = (part.get("d") for part in root.iter("path") if part.get("class") == "unseen")
    assert cells(unseen) == {(0, 0)}
    assert [part.text for part in root.iter("text")] == ["a", "b", "c", "d", "e"]


def test_a_choice_is_marked():
    root = parse(heat_map("x", [[0, 1], [1, 0]], chosen=True))
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter("circle")]
    assert places == [(1 + 1.5 * 18, 1 + 9), (1 + 9, 1 + 1.5 * 18)]


@pytest.mark.parametrize("top", [0.0, 1e-12, 55.0, 99.9, 100.0, 104.0])
def test_axes_of_percent_end_at_a_hundred_and_show_something(top):
    for drawing in (
        bar_chart("b", ["a"], [[Bar(min(top, 100.0), (0.0, top))]], "x", "BLEU", highest=100.0),
        line_chart(
            "l", [Line("r", [0, 1], [0, min(top, 100.0)])], "x", "BLEU", y_holds=(0.0, 1.0), highest=100.0
        ),
    ):
        shown = [part.text for part in parse(drawing).iter("text") if part.get("text-anchor") == "end"]
        numbers = [float(one) for one in shown]
        assert numbers[0] == 0
        assert 1 <= max(numbers) <= 100
        assert len(numbers) == len(set(numbers)) >= 3
    whisker = [
        part.get("d")
        for part in parse(bar_chart("b", ["a"], [[Bar(100, (95, 110))]], "x", "y", highest=100.0)).iter(
            "path"
        )
    ]
    assert f"V{float(TOP)}M" in whisker[-1], "it ends where the axis ends"


@pytest.mark.parametrize("high", [3, 620, 99_999, 123_456_789])
@pytest.mark.parametrize("names", [["1", "2"], ["1–5", "6–10", "101+"] * 4, ["a long name of a run"] * 9])
def test_labels_do_not_touch_each_other(high, names):
    numbers = line_chart("l", [Line("r", [0, high], [0, 1])], "x", "y")
    bars = bar_chart("b", names, [[Bar(1)] * len(names)], "x", "y")
    powers = histogram("h", [2.0**-40, 2.0**40], [Bins("one", [1])], "x", "y", True)
    for drawing in (numbers, bars, powers):
        below = [
            part
            for part in parse(drawing).iter("text")
            if float(part.get("y")) == HEIGHT - BOTTOM + 13 and not part.get("transform")
        ]
        ends = 0.0
        for part in below:
            middle, half = float(part.get("x")), CHARACTER * len(part.text) / 2
            assert middle - half >= ends - 1
            ends = middle + half
        assert ends <= WIDTH + 1
    leaning = [part for part in parse(bars).iter("text") if "rotate(-40)" in (part.get("transform") or "")]
    assert len(leaning) == (0 if len(names) == 2 else len(names))
    assert bars.height >= HEIGHT


def test_words_are_joined_to_what_was_looked_at():
    drawing = alignment("a", ["der", "Hund"], ["the", "dog"], [[0.9, 0.05], [0.3, 0.7]])
    (weak,) = (
        one for one in parse(alignment("a", list("abcdefghijkl"), ["x"], [[0.08] * 11 + [0.09]])).iter("path")
    )
    assert weak.findtext("title") == "x looks at l: 0.09", "each word has a line"
    links = [part for part in parse(drawing).iter("path") if part.get("class") == "link"]
    assert [part.findtext("title") for part in links] == [
        "the looks at der: 0.90",
        "dog looks at der: 0.30",
        "dog looks at Hund: 0.70",
    ]
    assert [float(part.get("stroke-opacity")) for part in links] == [0.9, 0.3, 0.7]
    words = {part.text: (float(part.get("x")), float(part.get("y"))) for part in parse(drawing).iter("text")}
    for part, (source, target) in zip(links, [("der", "the"), ("der", "dog"), ("Hund", "dog")], strict=True):
        start, *_, end = re.findall(r"[\d.]+ [\d.]+", part.get("d"))
        assert float(start.split()[0]) == pytest.approx(words[source][0], abs=1)
        assert float(end.split()[0]) == pytest.approx(words[target][0], abs=1)
        assert words[source][1] < float(start.split()[1]) < float(end.split()[1]) < words[target][1]


def test_square_characters_have_the_room_that_they_take():
    """Their width is the size of the font, of which style.css has 13 pixels for words and 11 for tokens."""
    word = "天气预报"
    places = [
        float(part.get("x")) for part in parse(alignment("a", [word] * 3, ["x"], [[0.3] * 3])).iter("text")
    ]
    assert places[1] - places[0] >= 13 * len(word)
    assert places[0] >= 13 * len(word) / 2
    (labels,) = (
        group
        for group in parse(heat_map("h", [[1.0]], [word], ["x"])).iter("g")
        if group.findtext("text") == word
    )
    assert float(re.match(r"translate\(([\d.]+)", labels.get("transform"))[1]) >= 10.5 * len(word)
    names = [part for part in parse(ranking("r", [(word, 1)])).iter("text") if part.text == word]
    assert float(names[0].get("x")) >= 11 * len(word)


def test_hostile_labels_stay_text():
    for drawing in (
        heat_map(HOSTILE, [[1.0]], [HOSTILE], [HOSTILE]),
        line_chart(HOSTILE, [Line(HOSTILE, [1], [1])], HOSTILE, HOSTILE),
        bar_chart(HOSTILE, [HOSTILE], [[Bar(1, (0, 2))]], HOSTILE, HOSTILE),
        histogram(HOSTILE, [0, 1], [Bins(HOSTILE, [1])], HOSTILE, HOSTILE),
        ranking(HOSTILE, [(HOSTILE, 1)]),
        alignment(HOSTILE, [HOSTILE], [HOSTILE], [[1.0]]),
    ):
        root = parse(drawing)
        assert not list(root.iter("script"))
        assert "<script" not in svg(drawing)
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", svg(drawing))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (950, "950"),
        (1234, "1,234"),
        (3e6, "3 M"),
        (1_234_567, "1.235 M"),
        (2.5e9, "2.5 G"),
        (1e20, "1.0e20"),
        (-2000, "-2,000"),
        (1.5, "1.5"),
        (12345.6, "12,346"),
        (0.003, "3.0e-3"),
        (99.999, "100"),
        (-2, "-2"),
        (123.45, "123.5"),
    ],
)
def test_numbers_are_short(value, text):
    assert show(value) == text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0.02, "0 0.005 0.01 0.015 0.02"),
        (0.15, 0.158, "0.15 0.152 0.154 0.156 0.158"),
        (1.01, 1.03, "1.01 1.015 1.02 1.025 1.03"),
        (12_300, 12_310, "12,300 12,302.5 12,305 12,307.5 12,310"),
        (0, 0.004, "0 1.0e-3 2.0e-3 3.0e-3 4.0e-3"),
        (0, 4e6, "0 1 M 2 M 3 M 4 M"),
        (-0.5, 1, "-0.5 0 0.5 1"),
    ],
)
def test_the_numbers_of_an_axis_are_those_of_its_ticks(low, high, expected):
    assert " ".join(show_ticks(ticks(low, high))) == expected
