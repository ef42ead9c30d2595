"""Characters of many lines at once, as numbers; the scripts that letters belong to; and words."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from nmt.config import FilterSettings
from nmt.data.arrays import FloatArray, Int64Array
from nmt.errors import SettingsError, nearest

NUM_CODES = 0x110000
LINES_CODED_AT_ONCE = 10_000
NO_LETTER, OTHER = "", "Other"
# Letters of a script of Unicode have names that begin with the name of the script, or with one of these words.
# PREFIXES lists longer words first, so that they are tried first.
SCRIPT_OF_WORDS = {
    "CANADIAN SYLLABICS": "Canadian Aboriginal", "CJK": "Han", "IDEOGRAPHIC": "Han", "FULLWIDTH LATIN": "Latin",
    "SUPERSCRIPT LATIN": "Latin", "FEMININE ORDINAL": "Latin", "MASCULINE ORDINAL": "Latin",
    "HALFWIDTH KATAKANA": "Katakana", "HALFWIDTH HANGUL": "Hangul", "HENTAIGANA": "Hiragana",
    "KATAKANA-HIRAGANA": "Katakana", "HALFWIDTH KATAKANA-HIRAGANA": "Katakana",
    "NKO": "Nko", "PHAGS-PA": "Phags Pa",
}  # fmt: skip
SCRIPT_NAMES = (
    "Adlam", "Arabic", "Armenian", "Balinese", "Bamum", "Batak", "Bengali", "Bopomofo", "Buginese", "Chakma",
    "Cham", "Cherokee", "Coptic", "Cyrillic", "Deseret", "Devanagari", "Ethiopic", "Georgian", "Glagolitic",
    "Gothic", "Greek", "Gujarati", "Gurmukhi", "Hangul", "Hanifi Rohingya", "Hebrew", "Hiragana", "Javanese",
    "Kannada", "Katakana", "Kayah Li", "Khmer", "Lao", "Latin", "Lepcha", "Limbu", "Lisu", "Malayalam",
    "Mandaic", "Meetei Mayek", "Mende Kikakui", "Miao", "Mongolian", "Myanmar", "New Tai Lue", "Newa", "Ogham",
    "Ol Chiki", "Oriya", "Osage", "Pahawh Hmong", "Runic", "Samaritan", "Saurashtra", "Sinhala", "Sundanese",
    "Syloti Nagri", "Syriac", "Tagalog", "Tai Le", "Tai Tham", "Tai Viet", "Tamil", "Telugu", "Thaana", "Thai",
    "Tibetan", "Tifinagh", "Vai", "Wancho", "Warang Citi", "Yi",
)  # fmt: skip
PREFIXES = sorted(
    [*SCRIPT_OF_WORDS.items(), *((name.upper(), name) for name in SCRIPT_NAMES)],
    key=lambda item: -len(item[0]),
)
SCRIPTS = (NO_LETTER, OTHER, *sorted({script for _, script in PREFIXES}))
INDEX_OF_SCRIPT = {script: index for index, script in enumerate(SCRIPTS)}
NOT_ASKED = 255
# Characters of scripts that put no space between sentences: Thai to Burmese, Khmer, Chinese and Japanese.
UNSPACED = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u3000", "\u9fff"),
    ("\uff00", "\uffef"),
)

FIRST_MARK = 0x300  # of all accents, vowel signs and other marks that stand on letters
VOWELS_BEFORE = "เแโใไເແໂໃໄ"  # of Thai and Lao: written before the consonant that they follow in speech
VIRAMA = 9  # the combining class of the signs that join two consonants
JOINERS = "\u200c\u200d"  # between the letters of a word: how they look together

# Unicode categories of emoji and their joiners, of space and control characters: nothing that could be translated.
WORDLESS = {"So", "Sk", "Mn", "Me", "Cf", "Cc", "Zs", "Zl", "Zp"}
# Symbols by their category that are text all the same: Braille, sign writing, letters in circles and squares of words.
SYMBOLS_OF_TEXT = re.compile("[\u2800-\u28ff\U0001d800-\U0001daaf\u249c-\u24e9\u3200-\u33ff]")

Codes = npt.NDArray[np.uint32]


def script_of(character: str) -> str:
    """Return the script of a letter, by its name in Unicode; NO_LETTER for other characters."""
    if not unicodedata.category(character).startswith("L"):
        return NO_LETTER
    name = unicodedata.name(character, "")
    for prefix, script in PREFIXES:
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1] in ("", " "):
            return script
    return OTHER


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that puts no space between words or sentences."""
    return any(first <= character <= last for first, last in UNSPACED)


def are_joined(before: str, after: str) -> bool:
    """Whether two characters beside each other are of one word: letters, digits, and the marks that stand on them.

    Characters of scripts that put no space between words are not; only their marks are.
    """
    if not _is_of_word(before) or not _is_of_word(after):
        return False
    return _is_mark(after) or not (is_unspaced(before) or is_unspaced(after))


def is_wordless(text: str) -> bool:
    """Whether a text has nothing that could be translated: only space, or emoji."""
    # A text that has words mostly begins with one; of a long one without, each character is looked at once.
    is_so_by_category = all(
        unicodedata.category(character) in WORDLESS for part in (text[:100], set(text)) for character in part
    )
    return is_so_by_category and SYMBOLS_OF_TEXT.search(text) is None


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word: letters, digits and underscores, with the marks that stand on them."""
    codes = [code for code in range(FIRST_MARK, sys.maxunicode + 1) if _is_mark(chr(code))]
    marks = ""
    for _, run in groupby(enumerate(codes), key=lambda item: item[1] - item[0]):  # neighbours
        inside = [code for _, code in run]
        marks += f"{chr(inside[0])}-{chr(inside[-1])}"
    # Most characters are below all marks, and need not be looked for among them.
    mark = rf"(?![\0-{chr(FIRST_MARK - 1)}])[{marks}{JOINERS}]"
    return re.compile(rf"\w+(?:(?:{mark})+\w*)*")


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_" or character in JOINERS or _is_mark(character)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def is_within_letter(text: str, place: int) -> bool:
    """Whether the characters before and behind a place are of one letter, such as a consonant with its vowel."""
    before, behind = text[place - 1], text[place]
    return (
        _is_mark(behind)
        or behind in JOINERS
        or before in JOINERS + VOWELS_BEFORE
        or unicodedata.combining(before) == VIRAMA
    )


def codes_of(lines: Sequence[str]) -> tuple[Codes, Int64Array]:
    """Return the code points of all lines, one after the other, and the offset of each line and of the end."""
    codes = np.frombuffer("".join(lines).encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=offsets[1:])
    return codes.astype(np.uint32, copy=False), offsets


def sum_by_line(values: npt.NDArray[np.generic], offsets: Int64Array) -> Int64Array:
    """Return the sum over each line of `values`, which has one value for each character."""
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return sums[offsets[1:]] - sums[offsets[:-1]]


class ScriptTable:
    """The scripts of characters; each character is looked up once."""

    def __init__(self) -> None:
        self._table = np.full(NUM_CODES, NOT_ASKED, np.uint8)

    def indices(self, codes: Codes) -> npt.NDArray[np.uint8]:
        """Return the index into SCRIPTS of each code point."""
        found = self._table[codes]
        for code in np.unique(codes[found == NOT_ASKED]).tolist():
            self._table[code] = INDEX_OF_SCRIPT[script_of(chr(code))]
        return self._table[codes]


def script_shares(lines: Sequence[str], scripts: Iterable[str]) -> FloatArray:
    """Return the share of the letters of each line that are of these scripts; 1 for a line without letters."""
    table = ScriptTable()
    wanted = np.zeros(NOT_ASKED + 1, bool)
    wanted[[INDEX_OF_SCRIPT[script] for script in scripts]] = True
    shares = [np.empty(0)]
    for start in range(0, len(lines), LINES_CODED_AT_ONCE):
        codes, offsets = codes_of(lines[start : start + LINES_CODED_AT_ONCE])
        indices = table.indices(codes)
        letters = sum_by_line(indices != INDEX_OF_SCRIPT[NO_LETTER], offsets)
        of_these = sum_by_line(wanted[indices], offsets)
        shares.append(np.where(letters > 0, of_these / np.maximum(letters, 1), 1.0))
    return np.concatenate(shares)


def require_known_scripts(settings: FilterSettings) -> None:
    """Raise SettingsError for a script that Unicode does not have."""
    names = [script for script in SCRIPTS if script not in ("", OTHER)]
    for key in ("source_scripts", "target_scripts"):
        for script in getattr(settings, key) or []:
            if script not in names:
                close = nearest(script, names) or f"; there are {', '.join(names)}"
                raise SettingsError(f"data.filter.{key}: a script of Unicode is needed; got {script}{close}")
