"""The benchmarks run, and what they count is right; how fast anything is, no test says."""

import json

import pytest
from command_line import SCRIPTS, run_script

TINY = ("model.d_model=16", "model.d_ff=16", "model.num_heads=2", "training.update_tokens=64")


@pytest.fixture
def ids(tmp_path):
    sentences = [[4 + (i + j) % 90 for j in range(1 + i % 7)] + [3] for i in range(200)]
    for language in ("de", "en"):
        (tmp_path / f"train.{language}.json").write_text(json.dumps(sentences))
    return tmp_path


@pytest.mark.parametrize("model", ["transformer", "attention"])
def test_training_on_fixed_work_gives_its_figures(model, ids):
    sizes = TINY if model == "transformer" else ("model.d_hidden=8", "training.update_tokens=64")
    arguments = ["--ids", ids, "--json", "out.json", "--updates", "2", "--repeats", "2"]
    done = run_script("benchmark_training", [*arguments, f"model={model}", *sizes, "precision=float32"], ids)
    assert done.returncode == 0, done.stderr
    figures = json.loads((ids / "out.json").read_text())
    assert figures["target_tokens_per_second"] > 0
    assert figures["precision"] == "float32"
    assert 0 <= figures["padding"] < 1
    assert 0 < figures["matmul_peak_share"] < 1
    assert {"spread", "peak_memory_gb", "share_of_time_waiting_for_data"} <= figures.keys()


def test_operations_are_six_for_each_weight_and_token(tiny_model, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    from benchmark_training import operations

    model = tiny_model(
        "transformer", tied="three_way", width=8, d_ff=16, num_encoder_layers=1, num_decoder_layers=2
    )
    attention, feed_forward, vocabulary = 4 * 8 * 8, 2 * 8 * 16, model.output.weight.numel()
    of_source = attention + feed_forward + 2 * 2 * 8 * 8
    of_target = 2 * (attention + 2 * 8 * 8 + feed_forward) + vocabulary
    assert operations(model, 10, 1) == 6 * (10 * of_source + of_target)


def test_engines_translate_alike(trained_run, tmp_path):
    pytest.importorskip("ctranslate2")
    (tmp_path / "in.de").write_text("Der Hund schläft.\nDas Haus ist alt.\nEin Mann liest.\n" * 4)
    (tmp_path / "in.en").write_text("The dog sleeps.\nThe house is old.\nA man reads.\n" * 4)
    names = ["nmt, float32", "nmt with CTranslate2, float32", "CTranslate2 by hand, float32"]
    done = run_script(
        "benchmark_engines",
        ["--run", trained_run, "--source", "in.de", "--reference", "in.en", "--alone", "2", "--rounds", "1",
         "--only", ";".join(names), "--json", "out.json"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [(row["engine"], row["lines_at_once"]) for row in rows[:6]] == [
        (name, size) for size in (12, 1) for name in names
    ]
    assert len(rows) == 12
    assert all(row["tokens_per_second"] > 0 and 0 < row["memory_gb"] < 8 for row in rows)
    own, exported = (row["memory_gb"] for row in rows[:2])
    assert exported < own, "PyTorch is not there"
    assert done.stdout.count("\n| ") == 6
