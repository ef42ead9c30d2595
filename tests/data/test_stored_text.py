"""Text that is too large to hold: on the disk it is the same as in memory, and it is read once."""

import gzip
import json
import os
import random
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data import cache, corpus, dataset, duplicates, stored_text
from nmt.data.cache import cached_folder, content_key
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import ParallelText
from nmt.data.duplicates import Fingerprints
from nmt.data.lines import read_lines
from nmt.data.sources import load_corpus, load_split
from nmt.data.stored_text import open_text, store_text
from nmt.errors import DataError
from nmt.files import writing
from nmt.files.writing import write_manifest

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

WORDS = ["das", "Haus", "läuft", "schön", "ein", "Hund", "日本", "the", "", "слово", "a b"]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch, tmp_path):
    """Have text read, compared and encoded few lines at a time, with a cache of its own."""
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stored_text, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(duplicates, "LINES_AT_ONCE", 11)
    monkeypatch.setattr(duplicates, "PAIRS_SORTED_AT_ONCE", 30)
    monkeypatch.setattr(dataset, "LINES_ENCODED_AT_ONCE", 13)


@pytest.fixture
def store(monkeypatch):
    """Return a function that has all text stored on the disk, or all of it held in memory."""
    return lambda wanted: monkeypatch.setattr(corpus, "LARGE", 0 if wanted else 1 << 25)


def make_pairs(size, seed):
    chance = random.Random(seed)
    pairs = [[" ".join(chance.choices(WORDS, k=chance.randint(0, 4))) for _ in range(2)] for _ in range(size)]
    return [*pairs, ["same", "same"], ["so lang", "x " * 30]]


def write_files(folder, splits=("train", "valid", "test")):
    for number, split in enumerate(splits):
        pairs = make_pairs(100 if split == "train" else 12, number)
        for column, side in enumerate(("de", "en")):
            text = "".join(f"{pair[column]}\n" for pair in pairs).encode()
            (folder / f"{split}.{side}").write_bytes(text)
            (folder / f"{split}.{side}.gz").write_bytes(gzip.compress(text))
            with pyarrow.CompressedOutputStream(str(folder / f"{split}.{side}.zst"), "zstd") as file:
                file.write(text)
        table = pyarrow.table({"de": [pair[0] for pair in pairs], "en": [pair[1] for pair in pairs]})
        (folder / f"tables.{split}").mkdir()
        pyarrow.parquet.write_table(table[:5], folder / f"tables.{split}" / "a.parquet")
        pyarrow.parquet.write_table(table[5:], folder / f"tables.{split}" / "b.parquet")
        (folder / f"tables.{split}" / "README.md").write_text("no table")
        rows = [json.dumps(dict(zip(("de", "en"), pair, strict=True))) for pair in pairs]
        (folder / f"{split}.jsonl").write_text("\n".join(rows))


def named_files(folder, ending=""):
    names = {"train": "train", "validation": "valid", "test": "test"}
    return [
        f"{split}.{side}={folder}/{name}.{language}{ending}"
        for split, name in names.items()
        for side, language in (("source", "de"), ("target", "en"))
    ]


def named_tables(folder, pattern):
    names = {"train": "train", "validation": "valid", "test": "test"}
    columns = ["source_column=de", "target_column=en"]
    return [*(f"{split}={folder}/{pattern.format(name)}" for split, name in names.items()), *columns]


def mixture_of(folder):
    def part(source, target):
        files = {name: f"[{folder}/{name}.{source},{folder}/{name}.{target}]" for name in ("train", "valid")}
        return (
            f"{{source: {source}, target: {target}, train: {files['train']}, validation: {files['valid']}}}"
        )

    return [f"pairs=[{part('de', 'en')},{part('en', 'de')}]"]


FORMS = {
    "files": ("files", named_files),
    "gzip": ("files", lambda folder: named_files(folder, ".gz")),
    "zstd": ("files", lambda folder: named_files(folder, ".zst")),
    "jsonl": ("table", lambda folder: named_tables(folder, "{}.jsonl")),
    "folders of parquet": ("table", lambda folder: named_tables(folder, "tables.{}")),
    "mixture": ("mixture", mixture_of),
}
FILTERS = {
    "no filter": [],
    "clean": [
        "filter.identical=true",
        "filter.duplicates=pair",
        "filter.overlap=either",
        "filter.max_ratio=9",
    ],
    "sources once": ["filter.duplicates=source", "filter.min_words=1", "filter.source_scripts=[Latin]"],
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("form", FORMS)
def test_stored_text_is_what_held_text_is(form, filters, tmp_path, data_settings, store):
    write_files(tmp_path)
    kind, name = FORMS[form]
    given = data_settings(kind, *name(tmp_path), *FILTERS[filters])
    store(False)
    held = load_corpus(given)
    of_held = prepare_corpus(held, given.filter)
    store(True)
    for _ in range(2):  # the second time it is in the cache already
        stored = load_corpus(given)
        assert stored.train.is_stored
        assert stored == held
        of_stored = prepare_corpus(stored, given.filter)
        assert of_stored.corpus == of_held.corpus
        assert of_stored.kept.tolist() == of_held.kept.tolist()
        assert of_stored.filtered == of_held.filtered
        assert {split: asdict(own) for split, own in of_stored.overlaps.items()} == {
            split: asdict(own) for split, own in of_held.overlaps.items()
        }
        for one, other in ((of_stored, of_held), (stored, held)):
            train, expected = getattr(one, "corpus", one).train, getattr(other, "corpus", other).train
            assert content_key(train.source, train.target) == content_key(expected.source, expected.target)


def test_the_same_files_for_another_language_have_its_tags(tmp_path, data_settings, store):
    write_files(tmp_path)
    store(True)
    (pairs,) = mixture_of(tmp_path)
    for language in ("de", "fr"):
        given = data_settings("mixture", pairs.replace("target: de", f"target: {language}"))
        source = prepare_corpus(load_corpus(given), given.filter).corpus.train.source
        assert source[-1].startswith(f"<2{language}> ")


def test_files_are_read_once_unless_they_change(tmp_path, data_settings, store, monkeypatch):
    write_files(tmp_path)
    given = data_settings("files", *named_files(tmp_path), "filter.duplicates=pair")
    store(True)

    def train():
        return prepare_corpus(load_corpus(given), given.filter).corpus.train

    first = train()
    with monkeypatch.context() as patch:
        for module in (corpus, cache):
            patch.setattr(module, "cached_folder" if module is corpus else "_fill", forbid(module))
        assert train() == first
    with open(tmp_path / "train.de", "a") as german, open(tmp_path / "train.en", "a") as english:
        german.write("neu\n")
        english.write("new\n")
    assert list(train().source) == [*first.source, "neu"]
    content = (tmp_path / "train.de").read_bytes()
    when = (tmp_path / "train.de").stat().st_mtime_ns
    (tmp_path / "train.de").write_bytes(content[:-4] + b"alt\n")
    os.utime(tmp_path / "train.de", ns=(when, when))  # as programs do that copy files
    assert list(train().source) == [*first.source, "alt"]


def test_lists_of_the_same_files_are_other_texts(tmp_path, data_settings, store):
    for name in "abcd":
        (tmp_path / name).write_text(f"{name} one\n{name} two\n")
    a, b, c, d = (str(tmp_path / name) for name in "abcd")
    store(True)

    def train(source, target):
        sides = [f"train.source=[{','.join(source)}]", f"train.target=[{','.join(target)}]"]
        validation = [f"validation.source={a}", f"validation.target={b}"]
        return load_corpus(data_settings("files", *sides, *validation)).train

    assert list(train([a, b], [c, d]).target) == ["c one", "c two", "d one", "d two"]
    with pytest.raises(DataError, match="as many lines of source as of target are needed"):
        train([a, b, c], [d])


def test_a_missing_file_beside_a_large_one_is_named_by_its_key(tmp_path, data_settings, store):
    store(True)
    write_files(tmp_path)
    (tmp_path / "train.en").unlink()
    with pytest.raises(DataError, match=r"^data.train.target: no such file: .*train.en"):
        load_corpus(data_settings("files", *named_files(tmp_path)))


def test_each_file_of_a_list_is_as_long_as_its_counterpart(tmp_path, data_settings):
    for name, count in {"a.de": 3, "b.de": 3, "a.en": 2, "b.en": 4}.items():
        (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(count)))
    given = [
        f"{split}.{side}=[{tmp_path}/a.{end},{tmp_path}/b.{end}]"
        for split in ("train", "validation")
        for side, end in (("source", "de"), ("target", "en"))
    ]
    with pytest.raises(DataError, match=r"^data.train: as many .* got 3 in \S+/a.de and 2 in \S+/a.en$"):
        load_corpus(data_settings("files", *given))


def test_a_missing_file_is_named_before_any_text_is_read_and_only_where_its_text_is_wanted(
    tmp_path, data_settings, monkeypatch
):
    write_files(tmp_path)
    given = data_settings("files", *named_files(tmp_path))
    (tmp_path / "train.de").unlink()
    test, _ = load_split(given, "test")
    assert list(test.source) == (tmp_path / "test.de").read_text().split("\n")[:-1]
    (tmp_path / "train.de").write_text("a\n")
    (tmp_path / "test.en").unlink()
    monkeypatch.setattr("nmt.data.sources.read_parallel_files", lambda *_: pytest.fail("text was read"))
    with pytest.raises(DataError, match=r"^data.test.target: no such file: .*test.en"):
        load_corpus(given)


def forbid(module):
    def allow_what_is_there(name, make):
        return cached_folder(name, lambda folder: pytest.fail("it was made again"))

    return allow_what_is_there if module is corpus else lambda *_: pytest.fail("it was made again")


@pytest.mark.parametrize(
    ("german", "english", "message"),
    [
        ("a\nb\n", "x\n", r"data.train: as many lines of source as of target are needed; got 2 in .*de and 1 in .*en"),
        ("a\n", "x\ny\nz\n", r"got 1 in .*de and 3 in .*en"),
        ("\n\n", "x\ny\n", r"data.train: text is needed; got none in .*train.de"),
        ("a\nb\n", "\n\n", r"data.train: text is needed; got none in .*train.en"),
        ("a\n\udcff\n", "x\ny\n", r"data.train.source: UTF-8 text is needed; got byte 0xff in .*train.de, line 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_of_it_is_kept(
    german, english, message, tmp_path, data_settings, store
):
    write_files(tmp_path)
    (tmp_path / "train.de").write_bytes(german.encode("utf-8", "surrogateescape"))
    (tmp_path / "train.en").write_text(english)
    for wanted in (False, True):
        store(wanted)
        with pytest.raises(DataError, match=message):
            load_corpus(data_settings("files", *named_files(tmp_path)))
    assert not [path for path in (tmp_path / "cache").glob("*") if not path.name.startswith("text-")]
    assert len(list((tmp_path / "cache").glob("*"))) == 0


@settings(max_examples=40)
@given(st.lists(st.text().filter(lambda line: "\n" not in line and line.isprintable()), min_size=1))
def test_stored_lines_are_a_sequence(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("stored")
    store_text(folder, zip(lines, reversed(lines), strict=True), "test")
    write_manifest(folder, folder.iterdir())
    source, target = open_text(folder)
    assert list(source) == [*source[:]] == lines
    assert target == lines[::-1]
    assert source != [*lines, "more"]
    assert [source[i] for i in range(-len(lines), len(lines))] == lines * 2
    assert source[1:3] == lines[1:3]
    assert source[::-2] == lines[::-2]
    assert source[5:2] == []
    with pytest.raises(IndexError):
        source[len(lines)]
    assert content_key(source) == content_key(lines)


@pytest.mark.parametrize("kind", ["pair", "source", "target"])
def test_what_is_repeated_is_found_some_pairs_at_a_time(kind, tmp_path):
    pairs = make_pairs(75, 5) * 2
    text = ParallelText([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    kept = np.random.default_rng(0).random(len(pairs)) < 0.8
    on_disk = Fingerprints.of(text, tmp_path)
    assert isinstance(on_disk.source, np.memmap)
    assert os.listdir(tmp_path) == []
    seen, expected = set(), []
    for (source, target), is_kept in zip(pairs, kept, strict=True):
        compared = {
            "pair": (source.strip(), target.strip()),
            "source": source.strip(),
            "target": target.strip(),
        }
        counts = is_kept and source.strip() and target.strip()
        expected.append(bool(counts and compared[kind] in seen))
        if counts:
            seen.add(compared[kind])
    assert sum(expected) > 5
    for prints in (on_disk, Fingerprints.of(text)):
        assert prints.find_repeated(kind, kept).tolist() == expected


def test_a_large_file_is_read_again_only_if_it_was_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LARGE", 100)
    read = []
    facts = writing.file_facts
    monkeypatch.setattr(writing, "file_facts", lambda path: read.append(path.name) or facts(path))

    def make(folder):
        (folder / "large").write_bytes(b"x" * 1000)
        (folder / "small").write_bytes(b"y" * 10)

    folder = cached_folder("thing", make)
    old = (folder / "manifest.json").stat().st_mtime_ns
    read.clear()
    assert cached_folder("thing", make) == folder
    assert read == ["small"]
    (folder / "large").write_bytes(b"x" * 999 + b"z")
    os.utime(folder / "large", ns=(old, old - 10**9))  # programs can set back the mtime, but not the ctime
    assert cached_folder("thing", make).joinpath("large").read_bytes() == b"x" * 1000
    assert "large" in read


def test_a_damaged_zstd_file_is_said_in_one_line(tmp_path):
    with pyarrow.CompressedOutputStream(str(tmp_path / "a.zst"), "zstd") as file:
        file.write(os.urandom(2000).hex().encode())
    whole = (tmp_path / "a.zst").read_bytes()
    for damaged in (whole[:-30], b"text that is not compressed"):
        (tmp_path / "a.zst").write_bytes(damaged)
        with pytest.raises(DataError, match=r"^data.x: a readable file is needed; got .*a.zst: "):
            read_lines(str(tmp_path / "a.zst"), "data.x")
