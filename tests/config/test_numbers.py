"""Every number of the settings has bounds, within which a run can always be read again."""

import json
import math
import typing
from pathlib import Path

import annotated_types
import pydantic
import pytest

from nmt import config
from nmt.config import Settings
from nmt.config.kinds import Seed
from nmt.config.sweep import SweepSettings
from nmt.files.reading import parse_json


def numbers(kind, metadata, path):
    """Yield (path, type, metadata) of each number in a type, however it is nested."""
    if typing.get_origin(kind) is typing.Annotated:
        inner, *more = typing.get_args(kind)
        yield from numbers(inner, [*metadata, *more], path)
    elif isinstance(kind, type) and issubclass(kind, Settings):
        for name, field in kind.model_fields.items():
            yield from numbers(field.annotation, field.metadata, f"{path}.{name}")
    elif kind in (int, float):
        yield path, kind, metadata
    elif typing.get_origin(kind) is not typing.Literal:
        for part in typing.get_args(kind):
            yield from numbers(part, [], path)


def flat(metadata):
    for item in metadata:
        yield from item.metadata if isinstance(item, pydantic.fields.FieldInfo) else [item]


CLASSES = [
    kind for kind in vars(config).values() if isinstance(kind, type) and issubclass(kind, Settings)
] + [SweepSettings]
NUMBERS = {
    path: (kind, list(flat(metadata)))
    for top in CLASSES
    for path, kind, metadata in numbers(top, [], top.__name__)
}


@pytest.mark.parametrize("path", NUMBERS)
def test_every_number_has_bounds_that_can_be_read_again(path):
    kind, metadata = NUMBERS[path]
    low = [
        getattr(item, name)
        for item in metadata
        for name, of in (("ge", annotated_types.Ge), ("gt", annotated_types.Gt))
        if isinstance(item, of)
    ]
    high = [
        getattr(item, name)
        for item in metadata
        for name, of in (("le", annotated_types.Le), ("lt", annotated_types.Lt))
        if isinstance(item, of)
    ]
    assert low, path
    assert high, path
    assert all(math.isfinite(bound) for bound in low + high)
    adapter = pydantic.TypeAdapter(typing.Annotated[kind, *metadata])
    for bound in (*low, *high):
        for value in (bound, bound - 1, bound + 1):
            try:
                checked = adapter.validate_python(value)
            except pydantic.ValidationError:
                continue
            assert parse_json(json.dumps({"number": checked}).encode(), Path("config.json")) == {
                "number": checked
            }
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python(True)


def test_all_numbers_are_found():
    assert {
        "TrainSettings.seed",
        "TrainSettings.data.num_train",
        "TrainSettings.optimizer.betas",
        "SweepSettings.sweep.trials",
    } <= NUMBERS.keys()


def test_a_seed_from_the_clock_is_taken():
    assert pydantic.TypeAdapter(Seed).validate_python(1_720_000_000_000_000_000)


@pytest.mark.parametrize(
    "override",
    [
        "data.num_train=99999999999999999999",
        "tokenizer.vocabulary_size=99999999999999",
        "training.update_tokens=100000000000000000000",
        "optimizer.learning_rate=1e30",
        "seed=18446744073709551616",
        "seed=true",
    ],
)
def test_what_no_run_can_have_is_refused(override, capsys, tmp_path, monkeypatch):
    from nmt.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["train", "run=new", override]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"nmt: {override.partition('=')[0]}: ")
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
