"""What was found out about a model holds for it wherever its address is spelt otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.ports import Measured, ModelNote, ModelNotes
from donewhen.store.model_notes import KeptModelNotes

WEAK = Measured("2026-11-01", "v1", 6, 6, 0, 6)
HERE = ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/", "http://localhost:8080/v1")


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("spelt", HERE)
def test_a_measured_judge_is_known_by_each_spelling_of_its_address(memory: bool, spelt: str, tmp_path: Path) -> None:
    notes: ModelNotes = KeptModelNotes(None if memory else tmp_path)
    notes.add("openai/m", spelt, ModelNote(measured=WEAK))
    assert [notes.of("openai/m", one).measured for one in HERE] == [WEAK] * len(HERE)
    assert notes.of("openai/m", None).measured is None
    assert notes.of("openai/m", "http://127.0.0.1:8081/v1").measured is None
    assert notes.of("openai/m", "http://localhost.example:8080").measured is None


def test_what_was_kept_under_an_earlier_spelling_counts(tmp_path: Path) -> None:
    KeptModelNotes(tmp_path).add("openai/m", HERE[0], ModelNote(measured=WEAK))
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text(encoding="utf-8").replace("127.0.0.1:8080", "localhost:8080/v1"), encoding="utf-8")
    assert "localhost:8080/v1" in json.dumps(json.loads(file.read_text(encoding="utf-8")))
    assert KeptModelNotes(tmp_path).of("openai/m", HERE[0]).measured == WEAK


def test_a_part_that_another_version_wrote_hides_no_other_and_stays(tmp_path: Path) -> None:
    KeptModelNotes(tmp_path).add("openai/m", None, ModelNote("tools", 4_096, WEAK))
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text(encoding="utf-8").replace('"tools"', '"a later way", "more": 1'), encoding="utf-8")
    assert KeptModelNotes(tmp_path).of("openai/m", None) == ModelNote(None, 4_096, WEAK)
    KeptModelNotes(tmp_path).add("openai/m", None, ModelNote(window=8_192))
    assert KeptModelNotes(tmp_path).of("openai/m", None) == ModelNote(None, 8_192, WEAK)
    assert '"a later way"' in file.read_text(encoding="utf-8")
    assert '"more": 1' in file.read_text(encoding="utf-8")
