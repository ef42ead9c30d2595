"""What a server does for a request: fields in, an object for JSON out; the order of checks is LibreTranslate's."""

import asyncio
import fcntl
import hmac
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nmt.config import ServeSettings
from nmt.documents.formats import SUFFIXES
from nmt.documents.plain import LINE_END
from nmt.errors import DataError, SettingsError
from nmt.runs.directory import path_of
from nmt.runs.languages import Language, shown
from nmt.serving.batching import LINES_OF_TEXT, all_of, refuse_more
from nmt.serving.detection import Guess
from nmt.serving.files import Held, read_upload
from nmt.serving.language_pairs import make_pairs
from nmt.serving.languages import AUTO, Languages
from nmt.serving.limits import Rate, num_characters
from nmt.serving.markup import read_pages, translate_document, translate_page
from nmt.serving.metrics import Metrics
from nmt.serving.models import Models
from nmt.serving.refusal import Refused
from nmt.serving.requests import Fields, Upload
from nmt.serving.text import translate_text

# Milliseconds between two requests of LibreTranslate's page, which cannot be used without this number.
FRONTEND_TIMEOUT = 500
FORMATS = ("text", "html")
DETECTED = {"code": AUTO, "name": "Auto Detect"}
NO_KEYS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Service:
    """The models, what clients may ask of them, and what is counted."""

    settings: ServeSettings
    models: Models
    languages: Languages
    keys: frozenset[str]
    max_alternatives: int
    metrics: Metrics
    rates: tuple[Rate | None, Rate | None]  # of requests, of characters
    held: Held

    @classmethod
    def load(cls, settings: ServeSettings) -> "Service":
        """Load the models for which there is room. Raises UserError for a model or a file that cannot be used."""
        keys, metrics = read_keys(settings.api_keys), Metrics()
        if settings.suggestions is not None:
            _append(settings.suggestions, "")  # raises now if the file cannot be written
        # What is the `last` run now is served for as long as the server runs.
        models = Models(list(map(path_of, settings.folders)), settings, metrics)
        pairs = make_pairs(settings, models, metrics)
        models.load()
        of_searches = [pair.max_alternatives for pair in pairs if pair.max_alternatives is not None]
        most = min([settings.max_alternatives, *of_searches])
        held = Held(settings.held_bytes)
        return cls(settings, models, Languages(pairs), keys, most, metrics, read_rates(settings), held)

    def admit(self, fields: Fields, address: str) -> None:
        """Count a request, by its key if it has one. Raises Refused for more of them than a client may send."""
        key = fields.get("api_key")
        client = f"key {key}" if self._is_key(key) else address
        requests, characters = self.rates
        if requests is not None:
            requests.take(client, 1)
        if characters is not None:
            characters.take(client, sum(num_characters(fields.get(name)) for name in ("q", "s", "file")))

    async def translate(self, fields: Fields) -> dict[str, Any]:
        """Translate a text, or several. Raises Refused for what cannot be done."""
        self._require_key(fields)
        texts, is_list = _texts(fields)
        source_code, target_code = _text(fields, "source"), _text(fields, "target")
        num_alternatives, details = self._num_alternatives(fields), _flag(fields, "details")
        if is_list:
            _require_most(len(texts), self.settings.max_texts)
        refuse_more(len(texts), self.settings.max_waiting)  # before the first of them wait
        self._require_short(texts)
        format_name = fields.get("format") or "text"
        pages, lines = [], texts
        if format_name == "html":
            pages = await read_pages(texts)
            lines = [line for page in pages for line in page.lines]
        source, target, guess = self._languages(source_code, target_code, lines)
        if format_name not in FORMATS:
            raise Refused(400, f"{format_name} format is not supported")
        way = self.languages.way(source, target)
        if format_name == "html":
            found = await all_of(translate_page(way, page, details) for page in pages)
        else:
            num_lines = sum(len(LINE_END.findall(text)) + 1 for text in texts)
            refuse_more(num_lines, LINES_OF_TEXT * self.settings.max_waiting)
            found = await all_of(translate_text(way, text, num_alternatives, details) for text in texts)
        answer: dict[str, Any] = {"translatedText": [one.text for one in found]}
        if num_alternatives:
            answer["alternatives"] = [one.others for one in found]
        if details:
            answer["details"] = [one.details for one in found]
        if guess is not None:
            answer["detectedLanguage"] = [_shown(guess) for _ in found]
        return answer if is_list else {name: value[0] for name, value in answer.items()}

    async def translate_file(self, fields: Fields) -> str:
        """Translate a file; return the name that it is held under. Raises Refused for what cannot be done."""
        if not self.settings.held_bytes:
            raise Refused(403, "Files translation are disabled on this server.")
        self._require_key(fields)
        file = fields.get("file")
        if not isinstance(file, Upload):
            raise Refused(400, "Invalid request: missing file parameter")
        source_code, target_code = _text(fields, "source"), _text(fields, "target")
        document = await read_upload(file)
        _require_most(sum(map(len, document.lines)), self.settings.max_characters)
        source, target, _ = self._languages(source_code, target_code, document.lines)
        content: str | bytes = file.content
        if (way := self.languages.way(source, target)) is not None:
            content, _ = await translate_document(way, document)
        return self.held.put(
            file.name, shown(target.code), content.encode() if isinstance(content, str) else content
        )

    async def detect(self, fields: Fields) -> list[dict[str, Any]]:
        """Say which languages a text, or several together, may be of, best first."""
        self._require_key(fields)
        texts, is_list = _texts(fields)
        if is_list:
            _require_most(len(texts), self.settings.max_texts)
        refuse_more(len(texts), self.settings.max_waiting)
        self._require_short(texts)
        return [_shown(guess) for guess in self.languages.detect("\n".join(texts))]

    async def suggest(self, fields: Fields) -> dict[str, Any]:
        """Keep a better translation of a text. Raises Refused where the server takes none."""
        if self.settings.suggestions is None:
            raise Refused(403, "Suggestions are disabled on this server.")
        self._require_key(fields)
        names = ("q", "s", "source", "target")
        text, suggestion, source_code, target_code = (_text(fields, name) for name in names)
        for name, given in (("q", text), ("s", suggestion)):
            if not given.strip():
                raise Refused(400, f"Invalid request: missing {name} parameter")
        self._require_short([text, suggestion])
        source, target, _ = self._languages(source_code, target_code, [text])
        if self.languages.way(source, target) is None:
            raise Refused(400, "Invalid request: source and target must be two languages")
        record = {
            "source": text,
            "target": suggestion,
            "source_language": shown(source.code),
            "target_language": shown(target.code),
        }
        line = f"{json.dumps(record, ensure_ascii=False)}\n"
        await asyncio.to_thread(_append, self.settings.suggestions, line)
        return {"success": True}

    async def frontend_settings(self) -> dict[str, Any]:
        """Return the settings that a page in front of a server asks for."""
        has_keys = self.settings.api_keys is not None
        source = self.languages.by_code[self.languages.sources[0]]
        target = next(pair.target for pair in self.languages.pairs.values() if pair.source == source)
        return {
            "charLimit": self.settings.max_characters or -1,
            "frontendTimeout": FRONTEND_TIMEOUT,
            "apiKeys": has_keys,
            "keyRequired": has_keys,
            "suggestions": self.settings.suggestions is not None,
            "maxAlternatives": self.max_alternatives,
            "filesTranslation": self.settings.held_bytes > 0,
            "supportedFilesFormat": SUFFIXES if self.settings.held_bytes else [],
            "language": {"source": DETECTED, "target": _named(target)},
        }

    def _languages(
        self, source_code: str, target_code: str, lines: Sequence[str]
    ) -> tuple[Language, Language, Guess | None]:
        """Return the languages of a request, and the guess at the source where it is to be detected, of all lines."""
        is_detected = source_code.lower() == AUTO
        source = None if is_detected else self.languages.find(source_code)
        target = self.languages.find(target_code)
        if source is not None:
            return source, target, None
        guess = self.languages.source_of("\n".join(lines), target)
        return self.languages.find(guess.code), target, guess

    def _require_key(self, fields: Fields) -> None:
        if self.settings.api_keys is None:
            return
        key = fields.get("api_key")
        if not key:
            link = self.settings.api_key_link
            whom = "Please contact the server operator" if link is None else f"Visit {link}"
            raise Refused(400, f"{whom} to get an API key")
        if not self._is_key(key):
            raise Refused(403, "Invalid API key")

    def _is_key(self, key: object) -> bool:
        given = str(key).encode("utf-8", "replace")
        return any(hmac.compare_digest(given, one.encode()) for one in self.keys)

    def _num_alternatives(self, fields: Fields) -> int:
        value = fields.get("alternatives")
        try:
            number = max(0, int(0 if value is None else value))
        except (TypeError, ValueError, OverflowError):
            raise Refused(400, "Invalid request: alternatives parameter is not a number") from None
        if number > self.max_alternatives:
            raise Refused(400, f"Invalid request: alternatives parameter must be <= {self.max_alternatives}")
        return number

    def _require_short(self, texts: Iterable[str]) -> None:
        for text in texts:
            _require_most(len(text), self.settings.max_characters)


def read_rates(settings: ServeSettings) -> tuple[Rate | None, Rate | None]:
    """Return the limits on a client's requests and on its characters; None is no limit."""
    requests, characters = settings.requests_per_minute, settings.characters_per_minute
    return (
        None if requests is None else Rate(requests, "requests"),
        None if characters is None else Rate(characters, "characters"),
    )


def read_keys(path: str | None) -> frozenset[str]:
    """Return the keys in a file, one in each line. Raises UserError where there is none."""
    if path is None:
        return NO_KEYS
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"api_keys: a text file with a key in each line is needed; got {path}: {error}"
        ) from None
    keys = frozenset(line.strip() for line in content.split("\n")) - {""}
    if not keys:
        raise DataError(f"api_keys: a file with a key in each line is needed; got none in {path}")
    return keys


def _shown(guess: Guess) -> dict[str, Any]:
    return {"confidence": guess.confidence, "language": shown(guess.code)}


def _named(language: Language) -> dict[str, str]:
    return {"code": shown(language.code), "name": language.name}


def _texts(fields: Fields) -> tuple[list[str], bool]:
    """Return the texts of a request, and whether they came as a list."""
    value = fields.get("q")
    if isinstance(value, list) and value:
        return [_require_text(text, "q") for text in value], True
    return [_text(fields, "q")], False


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if value in (None, "", []):
        raise Refused(400, f"Invalid request: missing {name} parameter")
    return _require_text(value, name)


def _flag(fields: Fields, name: str) -> bool:
    value = fields.get(name) or False
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise Refused(400, f"Invalid request: {name} parameter is neither true nor false")


def _require_text(value: Any, name: str) -> str:
    """Return a value that is text. Raises Refused for any other, and for text with a lone surrogate."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            pass
        else:
            return value
    raise Refused(400, f"Invalid request: {name} parameter is not text")


def _require_most(size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        raise Refused(400, f"Invalid request: request ({size}) exceeds text limit ({limit})")


def _append(path: str, line: str) -> None:
    """Append a line to a file, all of it or nothing. Raises SettingsError where it cannot be written."""
    content = line.encode("utf-8")
    try:
        with open(path, "ab", buffering=0, opener=partial(os.open, mode=0o600)) as file:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file.fileno()).st_size
            try:
                while content:  # a disk that is almost full takes a part of it
                    content = content[file.write(content) :]
            except OSError:
                file.truncate(size)
                raise
    except OSError as error:
        raise SettingsError(
            f"suggestions: a file that can be written is needed; got {path}: {error.strerror}"
        ) from None
