"""A supervisor in a process of its own: takes the lock, starts children as asked, says so, and waits to be killed.

Usage: supervisor.py FOLDER RUN_ID TOKEN [CHILD...], each CHILD one of `plain`, `daemon`, `stubborn`, `unmarked`.
With WAIT_FOR_GO in the environment it waits for the file `go` in FOLDER first.
Prints one JSON line: {"acquired": true, "children": [pid, ...]} or {"refused": class, "message": text}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from donewhen.core.errors import DoneWhenError
from donewhen.workspace.locks import TOKEN_VARIABLE, FileRunLock

SLEEP = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
# The child ends at once; its child goes on in a session of its own, as daemons do.
DAEMON = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        import time
        time.sleep(600)
os._exit(0)
"""


def start(kind: str, token: str, descriptors: tuple[int, ...]) -> int:
    environment = {**os.environ, TOKEN_VARIABLE: token}
    if kind == "unmarked":
        del environment[TOKEN_VARIABLE]
    code = {"daemon": DAEMON, "stubborn": STUBBORN}.get(kind, SLEEP)
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, pass_fds=descriptors, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    return int(line) if kind == "daemon" else child.pid


def wait_for_go(folder: Path) -> None:
    """All racers begin at the same moment, after their imports."""
    (folder / f"ready-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.0005)


def main(folder: str, run_id: str, token: str, *kinds: str) -> None:
    lock = FileRunLock(Path(folder))
    if os.environ.get("WAIT_FOR_GO"):
        wait_for_go(Path(folder))
    try:
        lock.acquire(run_id, token)
    except DoneWhenError as error:
        print(json.dumps({"refused": type(error).__name__, "message": str(error)}), flush=True)
    else:
        children = [start(kind, token, lock.inherited_descriptors()) for kind in kinds]
        print(json.dumps({"acquired": True, "children": children}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
