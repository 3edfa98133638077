"""Records of the engine as camelCase JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from pydantic.alias_generators import to_camel


def plain(value: Any) -> Any:
    """Dataclasses become objects with camelCase keys; the keys of mappings stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {to_camel(each.name): plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(one) for one in cast("list[Any]", value)]
    return value
