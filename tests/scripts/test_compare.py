"""The script of the tables trains each row by the real command line and reads its figures."""

import subprocess
import sys
from pathlib import Path

import pytest

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    import compare

    return compare


@pytest.fixture
def tables(compare):
    return compare.TABLES


def test_every_row_of_every_table_is_a_valid_training_that_differs(tables):
    for shared, rows in tables.values():
        settings = [
            check(TrainSettings, compose("train", [*shared, *own], None).values) for own in rows.values()
        ]
        assert len({each.model_dump_json() for each in settings}) == len(rows)


def test_a_row_goes_on_from_the_run_of_a_row_before_it(compare, tmp_path):
    _, rows = compare.TABLES["recipes"]
    before = compare.folder_of(tmp_path, "both directions", 2)
    found = compare.overrides_of(tmp_path, rows["both directions, then one"], 2)
    assert found == [f"training.from_run={before}", "training.max_updates=1400"]
    assert list(rows).index("both directions") < list(rows).index("both directions, then one")


def test_a_row_alone_brings_the_row_that_it_starts_from(compare):
    _, rows = compare.TABLES["recipes"]
    chosen = compare.chosen_of(rows, ["both directions, then one", "plain"])
    assert chosen == ["plain", "both directions", "both directions, then one"]
    assert compare.chosen_of(rows, ["SimCut"]) == ["SimCut"]
    assert compare.chosen_of(rows, None) == list(rows)


def test_a_row_that_is_not_there_is_an_error(compare, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare.py", "training", "runs", "--only", "Simcut"])
    with pytest.raises(SystemExit):
        compare.main()
    assert "R-Drop, SimCut, moving average is needed; got Simcut" in capsys.readouterr().err


@pytest.mark.slow
def test_a_table_is_trained_and_printed_and_not_trained_again(tmp_path, tiny_training):
    small = [option for option in tiny_training("attention") if not option.startswith("model=")]
    command = [sys.executable, SCRIPTS / "compare.py", "attention", tmp_path, "--only", "dot", *small]
    first, second = (subprocess.run(command, check=True, capture_output=True, timeout=200) for _ in range(2))
    lines = first.stdout.decode().splitlines()
    assert lines[0].startswith("| | validation BLEU | BLEU |")
    (row,) = lines[2:]
    assert row.startswith("| dot | ")
    assert row.count("|") == 7
    assert b"update 4 " in first.stderr
    assert b"update 4 epoch" not in second.stderr
    assert second.stdout.decode().splitlines()[2] == row


def test_a_training_that_fails_ends_the_program_with_its_own_line(compare, tmp_path, capfd):
    with pytest.raises(SystemExit) as ended:
        compare.train(tmp_path / "run", ["model=none"])
    assert ended.value.code == 2
    assert capfd.readouterr().err.startswith("nmt: model: ")
