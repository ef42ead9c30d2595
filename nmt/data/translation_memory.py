"""Translation memories (TMX 1.1 to 1.4b): units of segments in many languages, of which two are the two sides.

A file may come from a stranger: nothing that its document type names is fetched, a file that declares entities is
refused, and a file takes no more memory than its longest segment.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from xml.parsers import expat

from nmt.config import Files, as_list
from nmt.data.corpus import Pairs
from nmt.data.lines import MAX_LINE_BYTES, read_blocks
from nmt.data.table import table_files
from nmt.errors import DataError

logger = logging.getLogger(__name__)

SUFFIXES = (".tmx",)
# Elements in a segment whose text is code of another format; a `sub`, a text of its own, stands inside of such code.
CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
# White space of a file that was laid out for reading; a no-break space is part of the text.
WHITE_SPACE = re.compile("[ \t\r\n]+")
# A segment lies inside four elements, and its markup a few deeper.
MAX_DEPTH = 64
MAX_LANGUAGES = 100  # that are counted: only a file that means harm has more
SOURCE, TARGET = 0, 1


class Languages:
    """Which languages of translation memories are the two sides: a name stands for one of its regional forms."""

    def __init__(self, source: Files, target: Files) -> None:
        self.names = [as_list(side) for side in (source, target)]
        wanted = [(_normal(name), side) for side in (SOURCE, TARGET) for name in self.names[side]]
        # The longest first: where pt-BR is named, it is no form of pt.
        self._wanted = sorted(wanted, key=lambda item: len(item[0]), reverse=True)
        self._forms: dict[str, list[str]] = {name: [] for name, _ in wanted}
        self._counts: Counter[str] = Counter()
        self._sides: set[int] = set()

    def side_of(self, language: str) -> int | None:
        """Return the side that a segment of a language belongs to, None for neither, and count it."""
        if language in self._counts or len(self._counts) < MAX_LANGUAGES:
            self._counts[language] += 1
        form = _normal(language)
        for name, side in self._wanted:
            if f"{form}-".startswith(f"{name}-"):
                forms = self._forms[name]
                if form not in (_normal(known) for known in forms) and len(forms) < MAX_LANGUAGES:
                    forms.append(language)
                self._sides.add(side)
                return side
        return None

    def require(self, path: str) -> None:
        """Raise DataError unless the file that ends here has both sides, and no name has stood for two languages."""
        counts = ", ".join(f"{name or 'none'} ({count})" for name, count in sorted(self._counts.items()))
        for side, key in ((SOURCE, "data.source"), (TARGET, "data.target")):
            names = self.names[side]
            for name in names:
                if len(forms := self._forms[_normal(name)]) > 1:
                    raise DataError(
                        f"{key}: a language with its region, or a list [{','.join(forms)}], is needed, since {name} "
                        f"stands for each of these; got {name}, and in {path} are segments in {counts}"
                    )
            if self._counts and side not in self._sides:
                raise DataError(
                    f"{key}: a language of {path} is needed, in which are segments in {counts}; "
                    f"got {' and '.join(names)}"
                )
        self._counts.clear()
        self._sides.clear()


def read_memories(files: Files, key: str, languages: Languages) -> Pairs:
    """Yield the pairs of one memory or several, and log how many units give none; a folder stands for those in it.

    Raises DataError, naming file and line, for what is no translation memory, or has no text in these languages.
    """
    left_out = Counter[str]()
    num_units = num_pairs = 0
    for path in table_files(files, SUFFIXES):
        for unit in _read_units(path, key, languages, left_out):
            num_units += 1
            missing = [side for side in (SOURCE, TARGET) if side not in unit]
            if missing:
                left_out[f"without {' or '.join(languages.names[missing[0]])}"] += 1
            elif not all(text.strip() for text in unit.values()):
                left_out["with an empty segment"] += 1
            else:
                num_pairs += 1
                yield unit[SOURCE], unit[TARGET]
        languages.require(path)
    if not num_pairs:
        raise DataError(f"{key}: text is needed; got none in {', '.join(as_list(files))}")
    if variants := left_out.pop(VARIANTS, 0):
        logger.warning("left out     all but the first segment of a side in units of %s: %d", key, variants)
    if left_out:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        logger.warning(
            "left out     %d of %d units of %s: %s", num_units - num_pairs, num_units, key, reasons
        )


VARIANTS = "variants"
Unit = dict[int, str]  # the text of each side that there is


class _Unfit(Exception):
    """Something that a translation memory must not hold."""


class _Units:
    """Handlers of an XML parser that collect the units of a translation memory."""

    def __init__(self, languages: Languages, left_out: Counter[str]) -> None:
        self.languages, self.left_out = languages, left_out
        self.done: list[Unit] = []
        self._unit: Unit = {}
        self._side: int | None = None
        self._depth = self._num_codes = self._size = 0
        self._text: list[str] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self._depth += 1
        if self._depth == 1 and name != "tmx":
            raise _Unfit(f"<tmx> at its beginning is needed; got <{name}>")
        if self._depth > MAX_DEPTH:
            raise _Unfit(f"at most {MAX_DEPTH} elements inside each other are needed; got more")
        if name == "tu":
            self._unit = {}
        elif name == "tuv":  # TMX 1.1 has `lang`
            self._side = self.languages.side_of(attributes.get("xml:lang") or attributes.get("lang", ""))
        elif name == "seg":
            self._text, self._num_codes, self._size = [], 0, 0
        elif name in CODES:
            self._num_codes += 1

    def read(self, text: str) -> None:
        """Add text to the segment that is open, unless it is code."""
        if self._text is None or self._num_codes:
            return
        self._text.append(text)
        self._size += len(text)
        if self._size > MAX_LINE_BYTES:
            raise _Unfit(f"segments of at most {MAX_LINE_BYTES} characters are needed; got more")

    def end(self, name: str) -> None:
        """End an element."""
        self._depth -= 1
        if name == "tu":
            self.done.append(self._unit)
        elif name == "seg" and self._text is not None:
            if self._side in self._unit:
                self.left_out[VARIANTS] += 1
            elif self._side is not None:
                self._unit[self._side] = WHITE_SPACE.sub(" ", "".join(self._text)).strip(" ")
            self._text = None
        elif name in CODES:
            self._num_codes -= 1

    def declare(self, name: str, *_: object) -> None:
        """Refuse an entity that the file declares: a few of them can stand for more text than there is memory."""
        raise _Unfit(f"text without entities of its own is needed; got a declaration of {name[:40]}")

    def skip(self, name: str, _: bool) -> None:
        """Refuse an entity that the file does not declare; a document type that is not fetched may do so."""
        raise _Unfit(f"characters, or numbers for them such as &#160;, are needed; got &{name[:40]};")


def _read_units(path: str, key: str, languages: Languages, left_out: Counter[str]) -> Iterable[Unit]:
    units, parser = _Units(languages, left_out), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = units.start, units.end
    parser.CharacterDataHandler = units.read
    parser.EntityDeclHandler, parser.SkippedEntityHandler = units.declare, units.skip
    num_bytes = 0
    try:
        for block in chain(read_blocks(path, key), [b""]):
            parser.Parse(block, not block)
            num_bytes += len(block)
            if num_bytes - parser.CurrentByteIndex > MAX_LINE_BYTES:  # a comment or an attribute without end
                raise _Unfit(f"tags and comments of at most {MAX_LINE_BYTES} bytes are needed; got more")
            yield from units.done
            units.done.clear()
        return
    except _Unfit as error:
        reason, line = str(error), parser.CurrentLineNumber
    except expat.ExpatError as error:
        reason, line = f"XML is needed; got {expat.ErrorString(error.code)}", error.lineno
    except (LookupError, ValueError) as error:  # of Python, which has the encodings that the parser lacks
        reason, line = f"UTF-8, UTF-16 or an encoding of single bytes is needed; got {error}", 1
    raise DataError(f"{key}: {reason}, in {path}, line {line}")


def _normal(language: str) -> str:
    return language.lower().replace("_", "-")
