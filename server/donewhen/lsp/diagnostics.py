"""Diagnostics: collected per goal, published per file, and pulled by clients that prefer to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types

from donewhen.core.errors import DoneWhenError
from donewhen.engine.api import RunView
from donewhen.lsp.client import Client
from donewhen.lsp.documents import Texts
from donewhen.lsp.goal_diagnostics import DiagnosticContext, GoalDiagnostic, Memory, code_paths, collect, is_shown
from donewhen.lsp.host import Folder
from donewhen.lsp.navigation import evidence_document
from donewhen.lsp.positions import to_client

SOURCE = "donewhen"

Goal = tuple[Path, str]
"""A goal file: its workspace folder, and its path in it."""


class Diagnostics:
    """What is shown in which file. Files that a client pulls, and can be asked to pull again, are not also pushed."""

    def __init__(self, client: Client, ask_to_pull_again: Callable[[], None]) -> None:
        self._client = client
        self._ask_to_pull_again = ask_to_pull_again
        self._by_goal: dict[Goal, tuple[GoalDiagnostic, ...]] = {}
        self._published: dict[Path, list[types.Diagnostic]] = {}
        self._pulled: set[Path] = set()
        self._written: set[tuple[str, str]] = set()
        """The evidence (run, id) whose files have been requested: they never change."""

    async def refresh(self, goals: Iterable[Goal]) -> None:
        """Collects these goals' diagnostics again and publishes every file whose diagnostics differ."""
        for goal in goals:
            self._by_goal[goal] = await self._collect(goal)
            if not self._by_goal[goal]:
                del self._by_goal[goal]
        wanted: dict[Path, list[types.Diagnostic]] = {}
        for (root, _), diagnostics in self._by_goal.items():
            for diagnostic in diagnostics:
                found = to_lsp(diagnostic, root, self._client.texts)
                if not self._client.profile.related_information:
                    found.related_information = None
                wanted.setdefault(root / diagnostic.path, []).append(found)
        for path in {*wanted, *self._published}:
            now = wanted.get(path, [])
            if now != self._published.get(path, []):
                if path not in self._pulled:
                    self._send(path, now)
                else:
                    self._ask_to_pull_again()
        self._published = wanted

    def at(self, path: Path) -> list[types.Diagnostic]:
        return self._published.get(path, [])

    def pulled(self, path: Path) -> None:
        """The client asks for them from now on."""
        if self._client.profile.diagnostic_refresh and path not in self._pulled:
            self._pulled.add(path)
            if self._published.get(path):
                self._send(path, [])

    def closed(self, path: Path) -> None:
        """A closed file is no longer pulled: its diagnostics are pushed again."""
        if path in self._pulled:
            self._pulled.discard(path)
            self._send(path, self.at(path))

    async def _collect(self, goal: Goal) -> tuple[GoalDiagnostic, ...]:
        root, path = goal
        folder = self._client.host.folder_if_open(root)
        view = None if folder is None else folder.snapshots.of_goal(path)
        is_open = self._client.documents.open(self._client.texts.uri(root / path)) is not None
        if not is_open and (view is None or not is_shown(view)):
            return ()
        parsed = await self._client.parsed(root / path, path)
        if parsed is None:
            return ()
        if folder is None or view is None:
            return collect(path, parsed, None, {}, DiagnosticContext()).diagnostics
        memory = folder.snapshots.memories.get(path, {})
        context = self._context(folder, view, memory)
        collected = collect(path, parsed, view, memory, context)
        folder.snapshots.memories[path] = collected.memory
        return collected.diagnostics

    def _context(self, folder: Folder, view: RunView, memory: Memory) -> DiagnosticContext:
        paths = code_paths(memory) | {place.path for places in view.locations.values() for place in places}
        cited = {name for one in view.views if one.status not in ("met", "waived") for name in one.evidence_ids}
        run_id = view.state.run_id
        changed = self._client.changed_at(folder.root, paths)
        if self._client.profile.documents:
            return DiagnosticContext(changed, {name: evidence_document(run_id, name) for name in cited})
        new = [name for name in sorted(cited) if (run_id, name) not in self._written]
        if new:
            self._written |= {(run_id, name) for name in new}
            # Nobody waits for the evidence files: the diagnostics that point to them go out first.
            self._client.later(_write_evidence(folder, run_id, new), "evidence files")
        place = folder.runs.state_folder / "evidence" / run_id
        uris = {name: (place / f"{name}.md").as_uri() for name in cited}
        return DiagnosticContext(changed, uris)

    def _send(self, path: Path, diagnostics: list[types.Diagnostic]) -> None:
        uri = self._client.texts.uri(path)
        document = self._client.documents.open(uri)
        version = None if document is None else document.version
        params = types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=version)
        self._client.server.text_document_publish_diagnostics(params)


async def _write_evidence(folder: Folder, run_id: str, names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError, DoneWhenError):
            await folder.runs.evidence_file(run_id, name)


def to_lsp(diagnostic: GoalDiagnostic, root: Path, texts: Texts) -> types.Diagnostic:
    """A diagnostic as the client counts columns; ends that are unknown or past the end are the line's end."""
    lines = texts.lines(root / diagnostic.path)

    def position(line: int, column: int | None) -> types.Position:
        text = lines[line] if line < len(lines) else ""
        return types.Position(max(0, line), to_client(text, len(text) if column is None else column, texts.encoding))

    start = position(*diagnostic.start)
    end = position(diagnostic.start[0], None) if diagnostic.end is None else position(*diagnostic.end)
    related: list[types.DiagnosticRelatedInformation] = []
    for place in diagnostic.related:
        uri = place.uri if place.uri.startswith(("file:", "donewhen:")) else (root / place.uri).as_uri()
        begin = types.Position(place.line, 0)
        where = types.Location(uri, types.Range(begin, begin))
        related.append(types.DiagnosticRelatedInformation(where, place.message))
    return types.Diagnostic(
        range=types.Range(start, end),
        message=diagnostic.message,
        severity=types.DiagnosticSeverity[diagnostic.severity.capitalize()],
        code=diagnostic.code,
        source=SOURCE,
        related_information=related or None,
        data=dict(diagnostic.info) or None,
    )
