"""Sessions at a terminal: each is played in this process with a workspace of its own, and gives its transcript."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import yaml

from donewhen.app.services import Services
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from tests.cli.fakes import Typed
from tests.cli.test_processes import served_elsewhere
from tests.transcripts.masking import masked

SCENES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("terminal.yaml").read_text("utf-8"))
Step = str | dict[str, Any]


class Session:
    """A workspace, its state, and what was typed and printed so far."""

    def __init__(self, folder: Path, scene: dict[str, Any]) -> None:
        self._root, self._state, self._said = folder / "workspace", folder / "state", list[str]()
        self._root.mkdir()
        files = {"GOAL.md": scene["goal"]} if "goal" in scene else {}
        for path, text in {**files, **scene.get("files", {})}.items():
            (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            (self._root / path).write_text(text, "utf-8")
        if scene.get("git"):
            for command in ("init -q", "add -A", "-c user.name=x -c user.email=x@y commit -qm x"):
                subprocess.run(["git", *command.split()], cwd=self._root, check=True)

    def play(self, step: Step) -> None:
        match step:
            case {"show": path}:
                place = self._root / path
                self._tell(f"> {path}", place.read_text("utf-8") if place.exists() else "(is not there)\n")
            case {"remove": path}:
                (self._root / path).unlink()
            case {"feed": text, "to": command}:
                self._type(command, fed=text)
            case {"last": command}:
                self._type(command, whole=False)
            case str():
                self._type(step)
            case _:
                raise ValueError(f"not a step: {step}")

    def transcript(self) -> str:
        places = ((str(self._root), "<workspace>"), (str(self._state), "<state>"), (str(Path.home()), "<home>"))
        # The folders, which each command names here, are typed in no line of it, and so are not to be typed next.
        return masked("".join(self._said), places).replace(" --workspace <workspace> --state-dir <state>", "")

    def _type(self, line: str, fed: str | None = None, *, whole: bool = True) -> None:
        words = shlex.split(line.replace("{run}", self._newest() if "{run}" in line else ""))
        code, out, errors = self._called(words, fed)
        if not whole:
            out = "".join(out.splitlines(keepends=True)[-1:])
        said = "".join(f"! {one}\n" for one in errors.splitlines())
        self._tell(f"$ donewhen {line}", _readable(out), said, f"({code})\n\n")

    def _called(self, words: list[str], fed: str | None = None) -> tuple[int, str, str]:
        out, errors = io.StringIO(), io.StringIO()
        terminal = Terminal(out, errors, Typed([] if fed is None else fed.splitlines()), {})
        places = ["--workspace", str(self._root), "--state-dir", str(self._state)]
        own = self._state / "donewhen" / "config.toml"
        with contextlib.redirect_stdout(out):  # of `help`
            code = main(
                [*places, *words], Services(), served_elsewhere, terminal=terminal, user_file=own,
                log_folder=self._state,
            )  # fmt: skip
        return code, out.getvalue(), errors.getvalue()

    def _newest(self) -> str:
        runs = json.loads(self._called(["list", "--json"])[1])
        return str(runs[0]["runId"]) if runs else "none"

    def _tell(self, *parts: str) -> None:
        self._said += [f"{parts[0]}\n", *parts[1:]]


def _readable(out: str) -> str:
    """JSON that is one long line, indented: a difference is then one line."""
    if not out.startswith(("{", "[")):
        return out
    lines = list[str]()
    for line in out.splitlines(keepends=True):
        try:
            lines.append(json.dumps(json.loads(line), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        except ValueError:
            lines.append(line)
    return "".join(lines)


def play(scene: dict[str, Any], folder: Path) -> str:
    """The transcript of a scene, in a folder that is made for it."""
    folder.mkdir(parents=True)
    session = Session(folder, scene)
    for step in scene["steps"]:
        session.play(step)
    return session.transcript()
