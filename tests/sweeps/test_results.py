"""The table of a sweep, of runs that ended in every way."""

import pytest

from nmt.sweeps.results import RunResult, best_of, read_result, table, write_results


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("checkpoints/step-000002/state.json", '{"best_bleu": "high", "seconds": null, "update": [1]}'),
        ("checkpoints/step-000002/state.json", "{"),
        ("test.json", '{"bleu": {}, "intervals": [1, 2]}'),
        ("test.json", '{"bleu": 1.5, "intervals": {"bleu": [null]}}'),
        ("test.json", '{"bleu": 1.5, "intervals": {"bleu": 7}}'),
    ],
)
def test_a_damaged_file_of_one_run_leaves_the_others_in_the_table(tmp_path, file, content):
    checkpoint = tmp_path / "0" / "checkpoints" / "step-000002"
    checkpoint.mkdir(parents=True)
    for name in ("config.json", "checkpoints/step-000002/manifest.json"):
        (tmp_path / "0" / name).write_text("{}")
    (tmp_path / "0" / file).write_text(content)
    damaged, good = read_result(tmp_path, 0, "a=1"), RunResult(1, "a=2", "finished", 12.0)
    assert (damaged.state, damaged.validation_bleu, damaged.test_bleu_low) == ("interrupted", None, None)
    assert damaged.test_bleu == (1.5 if "1.5" in content else None)
    assert len(table([damaged, good]).split("\n")) == 3
    write_results(tmp_path, [damaged, good])


def test_runs_without_scores_and_ties_have_their_place_in_the_table(tmp_path):
    results = [
        RunResult(0, "a=1", "failed", error="tab\tand\nline"),
        RunResult(1, "a=2", "finished", 12.0, 11.0, 10.0, 12.5, 3.0),
        RunResult(2, "a=3", "finished", 12.0, None, None, None, 3.0),
        RunResult(3, "a=4", "pruned", 50.0, None, None, None, 3.0),
        RunResult(4, "a=5", "finished", 11.0, 99.0, 98.0, 100.0, 3.0),
    ]
    assert best_of(results) is results[1]
    assert best_of(results[:1]) is None
    assert [line[0] for line in table(results).split("\n")] == [" ", " ", "*", " ", " ", " "]
    write_results(tmp_path, results)
    rows = (tmp_path / "results.tsv").read_text().split("\n")[:-1]
    assert len({row.count("\t") for row in rows}) == 1
    assert len(rows) == 6
