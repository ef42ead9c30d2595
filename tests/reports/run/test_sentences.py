"""Which sentences are shown, and which of their words are missing and new."""

from types import SimpleNamespace

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
