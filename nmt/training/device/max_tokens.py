"""training.max_tokens=auto: how much of an update fits in memory at once."""

from collections.abc import Callable

from nmt.data.arrays import Int64Array
from nmt.data.batching import EpochPlan, plan_by_length


def find_max_tokens(plan: EpochPlan, fits: Callable[[Int64Array], bool], at_most: int | None) -> int:
    """Return how many padded tokens fit at once: a power of two above the largest update, halved until it fits.

    More would never be used; the search begins at `at_most` where that is less. `fits` gets the indices of the first
    micro-batch of three updates: those with the most padded tokens, the longest sentence and the most sentences. A
    size that is no more than the longest sentence is not tried.
    """
    updates, longer = plan.updates, plan.longer
    sizes = [len(rows) * int(longer[rows].max()) for rows in updates]
    candidates = [
        updates[sizes.index(max(sizes))],
        max(updates, key=lambda rows: int(longer[rows].max())),
        max(updates, key=len),
    ]
    max_tokens = 1 << max(sizes).bit_length()
    if at_most is not None:
        max_tokens = min(max_tokens, at_most)
    while max_tokens > longer.max():
        if all(fits(plan_by_length(longer, max_tokens, rows)[0]) for rows in candidates):
            break
        max_tokens //= 2
    return max_tokens
