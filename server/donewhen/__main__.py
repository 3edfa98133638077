"""`donewhen`: hands the parts to the front end that the command line asks for. Imports as little as it can: the
language server answers `initialize` before anything of the engine is loaded."""

from __future__ import annotations

import sys

from donewhen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from donewhen.cli.services import (
        Adviser,
        CliServices,
        DemoProject,
        DoctorFacts,
        GoalHint,
        GoalProblem,
        ServeOptions,
    )
    from donewhen.config import Settings
    from donewhen.core.survey import Survey
    from donewhen.engine.api import Runs
    from donewhen.goalbench.playing import Laboratory
    from donewhen.goalfile.source import ParsedGoalFile


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code (docs/protocol.md)."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    _open_closed_streams()
    if arguments == ["--version"]:
        return _say_version()
    if arguments in (["serve"], ["serve", "--stdio"]):
        # What editors start: nothing of the command line is imported before `initialize` is answered.
        return _serve_language(None, None)
    try:
        from donewhen.cli.main import main as command_line

        return command_line(arguments, services())
    except KeyboardInterrupt:
        return 130  # nothing had begun that early: where it struck tells nobody anything


def _open_closed_streams() -> None:
    """Whoever started this may have closed them: then nobody reads what is said, and nothing else may get their
    numbers, which are given out lowest first."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open("/dev/null" if sys.platform != "win32" else "nul", mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # as long as the process lives


def _say_version() -> int:
    """Scripts and editors ask for it often: it takes little more than Python's own start."""
    from donewhen.version import __version__

    try:
        print(f"donewhen {__version__}", flush=True)
    except (OSError, ValueError):  # nobody reads standard output; the interpreter would complain when it ends
        sys.stdout = None
    return 0


def services() -> CliServices:
    """What the command line may not import itself."""
    from donewhen.cli.services import CliServices

    return CliServices(
        open_runs=_open_runs,
        serve=_serve,
        survey=_survey,
        draft=_draft,
        draft_path=_draft_path,
        demo_project=_demo_project,
        doctor_facts=_doctor_facts,
        goal_problems=_goal_problems,
        has_record=_has_record,
        goal_hints=_goal_hints,
        undecided=_undecided,
        open_adviser=_open_adviser,
        laboratory=_laboratory,
    )


async def _open_runs(root: Path, state_dir: Path | None, settings: Settings, interpreter: Path | None = None) -> Runs:
    from donewhen.composition import Surroundings, open_engine

    return await open_engine(root, state_dir, settings, Surroundings(interpreter=lambda: interpreter))


def _has_record(root: Path, state_dir: Path | None) -> bool:
    from donewhen.store.folders import has_record

    return has_record(root, state_dir)


def _laboratory(settings: Settings) -> AbstractAsyncContextManager[Laboratory]:
    from donewhen.composition_bench import laboratory

    return laboratory(settings)


def _serve(options: ServeOptions) -> int:
    return _serve_language(options.state_dir, options.tcp, options.client_process_id)


def _serve_language(state_dir: Path | None, tcp: int | None, client_process_id: int | None = None) -> int:
    import asyncio

    from donewhen.composition_lsp import lsp_services
    from donewhen.lsp.server import serve

    return asyncio.run(serve(lsp_services(state_dir, client_process_id), tcp_port=tcp))


async def _survey(root: Path, settings: Settings, tries: bool) -> Survey:
    from donewhen.composition_drafts import place_of, survey

    return await survey(place_of(root, settings.state_dir), execute=True, tries=tries)


def _draft(root: Path, objective: str, found: Survey, proposed: Sequence[str], model: str | None, judged: bool) -> str:
    from donewhen.goalfile.draft import draft, draft_without_objective

    if not objective:
        return draft_without_objective(root.name, found.commands, found.notes())
    notes, green = found.notes(), found.green
    return draft(objective, found.commands, proposed, judged=judged, proposed_by=model, notes=notes, green=green)


def _draft_path(root: Path, objective: str) -> Path:
    from donewhen.goalfile.draft import draft_path

    return draft_path(root, objective)


def _demo_project(folder: Path) -> DemoProject:
    import importlib.util

    from donewhen.samples import prepare

    return prepare(folder, pytest=importlib.util.find_spec("pytest") is not None)


def _doctor_facts(root: Path, settings: Settings) -> DoctorFacts:
    from donewhen.doctor import doctor_facts

    return doctor_facts(root, settings)


def _goal_problems(path: Path) -> Sequence[GoalProblem]:
    from donewhen.cli.services import GoalProblem

    try:
        parsed = _parsed(path)
    except OSError as error:
        return [GoalProblem(0, "error", f"the goal file can't be read: {error}")]
    severity = {"error": "error", "warning": "warning"}
    return [
        GoalProblem(one.span.start_line, severity.get(one.severity, "information"), one.message)  # pyright: ignore[reportArgumentType]  # the two values above, or the default
        for one in parsed.problems
    ]


def _parsed(path: Path) -> ParsedGoalFile:
    from donewhen.composition_plugins import plugins_there
    from donewhen.goalfile.parse import parse
    from donewhen.regular import read_bytes

    return parse(read_bytes(path), path=path.name, name=path.stem, plugged=plugins_there)


def _goal_hints(path: Path) -> Sequence[GoalHint]:
    from donewhen.goalfile.preflight import hints_of

    return hints_of(_parsed(path))


def _undecided(path: Path) -> Sequence[str]:
    goal = _parsed(path).goal
    return [] if goal is None else [one.label for one in goal.requirements if not one.checks and not one.problems]


def _open_adviser(root: Path, settings: Settings) -> AbstractAsyncContextManager[Adviser | None]:
    from donewhen.composition_advice import adviser

    return adviser(root, settings)


if __name__ == "__main__":
    raise SystemExit(main())
