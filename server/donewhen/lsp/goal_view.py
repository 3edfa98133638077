"""A goal file together with the run that it shows: the basis of every feature of the live file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from donewhen.core.evidence import Evidence
from donewhen.core.verdict import RequirementView
from donewhen.engine.api import RunView
from donewhen.goalfile.source import ParsedGoalFile, RequirementSource, Span
from donewhen.lsp.client import Client
from donewhen.lsp.positions import Encoding, FilePlace, from_client, to_client


@dataclass(frozen=True)
class GoalView:
    """`lines` are the file's, for columns; `view` is None if no run of it is known. `trusted` says whether anything may
    be executed."""

    uri: str
    place: FilePlace
    parsed: ParsedGoalFile
    view: RunView | None
    lines: Sequence[str] = ()
    encoding: Encoding = "utf-16"
    trusted: bool = True

    def status(self, source: RequirementSource) -> RequirementView | None:
        """Where a requirement stands; None if no run knows it."""
        return self._view_by_id.get(source.requirement.id)

    @cached_property
    def _view_by_id(self) -> Mapping[str, RequirementView]:
        return {} if self.view is None else {one.requirement_id: one for one in self.view.views}

    def range(self, span: Span) -> types.Range:
        return types.Range(
            self.position(span.start_line, span.start_column), self.position(span.end_line, span.end_column)
        )

    def position(self, line: int, column: int | None = None) -> types.Position:
        """A `column` of None is the end of the line."""
        text = self.lines[line] if line < len(self.lines) else ""
        return types.Position(line, to_client(text, len(text) if column is None else column, self.encoding))

    def column(self, position: types.Position) -> int:
        """The client's position as our column of that line."""
        text = self.lines[position.line] if position.line < len(self.lines) else ""
        return from_client(text, position.character, self.encoding)

    def requirement_at(self, line: int) -> RequirementSource | None:
        return next((s for s in self.parsed.requirements if s.span.start_line <= line <= s.span.end_line), None)

    def evidence_of(self, one: RequirementView) -> list[Evidence]:
        """The latest evidence that a requirement's verdict cites."""
        return [self._evidence_by_id[name] for name in one.evidence_ids if name in self._evidence_by_id]

    @cached_property
    def _evidence_by_id(self) -> Mapping[str, Evidence]:
        if self.view is None:
            return {}
        return {one.id: one for one in self.view.state.audit_evidence}


async def goal_view(client: Client, uri: str) -> GoalView | None:
    """The goal file of a uri, as the client shows it; None for other files."""
    found = await client.parsed_uri(uri)
    if found is None:
        return None
    place, parsed = found
    folder = client.host.folder_if_open(place.root)
    view = None if folder is None else folder.snapshots.of_goal(place.path)
    lines = client.texts.lines(place.absolute)
    return GoalView(uri, place, parsed, view, lines, client.texts.encoding, client.host.trusted)
