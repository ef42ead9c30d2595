"""Tables of one's own: TSV, CSV, JSON lines, Parquet."""

import csv
import gzip
import json
import math

import pytest

from nmt.data.corpus import ParallelText
from nmt.data.sources import load_corpus
from nmt.data.table import Columns, read_rows, table_files
from nmt.decoding.chunks import table_chunks
from nmt.errors import DataError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

ROWS = [
    {"id": "1", "de": 'Er sagt "ja".', "en": 'He says "yes".'},
    {"id": "2", "de": "Kommas, viele, hier", "en": "commas, many, here"},
    {"id": "3", "de": "\u2028 é 🙂", "en": "x\x85y"},
]
SIDES = ParallelText([row["de"] for row in ROWS], [row["en"] for row in ROWS])


def write(folder, form, rows=ROWS, name="train"):
    """Write rows as a table of this form, where possible with another library than the one that reads them."""
    path = folder / f"{name}.{form.replace('nested', 'jsonl')}"
    opener = gzip.open if form.endswith(".gz") else open
    match form.split(".")[0]:
        case "tsv":
            with opener(path, "wt", encoding="utf-8", newline="\n") as file:
                file.writelines("\t".join(row) + "\n" for row in [list(rows[0]), *(r.values() for r in rows)])
        case "csv":
            with opener(path, "wt", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        case "jsonl":
            with opener(path, "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n\n" for row in rows)
        case "nested":
            with opener(path, "wt", encoding="utf-8") as file:
                file.writelines(json.dumps({"id": row["id"], "translation": row}) + "\n" for row in rows)
        case "parquet":
            pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.fixture
def load(tmp_path, data_settings):
    """Return a function that loads a table as training and as validation text."""

    def loaded(path, *overrides):
        given = [f"train={path}", f"validation={path}", "source_column=de", "target_column=en", *overrides]
        return load_corpus(data_settings("table", *given))

    return loaded


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "nested", "parquet", "tsv.gz", "csv.gz", "jsonl.gz"])
def test_every_form_has_the_same_pairs(tmp_path, load, form):
    corpus = load(write(tmp_path, form))
    assert corpus.train == corpus.validation == SIDES
    assert corpus.test is None


def test_a_missing_translation_is_an_empty_pair(tmp_path, load):
    path = tmp_path / "table.jsonl"
    rows = [
        {"translation": {"de": "a", "en": "b"}},
        {"translation": None},
        {"translation": {"de": None, "en": "d"}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(path).train == ParallelText(["a", "", ""], ["b", "", "d"])


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "parquet", "csv.gz"])
def test_suffixes_may_be_in_capitals(tmp_path, load, form):
    path = write(tmp_path, form)
    shouted = path.rename(tmp_path / path.name.upper())
    assert load(shouted).train == SIDES
    assert table_files(str(tmp_path)) == [str(shouted)]


def test_tables_follow_each_other_and_may_be_of_several_forms(tmp_path, load, data_settings):
    one, two = write(tmp_path, "csv"), write(tmp_path, "parquet", ROWS[:1])
    settings = data_settings(
        "table", f"train=[{one},{two}]", f"validation={two}", f"test={one}", "source_column=en", "target_column=de"
    )  # fmt: skip
    corpus = load_corpus(settings)
    assert corpus.train.source == [*SIDES.target, SIDES.target[0]]
    assert corpus.train.target == [*SIDES.source, SIDES.source[0]]
    assert corpus.test == ParallelText(SIDES.target, SIDES.source)


def test_columns_without_names_are_numbered_from_one(tmp_path, load):
    path = tmp_path / "pairs.tsv"
    path.write_text("Go.\tGeh.\tsomebody\nHi.\tHallo!\tsomebody\n")
    corpus = load(path, "header=false", "source_column=2", "target_column=1")
    assert corpus.train == ParallelText(["Geh.", "Hallo!"], ["Go.", "Hi."])


def test_a_cell_becomes_one_line_and_nothing_an_empty_one(tmp_path, load):
    rows = [{"de": "eins\r\nzwei\ndrei\rvier", "en": "x"}, {"de": None, "en": "y"}, {"de": 7, "en": "z"},
            {"de": math.nan, "en": "v"}]  # fmt: skip
    path = write(tmp_path, "jsonl", rows)
    assert load(path).train.source == ["eins zwei drei vier", "", "7", ""]
    quoted = tmp_path / "quoted.csv"
    quoted.write_bytes(b'de,en\r\n"eins\r\nzwei","x ""y"""\r\n')
    assert load(quoted).train == ParallelText(["eins zwei"], ['x "y"'])


@pytest.mark.parametrize(("name", "separator"), [("a.csv", b","), ("a.tsv", b"\t")])
def test_a_blank_line_is_no_record_but_an_empty_cell_where_there_is_one_column(
    tmp_path, load, name, separator
):
    table = tmp_path / name
    table.write_bytes(b"\r\nde,en\r\n\r\nA,B\r\n\r\n".replace(b",", separator))
    assert load(table).train == ParallelText(["A"], ["B"])
    table.write_bytes(b"de\r\nA\r\n\r\nB\r\n")
    rows = read_rows(str(table), "input", Columns("de", "de"))
    assert [cell for cell, _ in rows] == ["A", "", "B"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.tsv", b"de\ten\nA\tB\n\nC\tD\n"), ("a.csv", b"de,en\nA,B\n\nC,D\n"),
     ("a.jsonl", b'{"de": "A", "en": "B"}\n\n{"de": "C", "en": "D"}\n')],
)  # fmt: skip
def test_a_line_comes_out_for_each_line_of_a_table_that_is_translated(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    (lines,) = table_chunks(str(tmp_path / name), "input", "de", "utf-8")
    assert lines == ["A", "", "C"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"de\tfr\nx\ty\n", r"^data.target_column: one of de, fr is needed; got en, not in .*a.tsv"),
        ("a.tsv", b"de\ten\ten\nx\ty\tz\n", r"^data.target_column: a column with a name of its own is needed; got two of en in .*a.tsv"),
        ("a.tsv", b"de\ten\nx\ty\nx\n", r"^data.train: 2 columns, as in the first line, are needed; got 1 in .*a.tsv, line 3"),
        ("a.csv", b'de,en\n"x,y\n', r"^data.train: comma-separated values are needed; got .*a.csv, line 2: unexpected end"),
        ("a.tsv", b"de\ten\nx\t\xff\n", r"^data.train: UTF-8 text is needed; got byte 0xff in .*a.tsv, line 2"),
        ("a.jsonl", b'{"de": "x", "en": "y"}\n{"de"\n', r"^data.train: a JSON object in each line is needed; got .*a.jsonl, line 2"),
        ("a.jsonl", b'["x", "y"]\n', r"^data.train: a JSON object in each line is needed; got .*a.jsonl, line 1"),
        ("a.jsonl", b'{"de": ["x"], "en": "y"}\n', r"^data.train: text is needed in a column; got \['x'\] in .*a.jsonl, line 1$"),
        ("a.jsonl", b'{"de": "x", "en": "y"}\n\n{"de": "x", "en": "Der \\ud800 Hund"}\n',
         r"^data.train: whole characters are needed; got \\ud800, which is half of one, in .*a.jsonl, line 3; mend"),
        ("a.jsonl", b'{"translation": {"de": "\\udfff", "en": "y"}}\n',
         r"^data.train: whole characters are needed; got \\udfff, which is half of one, in .*a.jsonl, line 1; mend"),
        ("a.jsonl", b'{"de": "x"}\n', r"^data.target_column: one of de is needed; got en, not in .*a.jsonl, line 1"),
        ("a.csv", b"de;en\nx;y\n", r"^data.source_column: one of de;en is needed; got de, .*; .csv has commas between columns, not semicolons$"),
        ("a.tsv", b"de,en\nx,y\n", r"; .tsv has tabs between columns, not commas$"),
        ("a.tsv", b"Ein Mann.\tA man.\n", r"; a table without names of columns needs data.header=false and the numbers of columns, from 1$"),
        ("a.csv", b"x" * 1000 + b",en\nx,y\n", r"one of x{40}, en is needed"),
        ("a.parquet", b"no table", r"^data.train: a Parquet file is needed; got .*a.parquet: "),
        ("a.txt", b"x\ty\n", r"^data.train: a folder, or a file that ends in .tsv, .csv, .jsonl"),
        ("a.parquet.gz", b"", r"^data.train: a folder, or a file that ends in .tsv, .csv, .jsonl"),
        ("a.csv", b"de,en\n", r"^data.train: text is needed; got none in .*a.csv"),
        ("a.csv", b"de,en\nHallo,\n", r"^data.train: text is needed; got none in column en of .*a.csv"),
        ("a.csv", b"", r"^data.train: text is needed; got none in .*a.csv"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_pairs_is_said_in_one_line(tmp_path, load, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        load(tmp_path / name)


def test_a_pair_of_halves_is_a_character(tmp_path, load):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"de": "\\ud83d\\ude42", "en": "y"}\n')
    assert load(path).train.source == ["🙂"]


def test_parquet_that_is_not_utf8_is_said_in_one_line(tmp_path, load):
    offsets, content = (pa.py_buffer(part) for part in (bytes([0, 0, 0, 0, 3, 0, 0, 0]), b"a\xed\xa0"))
    column = pa.Array.from_buffers(pa.string(), 1, [None, offsets, content])
    pa.parquet.write_table(pa.table({"de": column, "en": pa.array(["x"])}), tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match=r"^data.train: UTF-8 text is needed; got .*a.parquet, behind row 0: "
    ):
        load(tmp_path / "a.parquet")


def test_bytes_of_parquet_are_text(tmp_path, load):
    def write_bytes(content):
        table = pa.table({"de": pa.array([content], pa.binary()), "en": pa.array(["x"])})
        pa.parquet.write_table(table, tmp_path / "a.parquet")
        return load(tmp_path / "a.parquet").train.source

    assert write_bytes("Häuser".encode()) == ["Häuser"]
    with pytest.raises(
        DataError, match=r"^data.train: UTF-8 text is needed in a column; got .*a.parquet, row 1: "
    ):
        write_bytes(b"\xff")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("name", ["data", "train", "train --plan"])
def test_half_a_character_ends_every_command_before_it_begins(main, tmp_path, monkeypatch, split, name):
    monkeypatch.chdir(tmp_path)
    good = write(tmp_path, "jsonl")
    (tmp_path / "bad.jsonl").write_bytes(good.read_bytes() + b'{"de": "\\ud800", "en": "x"}\n')
    paths = {one: "bad.jsonl" if one == split else good for one in ("train", "validation", "test")}
    given = [f"data.{one}={path}" for one, path in paths.items()]
    run = [] if name == "data" else ["run=run"]
    command = [*name.split(), "data=table", *run, *given, "data.source_column=de", "data.target_column=en"]
    code, out, message = main(*command)
    assert (code, out) == (2, "")
    assert message == (
        f"nmt: data.{split}: whole characters are needed; got \\ud800, which is half of one, in bad.jsonl, line 7; "
        "mend that line or leave it out\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["none.tsv", "none.csv", "none.jsonl", "none.parquet"])
def test_a_table_that_is_not_there_is_named(load, name):
    with pytest.raises(DataError, match=f"^data.train: no such file: {name}"):
        load(name)


def test_training_learns_from_a_table(nmt, tmp_path, tiny_training):
    rows = [{"de": f"wort {i} und {i % 7}", "en": f"word {i} and {i % 7}"} for i in range(60)]
    train, rest = write(tmp_path, "csv", rows), write(tmp_path, "parquet", rows[:5], "rest")
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    done = nmt(
        "train", "run=run", *small, "data=table", f"data.train={train}", f"data.validation={rest}",
        f"data.test={rest}", "data.source_column=de", "data.target_column=en", "tokenizer.vocabulary_size=40",
    )  # fmt: skip
    assert b"60 training pairs" in done.stderr
    assert json.loads((tmp_path / "run" / "test.json").read_text())["num_lines"] == 5
    assert b"BLEU" in nmt("evaluate", "run=run", "split=validation").stdout
