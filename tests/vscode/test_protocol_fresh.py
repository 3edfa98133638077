"""The extension's wire types are generated from the server's, and as fresh as they are."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import forked

CLIENT = Path(__file__).parents[2] / "client-vscode"
GENERATOR = CLIENT / "scripts" / "generate_protocol.py"


def test_protocol_ts_is_what_the_generator_writes() -> None:
    done = forked.run([sys.executable, str(GENERATOR), "--check"], timeout=100)
    assert done.returncode == 0, f"run {GENERATOR.relative_to(CLIENT.parent)} with this Python\n{done.stderr}"
