"""`doctor`: prints what `app/doctor.py` found, for people or as JSON."""

from __future__ import annotations

from dataclasses import asdict

from donewhen.cli.calling import Call
from donewhen.cli.formatting import plain, shown_path
from donewhen.version import __version__

SYMBOLS = {"ok": "✓", "missing": "-", "problem": "✗"}


def doctor(call: Call) -> int:
    """Always returns 0; problems are in the report."""
    report = call.services.examined(call.root, call.settings, call.terminal.environ)
    if call.json:
        findings = [{"group": group, **asdict(line)} for group, lines in report.items() for line in lines]
        call.terminal.document({"version": __version__, "findings": findings})
        return 0
    for group, lines in report.items():
        if lines:
            call.terminal.result(group)
        for line in lines:
            detail = f": {shown_path(plain(line.detail))}" if line.detail else ""
            how = f" → {line.how}" if line.how else ""
            call.terminal.result(f"  {SYMBOLS[line.state]} {line.name}{detail}{how}")
    return 0
