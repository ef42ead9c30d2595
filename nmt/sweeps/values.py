"""The values that a key of a sweep takes: a list, a range, or an interval that Optuna chooses from."""

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from nmt.errors import SettingsError
from nmt.sweeps.search import Span


def values_of(override: Override) -> list[str]:
    """Return the values of a list or range, as they would be typed. Raises SettingsError where there are none."""
    if not override.is_discrete_sweep():
        raise _needed(override, "a list of values", "with sweep=grid", "; sweep=optuna searches intervals")
    try:
        found = list(override.sweep_string_iterator())
    except ValueError:  # a range whose step is 0
        found = []
    if not found:
        raise SettingsError(
            [f"{override.key_or_group}: a choice is needed; got none by {override.input_line}"]
        )
    return found


def span_of(override: Override) -> Span | list[str]:
    """Return what Optuna is to choose from. Raises SettingsError for an interval that holds nothing."""
    value = override.value()
    if isinstance(value, IntervalSweep):
        assert value.start is not None
        assert value.end is not None
        if value.start >= value.end:
            raise _needed(override, "an interval that rises")
        if "log" in value.tags and value.start <= 0:
            raise _needed(override, "an interval above 0", "for log")
        is_integer = isinstance(value.start, int) and isinstance(value.end, int)
        return Span(value.start, value.end, None, is_integer, "log" in value.tags)
    typed = values_of(override)
    if not isinstance(value, RangeSweep):
        return typed
    if len(typed) < 2:
        raise _needed(override, "a range of several values")
    numbers = list(value.range())
    is_integer = all(isinstance(number, int) for number in numbers)
    return Span(min(numbers), max(numbers), abs(value.step), is_integer)


def _needed(override: Override, wanted: str, where: str = "", remedy: str = "") -> SettingsError:
    needed = f"{wanted} is needed {where}".rstrip()
    return SettingsError([f"{override.key_or_group}: {needed}; got {override.input_line}{remedy}"])
