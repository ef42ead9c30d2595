"""Each line is in one bucket, and a bucket's scores are sacreBLEU's of its lines."""

import sacrebleu

from nmt.config import EvaluationSettings
from nmt.evaluation.buckets import count_words, score_bucket, sort_into_buckets
from nmt.evaluation.scoring import Statistics


def test_every_line_is_in_one_bucket():
    lengths = [0, 1, 5, 6, 10, 11, 300, 5]
    buckets = sort_into_buckets(lengths, [5, 10], lowest=0)
    assert [(bucket.name, bucket.lines) for bucket in buckets] == [
        ("0–5", [0, 1, 2, 7]),
        ("6–10", [3, 4]),
        ("11 or more", [5, 6]),
    ]
    assert [bucket.name for bucket in sort_into_buckets(lengths, [1])] == ["1", "2 or more"]
    assert sort_into_buckets(lengths, [1])[0].lines == [1]


def test_scores_of_a_bucket_are_sacrebleus():
    hypotheses = ["a dog", "the cat sat on the mat today", "we read books every long evening"]
    references = ["a dog", "the cat sat on a mat today", "we read a book every long evening"]
    short, long = sort_into_buckets(count_words(references), [3])
    assert (short.lines, long.lines) == ([0], [1, 2])
    settings = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    bleu, chrf = score_bucket(long, Statistics(hypotheses, [references], settings))
    assert bleu.value == sacrebleu.corpus_bleu(hypotheses[1:], [references[1:]]).score
    assert chrf.value == sacrebleu.corpus_chrf(hypotheses[1:], [references[1:]]).score
