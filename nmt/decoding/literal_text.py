"""Text from token ids, some of which stand for strings that are inserted letter for letter."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from nmt.data.characters import are_joined, is_unspaced
from nmt.data.tokenizer import WORD_START, Vocabulary
from nmt.decoding.engine import Hypothesis

# Text that follows one of these characters is attached to it without a space.
OPENING = "([{（【「『„‚“‘¿¡"
# Characters around a string that are looked at to see whether it still stands by itself.
LOOKED_AT = 100


class Literal(NamedTuple):
    """A string, and the character right before it in the source.

    `is_whole(text, begin)` tells whether the string, which begins at `begin` of a text, stands by itself there.
    """

    text: str
    before: str
    is_whole: Callable[[str, int], bool]


def makes_longer(piece: str) -> bool:
    """Whether a piece would make the word before it longer."""
    return piece != "" and are_joined("a", piece[0])  # a letter of a script with spaces


def text_of(
    vocabulary: Vocabulary,
    hypothesis: Hypothesis,
    literals: Sequence[Literal],
    decode: Callable[[Sequence[int]], str],
) -> tuple[str, list[str]]:
    """Return the text of a hypothesis with its literals, and the piece of the text that each token became.

    `decode` turns the tokens between literals into text.
    A literal follows a text with a space between them, unless the text ends as the source did before the literal, with
    an opening mark, or in a script without spaces. A text follows a literal with a space if its first piece begins a
    word. There is a space, too, where the literal would not stand by itself without it. The first token of a literal
    gets all of its text.
    """
    text, pieces, literal = "", [], None
    labelled = list(zip(hypothesis.phrases, hypothesis.tokens, strict=True))
    for phrase, run in groupby(labelled, key=lambda one: one[0]):
        tokens = [token for _, token in run]
        if phrase < 0:
            inside = [vocabulary.pieces[token] for token in tokens]
            part, begins_word = decode(tokens), inside[0].startswith(WORD_START)
            is_apart = literal is not None and (begins_word or not _fits_before(literal, part))
            literal = literal if not part and not begins_word else None
        else:
            following = literals[phrase]
            part, is_apart = following.text, not _fits_behind(following, text)
            if literal is not None:
                is_apart = is_apart or not _fits_before(literal, part)
            literal = following
            inside = [part, *[""] * (len(tokens) - 1)]
        space = " " * (is_apart and bool(text) and not text[-1].isspace() and not part[:1].isspace())
        if phrase >= 0 or space:
            inside[0] = (WORD_START if space else "") + inside[0].removeprefix(WORD_START)
        text += space + part
        pieces += inside
    return text, pieces


def _fits_behind(literal: Literal, text: str) -> bool:
    """Whether a literal may follow a text without a space."""
    if not text:
        return True
    last = text[-LOOKED_AT:]
    is_bound = text[-1] == literal.before or text[-1] in OPENING or is_unspaced(text[-1])
    return is_bound and literal.is_whole(last + literal.text, len(last))


def _fits_before(literal: Literal, text: str) -> bool:
    """Whether a text may follow a literal without a space."""
    return literal.is_whole(literal.text + text[:LOOKED_AT], 0)
