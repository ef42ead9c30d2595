"""The table of BLEU by the length of the source, against what `nmt evaluate` says of all lines."""

import json

from command_line import run_script


def test_all_lines_have_the_bleu_of_the_run(nmt, trained_run, tmp_path):
    done = run_script("bleu_by_length", [str(trained_run), str(trained_run)], tmp_path)
    assert done.returncode == 0, done.stderr
    head, _, *rows = done.stdout.strip().split("\n")
    assert head == f"| source words | sentences | {trained_run} | {trained_run} |"
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert cells[-1][0] == "all"
    assert sum(int(row[1]) for row in cells[:-1]) == int(cells[-1][1])
    nmt("evaluate", f"run={trained_run}", "json=scores.json", "num_resamples=null")
    bleu = json.loads((tmp_path / "scores.json").read_text())["bleu"]
    assert cells[-1][2:] == [f"{bleu:.1f}"] * 2


def test_a_run_that_is_not_there_is_said_in_a_line(trained_run, tmp_path):
    done = run_script("bleu_by_length", [str(trained_run), "nowhere"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nmt: run: the folder of a run is needed; got nowhere: no such folder\n"
