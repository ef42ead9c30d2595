"""Strings of a line that must not change: placeholders, tags, addresses, numbers, and what the user names."""

import re
from collections.abc import Iterator, Sequence

PUNCTUATION = r".,;:!?…'\"’”)\]}。，、"
# Each pattern takes time in proportion to the length of a line: what repeats is bounded, or matches in one way only.
PATTERNS = {
    "urls": r"(?:https?://|ftp://|www\.)[^\s<>\"“”„«»]{0,2000}(?<![" + PUNCTUATION + "])",
    "emails": r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    "tags": r"</?[A-Za-z][^<>]{0,500}>",
    "placeholders": (
        r"%(?:\d{1,2}\$)?(?:\(\w{1,60}\))?[-+#]{0,3}\d{0,4}(?:\.\d{1,3})?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcrsp@](?!\w)"
        r"|%\{\w{1,60}\}|\{\{\s?[^\s{}]{0,60}\s?\}\}|\$?\{[^\s{}]{0,60}\}"
        r"|&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]\w{1,30});"
    ),
    # Not behind a letter of a script with spaces: A4 is a name.
    "numbers": r"(?<![0-9A-Za-z_\u00c0-\u024f\u0370-\u052f])\d+(?:[.,:/-]\d+)*",
}
ANY = "*"
MAX_ANY = 100


class Protection:
    """Finds what must not change: PATTERNS by their names, and strings in which `*` is anything but white space.

    `*` matches MAX_ANY characters at most, up to the character that follows it in the pattern. At the end of a pattern
    it matches up to white space, or up to the punctuation before that.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        known = [PATTERNS[name] for name in PATTERNS if name in patterns]  # urls before the numbers in them
        own = [_expression(pattern) for pattern in patterns if pattern not in PATTERNS]
        self._expression = re.compile("|".join(f"(?:{one})" for one in [*own, *known]) or r"(?!)")

    def spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each string in a line that must not change."""
        return (found.span() for found in self._expression.finditer(line))


def _expression(pattern: str) -> str:
    if pattern.endswith(ANY):
        return _expression(pattern[:-1]) + rf"[^\s]{{0,{MAX_ANY}}}(?<![{PUNCTUATION}])"
    parts = [re.escape(part) for part in pattern.split(ANY)]
    for number, part in enumerate(parts[1:], 1):
        stop = re.escape(pattern.split(ANY)[number][:1])
        parts[number] = rf"[^\s{stop}]{{0,{MAX_ANY}}}{part}"
    return "".join(parts)
