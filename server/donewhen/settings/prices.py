"""What a person says that models cost: `[prices."provider/name"]` of their own settings, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from donewhen.core.errors import InvalidGoal

KEYS = ("input", "output", "cached", "window")


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars per million tokens, as `ports.models.Price`. `cached` is for input that the provider had cached, None:
    as `input`. `window` is the model's context in tokens, None: as it is known."""

    input: float
    output: float
    cached: float | None = None
    window: int | None = None


def read_prices(table: object, where: str) -> dict[str, ModelPrice]:
    """The prices by the name of the model. Raises InvalidGoal that says how one is written."""
    if not isinstance(table, dict):
        raise _refused("prices", table, where)
    return {name: _price(name, entry, where) for name, entry in cast(dict[str, object], table).items()}


def price_example(model: str) -> str:
    """The lines that set the price of a model."""
    return f'[prices."{model}"]\ninput = 1.00\noutput = 2.00'


def _price(name: str, entry: object, where: str) -> ModelPrice:
    if not isinstance(entry, dict):
        raise _refused(f'prices."{name}"', entry, where)
    values = cast(Mapping[str, object], entry)
    for key in values:
        if key not in KEYS:
            raise InvalidGoal(f'prices."{name}" has no key `{key}`: it takes {", ".join(KEYS)} (in {where})')
    given = _number(name, "input", values.get("input"), where)
    made = _number(name, "output", values.get("output"), where)
    cached = _number(name, "cached", values["cached"], where) if "cached" in values else None
    window = values.get("window")
    if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        message = f'`window` of prices."{name}" must be a whole number of tokens; it is {window!r} (in {where})'
        raise InvalidGoal(message)
    return ModelPrice(given, made, cached, window)


def _number(name: str, key: str, value: object, where: str) -> float:
    # `value >= 0` is false for NaN too.
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value != float("inf"):
        return float(value)
    message = f'prices."{name}" needs `{key}`, US dollars per million tokens, at least 0; it is {value!r} (in {where})'
    raise InvalidGoal(message)


def _refused(what: str, value: object, where: str) -> InvalidGoal:
    lines = price_example("provider/name").replace("\n", "; ")
    return InvalidGoal(f"{what} must be a table such as {lines}; it is {value!r} (in {where})")
