"""training.max_tokens=auto: how much of an update fits in memory at once."""

from collections.abc import Callable

from nmt.data.arrays import Int64Array
from nmt.data.batching import Plan, plan_by_length


def find_max_tokens(plan: Plan, fits: Callable[[Int64Array], bool], at_most: int | None) -> int:
    """Return the size of the largest update, or the largest half, quarter … of it that fits, in padded tokens.

    More would never be used. What is tried, by `fits` of the indices of a micro-batch, are the widest update, the one
    with the longest sentences and the one with the most.
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
