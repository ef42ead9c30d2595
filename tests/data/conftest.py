"""Settings of text as the command line makes them."""

import pytest

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check


@pytest.fixture
def data_settings():
    """Return a function from a kind of data and overrides without their `data.` to settings of text."""

    def settings(kind, *overrides):
        given = [f"data={kind}", *(f"data.{override}" for override in overrides)]
        return check(TrainSettings, compose("train", given, None).values).data

    return settings
