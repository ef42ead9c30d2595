"""Which sentences are shown, and which of their words are missing and new."""

from types import SimpleNamespace

import pytest

from nmt.reports.run.maps import draw_positions
from nmt.reports.run.sentences import choose, word_diff


def run_of(scores, name="run"):
    return SimpleNamespace(name=name, sentence_scores=scores)


def test_words_that_differ():
    assert word_diff("the old dog sleeps", "the dog sleeps now") == (
        [("", "the"), ("missing", "old"), ("", "dog sleeps")],
        [("", "the dog sleeps"), ("new", "now")],
    )
    assert word_diff("the same", "the same") == ([("", "the same")], [("", "the same")])
    assert word_diff("a", "") == ([("missing", "a")], [])


def test_one_run_shows_what_is_wrong_long_and_right_and_in_between():
    references = ["yes", "no", "a long sentence that is right", "short", "half", "half of it"]
    found = dict(choose([run_of([100, 0, 99.95, 100, 60, 55])], references, 1))
    assert found == {"The worst": [1], "In between": [5], "Long and right": [2]}


def test_two_runs_show_where_they_differ_most():
    one, other = run_of([90, 10, 50, 80], "one"), run_of([10, 95, 50, 20], "other")  # the third is a draw
    found = dict(choose([one, other], list("abcd"), 3))
    assert found == {"Where one gains most": [0, 3], "Where other gains most": [1]}


def test_no_text_is_shown_twice():
    found = dict(choose([run_of([1, 2, 3, 4, 5, 6])], ["same"] * 3 + ["a", "b", "c"], 2))
    assert found["The worst"] == [0, 3]
    lines = [line for lines in found.values() for line in lines]
    assert len(lines) == len(set(lines)) == 4


def test_blank_lines_are_not_shown():
    found = dict(choose([run_of([0, 40, 0, 100, 60])], ["", "a", " ", "b", "c"], 4))
    assert found["The worst"] == [1, 4, 3]
    assert {line for lines in found.values() for line in lines} == {1, 3, 4}


def labels_of(shapes):
    """Return the labels of each side of a map."""
    groups = [one for one in shapes if one.attributes.get("class") == "labels"]
    return [[label.text for label in group.shapes if label.text] for group in groups]


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "rotary"])
def test_positions_are_drawn_as_far_as_the_model_has_them(tiny_model, kind):
    model = tiny_model("transformer", positions=kind, max_positions=11)
    figures = draw_positions(SimpleNamespace(model=model))
    assert figures[0].title == f"Positions: {kind}"
    assert labels_of(figures[0].drawing.shapes)[0] == ["0", "10"]


def test_distances_are_counted_from_the_left(tiny_model):
    model = tiny_model("transformer", positions="relative", max_relative_distance=12)
    (figure,) = draw_positions(SimpleNamespace(model=model))
    assert ["-10", "0", "10"] in labels_of(figure.drawing.shapes)
