"""Schedules against their formulas."""

import math

import pytest

from nmt.config import (
    ConstantForcing,
    ConstantSettings,
    CosineSettings,
    DecayingForcing,
    InverseSquareRootSettings,
    NoamSettings,
    WarmupStableDecaySettings,
)
from nmt.training.schedule import learning_rate, teacher_forcing_ratio


def test_inverse_square_root_rises_to_the_highest_and_falls():
    settings = InverseSquareRootSettings(kind="inverse_square_root", warmup_updates=100)
    rates = [learning_rate(settings, update, 0.01, 1000) for update in (1, 50, 100, 400)]
    assert rates == pytest.approx([0.0001, 0.005, 0.01, 0.005])


def test_noam_is_the_formula_of_the_paper():
    settings = NoamSettings(kind="noam", factor=2.0, d_model=512, warmup_updates=4000)
    for update in (1, 3999, 4000, 10_000):
        expected = 2.0 / math.sqrt(512) * min(1 / math.sqrt(update), update / 4000**1.5)
        assert learning_rate(settings, update, 123.0, 1) == pytest.approx(expected)


def test_cosine_ends_at_its_final_share():
    settings = CosineSettings(kind="cosine", warmup_updates=10, final_share=0.1)
    rates = [learning_rate(settings, update, 1.0, 110) for update in (5, 10, 60, 110, 200)]
    assert rates == pytest.approx([0.5, 1.0, 0.55, 0.1, 0.1])


def test_the_rate_rises_stays_and_falls_to_zero_with_the_last_updates():
    settings = WarmupStableDecaySettings(kind="warmup_stable_decay", warmup_updates=10, decay_share=0.25)
    rates = [learning_rate(settings, update, 2.0, 400) for update in (5, 10, 300, 325, 400, 500)]
    assert rates == pytest.approx([1.0, 2.0, 2.0, 1.0, 0.0, 0.0])
    # With more updates the rate only stays for longer.
    assert all(
        learning_rate(settings, n, 2.0, 400) == learning_rate(settings, n, 2.0, 900) for n in range(1, 301)
    )


def test_constant_stays():
    settings = ConstantSettings(kind="constant", warmup_updates=4)
    assert [learning_rate(settings, update, 2.0, 9) for update in (2, 4, 9)] == pytest.approx([1.0, 2.0, 2.0])
    assert learning_rate(ConstantSettings(kind="constant", warmup_updates=0), 1, 2.0, 9) == 2.0


def forcing(kind, update, num_updates=100, final=0.2, first=0.8):
    settings = DecayingForcing(kind=kind, final_ratio=final, num_updates=num_updates)
    return teacher_forcing_ratio(settings, update, first)


@pytest.mark.parametrize("kind", ["linear", "exponential", "inverse_sigmoid"])
def test_true_tokens_become_fewer_from_the_first_ratio_to_the_final_one(kind):
    ratios = [forcing(kind, update) for update in range(2000)]
    assert ratios[0] == pytest.approx(0.8)
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == pytest.approx(0.2)
    assert 0.2 <= ratios[100] < 0.25
    assert teacher_forcing_ratio(ConstantForcing(kind="constant"), 7, 0.8) == 0.8


def test_each_schedule_of_true_tokens_is_its_formula():
    assert forcing("linear", 25) == pytest.approx(0.8 - 0.6 * 25 / 100)
    k = 0.01 ** (1 / 100)
    assert forcing("exponential", 37) == pytest.approx(0.2 + 0.6 * k**37)
    # num_updates = 2 k ln k: for k = 20, half of the way is done at k ln k.
    k, num_updates = 20.0, round(2 * 20 * math.log(20))
    for update in (1, 40, 60, 200):
        bengio = k / (k + math.exp(update / k))
        expected = 0.2 + 0.6 * bengio * (k + 1) / k
        assert forcing("inverse_sigmoid", update, num_updates) == pytest.approx(expected, abs=0.002)
    assert forcing("inverse_sigmoid", num_updates // 2, num_updates) == pytest.approx(0.5, abs=0.02)
