"""Tables of pairs: TSV, CSV, JSON lines and Parquet, of which two columns are the two sides."""

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.config import Files, as_list
from nmt.data.corpus import Pairs, with_text
from nmt.data.lines import COMPRESSED, MAX_LINE_BYTES, PARQUET, read_text, require_reader, suffix_of
from nmt.errors import DataError, first_line

TRANSLATION = "translation"  # a column that holds both sides, by their languages
ROWS_AT_ONCE = 10_000
MOST_SHOWN = 40  # characters of the name of a column, and columns, in a message
SUFFIXES = (".tsv", ".csv", ".jsonl", PARQUET)


@dataclass(frozen=True)
class Columns:
    """The columns of the two sides, by name, or by number from 1 without a `header`; and the encoding of the table."""

    source: str
    target: str
    header: bool = True
    encoding: str | None = None
    keys: tuple[str, str] = ("data.source_column", "data.target_column")
    keeps_blank: bool = False  # whether a row without anything is an empty pair, and not none

    def require(self, known: Iterable[str], where: object, advice: str = "") -> None:
        """Raise DataError, with advice, unless both are among the `known` columns, each once."""
        names = list(known)
        for key, name in zip(self.keys, (self.source, self.target), strict=True):
            if name not in names:
                shown = ", ".join(one[:MOST_SHOWN] for one in names[:MOST_SHOWN])
                raise DataError(f"{key}: one of {shown} is needed; got {name}, not in {where}{advice}")
            if names.count(name) > 1:
                raise DataError(
                    f"{key}: a column with a name of its own is needed; got two of {name} in {where}"
                )


def read_table(files: Files, key: str, columns: Columns) -> Pairs:
    """Yield the pairs of one table or several, one after the other; a folder stands for the tables in it.

    Raises DataError, naming file and line, for what is no table, and if a side has no text.
    """
    sides = f"column {columns.source} of {files}", f"column {columns.target} of {files}"
    return with_text(read_rows(files, key, columns), key, sides)


def read_rows(files: Files, key: str, columns: Columns) -> Pairs:
    """Yield the pairs of tables as `read_table` does, also where there is no text."""
    return chain.from_iterable(_reader(path, key)(path, key, columns) for path in table_files(files))


def table_files(files: Files, suffixes: Sequence[str] = SUFFIXES) -> list[str]:
    """Return the files that are named; a folder is replaced by the tables in it, in the order of their names."""
    found = []
    for path in as_list(files):
        if os.path.isdir(path):
            inside = (os.path.join(path, name) for name in sorted(os.listdir(path)))
            found += [file for file in inside if _suffix(file) in suffixes]
        else:
            found.append(path)
    return found


def is_table(path: str) -> bool:
    """Whether a file is a table by its name."""
    return _suffix(path) in SUFFIXES


def as_line(value: Any, key: str, where: str) -> str:
    """Return the text of a cell as one line, since everywhere else in the project a text is one line.

    A missing value, which is NaN in tables of pandas, is an empty line. Raises DataError for a value that is no text.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (dict, list)):
        raise DataError(f"{key}: text is needed in a column; got {str(value)[:40]} in {where}")
    if isinstance(value, bytes):  # a column of Parquet that does not say that it is text
        try:
            value = value.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{key}: UTF-8 text is needed in a column; got {where}: {error}") from None
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can name one half of a pair of surrogates, which is no text
        half = f"\\u{ord(text[error.start]):04x}"
        raise DataError(
            f"{key}: whole characters are needed; got {half}, which is half of one, in {where}; "
            "mend that line or leave it out"
        ) from None
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


def sides_of(row: Mapping[str, Any], columns: Columns, key: str, where: str) -> tuple[str, str]:
    """Return the two sides of a record, from its own columns or those of `translation`."""
    record = row
    if columns.source not in row and TRANSLATION in row:
        nested = row[TRANSLATION]
        if nested is None:  # a missing value
            return "", ""
        record = nested if isinstance(nested, Mapping) else row
    columns.require(record, where)
    return as_line(record[columns.source], key, where), as_line(record[columns.target], key, where)


def _reader(path: str, key: str) -> Callable[[str, str, Columns], Pairs]:
    readers = {".tsv": _read_tsv, ".csv": _read_csv, ".jsonl": _read_jsonl, PARQUET: _read_parquet}
    suffix = _suffix(path)
    if suffix not in readers:
        raise DataError(
            f"{key}: a folder, or a file that ends in .tsv, .csv, .jsonl (each with .gz, .zst or neither) or .parquet "
            f"is needed; got {path}"
        )
    return readers[suffix]


def _suffix(path: str) -> str:
    """Return the suffix of the name of a table, without that of its compression; Parquet is compressed inside."""
    compression = suffix_of(path)
    if compression not in COMPRESSED:
        return compression
    suffix = suffix_of(os.path.splitext(path)[0])
    return suffix if suffix != PARQUET else compression


def _read_tsv(path: str, key: str, columns: Columns) -> Pairs:
    """Yield pairs of a file in which tabs separate columns, and quotation marks mean themselves."""
    rows = (line.split("\t") if line else [] for line in read_text(path, key, columns.encoding))
    return _read_rows(enumerate(rows, start=1), path, key, columns)


def _read_csv(path: str, key: str, columns: Columns) -> Pairs:
    """Yield pairs of comma-separated values as RFC 4180 has them; a quoted one may hold line ends."""
    csv.field_size_limit(MAX_LINE_BYTES)
    reader = csv.reader((f"{line}\n" for line in read_text(path, key, columns.encoding)), strict=True)

    def rows() -> Iterator[tuple[int, list[str]]]:
        try:
            for row in reader:
                yield reader.line_num, row
        except csv.Error as error:
            raise DataError(
                f"{key}: comma-separated values are needed; got {path}, line {reader.line_num}: {error}"
            ) from None

    return _read_rows(rows(), path, key, columns)


def _read_rows(rows: Iterator[tuple[int, list[str]]], path: str, key: str, columns: Columns) -> Pairs:
    """Yield pairs of rows with their numbers; the row of a blank line is empty.

    A blank line is no record, but in a table of one column it is an empty cell, if it follows the first record, and so
    it is in each table of which blank rows are kept.
    """
    number, first = next((one for one in rows if one[1]), (0, []))
    if not number:
        return
    names = first if columns.header else [str(i + 1) for i in range(len(first))]
    columns.require(names, path, _advice(names, path, columns))
    indices = names.index(columns.source), names.index(columns.target)
    if not columns.header:
        rows = chain([(number, first)], rows)
    for number, row in rows:
        if not row:
            if len(names) > 1 and not columns.keeps_blank:
                continue
            row = [""] * len(names)
        if len(row) != len(names):
            raise DataError(
                f"{key}: {len(names)} columns, as in the first line, are needed; got {len(row)} in {path}, "
                f"line {number}"
            )
        where = f"{path}, line {number}"
        yield as_line(row[indices[0]], key, where), as_line(row[indices[1]], key, where)


def _advice(names: Sequence[str], path: str, columns: Columns) -> str:
    """Return what may help where columns of a table are not found by their names."""
    divider = "\t" if _suffix(path) == ".tsv" else ","
    others = {"\t": "tabs", ",": "commas", ";": "semicolons"}
    name = others.pop(divider)
    used = [word for one, word in others.items() if len(names) == 1 and one in names[0]]
    if used:
        return f"; {_suffix(path)} has {name} between columns, not {used[0]}"
    if columns.header and columns.keys[0].startswith("data."):
        return "; a table without names of columns needs data.header=false and the numbers of columns, from 1"
    return ""


def _read_jsonl(path: str, key: str, columns: Columns) -> Pairs:
    for number, line in enumerate(read_text(path, key, columns.encoding), start=1):
        if not line.strip():
            if columns.keeps_blank:
                yield "", ""
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{key}: a JSON object in each line is needed; got {where}: {error}") from None
        if not isinstance(record, dict):
            raise DataError(f"{key}: a JSON object in each line is needed; got {where}: {line[:40]}")
        yield sides_of(record, columns, key, where)


def _read_parquet(path: str, key: str, columns: Columns) -> Pairs:
    require_reader(path, key)
    import pyarrow.parquet  # takes a while, and few runs need it

    if not Path(path).is_file():
        raise DataError(f"{key}: no such file: {path}")
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            nested = TRANSLATION in names and columns.source not in names
            if not nested:
                columns.require(names, path)
            wanted = [TRANSLATION] if nested else sorted({columns.source, columns.target})
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield sides_of(row, columns, key, f"{path}, row {number}")
    except UnicodeDecodeError as error:
        raise DataError(f"{key}: UTF-8 text is needed; got {path}, behind row {number}: {error}") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{key}: a Parquet file is needed; got {path}: {first_line(error)}") from None
