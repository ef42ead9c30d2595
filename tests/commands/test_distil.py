"""`nmt distil`: what teachers translate, which pairs are kept, and a student that is a run like any other."""

import fcntl
import json
import shutil
from collections import Counter

import pytest
import yaml
from command_line import run_command
from students import TINY_STUDENT, lines_of


def steps(student):
    return json.loads((student / "distilled" / "steps.json").read_text())


@pytest.fixture(scope="module")
def distilled(tmp_path_factory, trained_run):
    """Make a tiny student of a tiny teacher, by the real command line, with further text and the original pairs."""
    folder = tmp_path_factory.mktemp("distilled")
    (folder / "more.de").write_text("der Hund schläft\n\ndie Katze schläft nicht\n")
    done = run_command(
        [
            "distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, "distillation.original=true",
            "distillation.monolingual=more.de",
        ],
        folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return folder, done


def test_teachers_translate_as_nmt_translate_does(nmt, distilled, trained_run):
    folder, _ = distilled
    read = folder / "student" / "distilled" / "read.de"
    assert len(lines_of(read)) == 300 + 3
    expected = (
        nmt("translate", f"run={trained_run}", f"input={read}", "device=cpu").stdout.decode().split("\n")
    )
    found = [json.loads(line) for line in lines_of(read.with_name("translations.jsonl"))]
    assert found == [[line] for line in expected[:-1]]


def test_a_student_is_a_run_of_the_distilled_text_and_its_teachers_vocabulary(nmt, distilled, trained_run):
    folder, done = distilled
    student = folder / "student"
    config = json.loads((student / "config.json").read_text())
    assert config["data"]["train"]["source"] == "student/distilled/train.de"
    assert config["model"]["num_decoder_layers"] == 1
    assert (student / "tokenizer.model").read_bytes() == (trained_run / "tokenizer.model").read_bytes()
    facts = json.loads((student / "data.json").read_text())
    assert facts["is_guided"]
    found = steps(student)
    pairs = list(
        zip(*(lines_of(student / "distilled" / f"train.{side}") for side in ("de", "en")), strict=True)
    )
    assert len(pairs) == found["pairs"]["pairs"] == found["links"]
    references = lines_of(student / "distilled" / "read.en")
    originals = list(zip(lines_of(student / "distilled" / "read.de"), references, strict=False))
    assert len(originals) == 300
    assert set(originals) <= set(pairs)
    assert all(
        number == originals.count(pair) for pair, number in Counter(pairs).items() if pair in originals
    )
    assert found["pairs"]["left_out"]["blank"] >= 1  # a blank line of the further text at least
    table = done.stdout.decode().split("\n")
    assert table[0].split() == ["BLEU", "chrF", "weights", "MB", "words/s/core", "memory", "MB"]
    assert [line.split("  ")[0] for line in table[1:5]] == [
        "teacher", "student", "student, shortlist", "student, exported",
    ]  # fmt: skip
    assert b"lines      20 of the test text" in done.stdout
    run = {"stdin": b"der Hund\n"}
    nmt("translate", f"run={student}", "decoding.shortlist=true", **run)
    nmt("translate", f"run={student / 'exported'}", **run)


def test_a_finished_student_is_not_made_again(nmt, distilled, tmp_path):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "student" / "distilled").iterdir()}
    done = nmt("distil", "student=student", "resume=true", "export=null")
    assert b"student is finished" in done.stderr
    assert done.stdout.count(b"student") == 2
    changed = [path.name for path, when in before.items() if path.stat().st_mtime_ns != when]
    assert changed == ["steps.json"], "where the table is noted, which has no export now"
    again = nmt("distil", "student=student", "resume=true", "export=null")
    assert again.stdout == done.stdout
    assert b"measuring" in done.stderr
    assert b"measuring" not in again.stderr
    refused = nmt("distil", "student=student", "teacher=elsewhere", code=2).stderr
    assert refused.startswith(b"nmt: teacher: the folder of a run is needed; got elsewhere")
    refused = nmt("distil", "student=student", code=2).stderr
    assert refused == b"nmt: student: a new folder is needed, or resume=true to go on; got student\n"
    for key, own, typed in (("num_hypotheses", "1", "2"), ("reverse", "null", "elsewhere")):
        refused = nmt(
            "distil", "student=student", "resume=true", f"distillation.{key}={typed}", code=2
        ).stderr
        expected = f"nmt: distillation.{key}: {own}, the run's own value, is needed to go on; got {typed}\n"
        assert refused.decode() == expected


def test_a_student_that_was_moved_has_its_own_text(nmt, distilled, tmp_path):
    shutil.copytree(distilled[0] / "student", tmp_path / "moved")
    typed = "split=validation", "device=cpu"
    expected = run_command(["evaluate", "run=student", *typed], distilled[0])
    assert expected.returncode == 0
    assert nmt("evaluate", "run=moved", *typed).stdout == expected.stdout
    nmt("train", "run=moved", "resume=true", "training.max_updates=5", "device=cpu")
    nmt(
        "train",
        "training.from_run=moved",
        "run=child",
        "training.max_updates=1",
        "training.validate_every=1",
        "device=cpu",
    )
    child = json.loads((tmp_path / "child" / "config.json").read_text())
    assert child["data"]["train"] == {
        "source": "moved/distilled/train.de",
        "target": "moved/distilled/train.en",
    }
    (tmp_path / "moved" / "distilled" / "validation.en").unlink()
    refused = nmt("evaluate", "run=moved", "split=validation", code=2).stderr
    assert refused == b"nmt: data.validation.target: no such file: moved/distilled/validation.en\n"


def test_a_student_that_is_not_there_does_not_go_on(nmt, tmp_path):
    refused = nmt("distil", "student=smal", "resume=true", code=2).stderr
    assert refused.startswith(
        b"nmt: student: the folder of a student is needed with resume=true, or teacher="
    )
    assert list(tmp_path.iterdir()) == []


def test_a_killed_command_goes_on_where_it_was(nmt, distilled, tmp_path):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    folder = tmp_path / "student" / "distilled"
    whole = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "steps.json"}
    found = steps(tmp_path / "student")
    (folder / "steps.json").write_text(json.dumps({name: found[name] for name in ("languages", "text")}))
    (folder / "translations.jsonl").write_bytes(whole["translations.jsonl"][:2000])
    done = nmt("distil", "student=student", "resume=true", "export=null", "shortlist=false")
    assert b"going on after " in done.stderr
    assert {name: (folder / name).read_bytes() for name in whole} == whole
    again = steps(tmp_path / "student")
    assert [again[name] for name in ("text", "translations", "pairs", "links")] == [
        found[name] for name in ("text", "translations", "pairs", "links")
    ]


def test_a_student_that_another_process_makes_is_left_to_it(nmt, distilled, tmp_path):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    settings = tmp_path / "student" / "distil.json"
    before = settings.read_bytes()
    with (tmp_path / "student" / "distilled" / ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = nmt("distil", "student=student", "resume=true", "shortlist=false", code=2)
    assert done.stderr == (
        b"nmt: student: another student is needed; got student, which another process is making\n"
    )
    assert settings.read_bytes() == before


def test_a_student_learns_from_the_text_of_its_teacher_as_it_is(nmt, trained_run, tmp_path):
    shutil.copytree(trained_run, tmp_path / "teacher")
    config = json.loads((tmp_path / "teacher" / "config.json").read_text())
    config["data"]["augment"] |= {"exchange": 0.5, "typos": 0.1}
    config["data"]["num_train"] = 77
    (tmp_path / "teacher" / "config.json").write_text(json.dumps(config))
    composed = yaml.safe_load(nmt("distil", "teacher=teacher", "student=student", "--cfg", "job").stdout)
    assert composed["data"]["num_train"] == 77
    assert not any(composed["data"]["augment"].values())
    typed = nmt(
        "distil",
        "teacher=teacher",
        "student=student",
        "data.augment.typos=0.2",
        "align=false",
        "--cfg",
        "job",
    )
    assert yaml.safe_load(typed.stdout)["data"]["augment"]["typos"] == 0.2


def test_several_processes_are_refused_before_one_of_them_waits_for_another(nmt, trained_run, tmp_path):
    ranks = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    done = nmt("distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, code=2, **ranks)
    assert done.stderr == b"nmt: nmt distil: a process of its own is needed; got 2 ranks\n"
    assert not (tmp_path / "student").exists()


def test_what_was_exported_has_no_words_to_learn_and_is_refused_before_it_translates(
    nmt, distilled, tmp_path
):
    exported = distilled[0] / "student" / "exported"
    data = [
        f"data.{split}.{side}={distilled[0] / 'student' / 'distilled' / f'{split}.{side}'}"
        for split in ("train", "validation")
        for side in ("source", "target")
    ]
    done = nmt(
        "distil", f"teacher={exported}", "student=new", "data=files", *data, *TINY_STUDENT, "distillation.words=true",
        code=2,
    )  # fmt: skip
    assert done.stderr.startswith(b"nmt: teacher: ")
    assert b"was exported" in done.stderr
    assert not (tmp_path / "new").exists()


def test_several_teachers_are_as_one_of_whom_several_translations_and_all_words_are_learned(
    nmt, trained_run, tmp_path
):
    more = (
        "distillation.search={decoding: sampling, top_k: 5}", "distillation.num_hypotheses=3", "data.num_train=40",
        "export=null", "shortlist=false", "align=false", "model=student_ssru", "model.num_decoder_layers=1",
        "distillation.words=true", "training.teacher_weight=0.7",
    )  # fmt: skip
    shutil.copytree(trained_run, tmp_path / "teacher")
    done = nmt("distil", "teacher=[teacher,teacher]", "student=student", *TINY_STUDENT[1:], *more)
    found = [json.loads(line) for line in lines_of(tmp_path / "student" / "distilled" / "translations.jsonl")]
    assert [len(texts) for texts in found] == [3] * 40
    assert any(len(set(texts)) == 3 for texts in found)
    assert done.stdout.split(b"\n")[1].startswith(b"teachers as one ")
    assert b"teacher      teacher, teacher, whose words are 0.7 of the loss" in done.stderr
    assert json.loads((tmp_path / "student" / "data.json").read_text())["is_guided"] is False
    assert not (tmp_path / "student" / "exported").exists()
    shutil.rmtree(tmp_path / "teacher")
    assert nmt("distil", "student=student", "resume=true").stdout == done.stdout, (
        "which needs no teacher any more"
    )


def test_a_smaller_student_of_the_same_run_and_search_is_not_translated_for_again(nmt, trained_run, tmp_path):
    small = (*TINY_STUDENT, "data.num_train=40", "export=null", "shortlist=false", "align=false")
    students = {
        "first": [], "smaller": ["model.d_ff=16"], "greedy": ["distillation.search={decoding: greedy}"],
    }  # fmt: skip
    said = {
        name: nmt("distil", f"teacher={trained_run}", f"student={name}", *small, *own).stderr
        for name, own in students.items()
    }
    told = b"cache        has the translations of read.de by these teachers"
    assert [name for name, lines in said.items() if told in lines] == ["smaller"]
    first, smaller = (
        (tmp_path / name / "distilled" / "translations.jsonl").read_bytes() for name in ("first", "smaller")
    )
    assert first == smaller


def test_what_the_other_direction_makes_of_references_is_further_sources(nmt, trained_run, tmp_path):
    """Any run can stand for the reverse teacher: only the places of its translations are tested."""
    (tmp_path / "more.en").write_text("the dog sleeps\n\n")
    (tmp_path / "more.de").write_text("der Mann liest\n\n")
    done = nmt(
        "distil", f"teacher={trained_run}", "student=student", *TINY_STUDENT, "data.num_train=40", "export=null",
        "shortlist=false", f"distillation.reverse={trained_run}", "distillation.original=true",
        "distillation.monolingual_target=more.en", "distillation.monolingual=more.de",
    )  # fmt: skip
    folder = tmp_path / "student" / "distilled"
    sources, references = lines_of(folder / "read.de"), lines_of(folder / "read.en")
    assert references[40:] == ["the dog sleeps", ""]
    expected = nmt("translate", f"run={trained_run}", f"input={folder / 'read.en'}", "device=cpu").stdout
    back = [json.loads(line) for line in lines_of(folder / "reversed.jsonl")]
    assert back == [[line] for line in expected.decode().split("\n")[:-1]]
    pairs = list(zip(*(lines_of(folder / f"train.{side}") for side in ("de", "en")), strict=True))
    made = [
        (text, reference)
        for (text,), reference in zip(back, references, strict=True)
        if text.strip() and reference.strip()
    ]
    assert pairs[-len(made) :] == made
    assert len(pairs) - len(made) in (80, 81), (
        "the pairs, their translations, and one of more.de if it is not blank"
    )
    own = list(zip(sources, references, strict=True))
    assert set(own[:40]) <= set(pairs)
    assert own[40] == ("der Mann liest", "the dog sleeps")
    assert own[40] not in pairs, "lines of further text are no pairs"
    assert steps(tmp_path / "student")["reversed"] == 42
    assert b"with the original pairs" in done.stderr


@pytest.fixture
def pairs(tmp_path):
    """Write a few pairs, and return the overrides that name them."""
    for name, lines in (("s.de", ["hallo welt", "guten tag"]), ("s.en", ["hello world", "good day"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines * 4))
    return ("data=files", *(f"data.{split}.{side}={file}" for split in ("train", "validation") for side, file in
                            (("source", "s.de"), ("target", "s.en"))))  # fmt: skip


def test_lines_of_a_mixture_have_one_tag_and_further_lines_need_theirs(nmt, pairs, tiny_training, tmp_path):
    corpora = ",".join(
        f"{{source: {one}, target: {other}, train: [s.{one},s.{other}], validation: [s.{one},s.{other}]}}"
        for one, other in (("de", "en"), ("en", "de"))
    )
    small = [one for one in tiny_training() if not one.startswith("data.")]
    mixture = ("data=mixture", f"data.pairs=[{corpora}]", "tokenizer=char")
    nmt("train", "run=teacher", *small, *mixture, "tokenizer.joint=true", "tokenizer.vocabulary_size=40")
    student = (
        "distil",
        "teacher=teacher",
        *TINY_STUDENT,
        "export=null",
        "shortlist=false",
        "distillation.original=true",
    )
    assert b"mixture  " not in nmt(*student, "student=student").stderr
    for name in ("read.source", "validation.source"):  # of both languages
        for line in lines_of(tmp_path / "student" / "distilled" / name):
            assert line.count("<2") == 1, line
    needed = (
        "a tag at the start of each line, one of <2de>, <2en>, is needed for this run; got none in lines 1"
    )
    other = (*student, "student=other", "data.temperature=3", "tokenizer.vocabulary_size=30")
    failed = nmt(*other, "distillation.monolingual=s.de", code=2).stderr.decode()
    assert f"nmt: distillation.monolingual: {needed}" in failed
    assert "mixture      data.temperature and weights are not the student's" in failed
    assert "mixture      tags are no pieces of the student's own vocabulary" in failed
    failed = nmt("train", "training.from_run=teacher", *pairs, "run=child", code=2).stderr.decode()
    assert f"nmt: data.train: {needed}" in failed
    failed = nmt(*student, "student=untagged", *pairs, code=2).stderr.decode()
    assert f"nmt: data.train: {needed}" in failed
    nmt("train", "run=plain", *small, *pairs, "tokenizer=char", "tokenizer.vocabulary_size=40")
    for run, message in (
        ("teacher", "runs that need no tag at the start of each line are needed"),
        ("plain", "null is needed with source lines that begin with tags"),
    ):
        failed = nmt(*student, f"student=by-{run}", f"distillation.reverse={run}", code=2).stderr.decode()
        assert f"nmt: distillation.reverse: {message}" in failed
    assert not (tmp_path / "by-teacher").exists()


def test_a_student_of_a_teacher_with_context_learns_lines_alone(nmt, pairs, tiny_training, tmp_path):
    small = [one for one in tiny_training() if not one.startswith("data.")]
    context = ("data.context=1", "tokenizer=char", "tokenizer.vocabulary_size=40")
    nmt("train", "run=teacher", *small, *pairs, *context)
    student = ("distil", "teacher=teacher", "student=student", *TINY_STUDENT, "data.context=0")
    refused = nmt(*student, "distillation.words=true", code=2).stderr.decode()
    assert refused.startswith("nmt: distillation.words: the tokenizer of the first teacher")
    assert not (tmp_path / "student").exists()
    done = nmt(*student, "export=null", "shortlist=false", "tokenizer.vocabulary_size=30")
    assert (
        b"links        none: the teacher shows no attention, or reads lines with tags or with context"
        in done.stderr
    )
    assert nmt("translate", "run=student", stdin=b"hallo welt\n").stdout.count(b"\n") == 1


def test_what_is_wrong_with_a_student_is_mended_until_it_is_learned_from(nmt, trained_run, tmp_path):
    student = (
        "distil",
        "student=student",
        "data.num_train=20",
        "export=null",
        "shortlist=false",
        "align=false",
    )
    refused = nmt(*student, f"teacher={trained_run}", *TINY_STUDENT, "training.from_run=none", code=2).stderr
    assert refused.startswith(b"nmt: training.from_run: the folder of a run is needed; got none")
    assert not (tmp_path / "student").exists()
    failed = nmt(
        *student, f"teacher={trained_run}", *TINY_STUDENT, "distillation.min_agreement=100", code=2
    ).stderr
    assert b"nmt: distillation: a translation that passes is needed" in failed
    translated = (tmp_path / "student" / "distilled" / "translations.jsonl").stat().st_mtime_ns
    nmt("distil", "student=student", "resume=true", "distillation.min_agreement=0", "model.d_ff=16")
    assert (tmp_path / "student" / "distilled" / "translations.jsonl").stat().st_mtime_ns == translated
    assert json.loads((tmp_path / "student" / "config.json").read_text())["model"]["d_ff"] == 16
    for typed, own in (("distillation.min_agreement=5", b"0.0"), ("model.d_ff=8", b"16")):
        refused = nmt("distil", "student=student", "resume=true", typed, code=2).stderr
        assert own + b", the run's own value, is needed to go on" in refused


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"text": 1}, "text: Input should be a valid dictionary"),
        (
            {"text": {"pairs": 5, "splits": ["../other"]}},
            "text.splits.0: Input should be 'validation' or 'test'",
        ),
        ({"table": {"of": {}, "lines": 3}}, "table.lines: Input should be a valid list"),
        (
            {"languages": {"source": "../x"}, "text": {"pairs": 5, "splits": []}},
            "codes of languages are needed",
        ),
    ],
)
def test_damaged_outcomes_of_steps_are_said_in_a_line(main, distilled, tmp_path, steps, message):
    student = tmp_path / "student"
    shutil.copytree(distilled[0] / "student", student)
    (student / "distilled" / "steps.json").write_text(json.dumps(steps))
    code, _, errors = main("distil", f"student={student}", "resume=true")
    assert code == 2
    assert errors.splitlines()[-1].startswith("nmt: student: ")
    assert message in errors.splitlines()[-1]
    assert "Traceback" not in errors


def test_without_its_teacher_a_student_does_not_go_on_with_another_vocabulary(
    nmt, distilled, trained_run, tmp_path
):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    settings = json.loads((tmp_path / "student" / "distil.json").read_text())
    (tmp_path / "student" / "distil.json").write_text(json.dumps(settings | {"teacher": "gone"}))
    (tmp_path / "student" / "config.json").unlink()
    shutil.rmtree(tmp_path / "student" / "checkpoints")
    refused = nmt("distil", "student=student", "resume=true", code=2).stderr
    assert refused.startswith(b"nmt: teacher: the folder of a run is needed; got gone")
    nmt(
        "distil", "student=student", "resume=true", f"teacher={trained_run}", "export=null", "shortlist=false"
    )
    assert (tmp_path / "student" / "tokenizer.model").read_bytes() == (
        trained_run / "tokenizer.model"
    ).read_bytes()


def test_the_table_is_made_anew_for_another_search_of_the_same_weights(nmt, distilled, tmp_path):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    best = (tmp_path / "student" / "best.json").read_bytes()
    nmt("distil", "student=student", "resume=true", "export=null")
    longer = "training.max_updates=6", "optimizer.learning_rate=5", "schedule=constant"
    done = nmt(
        "distil", "student=student", "resume=true", "export=null", *longer, "decoding.max_length_ratio=0.4"
    )
    assert (tmp_path / "student" / "best.json").read_bytes() == best
    assert b"measuring    student" in done.stderr
    table = json.loads((tmp_path / "student" / "distilled" / "steps.json").read_text())["table"]["lines"]
    assert done.stdout.decode() == "".join(f"{line}\n" for line in table)


def test_what_was_exported_is_that_of_the_best_weights_and_of_the_format_that_was_asked_for(
    nmt, distilled, tmp_path
):
    shutil.copytree(distilled[0] / "student", tmp_path / "student")
    model = tmp_path / "student" / "exported" / "model.bin"
    go_on = ("distil", "student=student", "resume=true")
    before, when = model.read_bytes(), model.stat().st_mtime_ns
    nmt(*go_on)
    assert model.stat().st_mtime_ns == when
    nmt(
        *go_on,
        "training.max_updates=30",
        "training.validate_every=10",
        "optimizer.learning_rate=0.02",
        "schedule=constant",
    )
    assert json.loads((tmp_path / "student" / "best.json").read_text())["step"] > 4
    assert model.read_bytes() != before
    when = model.stat().st_mtime_ns
    assert b"student, exported" in nmt(*go_on, "shortlist=false").stdout
    assert model.stat().st_mtime_ns != when, "it has no shortlist now"
    assert not model.with_name("vmap.txt").exists()
    student = tmp_path / "student"
    when = model.stat().st_mtime_ns
    nmt(*go_on, "shortlist=false", "decoding=greedy", "decoding.max_length_extra=1")
    assert model.stat().st_mtime_ns == when, "a finished student keeps its search, and so does its export"
    searches = [
        json.loads((student / name).read_text())["decoding"] for name in ("config.json", "exported/nmt.json")
    ]
    assert searches[0] == searches[1]
    nmt(*go_on, "export=huggingface")
    assert not model.exists()
    assert (tmp_path / "student" / "exported" / "model.safetensors").exists()
