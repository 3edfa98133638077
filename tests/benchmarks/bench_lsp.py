"""How fast the language server answers `initialize`, and what it holds in memory, beside a bare pygls server.

`measure()` starts every server several times, one after the other in turn, and returns medians and ratios.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BARE = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
SERVERS: dict[str, list[str]] = {
    "bare pygls": [sys.executable, "-c", BARE],
    "donewhen": [sys.executable, "-m", "donewhen", "serve", "--stdio"],
    "jedi-language-server": [sys.executable, "-c", "from jedi_language_server.cli import cli; cli()"],
    "python-lsp-server": [sys.executable, "-m", "pylsp"],
}
MODULES = {"jedi-language-server": "jedi_language_server", "python-lsp-server": "pylsp"}
ROUNDS = 9
CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"hover": {"contentFormat": ["markdown"]}, "publishDiagnostics": {"relatedInformation": True}},
    "workspace": {"applyEdit": True, "codeLens": {"refreshSupport": True}},
}


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Seconds from spawning the process to the answer, and resident bytes once idle after `initialized`."""
    names = [name for name in SERVERS if importlib.util.find_spec(MODULES.get(name, "donewhen")) is not None]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    memory: dict[str, list[int]] = {"bare pygls": [], "donewhen": []}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        root.mkdir()
        _finished_run(root)
        for name in names:
            _answer(name, root, idle=False)  # warms the file cache
        for _ in range(rounds):
            for name in names:
                elapsed, resident = _answer(name, root, idle=name in memory)
                seconds[name].append(elapsed)
                if name in memory:
                    memory[name].append(resident)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    resident = {name: statistics.median(values) for name, values in memory.items()}
    return {
        "initialize_seconds": medians,
        "initialize_ratio_to_bare": medians["donewhen"] / medians["bare pygls"],
        "idle_bytes": resident,
        "idle_ratio_to_bare": resident["donewhen"] / resident["bare pygls"],
    }


def _state(root: Path) -> Path:
    return root.parent / "state"


def _finished_run(root: Path) -> None:
    """A goal that is complete, so that an idle server has one finished run to show."""
    (root / "GOAL.md").write_text("# A goal\n\n- [ ] `true` passes\n")
    command = [sys.executable, "-m", "donewhen", "run", "GOAL.md", "--worker", "human", "--json"]
    subprocess.run([*command, "--state-dir", str(_state(root))], cwd=root, check=True, capture_output=True)


def _answer(name: str, root: Path, *, idle: bool) -> tuple[float, int]:
    started = time.perf_counter()
    process = subprocess.Popen(
        SERVERS[name], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        options = {"trusted": True, "stateDir": str(_state(root))}
        params = {"processId": None, "rootUri": root.as_uri(), "capabilities": CAPABILITIES}
        _send(process, "initialize", params | {"initializationOptions": options}, 1)
        _receive(process)
        elapsed = time.perf_counter() - started
        _send(process, "initialized", {})
        resident = _settled_memory(process.pid) if idle else 0
    finally:
        process.kill()
        process.wait()
    return elapsed, resident


def _settled_memory(pid: int) -> int:
    """Resident bytes once they stay the same for half a second."""
    import psutil

    process, last, since = psutil.Process(pid), 0, time.monotonic()
    deadline = since + 10
    while time.monotonic() < deadline:
        now: int = process.memory_info().rss
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 0.5:
            break
        time.sleep(0.05)
    return last


def _send(process: subprocess.Popen[bytes], method: str, params: object, number: int | None = None) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    body = json.dumps(message if number is None else message | {"id": number}).encode()
    assert process.stdin is not None
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    length = 0
    while line := process.stdout.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(process.stdout.read(length))


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
