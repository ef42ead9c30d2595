"""Settings of text as the command line makes them."""

import pytest

from nmt.check import check
from nmt.composition import Command, compose
from nmt.config import TrainSettings


@pytest.fixture
def data_settings():
    """Return a function from overrides, with `data.` before them, to settings of text."""

    def settings(kind, *overrides):
        given = [f"data={kind}", *(f"data.{override}" for override in overrides)]
        return check(TrainSettings, compose(Command.TRAIN, given, None).values).data

    return settings
