"""Words that teachers expect at target positions, as data sets, batches and the loss have them."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class ExpectedWords(NamedTuple):
    """The k likeliest words at some positions and their probabilities; the rest is spread evenly over all words."""

    words: Tensor  # (…, k)
    probabilities: Tensor  # (…, k)

    def map(self, change: Callable[[Tensor], Tensor]) -> "ExpectedWords":
        """Return what `change` makes of both."""
        return ExpectedWords(change(self.words), change(self.probabilities))
