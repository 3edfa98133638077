"""The receipt for people: Markdown that can be pasted into a pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from donewhen.core import markdown
from donewhen.core.decide import UNPROVEN, with_untried
from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    Trial,
    TrialKind,
)
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.people import REFUSED, ActOnRecord, Where
from donewhen.core.proof import satisfied
from donewhen.core.state import KnownFinding, RaisedFinding, RunState
from donewhen.core.summary import room_text
from donewhen.core.trials.outcome import TRIED, unplanted
from donewhen.core.verdict import GRADES, RequirementView
from donewhen.core.words import counted, listed, money
from donewhen.core.work import WEAK_JUDGE, Usage
from donewhen.engine.api import FileEdit, RunView
from donewhen.wire.snapshot import changed_since, halt_text, shown_halt

MARKS = {
    "met": "✅ met",
    "unmet": "❌ unmet",
    "unverified": "❔ unverified",
    "stale": "⏳ stale",
    "regressed": "📉 regressed",
    "waived": "✋ waived",
}
REFUSED_MARK = "⛔ refused by a trial"
"""What is met by its checks while a trial refuses the proof."""
FROM: Mapping[Where, str] = {"editor": "in the editor", "terminal": "in a terminal", "program": "by a program"}
ACCEPTED = {
    "person": "A person accepted",
    "auto": "Accepted by how it was started, without asking",
    "nobody": "No one was asked, and nothing that needs approval runs",
    None: "Not accepted yet",
}
SHORT = 12
MAX_CHANGED = 20
MAX_OUTPUT = 4_000
"""Characters of what one check printed."""
MAX_TRANSCRIPT = 8_000
"""Characters of what the worker did and said."""
MAX_SAID = 12
"""Lines of one thing that it said, or that a command printed."""
MAX_OUTPUTS = 24_000
"""Characters of what all of them printed: a forge takes 65,536 of a comment."""

_SPACE = re.compile(r"\s+")


def render(view: RunView, root: Path, evidence: Mapping[str, Evidence]) -> str:
    """The whole receipt; it names no folder of this machine. What decides stands first, all else is folded away."""
    below = [*gathered(view, evidence)]
    if any(below):
        below = [["<details>", "<summary>Evidence and how it was gathered</summary>"], *below, ["</details>"]]
    return joined([*deciding(view, evidence), *below])


def deciding(view: RunView, evidence: Mapping[str, Evidence]) -> Iterator[list[str]]:
    """The sections that say how it ended, where each requirement stands, and what stands in for proof."""
    yield _heading(view)
    yield _requirements_section(view, evidence)
    yield from _decisions(view)


def joined(sections: Iterable[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _heading(view: RunView) -> list[str]:
    state = view.state
    waived = sum(one.status == "waived" for one in view.views)
    accepted = sum(known.by_a_person for known in state.present_findings)
    told = proven(view, "requirements ") + (f", {waived} waived by a person" if waived else "")
    told += f", {counted(accepted, 'finding')} accepted by a person" if accepted else ""
    lines = [f"## {plain_line(state.goal.title)}", "", f"**{headline(view)}** · {told}"]
    if reason := why(state):
        lines += ["", plain_line(reason)]
    lines += stale_lines(view)
    return [*lines, "", f"<sub>{' · '.join(_facts(state))}</sub>"]


def section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"### {title}", "", *lines] if lines else []


def _warnings(state: RunState, about: str) -> list[str]:
    return [f"- {plain_line(one.message)}" for one in state.warnings if one.code == about]


def proven(view: RunView, what: str = "") -> str:
    """`1 of 3 requirements proven, 1 on a person's word`, with `what` before `proven`."""
    trusted = sum(one.on_a_persons_word for one in view.views)
    met = sum(one.status == "met" and not one.refused for one in view.views) - trusted
    return f"{met} of {len(view.views)} {what}proven" + (f", {trusted} on a person's word" if trusted else "")


def why(state: RunState) -> str:
    """The reason for which a run is not complete; empty for a complete one, and for a check."""
    halt = shown_halt(state)
    told = halt_text(halt) if halt is not None else state.lifecycle.reason
    return told if state.status != "complete" and state.mode == "pursue" else ""


def stale_lines(view: RunView) -> list[str]:
    """That the files are no longer those of the result."""
    if view.present is None or not view.stale:
        return []
    names = listed([code(path) for path in changed_since(view)], MAX_CHANGED)
    return ["", f"**Stale**: files changed since this result{f': {names}' if names else ''}."]


def verdict(state: RunState) -> str:
    """How the run, or the check, ended."""
    if state.mode == "audit":
        return "check: proven" if satisfied(state) else "check: not proven"
    return state.status or ""


def headline(view: RunView) -> str:
    """How it ended; where files changed since, that it was so."""
    said = verdict(view.state).replace("_", " ")
    if not view.stale:
        return with_untried(said, view.state)
    names = listed([code(path) for path in changed_since(view)], 1)
    return f"was {said.removeprefix('check: ')}; stale since {names or 'files'} changed"


def why_as_told(state: RunState) -> str:
    """The reason of an end, where it says more than how it ended."""
    return "" if state.mode == "audit" and state.lifecycle.reason == UNPROVEN else state.lifecycle.reason


def _facts(state: RunState) -> Iterator[str]:
    yield f"run {code(state.run_id)}"
    yield f"revision {code(state.revision[:SHORT])}"
    options = state.options
    if options.judge:
        yield f"{state.decider('judge')} {code(options.judge)}"
    if state.mode == "pursue":
        yield f"worker {options.worker}" + (f" {code(options.agent.model)}" if options.agent is not None else "")
        if where := room_text(options):
            yield where
        yield counted(state.iteration, "iteration")
        yield f"{state.elapsed:.1f} s"
        yield spent(state)


def spent(state: RunState) -> str:
    """What worker and judge cost; a price that nobody knows is said to be unknown."""
    usage = state.usage
    if usage.usd is None:
        return f"cost unknown ({usage.tokens:,} tokens)" if usage.tokens else "cost unknown"
    return money(usage.usd) if usage.tokens or usage.usd else "no model used"


def _costs(state: RunState) -> list[str]:
    """Worker and judge apart; a price that nobody knows is said, never taken for nothing."""
    options = state.options
    used = [
        ("worker", options.agent.model if options.agent is not None else "", state.worker_usage),
        ("judge", options.judge or "", state.spend.judge),
    ]
    rows: list[str] = []
    for who, model, usage in used:
        if usage.tokens or usage.usd != 0:
            known = usage.tokens or usage.usd is not None
            counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
            shown = (f"{count:,}" if known else "unknown" for count in counts)
            rows.append(table_row(who, code(model), *shown, _dollars(usage)))
    return _table("Cost", ("Model", "Input", "Cached", "Output", "Cost"), rows)


def _dollars(usage: Usage) -> str:
    return "unknown" if usage.usd is None else money(usage.usd)


def _requirements_section(view: RunView, evidence: Mapping[str, Evidence]) -> list[str]:
    texts = {one.id: one.text for one in view.state.goal.requirements}
    rows = ["| | Requirement | Status | Decided by | Proof |", "|---|---|---|---|---|"]
    for one in view.views:
        status = mark(one) + (" (flaky)" if one.flaky else "")
        text, decider = plain_line(texts[one.requirement_id]), view.state.decider(one.decided_by)
        rows.append(table_row(f"R{one.number}", text, status, decider, _proof(one, evidence)))
    return rows


def mark(one: RequirementView) -> str:
    """A sign and a word for where it stands."""
    return REFUSED_MARK if one.refused else MARKS[one.status]


def _proof(one: RequirementView, evidence: Mapping[str, Evidence]) -> str:
    """What stands for it: the evidence of a proof, the reason of everything else."""
    if one.status == "met":
        cited = [f"{identity}: {observed(evidence.get(identity))}" for identity in one.evidence_ids]
        graded = f" ({GRADES[one.grade]})" if one.grade is not None else ""
        return ("; ".join(cited) or plain_line(one.reason)) + graded
    ids = f" ({', '.join(one.evidence_ids)})" if one.evidence_ids else ""
    return plain_line(one.reason) + ids


def observed(evidence: Evidence | None) -> str:
    """What was observed, in a few words."""
    if evidence is None:
        return "no longer on record"
    seen = evidence.observation
    if isinstance(seen, CheckResult):
        return f"{code(seen.command)} {_result(seen)}"
    if isinstance(seen, EditorReport):
        return seen.told
    if isinstance(seen, ObservedFile):
        return f"{code(seen.path)} as read"
    if isinstance(seen, ObservedDiff):
        return f"the diff of {counted(len(seen.paths), 'file')}"
    if isinstance(seen, ObservedResponse):
        return "the worker's response"
    if isinstance(seen, AffectedRun):
        return f"some tests of {code(seen.command)}: {_result(seen.result)}"
    if isinstance(seen, Trial):
        said = plain_line(seen.reason) if seen.result is None else _result(seen.result)
        return f"{code(seen.command)}, tried {TRIED[seen.tried]}: {said}"
    return f"{code(seen.command)} seen to exit with {seen.exit_code}"


def _result(result: CheckResult) -> str:
    if result.totals is None:
        return str(result.outcome).replace("_", " ")
    totals = result.totals
    parts = [f"{totals.passed} passed"]
    parts += [f"{totals.failed} failed"] if totals.failed else []
    parts += [f"{totals.skipped} skipped"] if totals.skipped else []
    return ", ".join(parts)


def _decisions(view: RunView) -> Iterator[list[str]]:
    """What stands in for proof or says what it is worth, what refuses it, and what the run changed."""
    state = view.state
    labels = {requirement.id: requirement.label for requirement in state.goal.requirements}
    overrides = [
        f"- {labels[identity]} was **waived**: {plain_line(reason)}"
        for identity, reason in state.waived.items()
        if identity in labels
    ]
    standing: list[str] = []
    for known in state.present_findings:
        finding, message = known.finding, plain_line(known.finding.message)
        if known.by_a_person:
            found = f"found at {place(finding)}: {message}"
            overrides.append(f"- {known.id} ({finding.kind}) was **accepted**: {plain_line(known.reason)}; {found}")
        else:
            accepted = f" It blocks nothing: {plain_line(known.reason)}." if known.accepted else ""
            standing.append(f"- {known.id} {finding.kind} at {place(finding)}: {message}{accepted}")
    undone = [f"- {undone_text(one)}: {plain_line(one.finding.message)}" for one in state.undone_findings]
    edits = view.edits or ()
    changed = [f"- {code(one.path)} +{one.added} −{one.removed}" for one in edits[:MAX_CHANGED]]
    more = len(edits) - MAX_CHANGED
    changed += [f"- and {more} more"] if more > 0 else []
    yield section("Overrides by a person (not proven)", overrides)
    yield section("A weak judge", _warnings(state, WEAK_JUDGE))
    yield section("Integrity findings", standing)
    yield section("Refused on the way", undone)
    yield section(f"Changed: {edits_text(edits)}", changed)


def _circumstances(state: RunState) -> Iterator[list[str]]:
    """What plugins say, and what was accepted before the first turn, and by whom."""
    off = [f"- {code(name)} in {plain_line(said)}" for name, said in state.plugins.off.items()]
    summary = [f"- {plain_line(line)}" for line in state.options.summary.splitlines() if line.strip()]
    halt = shown_halt(state)
    if halt is not None and halt.data:
        data = json.dumps(dict(halt.data), ensure_ascii=False)
        yield section(f"What the plugin {code(halt.plugin)} says", [code(data)])
    yield section("Plugins that failed and were switched off", off)
    if state.options.summary:
        yield section("At the start", [f"{ACCEPTED[state.started]}:", "", *summary])


def accepted_text(state: RunState, known: KnownFinding) -> str:
    """`accepted by ana in a terminal: the reason`; the name only where it is on record."""
    by = next((act.person for act in reversed(state.acts) if known.id in act.accepted), None)
    who = f" by {by.user} {FROM[by.where]}" if by is not None else ""
    return f"accepted{who}" + (f": {known.reason}" if known.reason else "")


def act_text(act: ActOnRecord) -> str:
    """One act on a line."""
    said = f": {plain_line(act.said)}" if act.said else ""
    return f"{plain_line(act.person.user)} {FROM[act.person.where]} {plain_line(act.what)}{said}"


def undone_text(one: RaisedFinding) -> str:
    """`F1 original_fails at FILE:LINE, raised after iteration 1, undone in iteration 2`."""
    when = f"raised after iteration {one.iteration}" if one.iteration else "raised at the start"
    then = f"undone in iteration {one.undone}" if one.undone is not None else "not tried again since"
    return f"{one.id} {one.finding.kind} at {place(one.finding)}, {when}, {then}"


def refused_by(state: RunState, iteration: int) -> tuple[RaisedFinding, ...]:
    """The findings that stood after an iteration."""
    return tuple(one for one in state.raised_findings if one.refuses(iteration))


def edits_text(edits: Sequence[FileEdit]) -> str:
    """`2 files, +10 −3`."""
    return f"{counted(len(edits), 'file')}, +{sum(one.added for one in edits)} −{sum(one.removed for one in edits)}"


def place(finding: IntegrityFinding) -> str:
    return code(f"{finding.path}:{finding.line + 1}") if finding.path else "the workspace"


def gathered(view: RunView, evidence: Mapping[str, Evidence], *, history: bool = True) -> Iterator[list[str]]:
    """The sections on the evidence, the work, and what the run was like; without `history` those on iterations and acts
    are left out."""
    state = view.state
    yield _proofs(evidence)
    yield from _outputs(evidence)
    yield _iterations(state) if history else []
    yield _transcript(view)
    yield _costs(state)
    yield section("Rooms", _warnings(state, "rooms"))
    acts = [f"- {when(act.at)}: {act_text(act)}" for act in state.acts if history]
    yield section("Acts of people", [*acts, *_warnings(state, REFUSED)])
    yield from _circumstances(state)


def _proofs(evidence: Mapping[str, Evidence]) -> list[str]:
    rows: list[str] = []
    trials: dict[str, dict[TrialKind, Trial]] = {}
    for one in evidence.values():
        if isinstance(one.observation, Trial):
            trials.setdefault(one.observation.check_id, {})[one.observation.tried] = one.observation
    for one in evidence.values():
        seen, tried, why = one.observation, "", ""
        revision = code(one.revision[:SHORT])
        if isinstance(seen, Trial):
            tried = f", {TRIED[seen.tried]}"
            if seen.result is None:
                not_run = f"not run: {plain_line(seen.reason)}"
                rows.append(table_row(one.id, code(seen.command) + tried, not_run, "", revision, ""))
            why = unplanted(trials[seen.check_id]) if seen.tried == "planted" else ""
            seen = seen.result
        if not isinstance(seen, CheckResult):
            continue
        exit_code = "" if seen.exit_code is None else f" (exit {seen.exit_code})"
        program = code(Path(seen.program).name) if seen.program else ""
        result = _result(seen) + exit_code + (f"; nothing follows: {plain_line(why)}" if why else "")
        rows.append(table_row(one.id, code(seen.command) + tried, result, f"{seen.seconds:.2f} s", revision, program))
    return _table("Evidence", ("Command", "Result", "Time", "Revision", "Program"), rows)


def _outputs(evidence: Mapping[str, Evidence]) -> Iterator[list[str]]:
    """What each check printed that did not pass."""
    room = MAX_OUTPUTS
    for one in evidence.values():
        seen = one.observation
        if isinstance(seen, CheckResult) and not seen.passed and (output := seen.output.strip()):
            shown = _printable_end(output, min(MAX_OUTPUT, room))
            room -= len(shown)
            if not shown:
                return
            yield _fold(f"What {one.id} printed", shown)


def _fold(summary: str, shown: str) -> list[str]:
    """Text of others behind a summary, in a fence that it can't leave."""
    return ["<details>", f"<summary>{summary}</summary>", "", markdown.block(shown), "", "</details>"]


def _transcript(view: RunView) -> list[str]:
    """What the worker did and said, in its order: the end of it, where it is long. None of it is evidence."""
    lines: list[str] = []
    iteration = 0
    for step in view.steps:
        if step.kind not in _BY_WORKER:
            continue
        if step.iteration != iteration:
            iteration = step.iteration
            lines.append(f"iteration {iteration}")
        counts = f" +{step.added} -{step.removed}" if step.diff else ""
        failed = " (failed)" if step.state == "failed" else ""
        said = step.text.strip().splitlines()[-MAX_SAID:] if step.kind != "reads" else []
        lines.append(f"  {_WHO.get(step.kind, '')}{step.title}{counts}{failed}".rstrip())
        lines += [f"    {line}" for line in said]
    shown = _printable_end("\n".join(lines), MAX_TRANSCRIPT)
    return _fold("What the worker did and said", shown) if lines else []


_BY_WORKER = frozenset(("says", "reads", "runs", "edits", "tool", "reports", "hint", "asks"))
_WHO = {"says": "the worker: ", "hint": "a person: "}


def without_hidden(text: str) -> str:
    """Lines in which what can't be seen, or changes the direction of text, is marked."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _printable_end(output: str, most: int) -> str:
    return end_of(without_hidden(output), most) if most > 0 else ""


def end_of(output: str, most: int) -> str:
    """Of what is longer its last `most` characters, which say how it went."""
    cut = len(output) - most
    return output if cut <= 0 else f"… ({cut} characters cut)\n{output[-most:]}"


def _iterations(state: RunState) -> list[str]:
    rows: list[str] = []
    for one in state.progress.iterations:
        changed = ", ".join(code(path) for path in one.changed[:5]) + (" …" if len(one.changed) > 5 else "")
        if one.error:
            changed = f"failed: {plain_line(one.error)}"
        refused = ", ".join(found.id for found in refused_by(state, one.number))
        met = f"{one.met} of {one.total}" + (f", refused by {refused}" if refused else "")
        seconds, usd = f"{one.seconds:.1f} s", _dollars(one.usage)
        rows.append(table_row(str(one.number), met, seconds, usd, changed or "nothing"))
    return _table("Iterations", ("Met", "Time", "Cost", "Changed"), rows)


def when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def plain_line(value: str) -> str:
    """Text from files and programs on one line, as `markdown.prose` makes it; a mention is one to GitHub behind a
    backslash, too."""
    return markdown.prose(_on_one_line(value)).replace("\\@", "@\u200b")


def code(value: str) -> str:
    """A code span that no backtick in the value can close; empty for nothing."""
    line = _on_one_line(value)
    return markdown.code(line) if line else ""


def _on_one_line(value: str) -> str:
    return _SPACE.sub(" ", "".join(c if c.isprintable() or c.isspace() else "�" for c in value)).strip()


def _table(title: str, columns: Sequence[str], rows: Sequence[str]) -> list[str]:
    """With a first column that has no name."""
    head = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return section(title, [*head, *rows]) if rows else []


def table_row(*cells: str) -> str:
    """The bars in cells are none of the table's."""
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
