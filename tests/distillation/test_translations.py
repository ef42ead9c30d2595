"""Teachers translate each line once, also if they are stopped, and if another student asks for the same."""

import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from students import lines_of, student_that_reads

from nmt.cli.compose import compose
from nmt.decoding.chunks import Chunk
from nmt.decoding.search_settings import choose_search
from nmt.device import choose_precision
from nmt.distillation.folder import LANGUAGES, READ, REFERENCE, TRANSLATIONS, StudentFolder
from nmt.distillation.measuring import measure
from nmt.distillation.table import measured_server
from nmt.distillation.teachers import REVERSE, RunTeacher, teacher_search
from nmt.distillation.text import languages_of_text
from nmt.distillation.translations import read_translations, translate
from nmt.errors import DataError, RunError

OF_SERVER = "data=grammar", "distillation.source_language=de", "distillation.target_language=en"


class Recorded:
    """A teacher that translates a line into itself twice, and stops before more than `most` lines."""

    def __init__(self, most, origin=None):
        self.most, self.asked, self.lines_at_once, self.origin = most, [], None, origin
        self.num_context, self.before = 2, []

    def translate(self, chunk: Chunk):
        if len(self.asked) + len(chunk.lines) > self.most:
            raise KeyboardInterrupt
        self.asked += chunk.lines
        self.before.append([*chunk.before])
        return [[f"{line} {line}"] for line in chunk.lines]

    def tell(self):
        pass


def test_what_was_translated_before_a_stop_is_not_asked_for_again(tmp_path):
    folder = StudentFolder(str(tmp_path))
    folder.distilled.mkdir()
    lines = [f"line {number}" for number in range(20_000)]
    folder.text(READ).write_text("".join(f"{line}\n" for line in lines))
    first = Recorded(10_000)
    with pytest.raises(KeyboardInterrupt):
        translate(folder, first, READ, TRANSLATIONS)
    second = Recorded(20_000)
    translate(folder, second, READ, TRANSLATIONS)
    assert 0 < len(first.asked) < 20_000
    assert first.asked + second.asked == lines
    starts = [lines.index(before[-1]) + 1 for before in (first.before + second.before)[1:]]
    assert len(starts) > 2
    assert (first.before + second.before)[1:] == [lines[start - 2 : start] for start in starts]
    assert [json.loads(line) for line in lines_of(folder.text(TRANSLATIONS))] == [
        [f"{line} {line}"] for line in lines
    ]


def test_what_a_server_translated_of_the_test_text_is_not_asked_for_again(tmp_path):
    folder = StudentFolder(str(tmp_path))
    folder.distilled.mkdir()
    lines = [f"line {number}" for number in range(10)]
    for side in ("source", "target"):
        folder.text(f"test.{side}").write_text("".join(f"{line}\n" for line in lines))
    evaluation = compose("distil", ["teacher=http://a", "student=b", *OF_SERVER], None).settings().evaluation
    first, second = Recorded(7), Recorded(10)
    first.lines_at_once = second.lines_at_once = 2
    with pytest.raises(KeyboardInterrupt):
        measured_server("teacher", first, folder, "test", evaluation)
    row = measured_server("teacher", second, folder, "test", evaluation)
    assert (first.asked, second.asked) == (lines[:6], lines[6:])
    assert row.num_lines == 10
    assert 0 < row.scores[0].value < 100
    again = Recorded(0)
    assert measured_server("teacher", again, folder, "test", evaluation) == row


@pytest.mark.parametrize(
    ("typed", "endings"),
    [
        (["data=grammar"], ["de", "en"]),
        (["data=tmx", "data.source=zh-TW", "data.target=pt-BR"], ["zt", "pb"]),
        (["data=table"], ["de", "en"]),  # as they are typed for the server
        (
            ["data=table", "distillation.source_language=fr", "distillation.target_language=English"],
            ["fr", "target"],
        ),
        (["data=tmx", "data.source=en-GB", "data.target=en-US"], ["source", "target"]),
    ],
)
def test_texts_of_a_student_are_named_by_their_languages(typed, endings, tmp_path):
    files = [] if typed == ["data=grammar"] else ["data.train=a", "data.validation=b"]
    settings = compose(
        "distil", ["teacher=http://a", "student=b", *OF_SERVER, *files, *typed], None
    ).settings()
    folder = StudentFolder(str(tmp_path))
    folder.distilled.mkdir()
    folder.finish(LANGUAGES, languages_of_text(settings))
    assert [folder.text(name).name for name in (READ, REFERENCE)] == [f"read.{ending}" for ending in endings]
    assert folder.text(TRANSLATIONS).name == "translations.jsonl"
    for other in ({"source": "../x"}, {"source": ["de"]}, "abc", ["de"], 5):
        folder.finish(LANGUAGES, other)
        with pytest.raises(RunError, match=r"student: codes of languages are needed"):
            folder.text(READ)


def test_translations_that_are_no_longer_whole_are_no_pairs(tmp_path):
    folder = student_that_reads(tmp_path, ["eins", "zwei", "drei"])
    translate(folder, Recorded(3), READ, TRANSLATIONS)
    assert [line for line, _ in read_translations(folder, READ, TRANSLATIONS)] == ["eins", "zwei", "drei"]
    folder.text(TRANSLATIONS).write_text('["one"]\n')
    with pytest.raises(
        DataError, match=r"student: translations of the 3 lines of read\.source are needed; got 1"
    ):
        next(read_translations(folder, READ, TRANSLATIONS))


def test_another_student_of_the_same_teachers_has_their_translations_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    lines = ["one", "two", "three"]

    def asked(name, origin, lines=lines):
        teacher = Recorded(100, origin)
        folder = student_that_reads(tmp_path / name, lines)
        assert translate(folder, teacher, READ, TRANSLATIONS) == len(lines)
        found = lines_of(folder.text(TRANSLATIONS))
        assert [json.loads(line) for line in found] == [[f"{line} {line}"] for line in lines]
        return teacher.asked

    assert asked("first", "a") == lines
    assert asked("second", "a") == []
    assert asked("other teacher", "b") == lines
    assert asked("other text", "a", ["one", "two"]) == ["one", "two"]
    assert asked("server", None) == asked("server again", None) == lines


class Waiting(Recorded):
    """A teacher that waits for `may_go_on` before it translates or stops."""

    def __init__(self, origin, most=100):
        super().__init__(most, origin)
        self.began, self.may_go_on = threading.Event(), threading.Event()

    def translate(self, chunk: Chunk):
        self.began.set()
        assert self.may_go_on.wait(60)
        return super().translate(chunk)


def test_of_two_students_at_once_one_waits_for_the_translations_of_the_other(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    caplog.set_level(logging.INFO)
    lines = ["one", "two", "three"]
    folders = [student_that_reads(tmp_path / name, lines) for name in ("first", "second")]
    first, second = Waiting("a"), Recorded(100, "a")

    with ThreadPoolExecutor() as pool:
        of_first = pool.submit(translate, folders[0], first, READ, TRANSLATIONS)
        try:
            assert first.began.wait(60)
            of_second = pool.submit(translate, folders[1], second, READ, TRANSLATIONS)
            while "is making the same; waiting for it" not in caplog.text and not of_second.done():
                time.sleep(0.01)
        finally:
            first.may_go_on.set()
        assert of_first.result() == of_second.result() == 3
    assert (first.asked, second.asked) == (lines, [])
    found = [folder.text(TRANSLATIONS).read_bytes() for folder in folders]
    assert found[0] == found[1] != b""


def test_who_comes_when_the_first_was_stopped_waits_for_the_second(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    caplog.set_level(logging.INFO)
    teachers = [Waiting("a", most=0), Waiting("a"), Recorded(100, "a")]
    folders = [student_that_reads(tmp_path / str(number), ["one", "two"]) for number in range(3)]

    def is_waited_for(times):
        return caplog.text.count("is making the same; waiting for it") == times

    with ThreadPoolExecutor() as pool:

        def begin(number):
            return pool.submit(translate, folders[number], teachers[number], READ, TRANSLATIONS)

        try:
            first = begin(0)
            assert teachers[0].began.wait(60)
            second = begin(1)
            while not is_waited_for(1):
                time.sleep(0.01)
            teachers[0].may_go_on.set()
            with pytest.raises(KeyboardInterrupt):
                first.result()
            assert teachers[1].began.wait(60)
            third = begin(2)
            while not is_waited_for(2) and not third.done():
                time.sleep(0.01)
        finally:
            for teacher in teachers[:2]:
                teacher.may_go_on.set()
        assert second.result() == third.result() == 2
    assert [teacher.asked for teacher in teachers] == [[], ["one", "two"], []]


def test_runs_that_got_better_after_a_stop_begin_with_what_the_cache_has_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    lines = [f"line {number}" for number in range(20_000)]
    folder = student_that_reads(tmp_path / "first", lines)
    with pytest.raises(KeyboardInterrupt):
        translate(folder, Recorded(10_000, "as before"), READ, TRANSLATIONS)
    other = student_that_reads(tmp_path / "second", lines)
    translate(other, Recorded(20_000, "better"), READ, TRANSLATIONS)
    teacher = Recorded(20_000, "better")
    translate(folder, teacher, READ, TRANSLATIONS)
    assert teacher.asked == []
    assert folder.text(TRANSLATIONS).read_bytes() == other.text(TRANSLATIONS).read_bytes()


@pytest.mark.parametrize(("after_stop", "num_asked"), [("as before", 0), ("better", 20_000)])
def test_translations_are_kept_for_others_only_if_all_are_by_one_state_of_the_teachers(
    after_stop, num_asked, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    lines = [f"line {number}" for number in range(20_000)]
    folder = student_that_reads(tmp_path / "first", lines)
    with pytest.raises(KeyboardInterrupt):
        translate(folder, Recorded(10_000, "as before"), READ, TRANSLATIONS)
    num_before = len(lines_of(folder.text(TRANSLATIONS)))
    with caplog.at_level(logging.WARNING):
        translate(folder, Recorded(20_000, after_stop), READ, TRANSLATIONS)
    is_told = f"those after line {num_before} of {READ} are by teachers whose weights" in caplog.text
    assert is_told == (after_stop == "better")
    second = Recorded(20_000, after_stop)
    translate(student_that_reads(tmp_path / "second", lines), second, READ, TRANSLATIONS)
    assert len(second.asked) == num_asked


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"beam_size": 4}, {"beam_size": 4, "max_length_ratio": 0.5, "length_penalty": 0.7}),
        (
            {"decoding": "beam", "beam_size": 4},
            {"beam_size": 4, "max_length_ratio": 0.5, "length_penalty": 0.7},
        ),
        ({"decoding": "greedy"}, {"kind": "greedy", "max_length_ratio": 2.0}),
    ],
    ids=str,
)
def test_what_is_typed_of_a_search_changes_that_of_the_teacher(typed, expected):
    own = choose_search("beam", beam_size=2, max_length_ratio=0.5, length_penalty=0.7)
    settings = SimpleNamespace(distillation=SimpleNamespace(search=typed, num_hypotheses=1))
    found = teacher_search(settings, own).model_dump()
    assert {key: found[key] for key in expected} == expected


def test_a_glossary_that_changed_makes_another_teacher_and_may_be_a_link(trained_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "terms.tsv").symlink_to(tmp_path / "all.tsv")
    typed = [f"teacher={trained_run}", "student=a", "device=cpu", "distillation.search={glossary: terms.tsv}"]
    settings = compose("distil", typed, None).settings()
    origins = []
    for term in ("dog", "cat", "dog"):
        (tmp_path / "terms.tsv").write_text(f"Hund\t{term}\n")
        origins.append(RunTeacher(settings).origin)
    assert origins[0] == origins[2] != origins[1]


def test_a_glossary_is_for_teachers_of_its_own_direction(trained_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "terms.tsv").write_text("Hund\tdog\n")
    search = "distillation.search={glossary: terms.tsv, beam_size: 3}"
    typed = [
        f"teacher={trained_run}",
        f"distillation.reverse={trained_run}",
        "student=a",
        "device=cpu",
        search,
    ]
    settings = compose("distil", typed, None).settings()
    searches = [RunTeacher(settings, key).translator.settings for key in ("teacher", REVERSE)]
    assert [(one.glossary, one.beam_size) for one in searches] == [("terms.tsv", 3), (None, 3)]


def test_a_teacher_is_the_same_whether_its_number_type_was_typed_or_chosen(trained_run):
    chosen = str(choose_precision("auto", torch.device("cpu"))).removeprefix("torch.")
    typed = [f"teacher={trained_run}", "student=a", "device=cpu"]
    origins = [
        RunTeacher(compose("distil", [*typed, f"precision={name}"], None).settings()).origin
        for name in ("auto", chosen)
    ]
    assert origins[0] == origins[1] is not None


def test_a_file_of_the_user_is_not_taken_for_a_module_of_python(trained_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenize.py").write_text("raise SystemExit(3)\n")
    assert len(measure([str(trained_run)], ["der Hund schläft", ""]).translations) == 2


@pytest.mark.parametrize("other", ["b", None], ids=["another run", "a teacher of no known state"])
def test_translations_that_others_made_between_are_not_kept_as_those_of_the_first(
    other, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    lines = [f"line {number}" for number in range(20_000)]
    folder = student_that_reads(tmp_path / "first", lines)
    for origin in ("a", other):
        with pytest.raises(KeyboardInterrupt):
            translate(folder, Recorded(5_000, origin), READ, TRANSLATIONS)
    translate(folder, Recorded(20_000, "a"), READ, TRANSLATIONS)
    assert caplog.text.count("are by teachers whose weights") == 1
    second = Recorded(20_000, "a")
    translate(student_that_reads(tmp_path / "second", lines), second, READ, TRANSLATIONS)
    assert second.asked == lines


def test_who_was_stopped_before_the_first_line_is_followed_by_others_without_a_warning(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    folder = student_that_reads(tmp_path / "first", ["one", "two"])
    with pytest.raises(KeyboardInterrupt):
        translate(folder, Recorded(0, "a"), READ, TRANSLATIONS)
    translate(folder, Recorded(2, "b"), READ, TRANSLATIONS)
    second = Recorded(2, "b")
    translate(student_that_reads(tmp_path / "second", ["one", "two"]), second, READ, TRANSLATIONS)
    assert second.asked == []
    assert "are by teachers whose weights" not in caplog.text
