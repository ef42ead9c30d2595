"""Where a line may be cut: between sentences, by rules or by a library, and inside of them at punctuation."""

import re
from collections.abc import Callable

from nmt.data.characters import is_within_letter
from nmt.versions import importing

SplitIntoSentences = Callable[[str], list[str]]

RULES = "rules"
# Quotation marks and brackets behind the end of a sentence, and before the beginning of one.
CLOSING = "\"'”’»«›‹“)]}」』）】"
OPENING = "\"'“‘„‚«»‹›([{¿¡「『（【—–-"
# Besides Latin: Devanagari, Arabic, Urdu, Armenian, Mongolian, Canadian syllabics, Lisu, Ol Chiki, Vai.
MARKS = ".!?…।॥؟۔։᠃᠉᙮꓿᱾᱿꘎꘏"
# Of Chinese and Japanese, Ethiopic, Burmese, Khmer, and Tibetan, where no white space need follow.
MARKS_WITHOUT_SPACE = "。！？｡።፧။។៕།"
END = re.compile(
    rf"(?<![{MARKS}])[{MARKS}]++[{re.escape(CLOSING)}]*+(?=\s)|[{MARKS_WITHOUT_SPACE}]+[{re.escape(CLOSING)}]*"
)
# Characters that are looked at on each side of an end: more than an abbreviation has, or the marks before a word.
LOOKED_AT = 24
# Words after which a full stop does not end a sentence, as a rule.
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st gen col sgt capt lt gov rep hon vs nr fig vol pp ca bzw vgl evtl ggf inkl exkl sog str tel "  # noqa: SIM905  a list would be five times as long
    "abs hr fr frl ing mme mlle sr sra srta dña ud uds pág núm dott avv tzv např mgr resp tj ул им см ср рис dhr mevr "
    "kl jan feb apr jun jul aug sep sept okt oct nov dez dec".split()
)
# 3. Mai, 21. Jahrhundert: one or two digits and a full stop are an ordinal number rather than the end of a sentence.
ORDINAL = re.compile(r"\d{1,2}")
# Where a sentence is best cut, the best places first: at strong punctuation, behind a comma, between words.
CUTS = (
    re.compile(r"(?<=[;:])(?=\s)|(?<=[；：])|(?<=\s)(?=[—–]\s)"),
    re.compile(r"(?<=[,،])(?=\s)|(?<=[，、])"),
    re.compile(r"(?<=\S)(?=\s)"),
)


def sentence_splitter(name: str) -> SplitIntoSentences:
    """Return a function that cuts a line into sentences by `rules` or `sentencex:LANGUAGE`; joined, they are the line.

    Raises SettingsError where the library is not installed.
    """
    if name == RULES:
        return split_by_rules
    with importing("sentencex", "decoding.sentence_splitter", "decoding.sentence_splitter=rules"):
        import sentencex
    language = name.partition(":")[2]
    return lambda line: list(sentencex.segment(language, line))


def split_by_rules(line: str) -> list[str]:
    """Cut a line behind the ends of its sentences.

    A sentence ends at a full stop or another mark of that kind before white space, unless the next word begins with a
    small letter. A single full stop after an initial, an abbreviation or a number of one or two digits is no end. Marks
    of Chinese, Japanese, Ethiopic, Burmese, Khmer and Tibetan need no white space.
    """
    sentences, start = [], 0
    for end in END.finditer(line):
        before = line[max(start, end.start() - LOOKED_AT) : end.start()]
        if _is_end(before, end.group(), line[end.end() : end.end() + LOOKED_AT]):
            sentences.append(line[start : end.end()])
            start = end.end()
    sentences.append(line[start:])
    return sentences


def _is_end(before: str, mark: str, after: str) -> bool:
    next_word = after.lstrip().lstrip(OPENING)
    if not next_word or next_word[0].islower():
        return False
    if mark != ".":
        return True
    word = before.split()[-1].lstrip(OPENING) if before.strip() else ""
    parts = word.split(".")
    is_short = all(len(part) == 1 and part.isalpha() for part in parts)  # an initial, or several: U.S., z.B.
    return not (is_short or word.lower() in ABBREVIATIONS or ORDINAL.fullmatch(word))


def cut_into(line: str, most: int) -> list[str]:
    """Cut a line into pieces of at most `most` characters, at ends of sentences where it can; joined, they are it."""
    pieces, rest = [""], split_by_rules(line)[::-1]
    while rest:
        part = rest.pop()
        if len(pieces[-1]) + len(part) <= most:
            pieces[-1] += part
        elif len(part) <= most:
            pieces.append(part)
        else:
            place = middle_cut(part)
            rest += [part[place:], part[:place]]
    return pieces if pieces[0] else pieces[1:]


def middle_cut(sentence: str) -> int:
    """Return where to cut a sentence in two: of the best kind of places in its middle half, the middlemost.

    Without such a place, it is the middle itself, or the end of the letter there, with its marks. Of two characters or
    more, both parts have one.
    """
    middle, quarter = len(sentence) // 2, max(1, len(sentence) // 4)
    for places in CUTS:
        found = [cut.start() for cut in places.finditer(sentence, quarter, len(sentence) - quarter)]
        if found:
            return min(found, key=lambda place: abs(place - middle))
    ends = (place for place in range(middle, len(sentence)) if not is_within_letter(sentence, place))
    return next(ends, middle)
