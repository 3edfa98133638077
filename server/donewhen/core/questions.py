"""How a person is asked about integrity findings: one question for all, with what was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from donewhen.core.calls import Message
from donewhen.core.decoding import decoded
from donewhen.core.feedback import changed_lines, keep_ends
from donewhen.core.integrity import TRIAL_FINDINGS, IntegrityFinding
from donewhen.core.state import KnownFinding, RunState
from donewhen.core.words import listed
from donewhen.core.work import Interrupt

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
    texts = [text for text in (decoded(before), decoded(after)) if text is not None and "\0" not in text]
    if len(texts) < 2:
        happened = "created" if before is None else "deleted" if after is None else "changed"
        return f"{path} is not a text file, and was {happened}"
    old, new = (text.splitlines() for text in texts)
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = changed_lines(old, new, CONTEXT_LINES)
    return keep_ends("\n".join([f"--- {names[0]}", f"+++ {names[1]}", *lines] if lines else []), limit)


def findings_preview(findings: Sequence[KnownFinding]) -> str:
    """Each finding with its diff; of several in one file the diff stands once."""
    shown: set[str] = set()
    blocks: list[str] = []
    for known in findings[:MAX_LISTED]:
        diff = known.finding.diff
        blocks.append(finding_line(known) + (f"\n{diff}" if diff and diff not in shown else ""))
        shown.add(diff)
    if len(findings) > MAX_LISTED:
        blocks.append(f"... and {len(findings) - MAX_LISTED} more")
    return "\n\n".join(blocks)


def finding_line(known: KnownFinding) -> str:
    """A finding on one line, such as `F1 original_fails at tests/test_a.py:3: ...`; lines count from 1."""
    finding = known.finding
    return f"{known.id} {finding.kind}{place(finding)}: {' '.join(finding.message.split())}"


def place(finding: IntegrityFinding) -> str:
    return f" at {finding.path}:{finding.line + 1}" if finding.path else ""


def unaccepted(state: RunState) -> str:
    """Why a run ends with nothing but findings left, and what a person can do then."""
    known = state.open_findings
    named = listed([f"{one.id} {one.finding.kind}{place(one.finding)}" for one in known], MAX_LISTED, by="; ")
    them = "it" if len(known) == 1 else "them"
    said = worker_says(state)
    tried = all(one.finding.kind in TRIAL_FINDINGS for one in known)
    what = "trials refuse the proof" if tried else "the proof itself was changed"
    settle = f"{what}, which a person has to settle. Accept {them} or undo {them}, then resume"
    return f"{settle}: {named}{f'.{said}' if said else ''}"


def heard_of_trials(state: RunState) -> bool:
    """Whether a worker's turn ended after it heard of something that trials still refuse."""
    return any(one.finding.kind in TRIAL_FINDINGS and one.since < state.turns_ended for one in state.open_findings)


def worker_says(state: RunState) -> str:
    """A sentence with what the worker said when it was told of what trials refuse, to follow other text; empty if
    it said nothing. It stands in quotes that it can't close, on one line and bounded: nothing in it can pass for a word
    of the server or the judge."""
    printable = "".join(char if char.isprintable() else " " for char in state.last_turn.words)
    words = " ".join(keep_ends(" ".join(printable.split()), MAX_WORDS).translate(_NO_QUOTES).split())
    return f" The worker says: “{words}”" if words and heard_of_trials(state) else ""


# What a person should know before they answer: what the worker said when it asked, and what it had just done.


MAX_SAID = 2_000
MAX_BEFORE = 300

_DID: Mapping[str, tuple[str, str]] = {
    "run_command": ("ran", "command"),
    "edit_file": ("edited", "path"),
    "write_file": ("wrote", "path"),
    "read_file": ("read", "path"),
    "list_files": ("listed the files", "path"),
    "search": ("searched for", "pattern"),
}
"""What a tool did, in words, and the argument that says to what."""


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """The context of a question. `said`: the words that the worker gave with it, its reason where it gave one;
    `before`: its last step before, in one line. Empty if nobody said, or did, anything."""

    said: str = ""
    before: str = ""

    def lines(self, folder: str = "") -> list[str]:
        """For people, a line each; `folder` is where a command would run."""
        return [
            *([f"In {folder}"] if folder else []),
            *([f"The worker says: {self.said}"] if self.said else []),
            *([f"Just before, it {self.before}"] if self.before else []),
        ]


def question_context(state: RunState, asked: Interrupt) -> QuestionContext:
    """The context of an open question of its worker, from the run's record."""
    if not asked.about.startswith(("tool:", "claim:", "worker")):
        return QuestionContext()
    said = next((one for one in reversed(state.conversation) if one.role == "assistant"), None)
    text = said.text.strip() if said is not None else ""
    return QuestionContext("" if text == asked.title else keep_ends(text, MAX_SAID), _before(state.conversation))


def context_lines(state: RunState, asked: Interrupt, folder: str = "") -> list[str]:
    """The same for people, a line each: where a command would run, what the worker says, what it did before."""
    return question_context(state, asked).lines(folder if runs_command(asked) else "")


def runs_command(asked: Interrupt) -> bool:
    """Whether what is asked for is to run a command."""
    return asked.kind == "approval" and isinstance(asked.input.get("command"), str)


def _before(conversation: tuple[Message, ...]) -> str:
    calls = {call.id: call for message in conversation for call in message.calls}
    for message in reversed(conversation):
        call = calls.get(message.answers) if message.role == "tool" else None
        if call is not None and call.name != "report":
            did, about = _DID.get(call.name, (f"used {call.name}", ""))
            what = str(call.given.get(about) or "")
            deed = f"{did} {what}"
            if call.name == "run_command":
                said = message.text.strip().partition("\n")[0]
                deed = f"{did} `{what}`: {said}"
            return " ".join(deed.split())[:MAX_BEFORE]
    return ""
