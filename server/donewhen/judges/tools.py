"""A judge's own looks at the workspace: read-only and bounded; what they show is evidence like any other."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

from donewhen.core.calls import ToolCall
from donewhen.core.errors import WorkspaceError
from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    Observation,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    Trial,
)
from donewhen.core.globs import matches
from donewhen.core.words import byte_length
from donewhen.judges.blocks import bounded_output, command_head, file_lines, outcome_text
from donewhen.judges.evidence_prompt import fenced
from donewhen.judges.excerpts import Lines, Normaliser, excerpt
from donewhen.judges.fencing import boundary, label
from donewhen.judges.reply import Citable, InvalidReply, strict_json
from donewhen.ports import AuditContext, JudgeTask

LARGEST_READ = 5_000_000
MAX_LISTED = 200
MAX_MATCHES = 40
MAX_MATCHING_FILES = 8
MAX_SEARCHED_BYTES = 20_000_000
MAX_SEARCHED_FILE = 1_000_000


@dataclass(slots=True)
class JudgeTools:
    """The looks of one conversation: what they show can be cited, too. `roamed` is true once a look depended on which
    files exist; `paths` are the files that it read; `used` is true once there was any. `sources` maps the ids of the
    question to what they stand for."""

    task: JudgeTask
    context: AuditContext
    normaliser: Normaliser
    token: str
    citable: Citable
    sources: Mapping[str, Evidence | Observation]
    paths: list[str] = field(default_factory=list[str])
    roamed: bool = False
    used: bool = False

    async def answer(self, call: ToolCall, room: int) -> str:
        """The tool's result, in at most about `room` bytes. The model's mistakes are reported to the model."""
        self.used = True
        try:
            value = strict_json(call.arguments or "{}")
            if not isinstance(value, dict):
                raise InvalidReply("the arguments must be an object")
            arguments = cast("dict[str, Any]", value)
            wanted = " ".join(" ".join(str(value) for value in arguments.values()).split())
            self.context.activity(self.normaliser.clean_text(f"the judge looks: {call.name} {wanted}")[:120])
            if call.name == "read_file":
                return await self._read_file(arguments, room)
            if call.name == "search":
                return await self._search(arguments, room)
            if call.name == "list_files":
                return self._list_files(arguments, room)
            if call.name == "read_evidence":
                return await self._read_evidence(arguments, room)
            if call.name == "run_check":
                return await self._run_check(arguments, room)
        except (InvalidReply, WorkspaceError) as error:
            return f"error: {self.normaliser.clean_text(str(error))}"
        return f"error: there is no tool {label(call.name, 40)}"

    async def _read_file(self, arguments: Mapping[str, Any], room: int) -> str:
        path = _required_text(arguments, "path").removeprefix("./")
        start = _start_line(arguments)
        if path not in self.context.files():
            self.roamed = True  # the file's absence may decide, and that holds until any file changes
            raise InvalidReply(f"{label(path, 120)} is not a file of the workspace; use list_files")
        content = await self.context.read(path)
        self.paths.append(path)
        lines, said = await asyncio.to_thread(file_lines, content, self.normaliser, LARGEST_READ)
        if start > len(lines) > 0:
            raise InvalidReply(f"the file has {len(lines)} lines")
        body = excerpt(lines, room - 300) if start == 1 else _from(lines, start, room - 300)
        return await self._file_block(path, content, said, body)

    async def _search(self, arguments: Mapping[str, Any], room: int) -> str:
        wanted = _required_text(arguments, "text").casefold()
        self.roamed = True
        blocks: list[str] = []
        left, matched, searched = room - 200, 0, 0
        for path in self.context.files():
            if len(blocks) >= MAX_MATCHING_FILES or left < 300 or searched > MAX_SEARCHED_BYTES:
                blocks.append("[... there may be more: search for something narrower ...]")
                break
            try:
                content = await self.context.read(path)
            except WorkspaceError:
                continue
            if len(content) > MAX_SEARCHED_FILE or b"\0" in content[:8192]:
                continue
            searched += len(content)
            lines, said, hits = await asyncio.to_thread(self._matches, content, wanted, MAX_MATCHES - matched)
            if hits:
                matched += len(hits)
                body = _only(lines, hits, min(left - 250, room // 2))
                blocks.append(await self._file_block(path, content, f"{said}; the lines that match", body))
                left -= byte_length(blocks[-1]) + 1
        return "\n".join(blocks) or "no line matches"

    def _matches(self, content: bytes, wanted: str, most: int) -> tuple[Lines, str, list[int]]:
        """Matches in text that may be shown: a secret can't be found by guessing it."""
        lines, said = file_lines(content, self.normaliser, LARGEST_READ)
        hits = (at for at, line in enumerate(lines.raw) if wanted in line.casefold())
        return lines, said, list(islice(hits, most))

    def _list_files(self, arguments: Mapping[str, Any], room: int) -> str:
        glob = arguments.get("glob", "**")
        if not isinstance(glob, str):
            raise InvalidReply("`glob` must be text")
        self.roamed = True
        found = [path for path in self.context.files() if glob in ("", "**") or matches(glob, path)]
        shown: list[str] = []
        left = room - 200
        for path in found[:MAX_LISTED]:
            left -= byte_length(line := f"| {label(self.normaliser.clean_text(path))}") + 1
            if left < 0:
                break
            shown.append(line)
        head = (f"files: {len(found)}, shown: {len(shown)}",)
        return self._fenced('kind="names of files; can\'t be cited"', head, "\n".join(shown))

    async def _read_evidence(self, arguments: Mapping[str, Any], room: int) -> str:
        key, start = _required_text(arguments, "id").strip(), _start_line(arguments)
        source = self.sources.get(key)
        observed = source.observation if isinstance(source, Evidence) else source
        if observed is None:
            raise InvalidReply(f"there is no evidence {label(key, 20)} in the question; use read_file to read a file")
        if isinstance(observed, ObservedFile):
            return await self._read_file({"path": observed.path, "start": start}, room)
        return await self._observed_block(f'id="{key}" kind="the whole of it"', observed, room, start)

    async def _observed_block(self, attributes: str, observed: Observation, room: int, start: int = 1) -> str:
        head, text = self._head_and_text(observed)
        lines = await asyncio.to_thread(lambda: Lines.of(bounded_output(text())))
        if start > len(lines) > 0:
            raise InvalidReply(f"it has {len(lines)} lines")
        left = room - 300 - sum(byte_length(line) for line in head)
        body = excerpt(lines, left, head=0.2, tail=0.4) if start == 1 else _from(lines, start, left, "read_evidence")
        return self._fenced(attributes, head, body)

    def _head_and_text(self, observed: Observation) -> tuple[tuple[str, ...], Callable[[], str]]:
        """The header of the observation, and a function that makes its text."""
        clean = self.normaliser
        match observed:
            case CheckResult(command=command):
                head = command_head(command, f"result: {outcome_text(observed)}", clean)
                return head, lambda: clean.check_output(observed)
            case ObservedCommand(command=command, exit_code=code):
                head = command_head(command, f"exit code: {'none' if code is None else code}", clean)
                return head, lambda: clean.command_output(observed)
            case EditorReport(problems=problems):
                said = [f"{one.path}:{one.line + 1}: {one.severity}: {one.message}" for one in problems]
                return (f"problems: {len(problems)}",), lambda: clean.clean_text("\n".join(said))
            case ObservedDiff(text=text) | ObservedResponse(text=text) | ObservedFile(excerpt=text):
                return (), lambda: clean.clean_text(text)
            case AffectedRun(result=result):
                head = command_head(result.command, "some of a check's tests; no proof", clean)
                return head, lambda: clean.check_output(result)
            case Trial(tried=tried, command=command, result=result, reason=reason):
                how = clean.clean_text(reason if result is None else outcome_text(result))
                head = (*command_head(command, f"trial: {tried}", clean), f"result: {how}")
                return head, lambda: "" if result is None else clean.check_output(result)

    async def _run_check(self, arguments: Mapping[str, Any], room: int) -> str:
        wanted = _required_text(arguments, "check").strip().strip("`")
        # Only checks that the goal names: by command, or all of a requirement.
        goal = self.task.goal
        requirement = goal.requirement(wanted)
        named = tuple(check for check in goal.checks if wanted in (check.command, check.id))[:1]
        checks = named if requirement is None else requirement.checks
        if not checks:
            known = ", ".join(label(check.command, 100) for check in goal.checks[:20]) or "none"
            raise InvalidReply(f"the goal has no such check; it has {known}")
        results = [await self.context.run_check(check) for check in checks]
        blocks: list[str] = []
        for evidence in results:
            attributes = f'id="{self._citable_id(evidence)}" kind="check result"'
            blocks.append(await self._observed_block(attributes, evidence.observation, room // len(results)))
        return "\n".join(blocks)

    async def _file_block(self, path: str, content: bytes, said: str, body: str) -> str:
        observed = ObservedFile(path, hashlib.sha256(content).hexdigest(), len(content), body)
        evidence = await self.context.record(observed)
        head = (f"path: {label(self.normaliser.clean_text(path))}", f"content: {said}")
        return self._fenced(f'id="{self._citable_id(evidence)}" kind="file"', head, body)

    def _citable_id(self, evidence: Evidence) -> str:
        """The id by which the model can cite it."""
        key = f"E{len(self.citable.evidence) + 1}"
        self.citable.add(key, evidence, self.task.revision)
        return key

    def _fenced(self, attributes: str, head: tuple[str, ...], body: str) -> str:
        token = boundary([self.token, attributes, *head, body])
        return f"The boundary of this result is {token}.\n{fenced(token, attributes, head, body)}"


def _start_line(arguments: Mapping[str, Any]) -> int:
    start = arguments.get("start", 1)
    if isinstance(start, bool) or not isinstance(start, int) or start < 1:
        raise InvalidReply("`start` must be a line number from 1")
    return start


def _required_text(arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidReply(f"`{key}` must be text")
    return value


def _from(lines: Lines, start: int, room: int, tool: str = "read_file") -> str:
    """As many lines from `start` on as fit; the mark says where to continue."""
    return _only(lines, range(start - 1, len(lines)), room, tool)


def _only(lines: Lines, wanted: range | list[int], room: int, tool: str = "read_file") -> str:
    shown: list[str] = []
    left = room - 60
    for at in wanted:
        left -= byte_length(lines.shown_line(at)) + 1
        if left < 0:
            shown.append(f"[... cut: {tool} from line {at + 1} shows more ...]")
            break
        shown.append(lines.shown_line(at))
    return "\n".join(shown)
