"""Writes the golden files that the present codec version lacks: `python tests/store/write_golden.py [--all]`.

`--all` also rewrites those that differ, which is right only before the version was released: afterwards raise
CODEC_VERSION and add an upgrade.
"""

from __future__ import annotations

import sys
from pathlib import Path

from donewhen.store.codec import CODEC_VERSION, encode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from store.samples import NAMED

FOLDER = Path(__file__).with_name("golden") / f"v{CODEC_VERSION}"

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, event in NAMED.items():
        file = FOLDER / f"{name}.json"
        text = encode(event) + "\n"
        if not file.exists() or ("--all" in sys.argv and file.read_text("ascii") != text):
            file.write_text(text, "ascii")
            print(f"wrote {file.name}")
