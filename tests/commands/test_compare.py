"""`nmt compare`: settings of runs beside each other."""

from types import SimpleNamespace

from nmt.commands.compare import MAX_CHARACTERS, differing


def runs_of(*settings):
    return [SimpleNamespace(settings=one) for one in settings]


def test_what_is_long_is_shown_where_it_differs():
    folder = "/corpora/german-english/of-the-shared-task/filtered-by-language"
    ends = [f"{folder}/{name}/train.de" for name in "ab"]
    beginnings = [f"{name}{folder}{folder}" for name in "ab"]
    rows = differing(
        runs_of(*({"a": one, "b": other, "c": 1} for one, other in zip(ends, beginnings, strict=True)))
    )
    assert [row[0] for row in rows] == ["a", "b"]
    for _, one, other in rows:
        assert one != other
        assert max(len(one), len(other)) <= MAX_CHARACTERS
    assert rows[0][1].endswith("a/train.de")
    assert rows[1][1].startswith("a/corpora")


def test_what_a_run_has_not_is_a_dash():
    assert differing(runs_of({"a": 1, "b": 2}, {"a": 1})) == [["b", "2", "–"]]
