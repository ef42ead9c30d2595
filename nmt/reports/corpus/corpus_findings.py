"""Findings in a corpus that ask for attention: a line each, with what can be done about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.data.characters import OTHER
from nmt.reports.corpus.corpus_measures import CorpusMeasures, NearDuplicatePairs, SplitMeasures
from nmt.reports.corpus.sides import SideMeasures
from nmt.wording import counted

# Share of unknown tokens among all: less is hardly worth another vocabulary.
LEAST_UNKNOWN = 0.001


@dataclass(frozen=True)
class Finding:
    """Something that asks for attention."""

    split: str
    text: str
    option: str = ""  # the setting that would remove it

    def __str__(self) -> str:
        return f"{self.split:11} {self.text}" + (f"; {self.option}" if self.option else "")


def find(measures: CorpusMeasures) -> list[Finding]:
    """Return what asks for attention: first what spoils scores, then what spoils learning."""
    found = [
        Finding(split, str(overlap), "data.filter.overlap=either")
        for split, overlap in measures.overlaps.items()
        if overlap.found
    ]
    for near in measures.near_duplicates or []:
        if near.split != near.of_split:
            text = f"{counted(near.num_pairs, 'pair')} nearly the same as one of {near.of_split}: {_places(near)}"
            found.append(Finding(near.split, text))
    for split, own in measures.splits.items():
        found += [Finding(split, str(stretch)) for stretch in own.alignment.stretches]
        found += _of_pairs(split, own, measures)
        for side in ("source", "target"):
            found += _of_side(split, side, getattr(own, side), measures.has_pieces)
    return found


def _of_pairs(split: str, own: SplitMeasures, measures: CorpusMeasures) -> Iterator[Finding]:
    """Yield what is wrong with pairs; options are for training text, the only one that filters touch."""
    is_train = split == "train"
    left_out = ", which training leaves out" if is_train else ""
    if own.num_empty:
        yield Finding(split, f"{counted(own.num_empty, 'pair')} with a blank side{left_out}")
    if own.num_identical:
        text = f"{counted(own.num_identical, 'pair')} with the same text on both sides: {_lines(own.lines_identical)}"
        yield Finding(split, text, "data.filter.identical=true" if is_train else "")
    if own.duplicates["pair"]:
        share = 100 * own.duplicates["pair"] / own.num_pairs
        text = f"{counted(own.duplicates['pair'], 'pair')} ({share:.2f} %) occurred before"
        yield Finding(split, text, "data.filter.duplicates=pair" if is_train else "")
    for near in measures.near_duplicates or []:
        if near.split == near.of_split == split:
            text = f"{counted(near.num_pairs, 'pair')} nearly the same as an earlier one: {_places(near)}"
            yield Finding(split, text)
    if own.num_too_long:
        yield Finding(
            split, f"{counted(own.num_too_long, 'pair')} longer than data.max_length tokens{left_out}"
        )


def _of_side(split: str, side: str, own: SideMeasures, has_pieces: bool) -> Iterator[Finding]:
    """Yield what is wrong with a side; only a vocabulary of pieces, not one of words or characters, can have bytes."""
    if own.num_of_other_script:
        scripts = ", ".join(own.main_scripts)
        number = counted(own.num_of_other_script, f"{side} line")
        option = f"data.filter.{side}_scripts=[{','.join(own.main_scripts)}]"
        if any(" " in script for script in own.main_scripts):  # such as Ol Chiki: the shell would divide it
            option = f"'{option}'"
        if (
            split != "train" or OTHER in own.main_scripts
        ):  # only training text is filtered, by scripts that are known
            option = ""
        yield Finding(
            split, f"{number} not mostly in {scripts} letters: {_lines(own.lines_of_other_script)}", option
        )
    if own.num_lines_with_controls:
        number = counted(own.num_lines_with_controls, f"{side} line")
        names = ", ".join(f"{control.name} ({control.count})" for control in own.controls[:3])
        where = _lines(own.lines_with_controls)
        yield Finding(split, f"{number} with invisible or damaged characters: {names}; {where}")
    if own.num_unknown_tokens:
        share = own.num_unknown_tokens / max(own.num_tokens, 1)
        text = f"{counted(own.num_unknown_tokens, f'unknown {side} token')} ({100 * share:.2f} %)"
        can_fall_back = share >= LEAST_UNKNOWN and has_pieces
        yield Finding(split, text, "tokenizer.byte_fallback=true" if can_fall_back else "")


def _lines(numbers: Sequence[int]) -> str:
    return f"line{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def _places(near: NearDuplicatePairs) -> str:
    return "lines " + ", ".join(f"{line} and {of_line}" for line, of_line in near.examples[:3])
