"""Each model learns the built-in corpus, by the real command line."""

import json

import pytest

# A corner of the corpus and a minute each: enough to tell a model that learns from one that does not. The lowest
# BLEU is half of what was measured: 67, 52 and 5.
SHORT = (
    "data.num_train=6000", "data.num_validation=100", "data.num_test=100", "tokenizer.vocabulary_size=2500",
    "training.max_updates=450", "training.validate_every=450", "training.checkpoint_every=450",
    "schedule.warmup_updates=50", "decoding=greedy",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("experiment", "lowest_bleu"), [("demo", 33), ("grammar_attention", 25), ("grammar_rnn", 2.5)]
)
def test_each_model_learns(nmt, tmp_path, experiment, lowest_bleu):
    nmt("train", f"experiment={experiment}", "run=run", *SHORT, timeout=800)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().split("\n")[:-1]]
    losses = [row["negative_log_likelihood"] for row in rows if row["kind"] == "training"]
    assert losses[-1] < losses[0] / 2
    (validation,) = [row["bleu"] for row in rows if row["kind"] == "validation"]
    assert validation > lowest_bleu


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_is_exported_scores_as_the_run_does(nmt, tmp_path):
    # Rounded weights change the choices of a model that hesitates between words; longer training makes it surer.
    longer = ("training.max_updates=900", "data.num_validation=400", "data.num_test=400")
    nmt("train", "experiment=demo", "run=run", *SHORT, *longer, timeout=800)

    def bleu(run, *options):
        nmt("evaluate", f"run={run}", "device=cpu", "num_resamples=null", f"json={run}.json", *options)
        return json.loads((tmp_path / f"{run}.json").read_text())["bleu"]

    exact = bleu("run", "precision=float32")
    assert exact > 44  # half of what was measured
    for quantization in ("float32", "int8"):
        nmt("export", "run=run", f"output={quantization}", f"quantization={quantization}", "tolerance=1")
        assert abs(bleu(quantization) - exact) < 1
