"""A workspace with a small real goal, and `donewhen` as real processes in it."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import psutil

from donewhen.app.engine import open_engine
from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from donewhen.engine.api import Runs
from tests import forked
from tests.cli.fakes import Typed
from tests.cli.test_processes import served_elsewhere
from tests.tools import below

T = TypeVar("T")
Snapshot = dict[str, Any]

KILLED = -getattr(signal, "SIGKILL", 9)

CHECK = """\
import pathlib, sys
wanted = sys.argv[1]
sys.exit(0 if wanted in pathlib.Path("numbers.txt").read_text().split() else f"{wanted} is missing")
"""

GOAL = """\
# Count to three

- [ ] `python -S check.py one` passes
- [ ] `python -S check.py three` passes
"""

SCRIPT = """\
turns:
  - - edit: {path: numbers.txt, old: "zero\\n", new: "zero\\none\\n"}
    - run: python -S effect.py first
    - usage: {input_tokens: 10, output_tokens: 5, usd: 0.25}
    - say: counted to one
  - - run: python -S effect.py second
    - edit: {path: numbers.txt, old: "one\\n", new: "one\\ntwo\\n"}
    - usage: {input_tokens: 100, output_tokens: 50, usd: 0.5}
    - say: counted to two
  - - write: {path: notes/new.txt, text: "new\\n"}
    - run: python -S effect.py third
    - edit: {path: numbers.txt, old: "two\\n", new: "two\\nthree\\n"}
    - usage: {input_tokens: 1000, output_tokens: 500, usd: 0.125}
    - say: counted to three
"""

EFFECT = """\
import sys
with open("effects.txt", "a") as file:
    file.write(sys.argv[1] + "\\n")
"""

HANG = """\
# Hangs with a child and a daemon when it is called for the first time, and works from then on.
import os, pathlib, subprocess, sys, time
mark = pathlib.Path(__file__).with_name(sys.argv[1] + ".pids")
if not mark.exists():
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"])
    daemon = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"], start_new_session=True)
    fresh = mark.with_suffix(".new")
    fresh.write_text(f"{os.getpid()} {child.pid} {daemon.pid}")
    fresh.replace(mark)
    count = 0
    while len(sys.argv) > 2:
        count += 1
        pathlib.Path(sys.argv[2]).write_text(str(count))
        time.sleep(0.05)
    time.sleep(300)
"""


@dataclass(frozen=True)
class Ended:
    """How one command ended. `lines` are its snapshots."""

    code: int
    lines: tuple[Snapshot, ...]
    errors: str

    @property
    def last(self) -> Snapshot:
        assert self.lines, f"exit {self.code} without a snapshot: {self.errors}"
        return self.lines[-1]


@dataclass
class Site:
    """One workspace and its state folder under `folder`, with every process that was started there."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    started: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    @classmethod
    def make(cls, folder: Path, goal: str = GOAL, script: str = SCRIPT) -> Site:
        site = cls(folder)
        site.root.mkdir(parents=True)
        site.write("GOAL.md", goal)
        site.write("check.py", CHECK)
        site.write("effect.py", EFFECT)
        site.write("numbers.txt", "zero\n")
        # Outside of the workspace: it is no part of what is worked on.
        (folder / "hang.py").write_text(HANG, encoding="utf-8")
        (folder / "script.yaml").write_text(script, encoding="utf-8")
        return site

    @property
    def root(self) -> Path:
        return self.folder / "work"

    @property
    def script(self) -> str:
        return str(self.folder / "script.yaml")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """Every file of the workspace, byte for byte."""
        paths = sorted(path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}

    # ------------------------------------------------------------------------------------ commands

    def begin(self, *arguments: str, fault: int | None = None) -> subprocess.Popen[str]:
        """Starts a command and returns at once."""
        command = [sys.executable, "-m", "donewhen", *self._words(arguments)]
        # Files, not pipes: an orphan that keeps a pipe open would keep the test waiting.
        out, errors = self._place(len(self.started))
        with out.open("w") as to, errors.open("w") as err:
            process = forked.start(
                command,
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=err,
                text=True,
                env=self._around(fault),
                start_new_session=os.name != "nt",
            )
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[str], within: float = 60.0) -> Ended:
        """Waits for a command that was begun."""
        try:
            code = process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within} s; last: {self._told(process)}") from None
        return _ended(code, *self._place(self.started.index(process)))

    def call(self, *arguments: str, fault: int | None = None, within: float = 60.0) -> Ended:
        """A command in a process of its own, to its end."""
        number = len(list(self.folder.glob("called*.jsonl")))
        out, errors = self.folder / f"called{number}.jsonl", self.folder / f"called{number}.txt"
        code = forked.call(
            self._words(arguments), cwd=self.folder, variables=self._around(fault), out=out, errors=errors,
            within=within,
        )  # fmt: skip
        assert code is not None, f"still running after {within} s: {errors.read_text(encoding='utf-8')[-2000:]}"
        return _ended(code, out, errors)

    def _words(self, arguments: Sequence[str]) -> list[str]:
        return [*arguments, "--json", "--workspace", str(self.root), "--state-dir", str(self.folder / "state")]

    def _around(self, fault: int | None) -> dict[str, str]:
        faulty = {} if fault is None else {"DONEWHEN_FAULT_AFTER": str(fault)}
        return {**_inherited(), **faulty, **self.variables}

    def inside(self, *arguments: str) -> Ended:
        """The same in this process, which spares the start of a Python: for what is not about the process and is not an
        act, since who asks for one is told by its process and terminal. A run that goes on in here takes no act of a
        command that is started later: that descends from its owner, as a worker does."""
        out, errors = io.StringIO(), io.StringIO()
        variables = {**_inherited(), **self.variables}

        async def opened(root: Path, state: Path | None, settings: Any, context: WorkspaceContext) -> Runs:
            return await open_engine(root, state, settings, replace(context, environment=lambda: variables))

        code = main(
            [*arguments, "--json", "--workspace", str(self.root), "--state-dir", str(self.folder / "state")],
            Services(open_runs=opened),
            served_elsewhere,
            terminal=Terminal(out, errors, Typed([]), variables),
            user_file=self.folder / "no" / "config.toml",
            log_folder=self.folder,
        )
        return Ended(code, tuple(json.loads(line) for line in out.getvalue().splitlines()), errors.getvalue())

    def run(self, *arguments: str, fault: int | None = None) -> Ended:
        """The goal pursued by the scripted worker, to its end or death."""
        return self.call("run", "GOAL.md", "--worker", "scripted", "--script", self.script, *arguments, fault=fault)

    def begin_run(self, *arguments: str, fault: int | None = None) -> subprocess.Popen[str]:
        chosen = () if "--worker" in arguments else ("--worker", "scripted", "--script", self.script)
        return self.begin("run", "GOAL.md", *chosen, *arguments, fault=fault)

    def _told(self, process: subprocess.Popen[str]) -> str:
        out, errors = self._place(self.started.index(process))
        return f"{out.read_text(encoding='utf-8')[-3000:]}\n{errors.read_text(encoding='utf-8')[-2000:]}"

    def _place(self, number: int) -> tuple[Path, Path]:
        return self.folder / f"out{number}.jsonl", self.folder / f"errors{number}.txt"

    def clean_up(self) -> None:
        """Ends what a failed test left: the processes of this site, known by its state folder or their parents."""
        for process in self.started:
            for child in below(process.pid):
                _kill(child)
            if process.poll() is None:
                process.kill()
            process.wait(60)

    # -------------------------------------------------------------------------------------- ledger

    def events(self) -> list[str]:
        """The types of all events of the newest run, in order."""
        return [kind for kind, _ in self.entries()]

    def entries(self) -> list[tuple[str, Snapshot]]:
        files = list((self.folder / "state").glob("workspaces/*/ledger.sqlite"))
        if not files:
            return []
        connection = sqlite3.connect(f"file:{files[0]}?mode=ro", uri=True, timeout=10.0)
        try:
            newest = "SELECT run_id FROM runs WHERE mode = 'pursue' ORDER BY started_at DESC LIMIT 1"
            wanted = f"SELECT type, body FROM entries WHERE run_id = ({newest}) ORDER BY sequence"  # no input
            return [(kind, json.loads(body)) for kind, body in connection.execute(wanted)]
        except sqlite3.OperationalError:
            return []  # the tables are only being made
        finally:
            connection.close()

    @property
    def run_id(self) -> str:
        """The newest run's id, once it is on record."""
        return eventually(lambda: cast("str", next((b["run_id"] for k, b in self.entries() if k == "RunStarted"), "")))

    def until_event(self, kind: str, count: int = 1) -> None:
        """Waits until the newest run has so many events of a kind."""
        eventually(lambda: self.events().count(kind) >= count)

    def hanging(self, name: str) -> list[int]:
        """Waits until `hang.py NAME` hangs; returns its pid, its child's and its daemon's."""
        path = self.folder / f"{name}.pids"
        return [int(pid) for pid in eventually(lambda: path.read_text() if path.exists() else "").split()]


def eventually(found: Callable[[], T], within: float = 60.0) -> T:
    """What `found` returns as soon as it is true-like; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < deadline, f"did not happen within {within} s: {found}"
        time.sleep(0.02)


def _ended(code: int, out: Path, errors: Path) -> Ended:
    lines = [line for line in out.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    return Ended(code, tuple(json.loads(line) for line in lines), errors.read_text(encoding="utf-8"))


def _inherited() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DONEWHEN_")}
    return {**kept, "PATH": str(Path(sys.executable).parent) + os.pathsep + kept.get("PATH", "")}


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
