"""The alignment error rate of a run: word links by its attention against links that were made by hand.

Thirty pairs of the built-in corpus are aligned in hand_alignments.txt: `3-4` is a sure link of a source word and a
target word, `3?4` a possible one. Alignment error rate (Och & Ney 2003): 1 - (|A & S| + |A & P|) / (|A| + |S|), where
A are the links of the run, S the sure links, and P the sure and the possible ones.

    python scripts/alignment_error.py --run outputs/mine
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from arguments import in_one_line

import nmt
from nmt.decoding.word_alignment import Link

HAND_MADE = Path(__file__).parent / "hand_alignments.txt"
LINK = re.compile(r"(\d+)([-?])(\d+)")


class Aligned(NamedTuple):
    """A pair of sentences with its sure links; `possible` holds the sure and the possible ones."""

    source: str
    target: str
    sure: set[Link]
    possible: set[Link]


def read_aligned(path: Path) -> list[Aligned]:
    """Read pairs with their links."""
    found = []
    for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        source, target, links = line.split(" ||| ")
        parts = [(int(one), kind, int(other)) for one, kind, other in LINK.findall(links)]
        every = {(one, other) for one, _, other in parts}
        found.append(
            Aligned(source, target, {(one, other) for one, kind, other in parts if kind == "-"}, every)
        )
    return found


def error_rate(found: list[set[Link]], pairs: list[Aligned]) -> tuple[float, float, float]:
    """Return the alignment error rate of the links of all pairs together, their precision and their recall."""
    num_found, num_sure = sum(map(len, found)), sum(len(pair.sure) for pair in pairs)
    right = sum(len(links & pair.possible) for links, pair in zip(found, pairs, strict=True))
    right_sure = sum(len(links & pair.sure) for links, pair in zip(found, pairs, strict=True))
    return 1 - (right_sure + right) / (num_found + num_sure), right / max(1, num_found), right_sure / num_sure


def main() -> None:
    """Align the pairs by a run, and say how much of it is wrong."""
    parser = argparse.ArgumentParser(description="Alignment error rate of a run on the built-in corpus.")
    parser.add_argument("--run", required=True, help="folder of a run that was trained on it")
    pairs = read_aligned(HAND_MADE)
    arguments = parser.parse_args()
    with in_one_line():
        links = nmt.load(arguments.run).align([(pair.source, pair.target) for pair in pairs])
    error, precision, recall = error_rate([set(found) for found in links], pairs)
    print(f"{len(pairs)} pairs: error rate {error:.3f}, precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()
