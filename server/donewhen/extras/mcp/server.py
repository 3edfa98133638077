"""What an agent can ask of the goal in its workspace, and with `--allow-write` do about it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core import goal as goals
from donewhen.core.errors import DoneWhenError, UsageError
from donewhen.core.proof import satisfied
from donewhen.core.verdict import PROVEN, RequirementView
from donewhen.engine.api import Runs, RunView, StartOptions
from donewhen.goalfile.draft import draft
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.regular import read_text
from donewhen.settings.loading import Settings
from donewhen.version import __version__
from donewhen.wire.reports import cited, render

Tool = Callable[..., Awaitable[BaseModel]]

GOAL = "GOAL.md"
MAX_PLACES = 20
EXAMPLES: Mapping[str, str] = {
    "goal": "such as GOAL.md",
    "evidence": "such as E1",
    "run": "such as get_goal_status names",
    "objective": 'such as "Prices include the tax"',
    "checks": 'such as ["pytest -q"]',
    "requirements": 'such as ["A negative price is refused"]',
}
"""What each argument of a tool looks like."""
INSTRUCTIONS = """The goal of this workspace is a list of requirements, each proven by evidence that Done When observes
itself: it runs the checks; what anybody says proves nothing. Ask `list_unmet_requirements` for what is missing and
where, work on it, then ask `request_audit`. Don't change tests, checks or the goal to make them pass: that is found,
and only a person can accept it."""


class Requirement(BaseModel):
    """One requirement of the goal as it stands."""

    label: str = Field(description="R1, R2, ... in the goal file's order")
    text: str
    status: str = Field(description="met, unmet, unverified, stale, waived or regressed")
    reason: str
    checks: list[str] = Field(description="the commands that prove it")
    evidence: list[str] = Field(description="ids for get_evidence")
    where: list[str] = Field(description="the places that the evidence names: path:line: message")


class Finding(BaseModel):
    """Something that was done to the proof itself; a person decides about it, or it is undone."""

    id: str
    kind: str
    message: str
    path: str
    accepted: bool


class GoalStatus(BaseModel):
    """Where the goal stands, by the newest run or check of it."""

    goal: str = Field(description="the goal file, relative to the workspace")
    title: str
    run: str | None = Field(description="the id of the run or check that this is of; None before the first one")
    status: str = Field(description="of the run: running, waiting, complete, ...; `check` for a check")
    proven: bool = Field(description="true only if everything is proven for the files as they are now")
    stale: bool = Field(description="files changed since it was looked at")
    met: int
    total: int
    requirements: list[Requirement]
    findings: list[Finding]
    questions: list[str] = Field(description="what only a person can answer, in an editor or a terminal")


class Unmet(BaseModel):
    """What is not proven."""

    goal: str
    proven: bool
    requirements: list[Requirement]
    findings: list[Finding]


class EvidenceText(BaseModel):
    """One piece of evidence as Done When recorded it."""

    run: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Served:
    """What one server is about: `root` is the workspace. `allow_write`: it may also set a goal, start and stop runs."""

    root: Path
    state_dir: Path | None
    settings: Settings
    allow_write: bool = False


async def serve(services: Services, served: Served) -> int:
    """Serves on standard input and output until the client leaves."""
    async with opened_server(services, served) as server:
        await server.run_stdio_async()
    return 0


@asynccontextmanager
async def opened_server(services: Services, served: Served) -> AsyncGenerator[MCPServer]:
    """The server, whatever transport it gets. Closing it ends what it started."""
    context = WorkspaceContext(where="program")
    runs = await services.open_runs(served.root, served.state_dir, served.settings, context)
    try:
        yield make_server(runs, served)
    finally:
        await runs.close("the MCP client left")


def make_server(runs: Runs, served: Served) -> MCPServer:
    """The tools and resources over these runs."""
    server = _Server("donewhen", title="Done When", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    asked = _Asked(runs, served.root)
    look = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    acts = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    reading: list[Tool] = [asked.get_goal_status, asked.list_unmet_requirements, asked.get_evidence]
    acting: list[Tool] = [asked.request_audit]
    if served.allow_write:
        acting += [asked.set_goal, asked.start_run, asked.stop_run]
    for tool in reading:
        server.add_tool(tool, description=_description(tool), annotations=look)
    for tool in acting:
        server.add_tool(tool, description=_description(tool), annotations=acts)

    @server.resource("donewhen://goal", name="goal", title="The goal file", mime_type="text/markdown")
    async def goal() -> str:
        return await _resource(asked.goal_text())

    @server.resource("donewhen://receipt", name="receipt", title="The newest receipt", mime_type="text/markdown")
    async def receipt() -> str:
        return await _resource(asked.receipt())

    return server


class _Server(MCPServer[Any]):
    """Expected errors are text for the agent, in the words that anybody gets."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
                raise ToolError(_misgiven(name, cause)) from error
            if isinstance(cause, (DoneWhenError, OSError)):
                raise ToolError(str(cause)) from error
            raise


def _misgiven(tool: str, invalid: ValidationError) -> str:
    """Which arguments are missing or of another kind, and what they look like."""
    found = {str(one["loc"][0]): one["type"] == "missing" for one in invalid.errors()}
    said = [
        f"{'needs' if missing else 'takes no such'} `{name}`{',' if missing else ': give one'} {EXAMPLES[name]}"
        for name, missing in found.items()
    ]
    return f"{tool} {'; it '.join(said)}"


class _Asked:
    """The tools: their names and docstrings are what an agent reads."""

    def __init__(self, runs: Runs, root: Path) -> None:
        self._runs = runs
        self._root = root

    async def get_goal_status(self, goal: str | None = None) -> GoalStatus:
        """Where the goal stands: each requirement with its status, reason and evidence. `goal` is a goal file relative
        to the workspace; without it the workspace's own."""
        return await self._status(self._goal_named(goal))

    async def list_unmet_requirements(self, goal: str | None = None) -> Unmet:
        """What is not proven yet, why, and where in the files, by what is on record: `request_audit` looks anew."""
        status = await self._status(self._goal_named(goal))
        unmet = [one for one in status.requirements if one.status not in PROVEN]
        return Unmet(goal=status.goal, proven=status.proven, requirements=unmet, findings=status.findings)

    async def get_evidence(self, evidence: str, run: str | None = None) -> EvidenceText:
        """One piece of evidence in full, such as what a failed check printed. `evidence` is an id such as E3, `run` the
        run that it is of; without it the newest one."""
        run_id = run or (await self._newest(self._goal_named(None))).state.run_id
        file = await self._runs.evidence_file(run_id, evidence)
        if file is None:
            raise UsageError(f"run {run_id} has no evidence {evidence}: get_goal_status names what there is")
        return EvidenceText(run=run_id, id=evidence, text=await asyncio.to_thread(read_text, file, "utf-8", "replace"))

    async def request_audit(self, goal: str | None = None) -> GoalStatus:
        """Runs the goal's checks now and says where each requirement stands: how to find out whether the work is done.
        It takes as long as the checks do."""
        return self._goal_status(await self._runs.check(self._goal_named(goal)))

    async def set_goal(self, objective: str, checks: list[str], requirements: list[str] | None = None) -> GoalStatus:
        """Drafts GOAL.md with an objective and the commands that prove it. Never overwrites a goal: a person changes
        one."""
        text = draft(objective, checks, requirements or ())
        try:
            with (self._root / GOAL).open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise UsageError(f"{GOAL} already exists, and only a person changes it") from None
        except OSError as error:
            raise UsageError(f"{GOAL} can't be written: {error.strerror or error}") from error
        return await self._status(GOAL)

    async def start_run(self, goal: str | None = None) -> GoalStatus:
        """Starts a run with the worker that the goal or the settings name. It asks a person before it works, as any run
        does."""
        return self._goal_status(
            await self._runs.start(self._goal_named(goal), StartOptions(approve="ask", askable=True))
        )

    async def stop_run(self, run: str) -> GoalStatus:
        """Ends a run as cancelled, with all that it started."""
        return self._goal_status(await self._runs.stop(run, "stopped through MCP"))

    # ---- resources

    async def goal_text(self) -> str:
        return await asyncio.to_thread(read_text, self._goal_named(None), "utf-8", "replace", within=self._root)

    async def receipt(self) -> str:
        view = await self._runs.report((await self._newest(self._goal_named(None))).state.run_id)
        found = [await self._runs.evidence(view.state.run_id, one) for one in cited(view)]
        return render("markdown", view, self._root, [one for one in found if one is not None])

    # ---- what is on record

    def _goal_named(self, named: str | None) -> str:
        """Raises UsageError where there is no such goal, none, or several to choose from."""
        if named is not None:
            place = (self._root / named).resolve()
            if not place.is_relative_to(self._root.resolve()) or not place.is_file():
                raise UsageError(f"there is no goal file {named} in the workspace")
            return place.relative_to(self._root.resolve()).as_posix()
        if (self._root / GOAL).is_file():
            return GOAL
        others = sorted(path.name for path in self._root.glob("*.goal.md") if path.is_file())
        if len(others) == 1:
            return others[0]
        what = f"there are several goals: name one of {', '.join(others)}" if others else "there is no goal here"
        raise UsageError(f"{what}: a person sets one with `donewhen init`" if not others else what)

    async def _newest(self, goal: str) -> RunView:
        views = await self._runs.views(goal)
        if not views:
            raise UsageError(f"{goal} was never looked at: request_audit does")
        return views[0]

    async def _status(self, goal: str) -> GoalStatus:
        views = await self._runs.views(goal)
        if views:
            return self._goal_status(views[0])
        parsed = WorkspaceGoalFiles(self._root, lambda: False).load(goal)
        requirements = [
            Requirement(
                label=one.label,
                text=one.text,
                status="unverified",
                reason="it was never looked at: request_audit does",
                checks=[check.command for check in one.checks],
                evidence=[],
                where=[],
            )
            for one in parsed.requirements
        ]
        return GoalStatus(
            goal=goal, title=parsed.title, run=None, status="never looked at", proven=False, stale=False, met=0,
            total=len(requirements), requirements=requirements, findings=[], questions=[],
        )  # fmt: skip

    def _goal_status(self, view: RunView) -> GoalStatus:
        state = view.state
        by_id = {one.requirement_id: one for one in view.views}
        requirements = [_requirement_status(one, by_id[one.id], view) for one in state.goal.requirements]
        proven = satisfied(state) if state.mode == "audit" else state.status == "complete"
        findings = [
            Finding(
                id=one.id,
                kind=one.finding.kind,
                message=one.finding.message,
                path=one.finding.path,
                accepted=one.accepted,
            )
            for one in state.present_findings
        ]
        return GoalStatus(
            goal=state.goal.path or "",
            title=state.goal.title,
            run=state.run_id,
            status=state.status or ("proven" if proven else "not proven"),
            proven=proven and not view.stale,
            stale=view.stale,
            met=sum(one.status in PROVEN for one in view.views),
            total=len(view.views),
            requirements=requirements,
            findings=findings,
            questions=[one.title for one in state.interrupts],
        )


def _requirement_status(named: goals.Requirement, one: RequirementView, view: RunView) -> Requirement:
    places = [
        f"{place.path}:{place.line + 1}: {place.message}"
        for place in view.locations.get(one.requirement_id, ())[:MAX_PLACES]
    ]
    return Requirement(
        label=named.label,
        text=named.text,
        status=one.status,
        reason=one.reason,
        checks=[check.command for check in named.checks],
        evidence=list(one.evidence_ids),
        where=places,
    )


def _description(tool: Tool) -> str:
    """Its docstring without the source's line breaks: every model is sent it."""
    return " ".join((tool.__doc__ or "").split())


async def _resource(text: Awaitable[str]) -> str:
    try:
        return await text
    except (DoneWhenError, OSError) as error:
        raise ResourceError(str(error)) from error
