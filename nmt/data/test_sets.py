"""Test sets by name, such as wmt14:de-en, through sacreBLEU, which downloads each once."""

import contextlib
import io
import re
from pathlib import Path

from nmt.errors import DataError, nearest

NAME = re.compile(r"(?P<name>[A-Za-z0-9_./-]+):(?P<pair>[a-z]{2,3}(?:_[A-Za-z]+)?-[a-z]{2,3}(?:_[A-Za-z]+)?)")


def is_test_set(text: str) -> bool:
    """Whether this is the name of a test set with a pair of languages, and no file."""
    return NAME.fullmatch(text) is not None and not Path(text).exists()


def test_set_files(text: str, key: str) -> tuple[Path, Path]:
    """Return the files of source and first reference of a test set, which are downloaded if they are not there.

    sacreBLEU keeps them in $SACREBLEU, else ~/.sacrebleu. Raises DataError, beginning with `key`, when they cannot
    be had.
    """
    from sacrebleu.dataset import DATASETS  # takes a while, and few runs need it

    found = NAME.fullmatch(text)
    if found is None:
        pairs = sorted(DATASETS[text].langpairs) if text in DATASETS else []
        offered = f", which has {', '.join(pairs)}" if pairs else nearest(text, sorted(DATASETS))
        raise DataError(
            f"{key}: a test set of sacreBLEU with a pair of languages is needed, such as wmt14:de-en; "
            f"got {text}{offered}"
        )
    name, pair = found["name"], found["pair"]
    if name not in DATASETS:
        raise DataError(
            f"{key}: a test set that sacreBLEU knows is needed; got {name}{nearest(name, sorted(DATASETS))}"
        )
    data_set = DATASETS[name]
    if pair not in data_set.langpairs:
        offered = ", ".join(sorted(data_set.langpairs))
        raise DataError(f"{key}: one of {offered} is needed for {name}; got {pair}")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            source = Path(data_set.get_source_file(pair))
            references = [Path(path) for path in data_set.get_reference_files(pair)]
    except (OSError, SystemExit, EOFError, ValueError) as error:
        raise DataError(
            f"{key}: the network or an earlier download is needed for {text}; got {_reason(error)}; "
            f"sacreBLEU keeps what it downloads in {_folder()}"
        ) from None
    return source, references[0]


def _folder() -> str:
    from sacrebleu.utils import SACREBLEU_DIR

    return str(SACREBLEU_DIR)


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "a download that is not what sacreBLEU expects"
    return (str(error).strip() or type(error).__name__).split("\n")[0]
