"""What all tests share: one thread, a cache of their own, tiny models, and the real command line."""

import logging
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import torch
from command_line import run_command
from tiny_models import make_batch, make_model

from nmt.cli import main as cli
from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq

# A busy machine makes examples slow, which is no fault of the code under test.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

SCRIPTS = Path(__file__).parent.parent / "scripts"

# Tests run side by side, and so do the processes that they start: each has one core.
os.environ["OMP_NUM_THREADS"] = "1"
# A shell starts background processes with SIGINT ignored, and the processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing of the user's own cache is read or written."""
    os.environ["NMT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Seq2Seq]:
    """Return the maker of tiny models."""
    return make_model


@pytest.fixture(scope="session")
def tiny_batch() -> Callable[..., Batch]:
    """Return the maker of small batches."""
    return make_batch


Command = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def nmt(tmp_path: Path) -> Command:
    """Return a function that runs the real command line in an empty folder."""

    def run(
        *arguments: str, stdin: bytes = b"", code: int | None = 0, timeout: float = 100, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        done = run_command(arguments, tmp_path, stdin, environment, timeout)
        if code is not None:
            assert done.returncode == code, done.stderr.decode(errors="replace")
        return done

    return run


@pytest.fixture
def main(capsys):
    """Return a function that runs the command line in this process; it leaves logging and signals as they were."""
    logger, handler = logging.getLogger("nmt"), signal.getsignal(signal.SIGTERM)
    before = (list(logger.handlers), logger.level, logger.propagate)

    def run(*arguments):
        code = cli.main(arguments)
        return code, *capsys.readouterr()

    yield run
    logger.handlers[:], logger.level, logger.propagate = before
    signal.signal(signal.SIGTERM, handler)


# So small that training takes seconds; it learns nothing and is not meant to.
TINY_TRAINING = (
    "data.num_train=300",
    "data.num_validation=20",
    "data.num_test=20",
    "tokenizer.vocabulary_size=200",
    "training.max_updates=4",
    "training.update_tokens=400",
    "training.validate_every=2",
    "training.checkpoint_every=2",
    "training.log_every=1",
    "decoding.beam_size=2",
    "decoding.max_length_ratio=0.5",
    "decoding.max_length_extra=3",
)
TINY_SIZES = {
    "transformer": (
        "model.d_model=16",
        "model.d_ff=32",
        "model.num_heads=2",
        "model.num_encoder_layers=1",
        "model.num_decoder_layers=1",
        "model.initial_gain=1",  # from smaller weights, so few updates would lead to one translation of every input
    ),
    "rnn": ("model.d_embedding=8", "model.d_hidden=12"),
    "attention": ("model.d_embedding=8", "model.d_hidden=12", "model.attention.d_attention=8"),
}


@pytest.fixture(scope="session")
def tiny_training() -> Callable[[str], tuple[str, ...]]:
    """Return a function from a kind of model to the overrides of a run that takes seconds."""
    return lambda kind="transformer": (f"model={kind}", *TINY_SIZES[kind], *TINY_TRAINING)


@pytest.fixture(scope="session")
def trained_run(
    tmp_path_factory: pytest.TempPathFactory, tiny_training: Callable[[str], tuple[str, ...]]
) -> Path:
    """Train a tiny model once, by the real command line, for all tests that only read its folder."""
    folder = tmp_path_factory.mktemp("trained")
    done = run_command(["train", "run=run", *tiny_training("transformer")], folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "run"


@pytest.fixture
def outcome(monkeypatch):
    """Return the function that reads the results of a finished run, without times and speeds."""
    monkeypatch.syspath_prepend(SCRIPTS)
    from fault_campaign import outcome

    return outcome


@pytest.fixture
def changed_files():
    """Return a function that names what differs between two outcomes."""
    return lambda one, other: sorted(
        name for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    )
