"""What is to be said of lines beside what they became: which were cut, and which were split."""

import logging
from dataclasses import dataclass, field

from nmt.errors import LineNumbers

logger = logging.getLogger(__name__)


@dataclass
class Remarks:
    """Lines that something happened to.

    They were `cut` to `max_source_tokens`, `split` into parts, or have not all of their context: `short`.
    """

    max_source_tokens: int = 0
    cut: LineNumbers = field(default_factory=LineNumbers)
    split: LineNumbers = field(default_factory=LineNumbers)
    short: LineNumbers = field(default_factory=LineNumbers)

    def join(self, later: "Remarks") -> None:
        """Take over the remarks on lines that follow."""
        self.max_source_tokens = later.max_source_tokens
        self.cut.join(later.cut)
        self.split.join(later.split)
        self.short.join(later.short)

    def log(self) -> None:
        """Say in a line each what happened to how many lines, and to which first."""
        if self.cut.count:
            logger.warning("%s", self.cut.tell(f"cut to {self.max_source_tokens} tokens"))
        if self.split.count:
            logger.info("%s", self.split.tell("longer than usual, and translated in parts"))
        if self.short.count:
            logger.info("%s", self.short.tell("read with less context, as far as it fits"))
