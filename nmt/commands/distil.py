"""`nmt distil`: translations of teachers, a student that learns from them, its export, and a table of them all."""

import contextlib
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nmt.commands import export, shortlist
from nmt.config import (
    DistilSettings,
    ExportSettings,
    MixtureData,
    ShortlistSettings,
    TrainSettings,
    TransformerSettings,
)
from nmt.config.check import SettingsT, check
from nmt.config.defaults import read_defaults
from nmt.data.context import Context
from nmt.distillation.folder import LINKS, READ, REFERENCE, REVERSED, TRANSLATIONS, StudentFolder
from nmt.distillation.pairs import choose_pairs
from nmt.distillation.remote import RemoteTeacher
from nmt.distillation.table import Row, measured, measured_server, table
from nmt.distillation.teachers import REVERSE, RunTeacher, Teacher, can_align
from nmt.distillation.text import data_of_student, write_text
from nmt.distillation.translations import link_words, translate
from nmt.errors import ExportError, SettingsError, naming, one_line
from nmt.export.formats import NewModel, format_of
from nmt.files.writing import to_json, write_atomically
from nmt.runs.directory import RunDirectory
from nmt.training import session
from nmt.training.ranks import Place, Ranks
from nmt.training.setup import require_files_of_new, require_what_comes_later
from nmt.training.word_teacher import find_teachers

logger = logging.getLogger(__name__)

RESULTS = "distil.results.json"


def main(settings: DistilSettings) -> None:
    """Translate, choose, link, train, make a shortlist, export, measure; what is finished already is not done again."""
    if (size := Place.of_process().size) > 1:
        raise SettingsError(f"nmt distil: a process of its own is needed; got {size} ranks")
    folder = StudentFolder(settings.student)
    if settings.export is not None:
        assert isinstance(settings.model, TransformerSettings)  # as settings are checked
        with naming("export"):
            format_of(settings.export).require(NewModel(settings.model, settings.tokenizer))
    open_teacher = partial(_open_teacher, settings)  # anew for each step, so that it takes memory only then
    if not settings.resume or folder.outcome("translations") is None:
        open_teacher()  # raises what is wrong with a teacher before it translates
        if settings.reverse_teachers:
            RunTeacher(settings, REVERSE)
        if settings.distillation.words:
            _require_words(settings)
        require_what_comes_later(settings)
        require_files_of_new(settings)
        if settings.training.from_run is not None:
            RunDirectory.existing(settings.training.from_run, "training.from_run")
    with folder.held(settings):
        _make_student(folder, settings, open_teacher)
        print(_table(folder, settings, open_teacher))


def _make_student(
    folder: StudentFolder, settings: DistilSettings, open_teacher: Callable[[], Teacher]
) -> None:
    """Do all steps that are not finished, up to the export."""
    _warn_of_mixture(settings)
    _do(folder, "text", lambda: write_text(folder, settings, open_teacher().tags))
    _do(folder, "translations", lambda: translate(folder, open_teacher(), READ, TRANSLATIONS))
    if settings.reverse_teachers:
        _do(folder, "reversed", lambda: _translate_back(folder, settings))
    _do(folder, "pairs", lambda: choose_pairs(folder, settings.distillation))
    if settings.align:
        _do(folder, "links", lambda: _link(folder, open_teacher()))
    session.train(student_settings(folder, settings), RunDirectory(folder.path), Ranks())
    with contextlib.redirect_stdout(sys.stderr):  # what is printed is the table alone
        if settings.shortlist:
            _do(folder, "shortlist", lambda: _make_shortlist(folder))
        if settings.export is not None:
            _export(folder, settings)


def _do(folder: StudentFolder, step: str, work: Callable[[], Any]) -> None:
    """Do a step, unless it is finished, and note its outcome."""
    if folder.outcome(step) is None:
        folder.finish(step, work())


def _open_teacher(settings: DistilSettings) -> Teacher:
    return RemoteTeacher(settings) if settings.is_remote else RunTeacher(settings)


def _translate_back(folder: StudentFolder, settings: DistilSettings) -> int:
    teacher = RunTeacher(settings, REVERSE)
    return translate(folder, teacher, REFERENCE, REVERSED)


def _link(folder: StudentFolder, teacher: Teacher) -> int:
    if not isinstance(teacher, RunTeacher) or not can_align(teacher.translator):
        logger.warning(
            "links        none: the teacher shows no attention, or reads lines with tags or with context"
        )
        return 0
    return link_words(folder, teacher.translator)


def _require_words(settings: DistilSettings) -> None:
    """Raise UserError for teachers whose word distributions cannot be learned, before they translate."""
    find_teachers(settings.teacher, settings.data.max_length, "teacher")
    if _tokenizer_of_teacher(settings) is None:
        raise SettingsError(
            "distillation.words: the tokenizer of the first teacher, with one vocabulary for both sides, is needed; "
            f"got other settings of tokenizer than those of {settings.teachers[0]}, or two vocabularies, or context"
        )


def _warn_of_mixture(settings: DistilSettings) -> None:
    """Warn of settings of a mixture that a student lacks: it learns from one text, whose lines may begin with tags."""
    if not isinstance(settings.data, MixtureData):
        return
    if settings.data.temperature != 1 or len({pair.weight for pair in settings.data.pairs}) > 1:
        logger.warning(
            "mixture      data.temperature and weights are not the student's, which learns from each pair once"
        )
    if settings.data.has_tags and _tokenizer_of_teacher(settings) is None:
        logger.warning(
            "mixture      tags are no pieces of the student's own vocabulary: its source lines need them as text, and "
            "target_language does not add them; that of the teacher, with tokenizer.joint=true, has them"
        )


def student_settings(folder: StudentFolder, settings: DistilSettings) -> TrainSettings:
    """Return the settings of the student's training: those that were typed, and the distilled text."""
    training, tokenizer = settings.training, settings.tokenizer
    if not (settings.is_remote or folder.is_in_training):
        # Without it, another vocabulary would be learned.
        RunDirectory.existing(settings.teachers[0], "teacher")
    if folder.outcome("links"):
        training = training.model_copy(update={"guided_alignment": str(folder.text(LINKS))})
    if settings.distillation.words:
        training = training.model_copy(update={"teacher": settings.teacher})
    if (model := _tokenizer_of_teacher(settings)) is not None:
        tokenizer = tokenizer.model_copy(update={"model": str(model)})
    own = set(DistilSettings.model_fields) - set(TrainSettings.model_fields)
    values = settings.model_dump(exclude=own) | {
        "run": str(folder.path),
        "resume": True,
        "data": data_of_student(folder, settings).model_dump(),
        "training": training.model_dump(),
        "tokenizer": tokenizer.model_dump(),
    }
    return check(TrainSettings, values)


def _tokenizer_of_teacher(settings: DistilSettings) -> Path | None:
    """Return the vocabulary of the first teacher, if it is one for both sides and no other was typed.

    A vocabulary with context is left to its teacher, since the student learns lines alone.
    """
    run = RunDirectory(settings.teachers[0])
    if not run.config_path.is_file() or not settings.tokenizer.joint:
        return None
    if run.read_model_settings().tokenizer != settings.tokenizer:
        return None
    has_context = Context.of(run.read_tokenizer().source).num_lines > 0
    return None if has_context else run.tokenizer_paths(joint=True)[0]


def _make_shortlist(folder: StudentFolder) -> bool:
    values = {"run": str(folder.path), "overwrite": True}
    shortlist.main(_with_defaults(ShortlistSettings, "shortlist", values))
    return True


def _export(folder: StudentFolder, settings: DistilSettings) -> None:
    """Export the student, unless an export is there with the same weights, format, shortlist and search."""
    student = RunDirectory(folder.path)
    # A finished student keeps its search, whatever was typed since.
    search = student.read_model_settings().decoding
    of = {
        "weights": student.weights_hash("best"),
        "format": settings.export,
        "shortlist": settings.shortlist,
        "decoding": search.model_dump(mode="json"),
    }
    if folder.outcome("export") == of and folder.exported.exists():
        return
    values = {
        "run": str(folder.path),
        "output": str(folder.exported),
        "format": settings.export,
        "decoding": search.model_dump(),
        "evaluation": settings.evaluation.model_dump(),
        "overwrite": True,
    }
    try:
        export.main(_with_defaults(ExportSettings, "export", values), settings.shortlist)
    except ExportError as error:
        raise ExportError(
            f"export: {error}, in `nmt export run={folder.path}`; here, resume=true goes on with export=null, "
            "or with shortlist=false where the shortlist costs it"
        ) from None
    folder.finish("export", of)


def _with_defaults(settings_class: type[SettingsT], name: str, values: dict[str, Any]) -> SettingsT:
    """Return the settings of another command: the defaults of its file, and these values."""
    defaults = {key: value for key, value in read_defaults(name).items() if key != "defaults"}
    return check(settings_class, defaults | values)


def _table(folder: StudentFolder, settings: DistilSettings, open_teacher: Callable[[], Teacher]) -> str:
    """Return the table of measures; the earlier one, if the student's weights, search and export are the same."""
    student = RunDirectory(folder.path)
    of = {
        "weights": student.weights_hash("best"),
        "shortlist": settings.shortlist,
        "export": settings.export,
        "decoding": student.read_model_settings().decoding.model_dump(mode="json"),
    }
    known = folder.outcome("table")
    if known is None or of | known["of"] != of:  # older versions noted less
        rows = _measure(folder, settings, open_teacher)
        write_atomically(folder.path / RESULTS, to_json({"rows": [row.as_dict() for row in rows]}))
        known = {"of": of, "lines": table(rows).split("\n")}
        folder.finish("table", known)
    return "\n".join(map(one_line, known["lines"]))


def _measure(
    folder: StudentFolder, settings: DistilSettings, open_teacher: Callable[[], Teacher]
) -> list[Row]:
    """Measure teachers and student on the test text, or on the validation text where there is none."""
    splits = folder.outcome("text")["splits"]
    name = "test" if "test" in splits else "validation"
    student, exported = str(folder.path), str(folder.exported)
    systems: list[tuple[str, list[str], dict[str, Any]]] = [
        ("teacher" if len(settings.teachers) == 1 else "teachers as one", settings.teachers, {}),
        ("student", [student], {}),
    ]
    if settings.shortlist:
        systems.append(("student, shortlist", [student], {"shortlist": True}))
    if settings.export == "ctranslate2":
        systems.append(("student, exported", [exported], {"shortlist": settings.shortlist}))
    rows = []
    for title, runs, search in systems:
        logger.info("measuring    %s: %s", title, ", ".join(runs))
        if settings.is_remote and runs == settings.teachers:
            rows.append(measured_server(title, open_teacher(), folder, name, settings.evaluation))
        else:
            rows.append(measured(title, runs, folder, name, settings.evaluation, search))
    return rows
