"""Data sets of the hub, from local files through the same library."""

import csv
import json

import pytest

from nmt.data import downloads
from nmt.data.sources import load_corpus
from nmt.errors import DataError, SettingsError

pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

# The library does not close the file from which it streams CSV.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SPLITS = {"train": 25, "validation": 3, "test": 2}
LOADERS = {"jsonl": "json", "nested": "json", "parquet": "parquet", "csv": "csv", "nested parquet": "parquet"}


def rows_of(split):
    return [{"de": f"Satz {i}", "en": f"{split} sentence {i}\nof two lines"} for i in range(SPLITS[split])]


def write(folder, form):
    """Write all splits; return overrides that name them."""
    files = {}
    for split in SPLITS:
        rows, path = rows_of(split), folder / f"{split}.{form.split()[-1]}"
        if "nested" in form:
            rows = [{"id": 0, "translation": row} for row in rows]
        if form.endswith("parquet"):
            pa.parquet.write_table(pa.Table.from_pylist(rows), path)
        elif form == "csv":
            with open(path, "w", newline="") as file:
                writer = csv.DictWriter(file, ["de", "en"])
                writer.writeheader()
                writer.writerows(rows)
        else:
            path.write_text("\n".join(map(json.dumps, rows)))
        files[split] = str(path)
    named = ", ".join(f"{split}: {path}" for split, path in files.items())
    return [f"path={LOADERS[form]}", f"data_files={{{named}}}"]


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "nmt"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.parametrize("streaming", ["false", "true"])
@pytest.mark.parametrize("form", LOADERS)
def test_every_form_has_the_same_pairs(tmp_path, data_settings, form, streaming):
    given = [*write(tmp_path, form), f"streaming={streaming}"]
    corpus = load_corpus(data_settings("hub", *given))
    assert corpus.train.source == [f"Satz {i}" for i in range(25)]
    assert corpus.validation.target[0] == "validation sentence 0 of two lines"
    assert corpus.test is None
    corpus = load_corpus(data_settings("hub", *given, "test_split=test", "num_train=7"))
    assert corpus.train.target == [f"train sentence {i} of two lines" for i in range(7)]
    assert len(corpus.validation.source) == 3
    assert corpus.test.source == ["Satz 0", "Satz 1"]


def test_what_was_streamed_once_is_not_read_again_unless_it_changed(tmp_path, data_settings, monkeypatch):
    settings = data_settings("hub", *write(tmp_path, "jsonl"), "streaming=true")
    first = load_corpus(settings)
    opened = []
    monkeypatch.setattr(downloads, "_open", lambda settings: opened.append(settings))
    assert load_corpus(settings) == first
    assert opened == []
    monkeypatch.undo()
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "nmt"))
    (tmp_path / "train.jsonl").write_text(json.dumps({"de": "neu", "en": "new"}))
    assert load_corpus(settings).train.source == ["neu"]


def test_files_of_a_pattern_or_a_folder_are_read_again_where_they_changed(
    tmp_path, data_settings, monkeypatch
):
    folder = tmp_path / "texts"
    folder.mkdir()
    write(folder, "jsonl")
    monkeypatch.chdir(tmp_path)
    ways = [
        ["path=json", "data_files={train: texts/tr*.jsonl, validation: texts/validation.jsonl}"],
        [f"path={folder}", "data_files={train: train.jsonl, validation: validation.jsonl}"],
        [f"path={folder}"],
    ]
    for number, way in enumerate(ways):
        settings = data_settings("hub", *way, "streaming=true")
        assert load_corpus(settings) == load_corpus(settings)
        (folder / "train.jsonl").write_text(json.dumps({"de": f"neu {number}", "en": "new"}))
        assert load_corpus(settings).train.source == [f"neu {number}"]


@pytest.mark.parametrize("streaming", ["false", "true"])
def test_what_cannot_be_had_is_said_in_one_line(tmp_path, data_settings, streaming):
    given = [*write(tmp_path, "jsonl"), f"streaming={streaming}"]
    with pytest.raises(DataError, match=r"^data.source_column: one of de, en is needed; got fr"):
        load_corpus(data_settings("hub", *given, "source_column=fr"))
    with pytest.raises(
        DataError, match=r"^data.test_split: one of train, validation, test is needed; got tests"
    ):
        load_corpus(data_settings("hub", *given, "test_split=tests"))
    missing = f"data_files={{train: {tmp_path / 'none.jsonl'}}}"
    with pytest.raises(DataError, match=r"^data.path: a data set is needed; got "):
        load_corpus(data_settings("hub", "path=json", missing, f"streaming={streaming}"))
    assert not list((tmp_path / "nmt").glob(".hub*")), "nothing half made stays"


@pytest.mark.parametrize("streaming", ["false", "true"])
def test_half_a_character_is_said_with_its_row(tmp_path, data_settings, streaming):
    given = [*write(tmp_path, "jsonl"), f"streaming={streaming}"]
    with open(tmp_path / "validation.jsonl", "ab") as file:
        file.write(b'\n{"de": "Der \\ud800 Hund", "en": "x"}\n')
    with pytest.raises(
        DataError, match=r"^data.path: a data set is needed; got json: .*surrogate.* in row 3$"
    ):
        load_corpus(data_settings("hub", *given))


def test_one_test_text_is_enough(data_settings):
    with pytest.raises(
        SettingsError, match=r"^data.test: null is needed beside test_split=test; got wmt14:de-en"
    ):
        data_settings("hub", "path=x", "test_split=test", "test=wmt14:de-en")


@pytest.mark.parametrize("streaming", ["false", "true"])
def test_words_that_mean_nothing_to_other_programs_are_text(tmp_path, data_settings, streaming):
    (tmp_path / "a.csv").write_text("de,en\nNA,null\nKein Satz,n/a\n")
    files = f"{{train: {tmp_path}/a.csv, validation: {tmp_path}/a.csv}}"
    settings = data_settings("hub", "path=csv", f"data_files={files}", f"streaming={streaming}")
    train = load_corpus(settings).train
    assert [*zip(train.source, train.target, strict=True)] == [("NA", "null"), ("Kein Satz", "n/a")]
