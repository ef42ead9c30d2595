"""What is to be said of lines beside what they became: which were cut, which split, and what they were to have."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from nmt.errors import LineNumbers

logger = logging.getLogger(__name__)


@dataclass
class Remarks:
    """Lines that something happened to.

    They were `cut` to `max_source_tokens`, `split` into parts, or have not all of their context: `short`. In how many
    lines something was demanded of the translation is counted too, with the terms of a glossary and the strings that
    must not change, and where not all of it was met.
    """

    max_source_tokens: int = 0
    cut: LineNumbers = field(default_factory=LineNumbers)
    split: LineNumbers = field(default_factory=LineNumbers)
    num_constrained: int = 0
    num_terms: int = 0
    num_protected: int = 0
    num_unmet: int = 0
    unmet: LineNumbers = field(default_factory=LineNumbers)
    short: LineNumbers = field(default_factory=LineNumbers)

    def join(self, later: "Remarks") -> None:
        """Take over the remarks on lines that follow."""
        self.max_source_tokens = later.max_source_tokens
        self.cut.join(later.cut)
        self.split.join(later.split)
        self.short.join(later.short)
        for name in ("num_constrained", "num_terms", "num_protected", "num_unmet"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.unmet.join(later.unmet)

    def count_demands(self, line: int, are_protected: Sequence[bool], num_unmet: int) -> None:
        """Note what was demanded of the translation of a line, and how much of that it has not."""
        self.num_constrained += 1
        self.num_protected += sum(are_protected)
        self.num_terms += len(are_protected) - sum(are_protected)
        self.num_unmet += num_unmet
        if num_unmet:
            self.unmet.add(line)

    def log(self) -> None:
        """Say in a line each what happened to how many lines, and to which first."""
        if self.cut.count:
            logger.warning("%s", self.cut.tell(f"cut to {self.max_source_tokens} tokens"))
        if self.split.count:
            logger.info("%s", self.split.tell("longer than usual, and translated in parts"))
        if self.num_constrained:
            lines = "1 line" if self.num_constrained == 1 else f"{self.num_constrained} lines"
            told = f"{lines} had {self.num_terms} terms of the glossary and {self.num_protected} protected strings"
            if self.num_unmet:
                logger.warning("%s; not met: %d, in %s", told, self.num_unmet, self.unmet)
            else:
                logger.info("%s; all were met", told)
        if self.short.count:
            logger.info("%s", self.short.tell("read with less context, as far as it fits"))
