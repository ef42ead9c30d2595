"""The text that commands are tried on."""

import pytest
from german import GERMAN


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.de"
    path.write_text("".join(f"{line}\n" for line in GERMAN), encoding="utf-8")
    return path
