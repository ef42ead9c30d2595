"""The values that a key of a sweep takes: a list, a range, or an interval that Optuna chooses from."""

from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep

from nmt.errors import SettingsError
from nmt.sweeps.search import Span


def span_of(override: Override) -> Span | list[str]:
    """Return what Optuna is to choose from. Raises SettingsError for an interval that holds nothing."""
    value = override.value()
    if isinstance(value, IntervalSweep):
        assert value.start is not None
        assert value.end is not None
        if value.start >= value.end:
            raise SettingsError(
                [f"{override.key_or_group}: an interval that rises is needed; got {override.input_line}"]
            )
        if "log" in value.tags and value.start <= 0:
            raise SettingsError(
                [f"{override.key_or_group}: an interval above 0 is needed for log; got {override.input_line}"]
            )
        is_integer = isinstance(value.start, int) and isinstance(value.end, int)
        return Span(value.start, value.end, None, is_integer, "log" in value.tags)
    require_values(override)
    if isinstance(value, RangeSweep):
        numbers = list(value.range())
        if len(numbers) < 2:
            raise SettingsError(
                [f"{override.key_or_group}: a range of several values is needed; got {override.input_line}"]
            )
        is_integer = all(isinstance(number, int) for number in numbers)
        return Span(min(numbers), max(numbers), abs(value.step), is_integer)
    assert isinstance(value, ChoiceSweep) or override.is_discrete_sweep()
    return list(override.sweep_string_iterator())


def require_values(override: Override) -> None:
    """Raise SettingsError for several values of which there are none."""
    if not override.is_discrete_sweep():
        return
    try:
        is_empty = not any(True for _ in override.sweep_string_iterator())
    except ValueError:  # a range whose step is 0
        is_empty = True
    if is_empty:
        raise SettingsError(
            [f"{override.key_or_group}: a choice is needed; got none by {override.input_line}"]
        )
