"""The lengths of the lines that a model learned from; a line to translate may be longer."""

from typing import NamedTuple

# Tokens beyond which a line is long for a model whose training text is not known, such as one that was imported: its
# sentences rarely had more, while a paragraph has.
USUAL_LENGTH = 100


class LearnedLengths(NamedTuple):
    """Tokens of the source lines that a model learned from: at most `usual` in 99 of 100, at most `longest` in all.

    `with_context` is the largest number for a line with its context; None where each line was read alone.
    """

    usual: int
    longest: int
    with_context: int | None = None

    def facts(self) -> dict[str, int]:
        """Return the lengths that there are, by their names."""
        return {name: length for name, length in self._asdict().items() if length is not None}
