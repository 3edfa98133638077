"""What `check` leaves behind for a CI: receipts in files, annotations in the job's log, the summary of the job."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from donewhen.cli.calling import Call
from donewhen.core.errors import UsageError
from donewhen.engine.api import Runs
from donewhen.regular import expanded, homeless
from donewhen.wire.reports import FORMATS, ReportFormat, receipts

MAX_SUMMARY = 1_000_000
"""Bytes of a step's summary, of which GitHub takes 1 MiB and drops what is larger."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """`files` are the receipts to write; `annotates`: what is printed is the log of a job of GitHub Actions."""

    files: tuple[tuple[ReportFormat, Path], ...]
    annotates: bool
    summary: Path | None


def outputs_of(call: Call) -> Outputs:
    """What this call is to leave behind. Raises UsageError before anything is executed."""
    files = tuple(map(_file, cast("Sequence[str]", call.arguments.report)))
    if files and call.arguments.explain:
        raise UsageError("--explain checks nothing, so that --report has nothing to write: give one of them")
    environ = call.terminal.environ
    chosen = call.arguments.annotations or ("github" if environ.get("GITHUB_ACTIONS") == "true" else "off")
    annotates = chosen == "github"
    summary = environ.get("GITHUB_STEP_SUMMARY") if annotates else None
    return Outputs(files, annotates, Path(summary) if summary else None)


def _file(asked: str) -> tuple[ReportFormat, Path]:
    form, _, name = asked.partition("=")
    if form not in FORMATS:
        raise UsageError(f"--report {asked}: there is no format {form!r}: choose from {', '.join(FORMATS)}")
    if not name:
        raise UsageError(f"--report {asked}: name a file, as in --report {form}=FILE")
    file = expanded(name)
    if homeless(file):
        raise UsageError(f"--report {asked}: this system doesn't know that home folder: set HOME, or write it in full")
    return cast("ReportFormat", form), file


@contextmanager
def commands_stopped(call: Call, outputs: Outputs) -> Generator[None]:
    """Within it nothing that is printed is a command to the runner, whatever a check or a goal file says."""
    if not outputs.annotates or call.json:
        yield
        return
    token = secrets.token_hex(16)
    call.terminal.result(f"::stop-commands::{token}")
    try:
        yield
    finally:
        call.terminal.result(f"::{token}::")


async def write_receipts(call: Call, outputs: Outputs, runs: Runs, run_id: str) -> str:
    """Writes the receipts and the summary, and returns the annotations, empty if none are wanted. All of them are made
    before the first is written: a file in the workspace changes it. Raises UsageError for a file that can't be
    written."""
    forms: list[ReportFormat] = [form for form, _ in outputs.files]
    extra: list[ReportFormat] = ["github", "markdown"] if outputs.annotates else []
    if not forms and not extra:
        return ""
    texts = await receipts(runs, run_id, [*forms, *extra], call.root)
    for (_, path), text in zip(outputs.files, texts, strict=False):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        except OSError as problem:
            raise UsageError(f"{path} can't be written: {problem.strerror or problem}") from problem
    if not outputs.annotates:
        return ""
    if outputs.summary is not None:
        summary = texts[-1].encode("utf-8", "replace")
        if len(summary) > MAX_SUMMARY:
            summary = b"The receipt is too long for a summary: `donewhen report` prints it.\n"
        try:
            with outputs.summary.open("ab") as file:
                file.write(summary + b"\n")
        except OSError as problem:
            call.terminal.message(f"donewhen: warning: the summary of the job can't be written: {problem}")
    return texts[-2]


def annotate(call: Call, annotations: str) -> None:
    """Prints them. With --json, standard output is one document, and they go to standard error."""
    if annotations:
        say = call.terminal.message if call.json else call.terminal.result
        say(annotations.rstrip("\n"))
