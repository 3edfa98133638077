"""How a person is asked about integrity findings: one question for all, with what was changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from donewhen.core.feedback import keep_ends
from donewhen.core.integrity_facts import TRIAL_FINDINGS, IntegrityFinding
from donewhen.core.state import KnownFinding, RunState

MAX_DIFF = 4_000
"""Characters of one finding's diff."""
MAX_DIFFS = 24_000
"""Characters of the diffs of one audit."""
MAX_LISTED = 20
MAX_WORDS = 600
"""Characters of what a worker says to what trials refuse."""
CONTEXT_LINES = 3

_NO_QUOTES = str.maketrans("“”", "''")


def finding_diff(path: str, before: bytes | None, after: bytes | None, limit: int = MAX_DIFF) -> str:
    """How a file changed, as a unified diff of at most `limit` characters, its cut marked; None is a file that isn't
    there. Empty if nothing differs."""
    if before == after or limit <= 0:
        return ""
    texts = [_text(content) for content in (before, after)]
    if None in texts:
        return f"{path} is not a text file, and was {_happened(before, after)}"
    old, new = (text.splitlines() for text in texts if text is not None)
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    return keep_ends("\n".join(difflib.unified_diff(old, new, *names, lineterm="", n=CONTEXT_LINES)), limit)


def findings_preview(findings: Sequence[KnownFinding]) -> str:
    """Each finding with its diff; of several in one file the diff stands once."""
    shown: set[str] = set()
    blocks: list[str] = []
    for known in findings[:MAX_LISTED]:
        diff = known.finding.diff
        blocks.append(finding_line(known) + (f"\n{diff}" if diff and diff not in shown else ""))
        shown.add(diff)
    if len(findings) > MAX_LISTED:
        blocks.append(f"... and {len(findings) - MAX_LISTED} more: `donewhen status` lists all")
    return "\n\n".join(blocks)


def finding_line(known: KnownFinding) -> str:
    """A finding on one line, such as `F1 test_weakened at tests/test_a.py:3: ...`; lines count from 1."""
    finding = known.finding
    return f"{known.id} {finding.kind}{place(finding)}: {' '.join(finding.message.split())}"


def place(finding: IntegrityFinding) -> str:
    return f" at {finding.path}:{finding.line + 1}" if finding.path else ""


def unaccepted(state: RunState) -> str:
    """Why a run ends with nothing but findings left, and what a person can do then."""
    known = state.open_findings
    listed = "; ".join(f"{one.id} {one.finding.kind}{place(one.finding)}" for one in known[:MAX_LISTED])
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    them = "it" if len(known) == 1 else "them"
    said = worker_says(state)
    accept = f'donewhen accept {state.run_id} --all --reason "..."'
    tried = all(one.finding.kind in TRIAL_FINDINGS for one in known)
    what = "trials refuse the proof" if tried else "the proof itself was changed"
    return (
        f"{what}, which a person has to settle. Accept {them} with `{accept}`, "
        f"or undo {them}; then resume: {listed}{more}{f'.{said}' if said else ''}"
    )


def told_of_trials(state: RunState) -> bool:
    """Whether a worker's turn ended after it heard of something that trials still refuse."""
    return any(one.finding.kind in TRIAL_FINDINGS and one.since < state.turns_ended for one in state.open_findings)


def worker_says(state: RunState) -> str:
    """A sentence with what the worker said when it was told of what trials refuse, to follow other text; empty if
    it said nothing. It stands in quotes that it can't close, on one line and bounded: nothing in it can pass for a word
    of the server or the judge."""
    printable = "".join(char if char.isprintable() else " " for char in state.last_words)
    words = " ".join(keep_ends(" ".join(printable.split()), MAX_WORDS).translate(_NO_QUOTES).split())
    return f" The worker says: “{words}”" if words and told_of_trials(state) else ""


def _text(content: bytes | None) -> str | None:
    """None for what is not text."""
    if content is None:
        return ""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _happened(before: bytes | None, after: bytes | None) -> str:
    return "made" if before is None else "deleted" if after is None else "changed"
