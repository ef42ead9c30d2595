"""What training.max_tokens=auto finds, against a device whose room is known."""

import numpy as np
import pytest

from nmt.data.batching import EpochPlan, plan_epoch
from nmt.training.device.max_tokens import find_max_tokens

GENERATOR = np.random.Generator(np.random.PCG64(3))
SOURCE, TARGET = (GENERATOR.integers(2, 40, 500) for _ in range(2))
LONGER = np.maximum(SOURCE, TARGET)
PLAN = plan_epoch(1, 0, SOURCE, TARGET, update_tokens=1000)


def padded(rows):
    return len(rows) * int(LONGER[rows].max())


@pytest.mark.parametrize("room", [100, 300, 1000, 10**9])
@pytest.mark.parametrize("at_most", [None, 512])
def test_what_is_found_fits_and_twice_as_much_would_not(room, at_most):
    found = find_max_tokens(PLAN, lambda rows: padded(rows) <= room, at_most)
    micro_batches = [rows for update in PLAN.within(found) for rows in update]
    assert max(map(padded, micro_batches)) <= room
    assert at_most is None or found <= at_most
    updates = PLAN.within(2 * found)
    is_whole = all(len(update) == 1 for update in updates)
    does_not_fit = any(padded(rows) > room for update in updates for rows in update)
    assert does_not_fit or is_whole or 2 * found > (at_most or np.inf)


NEEDS = {
    "padded tokens": lambda lengths: len(lengths) * lengths.max(),
    "attention": lambda lengths: len(lengths) * lengths.max() ** 2,
    "sentences": len,
}


@pytest.mark.parametrize("need", NEEDS.values(), ids=NEEDS)
def test_what_is_found_fits_whatever_takes_most_room(need):
    longer = np.repeat([10, 80, 3], [20, 2, 60])  # each update needs the most of one resource
    plan = EpochPlan(np.split(np.arange(len(longer)), [20, 22]), longer)
    room = max(need(longer[rows]) for rows in plan.updates) - 1
    found = find_max_tokens(plan, lambda rows: need(longer[rows]) <= room, None)
    assert all(need(longer[rows]) <= room for update in plan.within(found) for rows in update)


def test_where_not_even_one_sentence_fits_the_smallest_is_tried_all_the_same():
    assert find_max_tokens(PLAN, lambda rows: False, None) <= LONGER.max()
