"""Scores against sacreBLEU called directly."""

import json
import math
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import _bootstrap_resample

from nmt.cli.compose import compose
from nmt.config import EvaluateSettings, EvaluationSettings
from nmt.config.check import check
from nmt.errors import DataError, SettingsError
from nmt.evaluation.resampling import ResampledTexts
from nmt.evaluation.scoring import Evaluation, corpus_bleu, score_against

HYPOTHESES = ["The dog sleeps.", "We read a good book !", "she buys bread"]
REFERENCES = ["The dog is sleeping.", "We read a good book!", "She buys bread."]


def test_scores_with_defaults_are_those_of_sacrebleus_command(tmp_path):
    paths = [tmp_path / name for name in ("references", "hypotheses")]
    for path, lines in zip(paths, (REFERENCES, HYPOTHESES), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    arguments = [str(paths[0]), "-i", str(paths[1]), "-m", "bleu", "chrf", "ter", "-w", "12"]
    printed = json.loads(subprocess.check_output([sys.executable, "-m", "sacrebleu", *arguments]))
    defaults = check(EvaluateSettings, compose("evaluate", ["hypothesis=x", "reference=y"], None).values)
    for found, expected in zip(
        score_against(HYPOTHESES, [REFERENCES], defaults.evaluation), printed, strict=True
    ):
        assert found.value == pytest.approx(expected["score"], abs=1e-9)
        assert found.signature == expected["signature"]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", ["13a", "char", "none"])
@pytest.mark.parametrize("ter_case_sensitive", [False, True])
def test_scores_are_sacrebleus(lowercase, tokenize, ter_case_sensitive):
    settings = EvaluationSettings(
        lowercase=lowercase, tokenize=tokenize, ter_case_sensitive=ter_case_sensitive
    )
    scores = score_against(HYPOTHESES, [REFERENCES], settings)
    bleu, chrf, ter = scores
    direct = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=lowercase, tokenize=tokenize)
    assert bleu.value == pytest.approx(direct.score)
    assert f"tok:{tokenize}" in bleu.signature
    assert ("case:lc" if lowercase else "case:mixed") in bleu.signature
    lowered = [[line.lower() if lowercase else line for line in lines] for lines in (HYPOTHESES, REFERENCES)]
    assert chrf.value == pytest.approx(sacrebleu.corpus_chrf(lowered[0], [lowered[1]]).score)
    direct_ter = sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES], case_sensitive=ter_case_sensitive)
    assert ter.value == pytest.approx(direct_ter.score)
    assert ("case:mixed" if ter_case_sensitive else "case:lc") in ter.signature
    names = {(False, False): "BLEU", (True, False): "lower-case BLEU", (False, True): "tokenised BLEU"}
    name = names.get((lowercase, tokenize == "none"), "tokenised-lower-case BLEU")
    assert [figure.name for figure in scores] == [name, "lower-case chrF" if lowercase else "chrF", "TER"]


@pytest.mark.parametrize(("tokenize", "is_warned"), [("13a", True), ("none", False)])
def test_tokenised_text_is_warned_of_unless_that_is_what_is_scored(caplog, tokenize, is_warned):
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize=tokenize)
    lines = ["two dogs run ."] * 200
    score_against(lines, [lines], settings)
    assert ("tokenized period" in caplog.text) == is_warned


def test_bleu_alone_is_the_same_figure():
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    assert (
        corpus_bleu(HYPOTHESES, REFERENCES, settings)
        == score_against(HYPOTHESES, [REFERENCES], settings)[0].value
    )


def test_texts_of_different_length_are_refused():
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    with pytest.raises(DataError, match="as many lines as in the reference are needed, 3; got 2"):
        score_against(HYPOTHESES[:2], [REFERENCES], settings)
    with pytest.raises(DataError, match="text is needed"):
        score_against([], [[]], settings)


def test_intervals_leave_out_the_ends_of_the_scores_that_sacrebleu_draws():
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    references = [REFERENCES, HYPOTHESES[::-1]]
    bleu, chrf, _ = score_against(HYPOTHESES, references, settings, num_resamples=50)
    for figure, metric in ((bleu, BLEU()), (chrf, CHRF())):
        direct = metric.corpus_score(HYPOTHESES, references, n_bootstrap=50)
        assert figure.value == direct.score
        assert figure.interval.high - figure.interval.low == pytest.approx(2 * direct._ci)
        _, drawn = _bootstrap_resample(
            metric._extract_corpus_statistics(HYPOTHESES, references), metric, n_samples=50
        )
        inner = sorted(one.score for one in drawn)[1:-1]  # a fortieth of 50, rounded down, at each end
        assert figure.interval == (pytest.approx(inner[0]), pytest.approx(inner[-1]))
        assert figure.signature == str(metric.get_signature())
        assert figure.signature.startswith("nrefs:2|bs:50|seed:12345|")


def test_drawn_texts_are_in_memory_one_at_a_time():
    counts, metric = np.ones((10_000, 10)), BLEU()
    tracemalloc.start()
    scores = ResampledTexts.draw(200).scores(metric, counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores == pytest.approx(np.full(200, metric._compute_score_from_stats(counts.sum(0)).score))
    assert peak < 4_000_000, "all at once take 16 MB"


def test_a_seed_that_is_none_is_said_in_a_line(monkeypatch):
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    for seed in ("abc", "-1", ""):
        monkeypatch.setenv("SACREBLEU_SEED", seed)
        with pytest.raises(SettingsError, match=r"^SACREBLEU_SEED: a whole number, or none, is needed; got"):
            score_against(HYPOTHESES, [REFERENCES], settings, num_resamples=5)
    monkeypatch.setenv("SACREBLEU_SEED", "None")
    assert "seed:none" in score_against(HYPOTHESES, [REFERENCES], settings, num_resamples=5)[0].signature


def test_intervals_of_texts_of_which_some_score_nothing():
    bleu, *_ = score_against(
        ["a", "b b b b b"],
        [["a", "c"]],
        EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a"),
        50,
    )
    assert bleu.interval == (0, bleu.value)


def test_an_interval_has_no_score_that_is_impossible():
    """One line of a hundred repeats a word for ever, which is most of the errors of a text that has it."""
    references = [f"this is sentence {i} of the text" for i in range(100)]
    hypotheses = ["x " * 400, *references[1:]]
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    for figure in score_against(hypotheses, [references], settings, num_resamples=200):
        drawn = [figure.interval.low, figure.value, figure.interval.high]
        assert 0 <= min(drawn) < max(drawn)
        assert drawn == sorted(drawn)


def test_json_has_figures_and_signatures():
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    figures = Evaluation(score_against(HYPOTHESES, [REFERENCES], settings), 3, 2.0).as_dict()
    assert figures["signatures"]["bleu"].startswith("nrefs:1|case:mixed")
    assert (figures["num_lines"], figures["loss"]) == (3, 2.0)
    assert figures["perplexity"] == pytest.approx(math.e**2)
    assert "loss" not in Evaluation([], 3).as_dict()
