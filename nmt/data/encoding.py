"""Bytes that are not UTF-8: refused, or converted to UTF-8 where an encoding was given."""

import codecs
from collections.abc import Iterable, Iterator, Sequence

UTF_8 = "utf-8"
# Marks at the start of a text; those of UTF-32 begin with one of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# Without a mark, UTF-16 shows by NULs in every other byte: the upper bytes of Latin letters, or at least of spaces.
LEAST_NULS, LEAST_SHARE_OF_NULS = 4, 1 / 8
# Text with larger shares of broken lines, and of broken characters beyond ASCII, is taken to be in another encoding.
SHARE_OF_LINES, SHARE_OF_CHARACTERS = 1 / 20, 1 / 4
NEVER_UTF_8 = b"\xff"
REPLACEMENT = "\ufffd"


def is_utf_8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, by any of its names."""
    return codecs.lookup(encoding).name == UTF_8


def find_wide(block: bytes) -> str | None:
    """Return the name of UTF-16 or UTF-32 if a text begins in one of them, else None."""
    for mark, name in BYTE_ORDER_MARKS.items():
        if block.startswith(mark):
            return name
    upper = {"utf-16-be": block[0::2], "utf-16-le": block[1::2]}
    counts = {name: half.count(0) for name, half in upper.items()}
    likely = max(counts, key=lambda name: counts[name])
    is_wide = LEAST_NULS <= counts[likely] == block.count(0)
    return likely if is_wide and counts[likely] >= LEAST_SHARE_OF_NULS * len(upper[likely]) else None


def is_mostly_broken(lines: Sequence[bytes]) -> bool:
    """Whether so much of some lines is not UTF-8 that they must be in another encoding."""
    texts = [line.decode(UTF_8, "replace") for line in lines]
    broken = [
        text.count(REPLACEMENT) - line.count(REPLACEMENT.encode())
        for text, line in zip(texts, lines, strict=True)
    ]
    num_characters = sum(not character.isascii() for text in texts for character in text)
    num_lines = sum(bool(line.strip()) for line in lines)
    return (
        sum(map(bool, broken)) > SHARE_OF_LINES * num_lines
        and sum(broken) > SHARE_OF_CHARACTERS * num_characters
    )  # fmt: skip


def as_utf_8(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield blocks of an encoding as UTF-8; bytes that are invalid in it become a byte that is invalid in UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)(BROKEN)
    for block in blocks:
        text = decoder.decode(block).encode(UTF_8, BROKEN)
        if text or not block:  # an empty block marks a pause, which half a letter is not
            yield text
    yield decoder.decode(b"", final=True).encode(UTF_8, BROKEN)


def _mark_broken(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        return NEVER_UTF_8, error.end
    assert isinstance(error, UnicodeDecodeError)
    return LONE_SURROGATE, error.end


# A character that cannot be encoded, and so becomes NEVER_UTF_8.
LONE_SURROGATE = "\udc00"
BROKEN = "nmt.broken"
codecs.register_error(BROKEN, _mark_broken)
