"""What `nmt distil` refuses, before anything is translated."""

import pytest
from students import TINY_STUDENT

from nmt.cli.compose import compose
from nmt.distillation.folder import StudentFolder
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.runs.text import text_of_run


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            "distillation.num_hypotheses=3",
            "distillation.num_hypotheses: at most 2 is needed with this search (beam)",
        ),
        ("distillation.search={decoding:beem}", "distillation.search: decoding: one of greedy, beam"),
        (
            "distillation.search={beam_sise:3}",
            "distillation.search: beam_sise: no such key of decoding=beam; did you",
        ),
        ("teacher=nowhere", "teacher: the folder of a run is needed; got nowhere: no such folder"),
        (
            "training.subword_sampling=0.1",
            "training.subword_sampling: null is needed with align=true; got 0.1",
        ),
        (
            "distillation.reverse=nowhere",
            "distillation.reverse: the folder of a run is needed; got nowhere: no such",
        ),
        (
            "distillation.reverse=http://a.example",
            "distillation.reverse: the folder of a run is needed; got http",
        ),
        (
            "distillation.monolingual_target=more.en",
            "distillation.monolingual_target: distillation.reverse=RUN is",
        ),
        (
            "distillation.words=true tokenizer.vocabulary_size=77",
            "distillation.words: the tokenizer of the first",
        ),
        ("distillation.words=true consistency=simcut", "consistency: none is needed with distillation.words"),
        (
            "distillation.words=true training.teacher=a",
            "training.teacher: null is needed with distillation.words",
        ),
        (
            "distillation.words=true data.max_length=2000 model.max_positions=3000",
            "teacher: a run of more than data.max_length=2000 positions is needed",
        ),
        ("export=marian", "export: model.zero_start=true is needed, since Marian's"),
        (
            "export=marian model.zero_start=true model.positions=rotary",
            "export: model.positions=sinusoidal is needed",
        ),
        ("export=huggingface model.normalization=rms", "export: model.normalization=layer is needed"),
        (
            "export=huggingface tokenizer.joint=false",
            "export: model.tied_embeddings=three_way is needed with",
        ),
        (
            "export=huggingface tokenizer=word tokenizer.joint=true",
            "export: tokenizer.kind unigram, bpe or char is needed",
        ),
        ("export=onnx tokenizer=word", "export: tokenizer.kind unigram, bpe or char is needed"),
        ("training.guided_alignment=my.links", "training.guided_alignment: null is needed with align=true"),
        ("model.decoder=ssru", "export: null is needed, since other programs"),
        ("data.context=2", "data.context: 0 is needed"),
        ("data/augment=usual", "data/augment: none is needed with align=true"),
        (
            "data/augment=usual align=false distillation.words=true",
            "data/augment: none is needed with distillation.w",
        ),
    ],
)
def test_what_cannot_be_is_said_in_a_line_and_leaves_no_folder(
    main, trained_run, tmp_path, monkeypatch, overrides, message
):
    monkeypatch.chdir(tmp_path)
    code, _, errors = main(
        "distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, *overrides.split(" ")
    )
    assert code == 2
    assert errors.startswith(f"nmt: {message}")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_file_is_mended_when_the_student_goes_on(nmt, trained_run, tmp_path):
    (tmp_path / "more.de").write_text("Ein Hund.\n", encoding="utf-8")
    given = (
        "distil",
        f"teacher={trained_run}",
        "student=student",
        *TINY_STUDENT,
        "align=false",
        "shortlist=false",
        "export=null",
    )
    failed = nmt(*given, "distillation.monolingual=mroe.de", code=2)
    assert failed.stderr.decode().endswith("nmt: distillation.monolingual: no such file: mroe.de\n")
    nmt(*given, "distillation.monolingual=more.de", "resume=true")
    assert (tmp_path / "student" / "distilled" / "read.de").read_text().endswith("\nEin Hund.\n")
    refused = nmt(*given, "distillation.monolingual=null", "resume=true", code=2)
    assert (
        refused.stderr
        == b"nmt: distillation.monolingual: more.de, the run's own value, is needed to go on; got null\n"
    )


def test_held_out_lines_are_left_out_of_text_of_one_language(nmt, trained_run, tmp_path):
    text = text_of_run("validation", RunDirectory(trained_run))
    (tmp_path / "more.de").write_text(f"Ein Hund.\n  {text.source[3]} \n\nEin Haus.\n", encoding="utf-8")
    done = nmt(
        "distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, "align=false", "shortlist=false",
        "export=null", "distillation.monolingual=more.de", "data.filter.overlap=either",
    )  # fmt: skip
    assert b"filter       left out of distillation.monolingual: 1 line by overlap\n" in done.stderr
    read = (tmp_path / "student" / "distilled" / "read.de").read_text(encoding="utf-8")
    assert read.endswith("\nEin Hund.\n\nEin Haus.\n")
    assert text.source[3] not in read.splitlines()


def test_what_is_needed_later_is_asked_for_before_lines_are_translated_whoever_begins(
    main, trained_run, tmp_path, monkeypatch
):
    """As a program does that always goes on, with resume=true, where a student may be new."""
    monkeypatch.chdir(tmp_path)
    given = ["distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, "resume=true"]
    code, _, errors = main(*given, "training.from_run=none")
    assert (code, errors) == (
        2,
        "nmt: training.from_run: the folder of a run is needed; got none: no such folder\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_a_killed_process_left_before_its_settings_is_a_new_one(trained_run, tmp_path):
    settings = compose("distil", [f"teacher={trained_run}", f"student={tmp_path / 'new'}"], None).settings()
    distilled = tmp_path / "new" / "distilled"
    distilled.mkdir(parents=True)
    for left in (distilled / ".lock", tmp_path / "new" / ".distil.json.12", distilled / ".train.de.12"):
        left.write_text("")
    with StudentFolder(settings.student).held(settings):
        assert sorted(path.name for path in distilled.parent.rglob("*")) == [
            ".lock",
            "distil.json",
            "distilled",
        ]
    (tmp_path / "new" / "distil.json").unlink()
    (tmp_path / "new" / "mine.txt").write_text("")
    with (
        pytest.raises(RunError, match=r"student: a new folder, or one with distil\.json, is needed; got"),
        StudentFolder(settings.student).held(settings),
    ):
        pass
