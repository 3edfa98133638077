"""What people see at a terminal and in an editor, held to the letter but for times and ids.

Where a change is meant, `python -m tests.transcripts` records it anew, and the difference is read before it is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.__main__ import played, scenes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "scene", "place"), [pytest.param(*one, id=f"{one[0]}-{one[2].stem}") for one in scenes()]
)
def test_what_is_seen_is_what_was_seen(kind: str, scene: dict[str, Any], place: Path) -> None:
    assert played(kind, scene) == place.read_text("utf-8")
