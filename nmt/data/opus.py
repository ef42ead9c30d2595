"""Corpora of OPUS (Tiedemann 2012), by its public interface: asked for, downloaded, checked and unpacked once.

The interface answers in JSON, and names a .zip with the two sides in plain text, line by line ("moses").
"""

import errno
import json
import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Sequence
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from nmt.config import OpusData
from nmt.data.cache import cache_folder, cached_folder, entry_name
from nmt.data.shards import count_lines
from nmt.errors import WRITE_ERRORS, DataError, nearest, one_line
from nmt.files.reading import read_json
from nmt.files.writing import to_json

INTERFACE = "https://opus.nlpl.eu/opusapi/"
MAX_ANSWER_BYTES = 1 << 24
BLOCK_SIZE = 1 << 18
SECONDS_TO_WAIT = 30
ATTEMPTS = 5
# Errors that keep a file from being written; all other errors of the system are taken to be the network's.
OF_DISK = WRITE_ERRORS | {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}
FACTS = "facts.json"


class Offer(NamedTuple):
    """A corpus that OPUS has for two languages."""

    name: str
    version: str
    num_pairs: int
    num_bytes: int
    url: str


class Unpacked(NamedTuple):
    """A corpus on the disk."""

    source: Path
    target: Path
    num_lines: int


def list_corpora(settings: OpusData) -> list[Offer]:
    """Return the newest version of each corpus for two languages, the largest first. Raises DataError offline."""
    return sorted(_ask(settings, version="latest"), key=lambda offer: -offer.num_pairs)


def obtain_corpora(settings: OpusData) -> list[Unpacked]:
    """Return the corpora that are asked for; what is not there yet is downloaded.

    A corpus with its version, `TED2020/v1`, needs no network once it is there. Raises DataError if one cannot be had.
    """
    if not settings.corpora:
        raise DataError(
            "data.corpora: names of corpora are needed; got none; "
            f"nmt data data=opus data.corpora=[] data.source={settings.source} data.target={settings.target} "
            "lists those that there are"
        )
    return [_obtain(settings, *corpus.partition("/")[::2]) for corpus in settings.corpora]


def _obtain(settings: OpusData, name: str, version: str) -> Unpacked:
    offer = None if version else _find(settings, name, "latest")
    version = offer.version if offer else version
    languages = (settings.source, settings.target)
    entry = entry_name("opus", name, version, *languages)

    def make(folder: Path) -> None:
        found = offer or _find(settings, name, version)
        archive = cache_folder() / f".{entry}.part"
        _download(found, archive)
        _unpack(found, archive, languages, folder)
        archive.unlink()

    folder = cached_folder(entry, make)
    source, target = (folder / f"text.{side}" for side in ("source", "target"))
    return Unpacked(source, target, int(read_json(folder / FACTS)["num_lines"]))


def _find(settings: OpusData, name: str, version: str) -> Offer:
    found = _ask(settings, corpus=name, version=version)
    if found:
        return found[0]
    known = [offer.name for offer in list_corpora(settings)]
    languages = f"{settings.source} and {settings.target}"
    if name in known:
        raise DataError(f"data.corpora: a version that OPUS has is needed; got {name}/{version}")
    raise DataError(
        f"data.corpora: a corpus that OPUS has for {languages} is needed, one of {', '.join(known) or 'none'}; got "
        f"{name}{nearest(name, known)}"
    )


def _ask(settings: OpusData, **wanted: str) -> list[Offer]:
    """Return the offers that OPUS answers with. Raises DataError without an answer, or for an invalid one."""
    query = {"source": settings.source, "target": settings.target, "preprocessing": "moses"}
    url = f"{os.environ.get('NMT_OPUS', INTERFACE)}?{urllib.parse.urlencode(query | wanted)}"
    try:
        with urllib.request.urlopen(url, timeout=SECONDS_TO_WAIT) as answer:
            rows = json.loads(answer.read(MAX_ANSWER_BYTES))["corpora"]
        return [_offer(row) for row in rows]
    except (OSError, HTTPException) as error:
        raise DataError(f"data.corpora: the network is needed for {url}; got {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"data.corpora: a list of corpora is needed from {url}; got another answer ({one_line(error)})"
        ) from None


def _offer(row: dict[str, Any]) -> Offer:
    url = str(row["url"])
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"the address {url}")
    return Offer(
        str(row["corpus"]),
        str(row["version"]),
        int(row["alignment_pairs"] or 0),
        1024 * int(row["size"] or 0),
        url,
    )


def _download(offer: Offer, path: Path) -> None:
    """Download the archive of an offer to a file; after a break, the download goes on where it stopped."""
    reason: object = "less than was promised"
    for _ in range(ATTEMPTS):
        try:
            if _fetch(offer, path):
                return
        except urllib.error.HTTPError as error:
            if error.code == 416:  # range not satisfiable: all has come already
                return
            reason = error
        except (OSError, HTTPException) as error:
            if isinstance(error, OSError) and error.errno in OF_DISK:
                raise
            reason = error
    raise DataError(
        f"data.corpora: the network is needed for {offer.url}; got {reason}; what has come is kept, and the same "
        "command goes on there"
    )


def _fetch(offer: Offer, path: Path) -> bool:
    """Add to a file the bytes that it lacks; return whether it is complete."""
    there = path.stat().st_size if path.exists() else 0
    request = urllib.request.Request(offer.url, headers={"Range": f"bytes={there}-"} if there else {})
    with urllib.request.urlopen(request, timeout=SECONDS_TO_WAIT) as answer:
        if answer.status != 206:  # the server sends the file from its beginning
            there = 0
        length = answer.headers["Content-Length"]  # a mirror that sends in chunks does not say
        total = there + int(length or 0)
        bar = tqdm(
            total=total, initial=there, desc=offer.name, unit="B", unit_scale=True, disable=None, leave=False
        )
        with open(path, "ab" if there else "wb") as file, bar:
            for block in iter(partial(answer.read, BLOCK_SIZE), b""):
                file.write(block)
                bar.update(len(block))
    return length is None or path.stat().st_size == total


def _unpack(offer: Offer, archive: Path, languages: Sequence[str], folder: Path) -> None:
    """Write the two sides of an archive, checked against its checksums; a damaged archive is removed."""
    try:
        with zipfile.ZipFile(archive) as files:
            for side, language in zip(("source", "target"), languages, strict=True):
                (name,) = [name for name in files.namelist() if name.endswith(f".{language}")]
                with files.open(name) as packed, open(folder / f"text.{side}", "wb") as plain:
                    shutil.copyfileobj(packed, plain, BLOCK_SIZE)
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        archive.unlink()
        raise DataError(
            f"data.corpora: a .zip with a file for {' and '.join(languages)} is needed; got {offer.url}: {error}; "
            "the same command downloads it again"
        ) from None
    num_lines = sum(count_lines(str(folder / "text.source")))
    (folder / FACTS).write_bytes(to_json({"num_lines": num_lines, **offer._asdict()}))
