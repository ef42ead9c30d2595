"""The fields of a request, however it carries them: JSON, a form, a multipart form, or the query of its address.

A multipart form may have files as well, where they are wanted.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from nmt.serving.refusal import RETRY_SECONDS, Refused

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_FIELDS = 1000
BYTES_OF_VALUE = 64  # that Python takes for a short value of JSON; three times as many for an object
LINE_END = re.compile(r"\r\n?")

Fields = Mapping[str, Any]


class Upload(NamedTuple):
    """A file of a request, with the name that the client has for it."""

    name: str
    content: bytes


class Bodies:
    """What the requests that are answered at a time hold in memory: `most` bytes, of bodies and of what was read."""

    def __init__(self, most: int) -> None:
        self.most, self.num_bytes = most, 0

    @contextmanager
    def of_request(self) -> Iterator[Callable[[int], None]]:
        """Give a function that takes room for bytes until the block ends, and raises Refused where there is none.

        What would not have room on an idle server is refused for good.
        """
        taken = 0

        def take(num_bytes: int) -> None:
            nonlocal taken
            if num_bytes > self.most:
                raise Refused(
                    413, "Invalid request: fewer values or marks are needed, which take much memory"
                )
            if self.num_bytes + num_bytes > self.most:
                raise Refused(503, "The server is busy: too much text is there", RETRY_SECONDS)
            self.num_bytes += num_bytes
            taken += num_bytes

        try:
            yield take
        finally:
            self.num_bytes -= taken


async def read_fields(
    request: "Request", max_bytes: int, seconds: float, take: Callable[[int], None], max_files: int = 0
) -> Fields:
    """Return the fields of a request; those in its query override those of a form, and are ignored beside JSON.

    `take` takes room for the bytes of the body. Raises Refused where there is none, and for a body that is too large,
    too slow, or not of the content type that the request names.
    """
    try:
        async with asyncio.timeout(seconds):
            body = await _read_body(request, max_bytes, take)
    except TimeoutError:
        raise Refused(408, f"Invalid request: the body took more than {seconds:g} seconds") from None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        take(_bytes_of_values(body))
        return _parse_json(body)
    values, files = dict[str, str](), dict[str, Upload]()
    if kind == "multipart/form-data":
        values, files = await _parse_parts(request, body, max_files)
        body = b""
    # Long forms take seconds, in which others are answered.
    return await asyncio.to_thread(_values_of, values, body, request.scope["query_string"]) | files


def _values_of(parts: dict[str, str], form: bytes, query: bytes) -> dict[str, str]:
    """Return the text of fields; those of the query count before those of the body."""
    values = parts | _parse_pairs(form) | _parse_pairs(query)
    return {name: LINE_END.sub("\n", value) for name, value in values.items()}


async def _read_body(request: "Request", max_bytes: int, take: Callable[[int], None]) -> bytes:
    too_large = Refused(413, f"Invalid request: a body of at most {max_bytes} bytes is needed")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise too_large
    from starlette.requests import ClientDisconnect

    body = bytearray()
    try:
        async for block in request.stream():
            if len(body) + len(block) > max_bytes:
                raise too_large
            take(len(block))
            body += block
    except ClientDisconnect:
        raise Refused(499, "Client closed request") from None
    return bytes(body)


def _bytes_of_values(body: bytes) -> int:
    """Return about how much memory the values of JSON take beside their text: many small ones take most."""
    return BYTES_OF_VALUE * (body.count(b",") + body.count(b"[") + 3 * body.count(b"{"))


def _parse_json(body: bytes) -> Fields:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "Invalid JSON format")
    return found


def _parse_pairs(content: bytes) -> dict[str, str]:
    """Return the fields of `a=b&c=d`; the first of each name counts."""
    try:
        pairs = parse_qsl(
            content.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Refused(400, f"Invalid request: at most {MAX_FIELDS} fields are needed") from None
    return dict(reversed(pairs))


async def _parse_parts(
    request: "Request", body: bytes, max_files: int
) -> tuple[dict[str, str], dict[str, Upload]]:
    """Return fields and files, the first of each name."""
    from starlette.formparsers import MultiPartException, MultiPartParser

    async def blocks() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, blocks(), max_files=max_files, max_fields=MAX_FIELDS, max_part_size=len(body)
    )
    parser.spool_max_size = len(body) + 1  # what a client sends stays in memory
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, LookupError, ValueError):  # no boundary, or no such encoding
        files_needed = f"with at most {max_files} file" if max_files else "without files"
        raise Refused(400, f"Invalid request: multipart/form-data {files_needed} is needed") from None
    fields, files = dict[str, str](), dict[str, Upload]()
    for name, value in reversed(form.multi_items()):
        if isinstance(value, str):
            fields[name] = value
        else:
            files[name] = Upload(value.filename or "", await value.read())
    return fields, files
