"""Words that teachers expect at target positions, as data sets, batches and the loss have them."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class ExpectedWords(NamedTuple):
    """The likeliest words at some positions, and how probable each is; what is left is spread over all words alike."""

    words: Tensor  # (…, k)
    probabilities: Tensor  # (…, k)

    def map(self, change: Callable[[Tensor], Tensor]) -> "ExpectedWords":
        """Return what `change` makes of both."""
        return ExpectedWords(change(self.words), change(self.probabilities))
