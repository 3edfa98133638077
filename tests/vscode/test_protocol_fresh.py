"""The extension's wire types are generated from the server's, and as fresh as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "client-vscode"
GENERATOR = CLIENT / "scripts" / "generate_protocol.py"


def test_protocol_ts_is_what_the_generator_writes() -> None:
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run {GENERATOR.relative_to(CLIENT.parent)} with this Python\n{done.stderr}"
