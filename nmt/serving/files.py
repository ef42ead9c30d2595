"""Files that clients send, and their translations, each held for whoever knows its address."""

import asyncio
import re
import unicodedata
import uuid
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from nmt.documents.document import Document
from nmt.documents.formats import SUFFIXES, read_document
from nmt.errors import DataError
from nmt.serving.refusal import Refused
from nmt.serving.requests import Upload

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_NAME = 100
HELD_SECONDS = 1800
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# Headers of a client's file: no browser shows it as a page, and no cache on the way keeps it.
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class Held:
    """Translated files in memory, `max_bytes` of them for `seconds` each; the oldest make room for new ones."""

    def __init__(self, max_bytes: int, seconds: float = HELD_SECONDS) -> None:
        self.max_bytes, self.seconds = max_bytes, seconds
        self._files: dict[str, tuple[str, bytes]] = {}

    def put(self, name: str, language: str, content: bytes) -> str:
        """Hold a file that was translated into a language; return the name to fetch it by, which nobody can guess."""
        shown = safe_name(name, language)
        key = f"{uuid.uuid4()}.{shown}"
        self._files[key] = shown, content
        while len(self._files) > 1 and sum(len(one) for _, one in self._files.values()) > self.max_bytes:
            del self._files[next(iter(self._files))]
        asyncio.get_running_loop().call_later(self.seconds, self._files.pop, key, None)
        return key

    def get(self, key: str) -> tuple[str, bytes]:
        """Return the name of a file and its content. Raises Refused for one that is not held, or no longer."""
        if key not in self._files:
            raise Refused(404, "Not Found")
        return self._files[key]


async def read_upload(file: Upload) -> Document:
    """Return the document in a file. Raises Refused where the file is no document."""
    if not file.name:
        raise Refused(400, "Invalid request: missing file parameter")
    if not file.content:
        raise Refused(400, "Invalid request: empty file")
    suffix = PurePosixPath(file.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise Refused(400, "Invalid request: file format not supported")
    try:
        return await asyncio.to_thread(read_document, suffix, file.content)
    except DataError as error:
        raise Refused(400, f"Invalid request: {error}") from None


def safe_name(name: str, language: str) -> str:
    """Return a file name that is safe on any system and in any header, in ASCII: `letter_en.docx`."""
    stem, _, suffix = re.split(r"[/\\]", name)[-1].rpartition(".")
    latin = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    safe = UNSAFE.sub("_", latin).strip("._")[:MAX_NAME]
    return f"{safe or 'file'}_{language}.{suffix}"


def address_of(request: "Request", prefix: str, num_proxies: int) -> str:
    """Return the address to fetch files from, on the host that the client named. Raises Refused for an invalid host.

    Behind proxies, X-Forwarded-Proto says whether the client used http or https.
    """
    host = request.headers.get("host", "")
    if not HOST.fullmatch(host):
        raise Refused(400, "Invalid request: a host is needed in the header Host")
    claimed = request.headers.get("x-forwarded-proto", "") if num_proxies else ""
    scheme = claimed if claimed in ("http", "https") else request.scope["scheme"]
    return f"{scheme}://{host}{prefix}/download_file/"
