"""Writes what is kept of the present version of the format: `python tests/store/write_golden.py [--seal]`.

Shapes and golden files of a version that isn't released follow the code. `--seal`, at a release, makes them final: from
then on a change needs a new version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from donewhen.store.codec import CODEC_VERSION, encode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from store.kept import GOLDEN, SEALED, SHAPES, advice, differences, kept_shapes, seal_of, sealed, shapes_of, written
from store.samples import NAMED


def _put(file: Path, text: str) -> None:
    if not file.exists() or file.read_text("ascii") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "ascii")
        print(f"wrote {file.parent.name}/{file.name}")


def main() -> str | None:
    if str(CODEC_VERSION) in sealed():
        changed = differences(kept_shapes(), shapes_of())
        return "\n".join([*changed, advice()]) if changed else None
    folder = GOLDEN / f"v{CODEC_VERSION}"
    for file in folder.glob("*.json"):
        if file.stem not in NAMED:
            file.unlink()
            print(f"deleted {folder.name}/{file.name}")
    for name, event in NAMED.items():
        _put(folder / f"{name}.json", encode(event) + "\n")
    _put(SHAPES / f"v{CODEC_VERSION}.json", written(shapes_of()))
    if "--seal" in sys.argv:
        _put(SEALED, json.dumps({**sealed(), str(CODEC_VERSION): seal_of(CODEC_VERSION)}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(main())
