"""Which translations of its teachers a student learns from."""

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml
from sacrebleu.metrics.chrf import CHRF
from students import student_that_reads

from nmt.config import DistillationSettings
from nmt.distillation.folder import REFERENCE, REVERSED, TARGET, TRANSLATIONS
from nmt.distillation.pairs import TranslationChooser, choose_pairs
from nmt.errors import DataError

CONF = Path(__file__).parents[2] / "conf"


def kept(source, reference, translations, **changed):
    defaults = yaml.safe_load((CONF / "distillation" / "default.yaml").read_text())
    values = defaults | {"min_agreement": 30, "max_ratio": 2.0}
    found = TranslationChooser(DistillationSettings(**values | changed), Counter())
    return found.choose(source, reference, translations), {key: n for key, n in found.left_out.items() if n}


def test_translations_that_disagree_or_are_too_long_are_left_out_and_counted():
    reference, translations = (
        "the dog sleeps",
        ["the dog sleeps", "a dog is asleep", "xyz qqq vvv", "the dog sleeps", " "],
    )
    agreement = [CHRF().sentence_score(one, [reference]).score for one in translations[:3]]
    assert agreement[0] > agreement[1] > 5 > agreement[2]
    found, left_out = kept("der Hund schläft", reference, translations, min_agreement=agreement[1] - 0.01)
    assert found == translations[:2]
    assert left_out == {"blank": 1, "equal": 1, "min_agreement": 1}
    assert (
        kept("der Hund schläft", reference, translations, min_agreement=agreement[1] + 0.01)[0]
        == translations[:1]
    )
    found, left_out = kept("der Hund schläft", reference, translations, choose="closest", min_agreement=0)
    assert found == translations[:1]
    assert left_out == {"blank": 1, "equal": 1, "not the closest": 2}
    assert kept("ein Hund", None, ["a dog " * 4, "a dog"], max_ratio=2)[0] == ["a dog"], (
        "no reference: by length alone"
    )
    assert kept("ein Hund", None, ["a"], max_ratio=2) == ([], {"max_ratio": 1})
    assert kept("", "", ["something"]) == ([], {"blank": 1})


def test_how_long_a_translation_may_be_depends_on_how_long_they_usually_are(tmp_path):
    """As from Chinese, whose lines have a quarter of the characters of their translations."""
    lines = [*["some words"] * 9, "abcd", "efgh", "ijkl", "mnop"]
    several = [*[[" "]] * 9, ["a dog is asleep"], ["a child is here"], ["we buy the bread " * 4], ["mnop"]]
    folder = student_that_reads(tmp_path, lines)
    folder.text(REFERENCE).write_text("")
    folder.text(TRANSLATIONS).write_text("".join(f"{json.dumps(some)}\n" for some in several))
    folder.finish("text", {"pairs": 0, "splits": []})
    defaults = yaml.safe_load((CONF / "distillation" / "default.yaml").read_text())
    found = choose_pairs(folder, DistillationSettings(**defaults | {"max_ratio": 2.0}))
    assert found["left_out"] == {"blank": 9, "max_ratio": 2}
    assert folder.text(TARGET).read_text() == "a dog is asleep\na child is here\n"


@pytest.mark.parametrize("choose", ["all", "closest"])
@pytest.mark.parametrize(("num_agreeing", "is_warned"), [(1, True), (2, False)])
def test_a_teacher_most_of_whose_translations_disagree_is_warned_of(
    tmp_path, caplog, num_agreeing, is_warned, choose
):
    """Lines without a reference are not counted, nor are translations that are not the closest."""
    lines = ["the dog sleeps", "a child reads", "we buy bread"]
    folder = student_that_reads(tmp_path, [*lines, *["more text"] * 5])
    folder.text(REFERENCE).write_text("".join(f"{line}\n" for line in lines))
    said = lines[:num_agreeing] + ["xyz qqq vvv"] * (3 - num_agreeing)
    several = [[one] if choose == "all" else [one, "uuu", "jjj"] for one in [*said, *["anything"] * 5]]
    folder.text(TRANSLATIONS).write_text("".join(f"{json.dumps(some)}\n" for some in several))
    folder.finish("text", {"pairs": 3, "splits": []})
    defaults = yaml.safe_load((CONF / "distillation" / "default.yaml").read_text())
    choose_pairs(folder, DistillationSettings(**defaults | {"min_agreement": 30, "choose": choose}))
    warned = "2 of the 3 translations with a reference in translations.jsonl have a chrF below"
    assert (warned in caplog.text) == is_warned


def test_what_another_direction_began_to_translate_is_not_learned_from_without_it(tmp_path):
    folder = student_that_reads(tmp_path, ["der Hund", "das Kind"])
    folder.text(REFERENCE).write_text("the dog\nthe child\n")
    folder.text(TRANSLATIONS).write_text('["the dog"]\n["the child"]\n')
    folder.text(REVERSED).write_text('["ein Hund"]\n')
    folder.finish("text", {"pairs": 2, "splits": []})
    defaults = yaml.safe_load((CONF / "distillation" / "default.yaml").read_text())
    with pytest.raises(DataError, match="translations of the 2 lines of"):
        choose_pairs(folder, DistillationSettings(**defaults | {"reverse": "a run"}))
    assert choose_pairs(folder, DistillationSettings(**defaults))["pairs"] == 2
    assert folder.text(TARGET).read_text() == "the dog\nthe child\n"
