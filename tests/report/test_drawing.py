"""What is drawn is what was given: places of points and bars, shades of cells, and words that say the same."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from nmt.report.drawing import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TINY,
    TOP,
    WIDTH,
    Bar,
    Line,
    bar_chart,
    heat_map,
    line_chart,
    show,
    ticks,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>\"'&\x00\u202e"


def parse(drawing):
    """Return the drawing as XML, which it must be; size and text alternative are there."""
    root = ElementTree.fromstring(drawing)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert float(root.get("width")) > 0
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    return root


def cells(path):
    """Return the cells (row, column) of a path."""
    found = set()
    for column, row, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path):
        found |= {(int(row), int(column) + i) for i in range(int(width))}
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 100, [0, 25, 50, 75, 100]), (0, 1, [0, 0.25, 0.5, 0.75, 1]), (3.2, 9, [2, 4, 6, 8, 10])],
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
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    assert places[0] == pytest.approx((LEFT, TOP), abs=0.1)
    assert places[1] == pytest.approx((LEFT + width / 2, TOP + height / 4), abs=0.1)
    assert places[2] == pytest.approx((LEFT + width, TOP + height), abs=0.1)
    assert root.get("aria-label") == "Loss. nats over updates: run from 4 to 0"


def test_what_is_no_number_is_left_out():
    nan, inf = float("nan"), float("inf")
    root = parse(line_chart("x", [Line("run", [0, 1, 2, 3], [1, nan, inf, 2], is_dotted=True)], "x", "y"))
    assert len(list(root.iter(f"{SVG}circle"))) == 2
    assert "nothing was measured" in line_chart("x", [Line("run", [0], [nan])], "x", "y")
    assert "nothing was measured" in bar_chart("x", ["a"], [[None]], "x", "y")


def test_long_lines_keep_their_ends():
    root = parse(line_chart("x", [Line("run", range(100_000), range(100_000))], "x", "y"))
    (path,) = (part.get("d") for part in root.iter(f"{SVG}path") if part.get("class") == "line a")
    assert path.count("L") == 399
    assert path.startswith(f"M{LEFT:.1f} ")
    assert path.split("L")[-1].startswith(f"{WIDTH - RIGHT:.1f} ")


def test_bars_are_as_tall_as_the_numbers_say():
    root = parse(
        bar_chart("BLEU", ["1–5", "6+"], [[Bar(50, (25, 75)), Bar(100)], [None, Bar(0)]], "words", "BLEU")
    )
    bars = [part for part in root.iter(f"{SVG}rect") if part.get("class").startswith("bar")]
    height = HEIGHT - TOP - BOTTOM
    assert [float(bar.get("height")) for bar in bars] == pytest.approx([height / 2, height, 0], abs=0.1)
    assert [bar.get("class") for bar in bars] == ["bar a", "bar a", "bar b"]
    (whisker,) = (part.get("d") for part in root.iter(f"{SVG}path") if part.get("class") == "whisker")
    low, high = re.match(r"M\S+ (\S+?)V([\d.]+)", whisker).groups()
    assert (float(low), float(high)) == pytest.approx((TOP + height * 0.75, TOP + height * 0.25), abs=0.1)
    assert bars[0][0].text == "1–5: 50, 95 % between 25 and 75"


def test_cells_are_as_dark_as_the_weights():
    weights = [[0.0, 0.25, 0.25], [1.0, -0.5, 0.0]]
    root = parse(
        heat_map("x", weights, ["a", "b"], ["c", "d", "e"], hidden=[[True, False, False], [False] * 3])
    )
    found = {
        (part.get("class"), float(part.get("fill-opacity"))): cells(part.get("d"))
        for part in root.iter(f"{SVG}path")
        if part.get("class").startswith("cell")
    }
    assert found == {
        ("cell a", 0.25): {(0, 1), (0, 2)},
        ("cell a", 1.0): {(1, 0)},
        ("cell b", 0.5): {(1, 1)},
    }
    (unseen,) = (part.get("d") for part in root.iter(f"{SVG}path") if part.get("class") == "unseen")
    assert cells(unseen) == {(0, 0)}
    assert [part.text for part in root.iter(f"{SVG}text")] == ["a", "b", "c", "d", "e"]


def test_a_choice_is_marked():
    root = parse(heat_map("x", [[0, 1], [1, 0]], chosen=True))
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    assert places == [(1 + 1.5 * 18, 1 + 9), (1 + 9, 1 + 1.5 * 18)]


def test_hostile_labels_stay_text():
    for drawing in (
        heat_map(HOSTILE, [[1.0]], [HOSTILE], [HOSTILE]),
        line_chart(HOSTILE, [Line(HOSTILE, [1], [1])], HOSTILE, HOSTILE),
        bar_chart(HOSTILE, [HOSTILE], [[Bar(1, (0, 2))]], HOSTILE, HOSTILE),
    ):
        root = parse(drawing)
        assert not list(root.iter(f"{SVG}script"))
        assert "<script" not in drawing
        assert not re.search("[\x00-\x1f\u202e]", drawing)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
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
