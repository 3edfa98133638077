"""The parameters of our own methods and commands: typed, unknown keys refused, nothing coerced."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams


class Strict(BaseModel):
    """Base of every parameter object: camelCase names only, types as they are."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True, defer_build=True)


ModelT = TypeVar("ModelT", bound=Strict)


def read(model: type[ModelT], value: Any) -> ModelT:
    """The parameters, or JsonRpcInvalidParams that names the first field that is wrong."""
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if not _is_branch(part))
        raise JsonRpcInvalidParams(
            f"{where}: {_said(first['type'], first['msg'])}" if where else first["msg"]
        ) from None


def _is_branch(part: int | str) -> bool:
    """True for what pydantic calls a branch of a union: no field of anybody's."""
    return isinstance(part, str) and (not part.isidentifier() or part in ("int", "float"))


def _said(kind: str, message: str) -> str:
    known = {"extra_forbidden": "there is no such field", "missing": "it is required"}
    return known.get(kind, message)


class TrustParams(Strict):
    trusted: bool


class SecretParams(Strict):
    name: str = Field(min_length=1)
    value: str


class EditorPosition(Strict):
    line: int = Field(ge=0)
    character: int = Field(ge=0)


class EditorRange(Strict):
    start: EditorPosition
    end: EditorPosition


class EditorDiagnostic(Strict):
    """A diagnostic as LSP has it; what we don't need of it is accepted and left."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", strict=True, frozen=True, defer_build=True)

    range: EditorRange
    message: str
    severity: int | None = None
    source: str | None = None


class EditorDiagnosticsParams(Strict):
    """`omitted` counts the diagnostics that the client left out, the mildest ones."""

    uri: str
    version: int | None = None
    diagnostics: list[EditorDiagnostic]
    omitted: int = Field(default=0, ge=0)
