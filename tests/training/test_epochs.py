"""Plans of epochs: each is made once, the next one ahead by another process, and is the same from any process."""

import numpy as np
import pytest

from nmt.training import epochs as module
from nmt.training.epochs import Epochs

WAYS = ([], ["training.subword_sampling=0.3"])


@pytest.fixture
def forks(monkeypatch):
    """Have every epoch laid out ahead, however quick that is, and return the numbers of those that were."""
    numbers = []

    def fork(function, epochs, number, file):
        numbers.append(number)
        return original(function, epochs, number, file)

    original = module.fork
    monkeypatch.setattr(module, "fork", fork)
    monkeypatch.setattr(module, "WORTH_A_PROCESS", -1.0)
    return numbers


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_that_was_laid_out_ahead_is_the_same(train_in, forks, monkeypatch, way):
    runs = [train_in("ahead", "training.max_updates=14", *way)]
    assert forks == sorted(set(forks))
    assert len(forks) > 1
    monkeypatch.setattr(module, "WORTH_A_PROCESS", np.inf)
    num_forks = len(forks)
    runs.append(train_in("in_turn", "training.max_updates=14", *way))
    assert len(forks) == num_forks
    weights = [run.joinpath("checkpoints/step-000014/model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1]


def seen(epochs, number):
    """Return the updates of an epoch, and the lengths of its pairs."""
    plan = epochs.enter(number)
    return (
        [rows.tolist() for rows in plan.updates],
        plan.longer.tolist(),
        epochs.pairs.target_lengths.tolist(),
    )


@pytest.mark.parametrize("failure", [None, OSError(28, "No space left on device"), MemoryError()])
def test_what_cannot_be_laid_out_ahead_is_laid_out_in_its_turn(make_trainer, monkeypatch, forks, failure):
    def fail(*arguments, **options):
        raise failure

    pairs = make_trainer().pairs
    expected = [seen(Epochs(pairs, 7, 20), number) for number in range(3)]
    if failure:
        monkeypatch.setattr(np, "savez", fail)
    epochs = Epochs(pairs, 7, 20)
    found = []
    for number in range(3):
        found.append(seen(epochs, number))
        epochs.prefetch_next()
    epochs.close()
    assert forks == [1, 2, 3]
    assert found == expected
    assert found[0] != found[1]


def test_a_process_that_is_not_waited_for_is_ended(make_trainer, forks):
    epochs = make_trainer().epochs
    expected = seen(epochs, 5)
    for end in (epochs.close, lambda: epochs.enter(5)):
        epochs.enter(0)
        epochs.prefetch_next()
        process = epochs._prefetch.process
        if end != epochs.close:
            process.join()  # its plan is complete, but of another epoch
        end()
        assert process.exitcode is not None
    assert seen(epochs, 5) == expected


def test_each_epoch_is_laid_out_once(train_in, monkeypatch):
    made = []

    def plan_epoch(seed, number, *arguments):
        made.append(number)
        return original(seed, number, *arguments)

    original = module.plan_epoch
    monkeypatch.setattr(module, "plan_epoch", plan_epoch)
    train_in("run", "training.max_tokens=auto", "training.max_updates=8")
    assert made == list(range(len(made)))
    assert len(made) > 1


def test_less_memory_cuts_the_same_updates_smaller(make_trainer):
    trainer = make_trainer("training.max_tokens=auto", "training.update_tokens=30")
    plans = []
    for trainer.progress.max_tokens in (30, 6):
        plans.append(list(trainer.enter(0)))
    assert [sorted(np.concatenate(update)) for update in plans[0]] == [
        sorted(np.concatenate(update)) for update in plans[1]
    ]
    assert sum(map(len, plans[0])) < sum(map(len, plans[1]))
