"""Where a line may be cut: between sentences, by rules or by a library, and inside of them at punctuation."""

import re
from collections.abc import Callable

from nmt.versions import importing

SplitIntoSentences = Callable[[str], list[str]]

RULES = "rules"
# Quotation marks and brackets behind the end of a sentence, and before the beginning of one.
CLOSING = "\"'”’»«›‹“)]}」』）】"
OPENING = "\"'“‘„‚«»‹›([{¿¡「『（【—–-"
MARKS = ".!?…।॥؟۔։"
END = re.compile(
    rf"(?<![{MARKS}])[{MARKS}]++[{re.escape(CLOSING)}]*+(?=\s)|[。！？｡]+[{re.escape(CLOSING)}]*"
)
# Characters around an end that are looked at: more than an abbreviation has, or what stands before a first letter.
LOOKED_AT = 24
# Words before a full stop that does not end a sentence as a rule.
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st gen col sgt capt lt gov rep hon vs nr fig vol pp ca bzw vgl evtl ggf inkl exkl sog str tel "  # noqa: SIM905  a list would be five times as long
    "abs hr fr frl ing mme mlle sr sra srta dña ud uds pág núm dott avv tzv např mgr resp tj ул им см ср рис dhr mevr "
    "kl jan feb apr jun jul aug sep sept okt oct nov dez dec".split()
)
# 3. Mai, 21. Jahrhundert: so few digits before a full stop are an ordinal number rather than the end.
ORDINAL = re.compile(r"\d{1,2}")
# Where a sentence is best cut, the best places first: at strong punctuation, behind a comma, between words.
CUTS = (
    re.compile(r"(?<=[;:])(?=\s)|(?<=[；：])|(?<=\s)(?=[—–]\s)"),
    re.compile(r"(?<=[,،])(?=\s)|(?<=[，、])"),
    re.compile(r"(?<=\S)(?=\s)"),
)


def sentence_splitter(name: str) -> SplitIntoSentences:
    """Return what cuts a line into sentences, which joined are the line: `rules`, or `sentencex:LANGUAGE`.

    Raises SettingsError where the library is not there.
    """
    if name == RULES:
        return split_by_rules
    with importing("sentencex", "decoding.sentence_splitter", "decoding.sentence_splitter=rules"):
        import sentencex
    language = name.partition(":")[2]
    return lambda line: list(sentencex.segment(language, line))


def split_by_rules(line: str) -> list[str]:
    """Cut a line behind the ends of its sentences.

    An end is a full stop or another mark of that kind before white space, unless the next word begins with a small
    letter; a single full stop behind an initial, an abbreviation or a small number is none. Marks of Chinese and
    Japanese need no white space.
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


def middle_cut(sentence: str) -> int:
    """Return where a sentence is best cut into two: at the best place in its middle half, the one next to the middle.

    Where there is none, it is the middle itself.
    """
    middle, quarter = len(sentence) // 2, len(sentence) // 4
    for places in CUTS:
        found = [cut.start() for cut in places.finditer(sentence, quarter, len(sentence) - quarter)]
        if found:
            return min(found, key=lambda place: abs(place - middle))
    return middle
