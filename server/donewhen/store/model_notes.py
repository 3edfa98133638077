"""What was found out about models by asking them: one file in the person's state folder (`ports.ModelNotes`)."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from donewhen.core.decoding import json_object
from donewhen.core.shapes import ShapeError, shape_of
from donewhen.ports import ModelNote, ModelNotes
from donewhen.regular import read_bytes, write_whole

FILE = "models.json"
VERSION = 1
MOST = 500
"""How many models are kept; when there are more, those that were noted first are dropped."""

_THIS_MACHINE = re.compile(r"^(https?://)(?:localhost|\[::1\])(?=[:/]|$)", re.IGNORECASE)


class KeptModelNotes(ModelNotes):
    """The file in `folder` is read again each time, because another process may have written it. What can't be read
    there says nothing, and is written anew. Without a folder, notes last as long as the process."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / FILE
        self._models: dict[str, Any] = {}

    def of(self, model: str, api_base: str | None) -> ModelNote:
        return _note_in(self._read_models().get(_model_key(model, api_base), {}))

    def add(self, model: str, api_base: str | None, found: ModelNote) -> None:
        key, models = _model_key(model, api_base), self._read_models()
        written: dict[str, Any] = shape_of(ModelNote).write(found)
        models[key] = models.get(key, {}) | {name: value for name, value in written.items() if value is not None}
        self._models = dict(list(models.items())[-MOST:])
        if self._path is not None:
            with contextlib.suppress(OSError):
                write_whole(self._path, json.dumps({"version": VERSION, "models": self._models}, indent=1) + "\n")

    def _read_models(self) -> dict[str, Any]:
        if self._path is None:
            return self._models
        try:
            content = json_object(read_bytes(self._path)) or {}
        except OSError:
            return {}
        models: Any = content.get("models") if content.get("version") == VERSION else None
        kept: dict[str, Any] = {}
        for key, note in cast("dict[str, Any]", models if isinstance(models, dict) else {}).items():
            model, _, place = key.partition(" ")  # an address may stand there in a spelling of its own
            if isinstance(note, dict):
                kept.setdefault(_model_key(model, place), {}).update(note)
        return kept


def _note_in(kept: Mapping[str, Any]) -> ModelNote:
    """Each part by itself: another version may have written one of them in its own way."""
    note = ModelNote()
    for name in kept.keys() & {one.name for one in fields(ModelNote)}:
        with contextlib.suppress(ShapeError):
            note = replace(note, **{name: getattr(shape_of(ModelNote).read({name: kept[name]}), name)})
    return note


def _model_key(model: str, api_base: str | None) -> str:
    """One for all spellings of an address: with and without `/v1`, which is tried by itself, and this machine by any of
    its names."""
    if not api_base:
        return model
    place = _THIS_MACHINE.sub(r"\g<1>127.0.0.1", api_base.strip().rstrip("/")).removesuffix("/v1").rstrip("/")
    return f"{model} {place}"
