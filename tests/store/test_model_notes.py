"""What was found out about a model holds for it wherever its address is spelt otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.ports import Measured, ModelNotes
from donewhen.store.model_notes import FileModelNotes, MemoryModelNotes

WEAK = Measured("2026-11-01", "v1", 6, 6, 0, 6)
HERE = ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/", "http://localhost:8080/v1")


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("spelt", HERE)
def test_a_measured_judge_is_known_by_each_spelling_of_its_address(memory: bool, spelt: str, tmp_path: Path) -> None:
    notes: ModelNotes = MemoryModelNotes() if memory else FileModelNotes(tmp_path)
    notes.note_measured("openai/m", spelt, WEAK)
    assert [notes.measured("openai/m", one) for one in HERE] == [WEAK] * len(HERE)
    assert notes.measured("openai/m", None) is None
    assert notes.measured("openai/m", "http://127.0.0.1:8081/v1") is None
    assert notes.measured("openai/m", "http://localhost.example:8080") is None


def test_what_was_kept_under_an_earlier_spelling_counts(tmp_path: Path) -> None:
    FileModelNotes(tmp_path).note_measured("openai/m", HERE[0], WEAK)
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text(encoding="utf-8").replace("127.0.0.1:8080", "localhost:8080/v1"), encoding="utf-8")
    assert "localhost:8080/v1" in json.dumps(json.loads(file.read_text(encoding="utf-8")))
    assert FileModelNotes(tmp_path).measured("openai/m", HERE[0]) == WEAK
