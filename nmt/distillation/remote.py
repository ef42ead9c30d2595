"""A teacher behind a URL: a server that speaks LibreTranslate's interface, or OpenAI's.

An answer is text to learn from and nothing else: redirects are not followed, and an answer of another form is an error.
"""

import json
import logging
import os
import re
import threading
import urllib.request
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from http.client import HTTPException
from queue import Empty, SimpleQueue
from typing import Any
from urllib.error import HTTPError, URLError

from nmt.config import DistilSettings
from nmt.data.lines import MAX_WAIT
from nmt.decoding.chunks import Chunk
from nmt.errors import DataError, SettingsError, one_line
from nmt.wording import LineNumbers

logger = logging.getLogger(__name__)

SECONDS_TO_WAIT = 120  # for an answer
SECONDS_BEFORE_RETRY = (1.0, 4.0, 15.0, 60.0)
BUSY = {408, 425, 429, 500, 502, 503, 504}
REFUSED = {400, 413, 422}  # a line, perhaps, for example since it is too long for the server
MAX_ANSWER_BYTES = 1 << 24
LINES_OF_REQUEST = 16  # for LibreTranslate; for OpenAI a request has one line
REQUESTS_AT_ONCE = 4
LINES_AT_ONCE = LINES_OF_REQUEST * REQUESTS_AT_ONCE
UNFINISHED = {"length", "content_filter"}  # reasons of OpenAI's interface for the end of an answer
HALF = re.compile("[\ud800-\udfff]")  # JSON can name one half of a pair of surrogates, which is no text
MAX_SHOWN = 200  # characters of a server's error message
PROMPT = "Translate what the user writes from {} to {}. Answer with the translation alone, in one line."


class _RefusedError(DataError):
    """A request that the server does not take as it is."""


Answer = list[str] | _RefusedError  # translations of a line, or why there are none


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects, which would send the text and the key where they were not meant to go."""

    def redirect_request(self, *arguments: Any, **keywords: Any) -> None:
        return None


def _key(variable: str) -> str:
    """Return the key for a server, empty where there is none. Raises SettingsError for one that no header can have."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"{variable}: a key of printable ASCII characters is needed; got others")
    return key


class RemoteTeacher:
    """A server; it gets a few lines at a time, and their translations are written before the next lines are sent."""

    lines_at_once: int | None = LINES_AT_ONCE
    num_context = 0
    origin: str | None = None
    tags: Sequence[str] = ()

    def __init__(self, settings: DistilSettings) -> None:
        distillation = settings.distillation
        self.url = _address(settings.teachers[0].rstrip("/"), distillation.server)
        self.settings = distillation
        self.num_hypotheses = distillation.num_hypotheses
        self.languages = distillation.source_language, distillation.target_language
        self.key = _key(distillation.api_key_variable)
        self.opener = urllib.request.build_opener(_NoRedirect)
        self.ask, size = (
            (self._ask_openai, 1)
            if distillation.server == "openai"
            else (self._ask_libretranslate, LINES_OF_REQUEST)
        )
        self.size = size
        self.is_stopped = threading.Event()
        self.translated: str | None = None  # a line, the latest
        self.refused = LineNumbers()

    def translate(self, chunk: Chunk) -> list[list[str]]:
        """Return the translations of each line; blank lines are not sent, and one that the server refuses stays blank.

        Raises DataError if the server gives none, or refuses all lines and something else than these seems to be wrong.
        """
        places = [i for i, line in enumerate(chunk.lines) if line.strip()]
        parts = [places[start : start + self.size] for start in range(0, len(places), self.size)]
        found: list[list[str]] = [[""] for _ in chunk.lines]
        refused: dict[int, _RefusedError] = {}
        try:
            answers = self._at_once([[chunk.lines[i] for i in part] for part in parts])
        except BaseException:  # an interruption, or a failure: no thread shall try again
            self.is_stopped.set()
            raise
        for part, texts in zip(parts, answers, strict=True):
            for i, of_line in zip(part, texts, strict=True):
                if isinstance(of_line, _RefusedError):
                    refused[i] = of_line
                else:
                    found[i] = [" ".join(text.split()) for text in of_line]
        if refused and len(refused) == len(places) and not self._are_at_fault(chunk):
            raise next(iter(refused.values()))
        translated = [i for i in places if i not in refused]
        self.translated = chunk.lines[translated[-1]] if translated else self.translated
        for i in refused:
            self.refused.add(chunk.num_before + i + 1)
        return found

    def _are_at_fault(self, chunk: Chunk) -> bool:
        """Whether refused lines are at fault themselves, and not the server, or what was typed for it.

        A line that it translated before tells; where there is none, the last lines after others are believed to be.
        """
        if self.translated is None:
            return chunk.num_before > 0 and len(chunk.lines) < LINES_AT_ONCE
        return not isinstance(self._of_lines([self.translated])[0], _RefusedError)

    def tell(self) -> None:
        """Say which lines were refused; what a server cut or split is not known."""
        if self.refused.count:
            logger.warning("%s", self.refused.tell(f"refused by {self.url}, and left out"))

    def _at_once(self, parts: Sequence[Sequence[str]]) -> list[list[Answer]]:
        """Return the translations of the lines of each part, of which a few are sent at once; none after a failure.

        The threads are no executor's, whose end would be waited for: two minutes where a server is silent.
        """
        results: list[Future[list[Answer]]] = [Future() for _ in parts]
        has_failed = threading.Event()
        waiting: SimpleQueue[int] = SimpleQueue()
        for number in range(len(parts)):
            waiting.put(number)

        def work() -> None:
            with suppress(Empty):
                while not (self.is_stopped.is_set() or has_failed.is_set()):
                    number = waiting.get_nowait()
                    try:
                        results[number].set_result(self._of_lines(parts[number]))
                    except BaseException as error:
                        has_failed.set()
                        results[number].set_exception(error)

        for _ in range(min(REQUESTS_AT_ONCE, len(parts))):
            threading.Thread(target=work, daemon=True).start()
        unfinished = set(results)
        while unfinished:
            finished, unfinished = wait(unfinished, MAX_WAIT, FIRST_EXCEPTION)
            for result in finished:
                result.result()  # raises what has failed
        return [result.result() for result in results]

    def _of_lines(self, lines: Sequence[str]) -> list[Answer]:
        """Return the translations of each line. A refused request is sent again line by line, to find which it was."""
        try:
            return [*self.ask(lines)]
        except _RefusedError as error:
            return [error] if len(lines) == 1 else [self._of_lines([line])[0] for line in lines]

    def _ask_libretranslate(self, lines: Sequence[str]) -> list[list[str]]:
        source, target = self.languages
        asked: dict[str, Any] = {"q": list(lines), "source": source, "target": target, "format": "text"}
        asked |= {"alternatives": self.num_hypotheses - 1} if self.num_hypotheses > 1 else {}
        answer = self._post(asked | ({"api_key": self.key} if self.key else {}), {})
        first: Any = answer.get("translatedText")
        others = answer.get("alternatives") or [[] for _ in lines]
        if not _are_texts(first, len(lines)) or not isinstance(others, list) or len(others) != len(lines):
            raise self._strange("a translation of each line")
        if not all(_are_texts(some) for some in others):
            raise self._strange("lists of texts as alternatives")
        return [[text, *some] for text, some in zip(first, others, strict=True)]

    def _ask_openai(self, lines: Sequence[str]) -> list[list[str]]:
        (line,) = lines
        messages = [
            {"role": "system", "content": PROMPT.format(*self.languages)},
            {"role": "user", "content": line},
        ]
        asked: dict[str, Any] = {
            "model": self.settings.server_model,
            "messages": messages,
            "n": self.num_hypotheses,
        }
        if self.settings.server_temperature is not None:
            asked["temperature"] = self.settings.server_temperature
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        choices = self._post(asked, headers).get("choices")
        try:
            texts = [_translation_of(choice) for choice in choices or ()]
        except (AttributeError, KeyError, TypeError):
            texts = []
        if not texts or not _are_texts(texts):
            raise self._strange("choices with a message")
        return [texts]

    def _post(self, asked: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        """Return the JSON object that a server answers.

        Raises _RefusedError for a request that it refuses, DataError for another error, or if all retries fail.
        """
        content = json.dumps(asked).encode()
        request = urllib.request.Request(
            self.url, content, {"Content-Type": "application/json"} | headers, method="POST"
        )
        for seconds in (*SECONDS_BEFORE_RETRY, None):
            try:
                with self.opener.open(request, timeout=SECONDS_TO_WAIT) as answer:
                    return self._read(answer.read(MAX_ANSWER_BYTES + 1))
            except HTTPError as error:
                said = ""
                with suppress(HTTPException, OSError), error:  # the rest of the answer may not come
                    said = error.read(MAX_SHOWN).decode(errors="replace")
                problem = f"{error.code} {one_line(' '.join(said.split()))}".strip()
                if error.code not in BUSY:
                    kind = _RefusedError if error.code in REFUSED else DataError
                    raise kind(f"teacher: a translation by {self.url} is needed; got {problem}") from None
            except (URLError, HTTPException, OSError) as error:
                problem = one_line(getattr(error, "reason", error) or type(error).__name__)
            if self.is_stopped.is_set():
                break
            if seconds is not None:
                logger.warning("%s: %s; trying again in %g s", self.url, problem, seconds)
                self.is_stopped.wait(seconds)
        raise DataError(
            f"teacher: a translation by {self.url} is needed; got {problem}, {len(SECONDS_BEFORE_RETRY) + 1} times; "
            "the same command with resume=true goes on"
        )

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            raise self._strange("JSON") from None
        if not isinstance(answer, dict) or len(content) > MAX_ANSWER_BYTES:
            raise self._strange("an object")
        return answer

    def _strange(self, expected: str) -> DataError:
        return DataError(
            f"teacher: {expected} is needed as the answer of {self.url}, as {self.settings.server} gives it "
            "(distillation.server); got something else"
        )


def _address(url: str, server: str) -> str:
    """Return the address of requests, which may have been typed whole."""
    path = "/v1/chat/completions" if server == "openai" else "/translate"
    if url.endswith(path):
        return url
    return url.removesuffix("/v1") + path if server == "openai" else url + path


def _translation_of(choice: dict[str, Any]) -> Any:
    """Return the content of an answer of OpenAI's interface; a blank one, which is counted and not learned, for none.

    An answer that was cut off or filtered is no translation, and one that was refused has null as its content.
    """
    content = None if choice.get("finish_reason") in UNFINISHED else choice["message"]["content"]
    return "" if content is None else content


def _are_texts(found: Any, length: int | None = None) -> bool:
    """Return whether `found` is a list of texts, and of that `length` if one is given."""
    is_list = isinstance(found, list) and (length is None or len(found) == length)
    return is_list and all(isinstance(text, str) and not HALF.search(text) for text in found)
