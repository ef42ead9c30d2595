"""The text that a run was made with."""

from collections import deque
from dataclasses import replace

from nmt.config import DataSettings, MixtureData, RunData
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.mixture import known_tags, require_tags
from nmt.data.sources import load_corpus, load_split, require_files
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory


def data_of_run(run: RunDirectory) -> DataSettings:
    """Return the settings of a run's text. Raises UserError if there are none, or they are damaged or name no files."""
    if "data" not in run.read_config():
        raise RunError(
            f"run: a run with text of its own is needed; got {run.path}, which was imported without; data=... names "
            "its text at the import, and nmt evaluate takes source and reference"
        )
    settings = run.read_settings(RunData).data
    require_files(settings)
    return settings


def corpus_of_run(run: RunDirectory) -> Corpus:
    """Load the text that a run was made with, without tags. Raises UserError if it cannot be loaded."""
    return load_corpus(data_of_run(run))


def text_of_run(split: str, run: RunDirectory, with_tags: bool = True) -> ParallelText:
    """Load the `test` or `validation` text of a run alone. Raises UserError if it cannot be loaded, or there is none.

    A mixture's tags stand before its source lines, unless `with_tags` is False.
    """
    text, groups = load_split(data_of_run(run), split)
    text = require_split(text, split)
    return replace(text, source=list(groups.tag(split, text.source))) if with_tags and groups else text


def tagged_for(run: RunDirectory, text: ParallelText, split: str) -> ParallelText:
    """Return a text with the tags that a run needs before its source lines, where it needs any.

    The tags are looked up in the run's own split; a pair that occurs there several times gets their tags in turn.
    Raises RunError for a pair that is not there, since its tag is unknown. Where the run's data has no tags, the lines
    must begin with one already; DataError if not.
    """
    tags = known_tags(run.read_tokenizer().source.pieces)
    if not tags:
        return text
    data = data_of_run(run)
    if not (isinstance(data, MixtureData) and data.has_tags):
        require_tags(text.source, tags, f"run: {run.path}")
        return text
    loaded, groups = load_split(data, split)
    own = require_split(loaded, split)
    assert groups is not None  # since it is a mixture
    lines: dict[tuple[str, str], deque[str]] = {}
    for one, other, line in zip(own.source, own.target, groups.tag(split, own.source), strict=True):
        lines.setdefault((one, other), deque()).append(line)
    source = []
    for number, pair in enumerate(zip(text.source, text.target, strict=True), 1):
        if pair not in lines:
            raise RunError(
                f"run: {split} text of {run.path} is needed, since its lines have tags; "
                f"got line {number}, which is not in it; give source, with tags, and reference"
            )
        source.append(lines[pair][0])
        lines[pair].rotate(-1)
    return ParallelText(source, text.target)


def require_split(text: ParallelText | None, split: str) -> ParallelText:
    """Return the `test` or `validation` text of a run. Raises RunError if there is none."""
    if text is None:
        raise RunError(
            f"split: a text that the run has is needed; got {split}; split=validation, or nmt evaluate with source and "
            "reference, takes another"
        )
    return text
