"""Files that clients send, and their translations, each held for whoever knows its address."""

import asyncio
import re
import unicodedata
import uuid
from contextvars import Context
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from nmt.documents.formats import SUFFIXES, read_document
from nmt.serving.markup import ReadDocument, read
from nmt.serving.refusal import Refused
from nmt.serving.requests import Upload

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_NAME = 100
HELD_SECONDS = 1800
BYTES_OF_ENTRY = 2000  # that a held file takes beside its content, about
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# Headers of a client's file: no browser shows it as a page, and no cache on the way keeps it.
HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class HeldFile(NamedTuple):
    """A file, the name that it is shown by, and the timer that ends its time."""

    name: str
    content: bytes
    timer: asyncio.TimerHandle

    @property
    def num_bytes(self) -> int:
        """The memory that it takes, about."""
        return len(self.content) + BYTES_OF_ENTRY


class Held:
    """Translated files in memory, `max_bytes` of them for `seconds` each; the oldest make room for new ones."""

    def __init__(self, max_bytes: int, seconds: float = HELD_SECONDS) -> None:
        self.max_bytes, self.seconds = max_bytes, seconds
        self._files: dict[str, HeldFile] = {}
        self._num_bytes = 0

    def put(self, name: str, language: str, content: bytes) -> str:
        """Hold a file that was translated into a language; return the name to fetch it by, which nobody can guess."""
        shown = safe_name(name, language)
        key = f"{uuid.uuid4()}.{shown}"
        # The timer has a context of its own, since that of the request would be kept with it.
        timer = asyncio.get_running_loop().call_later(self.seconds, self._drop, key, context=Context())
        self._files[key] = HeldFile(shown, content, timer)
        self._num_bytes += self._files[key].num_bytes
        while len(self._files) > 1 and self._num_bytes > self.max_bytes:
            self._drop(next(iter(self._files)))
        return key

    def _drop(self, key: str) -> None:
        file = self._files.pop(key)
        file.timer.cancel()
        self._num_bytes -= file.num_bytes

    def get(self, key: str) -> tuple[str, bytes]:
        """Return the name of a file and its content. Raises Refused for one that is not held, or no longer."""
        if key not in self._files:
            raise Refused(404, "Not Found")
        return self._files[key].name, self._files[key].content


async def read_upload(file: Upload) -> ReadDocument:
    """Return the document in a file, and its lines. Raises Refused where the file is no document."""
    if not file.name:
        raise Refused(400, "Invalid request: missing file parameter")
    if not file.content:
        raise Refused(400, "Invalid request: empty file")
    suffix = PurePosixPath(file.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise Refused(400, "Invalid request: file format not supported")
    return await read(lambda: read_document(suffix, file.content))


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
