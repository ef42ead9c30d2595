"""Remarks on lines: which were cut or split, which lack context, and what their translations had to contain."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from nmt.wording import LineNumbers, counted

logger = logging.getLogger(__name__)


@dataclass
class Remarks:
    """Lines that something happened to, and counts of what translations had to contain.

    Lines were `cut` to `max_source_tokens`, `split` into parts, or read without some of their context (`short`).
    `num_constrained` counts the lines with demands on the translation, `num_terms` and `num_protected` their glossary
    terms and the strings that must not change; `num_unmet` counts the demands that were not met, `unmet` are the lines
    of these.
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
        """Add the remarks on lines that follow."""
        self.max_source_tokens = later.max_source_tokens
        self.cut.join(later.cut)
        self.split.join(later.split)
        self.short.join(later.short)
        for name in ("num_constrained", "num_terms", "num_protected", "num_unmet"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.unmet.join(later.unmet)

    def count_demands(self, line: int, are_protected: Sequence[bool], num_unmet: int) -> None:
        """Count the demands on the translation of a line, and those that it does not meet."""
        self.num_constrained += 1
        self.num_protected += sum(are_protected)
        self.num_terms += len(are_protected) - sum(are_protected)
        self.num_unmet += num_unmet
        if num_unmet:
            self.unmet.add(line)

    def log(self) -> None:
        """Log, in a message for each remark, how many lines it is on, and the first of them."""
        if self.cut.count:
            logger.warning("%s", self.cut.tell(f"cut to {self.max_source_tokens} tokens"))
        if self.split.count:
            logger.info("%s", self.split.tell("longer than usual, and translated in parts"))
        if self.num_constrained:
            lines, terms = counted(self.num_constrained, "line"), counted(self.num_terms, "term")
            told = (
                f"{lines} had {terms} of the glossary and {counted(self.num_protected, 'protected string')}"
            )
            if self.num_unmet:
                logger.warning("%s; not met: %d, in %s", told, self.num_unmet, self.unmet)
            else:
                logger.info("%s; all were met", told)
        if self.short.count:
            logger.info("%s", self.short.tell("read with less context, as far as it fits"))
