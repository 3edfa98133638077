"""What was found out about models by asking them: one file in the person's state folder (`ports.ModelNotes`)."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from donewhen.ports import Calling, Measured, ModelNotes
from donewhen.regular import read_text

FILE = "models.json"
VERSION = 1
MOST = 500
"""How many models are kept; when there are more, those that were noted first are dropped."""


class MemoryModelNotes(ModelNotes):
    """Keeps what was found out as long as the process lives."""

    def __init__(self) -> None:
        self._calling: dict[str, Calling] = {}
        self._measured: dict[str, Measured] = {}
        self._windows: dict[str, int] = {}

    def calling(self, model: str, api_base: str | None) -> Calling | None:
        return self._calling.get(_model_key(model, api_base))

    def note_calling(self, model: str, api_base: str | None, calling: Calling) -> None:
        self._calling[_model_key(model, api_base)] = calling

    def window(self, model: str, api_base: str | None) -> int | None:
        return self._windows.get(_model_key(model, api_base))

    def note_window(self, model: str, api_base: str | None, window: int) -> None:
        self._windows[_model_key(model, api_base)] = window

    def measured(self, model: str, api_base: str | None) -> Measured | None:
        return self._measured.get(_model_key(model, api_base))

    def note_measured(self, model: str, api_base: str | None, measured: Measured) -> None:
        self._measured[_model_key(model, api_base)] = measured


class FileModelNotes(ModelNotes):
    """The file in `folder` is read again each time, because another process may have written it. One that can't be
    read says nothing, and is written anew."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def calling(self, model: str, api_base: str | None) -> Calling | None:
        found = self._notes_of(model, api_base).get("calling")
        return found if found in ("tools", "actions") else None

    def note_calling(self, model: str, api_base: str | None, calling: Calling) -> None:
        self._note(model, api_base, "calling", calling)

    def window(self, model: str, api_base: str | None) -> int | None:
        found = self._notes_of(model, api_base).get("window")
        return found if isinstance(found, int) and found > 0 else None

    def note_window(self, model: str, api_base: str | None, window: int) -> None:
        self._note(model, api_base, "window", window)

    def measured(self, model: str, api_base: str | None) -> Measured | None:
        kept = self._notes_of(model, api_base).get("measured")
        found = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
        said = [one for key in ("on", "cases") if isinstance(one := found.get(key), str)]
        counts = [one for key in ("accepted", "false", "rejected", "true") if isinstance(one := found.get(key), int)]
        if len(said) != 2 or len(counts) != 4:
            return None
        (on, cases), (accepted, false, rejected, true) = said, counts
        return Measured(on, cases, accepted, false, rejected, true)

    def note_measured(self, model: str, api_base: str | None, measured: Measured) -> None:
        self._note(model, api_base, "measured", asdict(measured))

    def _notes_of(self, model: str, api_base: str | None) -> dict[str, Any]:
        found = self._read_notes().get(_model_key(model, api_base))
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def _note(self, model: str, api_base: str | None, what: str, value: object) -> None:
        models = self._read_notes()
        models[_model_key(model, api_base)] = {**self._notes_of(model, api_base), what: value}
        kept = dict(list(models.items())[-MOST:])
        fresh = self._path.with_name(f"{FILE}.{uuid4().hex}")
        try:
            fresh.write_text(json.dumps({"version": VERSION, "models": kept}, indent=1) + "\n", encoding="utf-8")
            fresh.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)

    def _read_notes(self) -> dict[str, Any]:
        try:
            content: Any = json.loads(read_text(self._path))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(content, dict) or cast("dict[str, Any]", content).get("version") != VERSION:
            return {}
        models: Any = cast("dict[str, Any]", content).get("models")
        kept: dict[str, Any] = {}
        for key, notes in cast("dict[str, Any]", models if isinstance(models, dict) else {}).items():
            model, _, place = key.partition(" ")  # an address may stand there in a spelling of its own
            known = kept.setdefault(_model_key(model, place), {})
            known.update(cast("dict[str, Any]", notes) if isinstance(notes, dict) else {})
        return kept


def _model_key(model: str, api_base: str | None) -> str:
    """One for all spellings of an address: with and without `/v1`, which is tried by itself, and this machine by any of
    its names."""
    if not api_base:
        return model
    place = _THIS_MACHINE.sub(r"\g<1>127.0.0.1", api_base.strip().rstrip("/")).removesuffix("/v1").rstrip("/")
    return f"{model} {place}"


_THIS_MACHINE = re.compile(r"^(https?://)(?:localhost|\[::1\])(?=[:/]|$)", re.IGNORECASE)
