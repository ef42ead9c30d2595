"""The values that a key of a sweep takes: a list, a range, or an interval that Optuna chooses from."""

import random
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from nmt.errors import SettingsError
from nmt.sweeps.study import require_optuna


def values_of(override: Override) -> list[str]:
    """Return the values of a list or range, as they would be typed. Raises SettingsError where there are none."""
    if not override.is_discrete_sweep():
        raise _needed(override, "a list of values", "with sweep=grid", "; sweep=optuna searches intervals")
    before = random.getstate()
    random.seed(str(override.input_line))  # gives shuffle(...) one order, also when the sweep goes on
    try:
        found = list(override.sweep_string_iterator())
    except ValueError:  # a range whose step is 0
        found = []
    finally:
        random.setstate(before)
    if not found:
        raise SettingsError(f"{override.key_or_group}: a choice is needed; got none by {override.input_line}")
    return found


def distribution_of(override: Override) -> Any:
    """Return the distribution that Optuna draws from.

    Raises SettingsError for an interval that does not rise, a log interval not above 0, or a range of one value.
    """
    optuna, value = require_optuna(), override.value()
    if isinstance(value, IntervalSweep):
        low, high, step, is_log = value.start, value.end, None, "log" in value.tags
        assert low is not None
        assert high is not None
        if low >= high:
            raise _needed(override, "an interval that rises")
        if is_log and low <= 0:
            raise _needed(override, "an interval above 0", "for log")
    elif "log" in getattr(value, "tags", ()):
        raise _needed(override, "an interval", "for log")
    elif isinstance(value, RangeSweep):
        if len(values_of(override)) < 2:
            raise _needed(override, "a range of several values")
        low, *_, high = sorted(value.range())
        step, is_log = abs(value.step), False
    else:
        return optuna.distributions.CategoricalDistribution(values_of(override))
    if all(isinstance(number, int) for number in (low, high, step or 1)):
        return optuna.distributions.IntDistribution(low, high, log=is_log, step=step or 1)
    return optuna.distributions.FloatDistribution(low, high, log=is_log, step=step)


def _needed(override: Override, wanted: str, where: str = "", remedy: str = "") -> SettingsError:
    needed = f"{wanted} is needed {where}".rstrip()
    return SettingsError(f"{override.key_or_group}: {needed}; got {override.input_line}{remedy}")
