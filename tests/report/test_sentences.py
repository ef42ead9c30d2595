"""Words that are missing and words that are new; hostile text stays text."""

from nmt.reports.run.sentences import word_diff

HOSTILE = "<script>alert('x')</script> <img src=x onerror=alert(1)> \"&amp; \x00\x1b[31m \u202eabc </style>"


def test_words_that_differ():
    assert word_diff("the old dog sleeps", "the dog sleeps now") == (
        "the <del>old</del> dog sleeps",
        "the dog sleeps <ins>now</ins>",
    )
    assert word_diff("the same", "the same") == ("the same", "the same")
    assert word_diff("a", "") == ("<del>a</del>", "")


def test_hostile_sentences_stay_text():
    for shown in (
        *word_diff(HOSTILE, "a"),
        *word_diff("a", HOSTILE),
        *word_diff(HOSTILE, HOSTILE),
    ):
        for tag in ("del", "ins"):
            shown = shown.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
        assert not set("<>\"'\x00\x1b\u202e") & set(shown)
