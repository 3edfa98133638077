"""Records the transcripts anew: `python -m tests.transcripts [NAME ...]`. A difference is a change of behaviour."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.transcripts import editor, terminal

RECORDED = Path(__file__).with_name("recorded")
KINDS = {"terminal": terminal, "editor": editor}


def scenes() -> Iterator[tuple[str, dict[str, Any], Path]]:
    """Each with its kind, and where its transcript lies."""
    for kind, module in KINDS.items():
        for scene in module.SCENES:
            yield kind, scene, RECORDED / kind / f"{scene['name'].replace(' ', '-')}.txt"


def played(kind: str, scene: dict[str, Any]) -> str:
    """Its transcript now, played in a folder with a short name: long paths are cut where they are printed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a process may write its last in it
        return KINDS[kind].play(scene, Path(folder) / "scene")


def main(names: list[str]) -> None:
    for kind, scene, place in scenes():
        if not names or scene["name"] in names or kind in names:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(played(kind, scene), "utf-8")
            print(kind, scene["name"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
