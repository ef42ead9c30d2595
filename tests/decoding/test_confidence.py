"""Confidence of words: from pieces to words, from curves to figures, and never by curves of another model."""

import json
import shutil

import numpy as np
import pytest

import nmt as package
from nmt.decoding.confidence import read_calibration
from nmt.decoding.word_alignment import word_log_probs
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory

LINES = ["Der Hund schläft.", "", "Die Lehrerin kauft ein Buch.", "Ein Mann liest. Der Hund schläft."]


@pytest.fixture
def copy(trained_run, tmp_path):
    shutil.copytree(trained_run, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("The dog.", ["▁The", "▁do", "g", "."], [-1.0, -14.0]),
        ("a b", ["▁", "a", "▁", "b", "▁"], [-3.0, -12.0]),  # trailing white space belongs to no word
        ("", [], []),
        ("The ⁇ dog", ["▁The", "<unk>", "▁dog"], []),
        ("of the", ["▁of▁the"], []),
    ],
)
def test_a_word_is_as_probable_as_all_its_pieces(text, pieces, expected):
    assert word_log_probs(text, pieces, [-(2.0**i) for i in range(len(pieces))]) == expected


def test_each_word_of_a_translation_has_its_confidence(copy):
    calibration = read_calibration(RunDirectory(copy))
    found = package.load(str(copy), precision="float32").translate(
        LINES, details=True, num_hypotheses=2, long_line=6, split="long"
    )
    assert found[3].parts
    for one in (one for line in found for one in line.hypotheses):
        assert len(one.word_confidences) == len(one.text.split())
        assert (one.confidence is None) == (not one.text)
    for line in found[0], found[2]:
        for one in line.hypotheses:
            words = []
            for piece, log_prob in zip(one.tokens[:-1], one.token_log_probs, strict=False):
                if piece.startswith("▁") or not words:
                    words.append(0.0)
                words[-1] += log_prob
            if one.text:
                assert one.word_log_probs == pytest.approx(words)
            curve = calibration.words
            expected = np.interp(one.word_log_probs, curve.at, curve.shares)
            assert one.word_confidences == pytest.approx(expected)
            lines = calibration.lines
            mean = np.mean(one.word_confidences)
            assert one.confidence == pytest.approx(np.interp(mean, lines.at, lines.shares))
    said = found[0].as_dict(1)["hypotheses"][0]
    assert said["word_confidences"] == pytest.approx(found[0].hypotheses[0].word_confidences, abs=1e-5)


def confidences(run, **options):
    model = package.load(str(run), precision="float32", **options)
    return [one.hypotheses[0].confidence for one in model.translate(LINES, details=True)]


def test_curves_of_other_weights_say_nothing(copy):
    steps = RunDirectory(copy).steps()
    best = json.loads((copy / "best.json").read_text())["step"]
    other = next(step for step in steps if step != best)
    assert confidences(copy)[0] is not None
    assert confidences(copy) == confidences(copy, checkpoint=f"step-{best}")
    assert confidences(copy)[1] is None  # a blank line
    for options in ({"checkpoint": f"step-{other}"}, {"checkpoint": "average"}, {"ensemble": [str(copy)]}):
        assert confidences(copy, **options) == [None] * len(LINES)
    (copy / "confidence.json").unlink()
    assert confidences(copy) == [None] * len(LINES)


SPOILED = {
    "falls": {"words": {"at": [-1, 0], "shares": [0.9, 0.1]}},
    "turns back": {"words": {"at": [0, -1], "shares": [0.1, 0.9]}},
    "has no knots": {"lines": {"at": [], "shares": []}},
    "lacks shares": {"lines": {"at": [-1, 0], "shares": [0.5]}},
    "is beyond certain": {"words": {"at": [-1], "shares": [1.5]}},
    "is endless": {"words": {"at": list(range(9999)), "shares": [0.5] * 9999}},
    "is no curve": {"words": 3},
    "is text": {"lines": {"at": ["\x1b[2J"], "shares": [0.5]}},
    "is measured by no object": {"test": {"lines": 1, "words": []}},
    "is of a checkpoint elsewhere": {"checkpoint": "../../etc"},
    "is of no weights": {"weights": "\x1b[2J"},
    "is of another format": {"format": 2},
}


@pytest.mark.parametrize("change", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_file_is_refused_in_one_line(copy, change):
    path = copy / "confidence.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RunError, match=r"confidence\.json: ") as refusal:
        package.load(str(copy))
    assert "\n" not in str(refusal.value)
