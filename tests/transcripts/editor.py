"""Conversations of an editor with a server over streams: each has a workspace of its own, and gives its transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.lsp.editor import GOAL, Editor
from tests.lsp.rawclient import DEADLINE
from tests.transcripts.masking import masked

SCENES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("editor.yaml").read_text("utf-8"))
ABLE = {
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {"relatedInformation": True},
    }
}


class Conversation:
    """An editor with one workspace, and what was asked and answered so far."""

    def __init__(self, editor: Editor, folder: Path, scene: dict[str, Any]) -> None:
        self._editor, self._root, self._said, self._run = editor, folder / "workspace", list[str](), "none"
        self._varies: list[str] = scene.get("varies", [])
        """Members of replies that depend on the moment: they are left out."""
        self._root.mkdir()
        self._goal = self._root / "GOAL.md"
        for path, text in {"GOAL.md": scene.get("goal", GOAL), **scene.get("files", {})}.items():
            if text is not None:
                (self._root / path).parent.mkdir(parents=True, exist_ok=True)
                (self._root / path).write_text(text, "utf-8")
        features = {"interrupts": True, "modelTrouble": True}
        editor.start(
            root=self._root, trusted=scene.get("trusted", True), capabilities=ABLE, options={"clientFeatures": features}
        )
        if self._goal.exists():
            editor.open(self._goal)

    def play(self, step: str | dict[str, Any]) -> None:
        match step:
            case str():
                self._feature(*step.split())
            case {"show": path}:
                self._tell(f"> {path}", (self._root / path).read_text("utf-8"))
            case {"start": command, **limits}:
                given = {"goalUri": self._goal.as_uri(), "worker": "command", **limits}
                settings = {"worker_command": command, "sandbox": "off"}
                self._editor.notify("workspace/didChangeConfiguration", {"settings": {"donewhen": settings}})
                self._run = self._do("run.start", given)["runId"]
            case {"until": "ended"}:
                # Right after its end it isn't known yet whether the result is fresh.
                self._editor.snapshot(self._run, lambda shown: shown["freshness"] is not None)
            case {"until": "asks"}:
                self._editor.snapshot(self._run, lambda shown: bool(shown["interrupts"]))
            case {"do": command, **more}:
                given = json.loads(self._filled(json.dumps(more.get("with", {"goalUri": "{goal}"}))))
                answer = self._do(command, given)
                self._run = answer.get("runId", self._run) if command == "goal.check" else self._run
            case _:
                raise ValueError(f"not a step: {step}")

    def transcript(self) -> str:
        own = ((self._root.as_uri(), "<uri>"), (str(self._root), "<workspace>"), (str(self._editor.state), "<state>"))
        return masked("".join(self._said), (*own, (str(Path.home()), "<home>")))

    def _do(self, command: str, given: dict[str, Any]) -> dict[str, Any]:
        params = {"command": f"donewhen.{command}", "arguments": [given]}
        shown = f"donewhen.{command} {json.dumps(given, ensure_ascii=False)}"
        return self._asked(shown, "workspace/executeCommand", params)

    def _feature(self, name: str, line: str = "", character: str = "") -> None:
        params: dict[str, Any] = {"textDocument": {"uri": self._goal.as_uri()}}
        at = {"line": int(line or 0), "character": int(character or 0)}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        more: dict[str, dict[str, Any]] = {
            "hover": {"position": at}, "completion": {"position": at}, "inlayHint": {"range": whole},
            "codeAction": {"range": {"start": at, "end": at}, "context": {"diagnostics": []}},
        }  # fmt: skip
        self._asked(f"{name} {line} {character}".rstrip(), f"textDocument/{name}", params | more.get(name, {}))

    def _asked(self, shown: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = self._editor.request(method, params)
        said = answer.get("error", answer.get("result"))
        kind = "error" if "error" in answer else "result"
        if isinstance(said, dict):
            said = {name: value for name, value in said.items() if name not in self._varies}
        self._tell(f"--> {shown}", f"{kind}: {json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)}\n\n")
        return said if isinstance(said, dict) else {}

    def _filled(self, text: str) -> str:
        goal, root = self._goal.as_uri(), self._root.as_uri()
        return text.replace("{goal}", goal).replace("{root}", root).replace("{run}", self._run)

    def _tell(self, first: str, rest: str) -> None:
        self._said += [f"{first}\n", rest]


def play(scene: dict[str, Any], folder: Path) -> str:
    """The transcript of a scene, in a folder that is made for it."""
    folder.mkdir(parents=True)
    editor = Editor(folder / "state")
    editor.ignored |= {"window/showMessage", "window/showMessageRequest", "donewhen/runs", "window/logMessage"}
    try:
        conversation = Conversation(editor, folder, scene)
        for step in scene["steps"]:
            conversation.play(step)
        editor.request("shutdown")
        editor.notify("exit")
        editor.connection.wait_exit(DEADLINE)
        return conversation.transcript()
    finally:
        editor.close()
