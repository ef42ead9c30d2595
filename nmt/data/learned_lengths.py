"""How long the lines were that a model learned from, which a line to translate may be longer than."""

from typing import NamedTuple


class LearnedLengths(NamedTuple):
    """Tokens of the source lines that a model learned from: at most `usual` in 99 of 100, at most `longest` in all.

    `with_context` are at most read with those of the lines before; None where each line was read alone.
    """

    usual: int
    longest: int
    with_context: int | None = None

    def facts(self) -> dict[str, int]:
        """Return the lengths that there are, by their names."""
        return {name: length for name, length in self._asdict().items() if length is not None}
