"""Mappings out of YAML, read strictly: what is unknown or of another type is an error that names its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from donewhen.core.errors import InvalidGoal


def load_yaml(path: Path) -> Any:
    """What a YAML file holds. Raises InvalidGoal."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidGoal(f"{path.name} can't be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Fields:
    """One mapping; `place` is what errors call it."""

    values: Mapping[str, Any]
    place: str

    @classmethod
    def of(cls, value: object, place: str, known: Sequence[str] | None = None) -> Fields:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[object, object]", value)):
            raise InvalidGoal(f"{place}: this should be a mapping with names as keys")
        fields = cls(cast("dict[str, Any]", value), place)
        if known is not None:
            fields.allow(known)
        return fields

    def allow(self, known: Sequence[str]) -> None:
        unknown = [key for key in self.values if key not in known]
        if unknown:
            raise self.error(f"unknown key `{unknown[0]}`; the known ones are {', '.join(known)}")

    def named(self, name: str) -> Fields:
        return Fields(self.values, f"{self.place}: {name}")

    def within(self, name: str, value: object, known: Sequence[str] | None = None) -> Fields:
        return Fields.of(value, f"{self.place}: {name}", known)

    def items(self) -> Iterator[tuple[str, Any]]:
        yield from self.values.items()

    def mapping(self, key: str) -> Fields:
        """An inner mapping, empty if it is left out."""
        return self.within(key, self.values.get(key, {}))

    def items_of(self, key: str) -> Sequence[Any]:
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.error(f"`{key}` should be a list")
        return cast("list[Any]", value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"`{key}` should be text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value: object = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[object]", value)):
            raise self.error(f"`{key}` should be a list of strings")
        return tuple(cast("list[str]", value))

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.error(f"`{key}` should be true or false")
        return value

    def flags(self) -> dict[str, bool]:
        if not self.values:
            raise self.error("say of each requirement whether it is true")
        return {key: self.flag(key) for key in self.values}

    def number(self, key: str) -> float | None:
        value = self.values.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.error(f"`{key}` should be a number")
        return value

    def one_of(self, key: str, known: Sequence[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in known and value != default:
            raise self.error(f"`{key}` is one of {', '.join(known)}; it is {value!r}")
        return value

    def error(self, message: str) -> InvalidGoal:
        return InvalidGoal(f"{self.place}: {message}")
