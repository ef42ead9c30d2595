"""Whether the two sides of a text stay aligned: long lines are translated by long ones, so lengths tell.

In each window of a file, the lengths of the source lines are correlated with those of the target lines, and with those
of the target lines shifted by up to ten lines: where another shift fits much better, the file has slipped.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nmt.data.arrays import FloatArray

# Lines; in a window of this size, the correlation of unrelated lengths is 0.0 ± 0.1.
WINDOW = 100
MAX_SHIFT = 10
# In a window of unrelated lengths, a shift hardly ever correlates so well, or so much better than no shift.
LEAST_CORRELATION, LEAST_GAIN = 0.5, 0.3
# Where LEAST_SHARE of a file's windows reach GOOD, a stretch below BAD is not due to chance. Where a smaller share
# reaches BAD, of LEAST_WINDOWS or more, the sides are not those of one text.
GOOD, BAD, LEAST_SHARE, LEAST_WINDOWS = 0.6, 0.25, 0.1, 5


@dataclass(frozen=True)
class Stretch:
    """Misaligned lines, from 1: source line N goes with target line N + shift, or with none in reach (None)."""

    first_line: int
    last_line: int
    shift: int | None
    correlation: float

    def __str__(self) -> str:
        lines = f"from about line {self.first_line} to line {self.last_line}"
        if self.shift is None:
            return f"{lines}, the sides do not go together (correlation of lengths {self.correlation:.2f})"
        sign, number = "+" if self.shift > 0 else "−", abs(self.shift)
        missing = "source" if self.shift > 0 else "target"
        of_lines = "a line is" if number == 1 else f"{number} lines are"
        return (
            f"{lines}, source line N goes with target line N {sign} {number} (correlation of lengths "
            f"{self.correlation:.2f}): {of_lines} missing before on the {missing} side, or too much on the other"
        )


@dataclass(frozen=True)
class Alignment:
    """The correlation of lengths in each window of a file, and the misaligned stretches."""

    window: int  # lines
    correlations: list[float | None]  # of each window; None where all lengths of a side are the same
    stretches: list[Stretch]


def find_alignment(source_lengths: npt.ArrayLike, target_lengths: npt.ArrayLike) -> Alignment:
    """Return how well the two sides of a file are aligned, by the lengths of their lines in characters."""
    source, target = (
        np.log1p(np.asarray(lengths, np.float64)) for lengths in (source_lengths, target_lengths)
    )
    number = len(source)
    if number < WINDOW:
        whole = _correlations(source, target, max(number, 1))
        return Alignment(number, [_known(value) for value in whole], [])
    shifts = [0, *(shift for size in range(1, MAX_SHIFT + 1) for shift in (-size, size))]
    by_shift = np.stack([_correlations(source, _shifted(target, shift), WINDOW) for shift in shifts])
    stretches = _stretches(by_shift, shifts)
    refined = _refine(stretches, source, target)
    return Alignment(WINDOW, [_known(value) for value in by_shift[0]], refined)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _shifted(target: FloatArray, shift: int) -> FloatArray:
    """Return target moved so that line i holds line i + shift; places beyond the ends hold the mean."""
    moved = np.full(len(target), target.mean())
    if shift >= 0:
        moved[: len(target) - shift] = target[shift:]
    else:
        moved[-shift:] = target[:shift]
    return moved


def _num_windows(number: int, window: int) -> int:
    return max((number + window // 2) // window, 1)


def _correlations(one: FloatArray, other: FloatArray, window: int) -> FloatArray:
    """Return the Pearson correlation in each window; less than half a window at the end joins the last one."""
    starts = np.arange(_num_windows(len(one), window)) * window
    sizes = np.diff(np.append(starts, len(one))).astype(np.float64)

    def mean(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, starts) / sizes

    if not len(one):
        return np.empty(0)
    spread = np.repeat(np.arange(len(starts)), sizes.astype(np.int64))
    one, other = one - mean(one)[spread], other - mean(other)[spread]
    product = np.sqrt(mean(one**2) * mean(other**2))
    return np.where(product > 1e-9, mean(one * other) / np.maximum(product, 1e-9), np.nan)


def _stretches(by_shift: FloatArray, shifts: list[int]) -> list[tuple[int, int, int | None, float]]:
    """Return each run of misaligned windows: its first window, the one after its last, shift and correlation."""
    known = np.nan_to_num(by_shift)
    straight, best = known[0], known.argmax(axis=0)
    gain = known.max(axis=0)
    has_slipped = (gain >= LEAST_CORRELATION) & (gain >= straight + LEAST_GAIN) & (best > 0)
    is_lost = ~has_slipped & (straight < BAD) & ~np.isnan(by_shift[0])
    fitting = np.where(has_slipped, gain, straight)
    is_unrelated = np.mean(fitting >= BAD) < LEAST_SHARE and len(fitting) >= LEAST_WINDOWS
    if np.mean(fitting >= GOOD) < LEAST_SHARE and not is_unrelated:
        is_lost[:] = False  # lengths tell little of this text
    # Of each window: a shift; None where the sides do not go together; 0 where they do.
    states = [
        shifts[shift] if slipped else None if lost else 0
        for shift, slipped, lost in zip(best.tolist(), has_slipped.tolist(), is_lost.tolist(), strict=True)
    ]
    for place, state in enumerate(states):  # a single lost window may hold two shifts, half each
        around = states[max(place - 1, 0) : place] + states[place + 1 : place + 2]
        if state is None and None not in around:
            states[place] = around[-1]
        elif state == 0 and around == [None, None] and straight[place] < GOOD:  # it goes together by chance
            states[place] = None
    edges = [0, *(i for i in range(1, len(states)) if states[i] != states[i - 1]), len(states)]
    return [
        (a, b, states[a], float(known[shifts.index(states[a] or 0), a:b].mean()))
        for a, b in pairwise(edges)
        if states[a] != 0
    ]


def _refine(
    stretches: list[tuple[int, int, int | None, float]], source: FloatArray, target: FloatArray
) -> list[Stretch]:
    """Find, within the windows around each end of a stretch, the line at which one shift begins to fit better."""
    number = len(source)
    num_windows = _num_windows(number, WINDOW)
    offset = float(np.median(target - source))

    def change(window: int, before: int, after: int) -> int:
        first, last = max(window - 1, 0) * WINDOW, min((window + 1) * WINDOW, number)
        misfits = [
            np.abs(_shifted(target, shift)[first:last] - source[first:last] - offset)
            for shift in (before, after)
        ]
        sums = [np.concatenate([[0.0], np.cumsum(misfit)]) for misfit in misfits]
        return first + int(np.argmin(sums[0] + sums[1][-1] - sums[1]))

    found: list[Stretch] = []
    begins = {begin for begin, *_ in stretches}  # there the next stretch says what fits better
    previous_end, previous_shift = 0, 0
    for begin, end, shift, correlation in stretches:
        before = previous_shift if previous_end == begin else 0
        first = begin * WINDOW if shift is None or begin == 0 else change(begin, before, shift)
        last = number if end == num_windows else end * WINDOW
        if shift is not None and end < num_windows and end not in begins:
            last = change(end, shift, 0)
        if found and previous_end == begin and shift is not None:
            found[-1] = Stretch(found[-1].first_line, first, found[-1].shift, found[-1].correlation)
        found.append(Stretch(first + 1, last, shift, correlation))
        previous_end, previous_shift = end, shift or 0
    return found
