"""A run as an editor shows it: the words, signs and order of what is seen, and what can be done now.

Everything follows from the snapshot, so that a client draws what it is given and decides nothing. It goes to the
clients that declare `clientFeatures.views`. Text of others (goals, workers, tools) stays text wherever Markdown, links
or icons would be made of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote
from zlib import crc32

from donewhen.core.answers import AnswerForm, answer_choices, answer_form
from donewhen.core.questions import QuestionContext
from donewhen.core.trouble import Repair
from donewhen.core.verdict import GRADES
from donewhen.core.words import counted, duration, money, sentence, shortened
from donewhen.core.work import WEAK_JUDGE, ResponseKind
from donewhen.engine.api import CallSummary, IterationDetail
from donewhen.wire.snapshot import (
    Snapshot,
    Wire,
    WireHalt,
    WireIntegrity,
    WireInterrupt,
    WireIteration,
    WireRequirement,
)

SHOWN_ITERATIONS = 20
CHUNK = 100
"""Earlier iterations are listed by the hundred, and asked for when one is opened."""
MAX_OPEN = 8
"""Lines of what is open in a tooltip."""
MAX_NOTICE = 400
MAX_TITLE = 120
MAX_SAID = 200
MAX_REASON = 300
MAX_REMAINING = 1_000
"""Characters of what remains, in a tooltip: of a goal of many requirements nobody reads more there."""
COLUMNS = 100
SUMMARY_LINES = 4
"""The lines of a start's summary that say who works, who judges, and what it may take."""

Opens = Literal["never", "collapsed", "expanded"]
Clicked = Literal["goal", "place", "evidence", "interrupt", "choice", "words", "change"]
Tone = Literal["plain", "good", "bad"]
Standing = Literal["passed", "failed", "skipped", "queued", "unknown"]


class WireNode(Wire):
    """A row of a tree. `id` stays for the same thing; `spoken` is what a screen reader says in place of label, icon and
    description; `tooltip` is Markdown; `about` is given to its menu, and to what `click` names; `later` is how many
    children are to be asked for: with `donewhen.run.children`, or with `allIterations` of `donewhen.run.status`.
    `version` changes with these."""

    id: str
    label: str
    description: str
    icon: str
    color: str
    spoken: str
    context: str
    opens: Opens
    about: dict[str, Any]
    click: Clicked | None
    tooltip: str
    later: int
    children: list[WireNode]
    version: str = ""


class WireStatusLine(Wire):
    """One line for a status bar, its tooltip in Markdown, and what a screen reader says. `elsewhere` is the line while
    another run waits for a person."""

    icon: str
    text: str
    elsewhere: str
    tooltip: str
    spoken: str


class WireRow(Wire):
    """An iteration in a list: `point` is what its place in a chart stands for; `score` is null while it is under way;
    `version` changes with whatever its details show."""

    number: int
    label: str
    facts: str
    summary: str = ""
    point: str = ""
    score: float | None = None
    usd: float | None = None
    tone: Tone = "plain"
    version: str


class WireTimeline(Wire):
    """`before` is how far the goal was before the first iteration, `under_way` the one that has not ended. `chart` says
    in words what a chart of the rows shows, `news` what has just changed."""

    facts: str
    activity: str
    chart: str
    news: str
    before: WireRow | None
    rows: list[WireRow]
    under_way: WireRow | None


class WireRaise(Wire):
    """The limit that ended a run, what to ask for, what to propose, and what one of that is in the limit's own unit."""

    limit: Literal["maxIterations", "timeoutSeconds", "budgetUsd", "tokenBudget"]
    title: str
    proposed: float
    unit: float
    whole: bool


class WireRepair(Wire):
    """A button for what keeps a run from going on: what it does is one of `actions`. `model` is the one it is about,
    of the `role`; `iteration` the one whose files are put back."""

    action: str
    label: str
    role: Literal["worker", "judge"] | None = None
    model: str | None = None
    iteration: int | None = None


class WireChoice(Wire):
    """A button: what is sent as the answer, or what is done instead of one."""

    label: str
    detail: str
    response: ResponseKind | None = None
    remember: Literal["run", "workspace"] | None = None
    instead: Literal["addCheck", "chooseJudge"] | None = None
    text: str = ""


class WireAsked(Wire):
    """A question. `notice` and `title` say it in a line, the first with what the worker said; `context` is what stands
    around it. The first two `choices` are for a notification, all of them in the order of `listed`. `edits` names the
    field of its input that can be edited; `words`: it is answered in words as well, `open`: best so. `document` is all
    of it, a file of the kind that `extension` says; `path`: it is a change of that file."""

    id: str
    notice: str
    title: str
    context: list[str]
    choices: list[WireChoice]
    listed: list[int]
    edits: str | None
    words: bool
    open: bool
    document: str
    extension: str
    path: str | None
    node: WireNode


class WireButton(Wire):
    """What a button does: one of the client's commands, without `donewhen.`, given `about`."""

    label: str
    command: str
    about: dict[str, Any]


class WireNotice(Wire):
    """What a person is told: `asked` while a question is open (`starting`: the one that a run begins with), `stands`
    while a run waits to be resumed, `ended` once it came to an end, or paused, by itself. It holds as long as its `key`
    is there. A `question` stays in view until then; a `warning` needs a person. `at` is when it was asked."""

    key: str
    when: Literal["starting", "asked", "stands", "ended"]
    kind: Literal["question", "warning", "information"]
    at: str
    message: str
    buttons: list[WireButton]


class WireRequirementShown(Wire):
    """A requirement in a list: `standing` is how a test that stands for it would be, `why` its reason or what to say
    without one; `row` is one line of Markdown, `node` its row of a tree where the goal's `node` doesn't hold it."""

    id: str
    label: str
    status: str
    standing: Standing
    why: str
    row: str
    disputable: bool
    node: WireNode | None = None


class WireView(Wire):
    """How a run is shown. `goal` is the same for runs and checks of one goal. `outcome` is said once it has ended, null
    where a person ended it. `actions` are what can be done, the likeliest first; `lacks` is what keeps it from going
    on, `repairs` what is done about why it stands still, the likeliest first."""

    goal: str
    title: str
    state: str
    tally: str
    status: WireStatusLine
    active: bool
    asking: bool
    halted: str | None
    goes_on: bool
    unfinished: bool
    guardable: bool
    hintable: bool
    lacks: Literal["models"] | None
    outcome: str | None
    raises: WireRaise | None
    repairs: list[WireRepair]
    actions: list[str]
    node: WireNode
    iterations: WireNode | None
    timeline: WireTimeline
    requirements: list[WireRequirementShown]
    asked: list[WireAsked]
    notices: list[WireNotice]


class WireSnapshot(Snapshot):
    """A snapshot with its view, as clients get it that declare `clientFeatures.views`."""

    view: WireView


RequirementRows = Mapping[str, tuple[object, WireRequirementShown]]
"""How each requirement is shown in a sparse view, with all that this follows from, by its id, in order."""


def requirement_rows(run: Snapshot, known: RequirementRows) -> RequirementRows:
    """The rows of a run; one that is as it was among those that are known is the same object."""
    about = (run.run_id, run.goal_uri, run.judge, [one.code for one in run.warnings])
    rows: dict[str, tuple[object, WireRequirementShown]] = {}
    for one in run.requirements:
        before = known.get(one.id)
        if before is not None and before[0] == (about, one):
            rows[one.id] = before
        else:
            rows[one.id] = ((about, one), _requirement_view(run, one, _requirement_node(run, one, sparse=True)))
    return rows


def view_of(run: Snapshot, *, silent: bool = False, rows: RequirementRows | None = None) -> WireView:
    """The view of a run, or of a bare check. `silent`: a model that was asked says nothing. With `rows` it is sparse:
    those are the rows of its requirements, and what stands under them and under iterations is left out."""
    sparse, halted = rows is not None, _halted(run)
    repairs = _repairs(run)
    asked = [_wire_question(run, one) for one in run.interrupts]
    return WireView(
        goal=run.goal_uri or f"run:{run.run_id}",
        title=unmarked(run.title),
        state=state_in_words(run),
        tally=_run_tally(run),
        status=_status_line(run, silent=silent),
        active=_active(run),
        asking=_asking(run),
        halted=None if halted is None else halted.reason,
        goes_on=_goes_on(run),
        unfinished=run.status in ("running", "waiting", "paused", "interrupted"),
        guardable=_guardable(run),
        hintable=run.worker not in (None, "human") and (_active(run) or _resumable(run)),
        lacks="models" if any(one.action == "installModels" for one in repairs) else None,
        outcome=_notice_of_end(run),
        raises=_raises(run),
        repairs=repairs,
        actions=_actions(run),
        node=_goal_node(run, sparse=sparse),
        iterations=_iterations_node(run, sparse=sparse),
        timeline=_timeline(run),
        requirements=[row for _, row in rows.values()]
        if rows is not None
        else [_requirement_view(run, one) for one in run.requirements],
        asked=asked,
        notices=_notices(run, asked, repairs),
    )


# ------------------------------------------------------------------------------------- how it is


def _active(run: Snapshot) -> bool:
    """It goes on, or may."""
    return run.status in ("running", "waiting")


def _halted(run: Snapshot) -> WireHalt | None:
    """The halt of a plugin that stopped it, and may let it go on."""
    return run.halt if run.status == "waiting" and run.halt is not None and run.halt.resumable else None


def _resumable(run: Snapshot) -> bool:
    return run.status in ("paused", "interrupted") or _halted(run) is not None


def _goes_on(run: Snapshot) -> bool:
    """It waits to be resumed, or ended in a way that a person can lift."""
    return _resumable(run) or run.status in ("capped", "timed_out", "over_budget", "stalled", "blocked", "crashed")


def _asking(run: Snapshot) -> bool:
    """A person may answer: also while nobody goes on with the run."""
    return bool(run.interrupts) and (_active(run) or _resumable(run))


def _guardable(run: Snapshot) -> bool:
    return run.status == "complete" and run.goal_uri is not None and run.guard is None


def _disputable(run: Snapshot, one: WireRequirement) -> bool:
    """A judge can be asked again about it."""
    return run.judge is not None and (one.decided_by == "judge" or one.status == "unmet")


def _is_open(one: WireRequirement) -> bool:
    return one.status not in ("met", "waived")


def _actions(run: Snapshot) -> list[str]:
    """What can be done with the run, the likeliest first."""
    guard = ["liftGuard"] if run.guard is not None else ["guard"] if _guardable(run) else []
    return [
        *(["answer"] if _asking(run) else []),
        *_steering(run),
        *guard,
        *([] if run.goal_uri is None else ["openGoal"]),
        "report",
        "showTimeline",
        *(["revertToIteration"] if run.iterations else []),
        *(["waive"] if run.counts.unmet + run.counts.unverified + run.counts.stale else []),
    ]


_REPAIRS: Mapping[Repair, tuple[str, str]] = {
    "set_key": ("setApiKey", "Set API Key…"),
    "choose_model": ("chooseModels", "Choose Another Model…"),
    "set_address": ("setAddress", "Set Address…"),
    "install_support": ("installModels", "Install Model Support"),
    "retry": ("resume", "Try Again"),
}


def _repairs(run: Snapshot) -> list[WireRepair]:
    """What a person does before the run goes on, and that it goes on."""
    if not _goes_on(run) or run.take_over:
        return []
    found: list[WireRepair] = []
    if (trouble := run.model_trouble) is not None:
        named = [_REPAIRS[one] for one in trouble.repairs]
        found = [WireRepair(action=does, label=label, role=trouble.role, model=trouble.model) for does, label in named]
    if run.goal_kept is not None:
        found.append(WireRepair(action="restoreGoal", label="Put It Back", iteration=run.goal_kept))
    if any(one.action == "resume" for one in found):
        return found
    raised = "Resume" if _raises(run) is None else "Raise the Limit…"
    return [*found, WireRepair(action="resume", label=raised)]


def repair_lens(run: Snapshot) -> tuple[str, str] | None:
    """What a lens above a goal says whose run stands still, and which action repairs that first; None where it is no
    more than to resume it."""
    first = next(iter(_repairs(run)), None)
    if first is None or (first.action == "resume" and run.model_trouble is None and _raises(run) is None):
        return None
    state = state_in_words(run)
    # As lenses are written: `Set API key…`.
    label = re.sub(r" [A-Z](?=[a-z])", lambda letter: letter[0].lower(), first.label)
    return f"{sentence(state)} · {label}", first.action


def _steering(run: Snapshot) -> list[str]:
    check = ["checkNow"] if run.goal_uri is not None else []
    if _active(run) and run.halt is None:
        return [*check, "pause", "stop"]
    if _goes_on(run):
        repairs = [one.action for one in _repairs(run)] or ["takeOver" if run.take_over else "resume"]
        return [*repairs, *check, "stop" if _resumable(run) or run.halt is not None else "start"]
    finishing = ["reviewChanges", "commit", "copyReceipt"] if run.status == "complete" else []
    return [*finishing, *(["start", *check] if check else [])]


def _raises(run: Snapshot) -> WireRaise | None:
    limits = run.limits
    if run.status == "capped":
        proposed = (limits.max_iterations or 10) + 5
        return WireRaise(limit="maxIterations", title="Iterations at most", proposed=proposed, unit=1, whole=True)
    if run.status == "timed_out":
        minutes = math.ceil((limits.timeout_seconds or 3_600) / 60) + 30
        title = "Minutes at most, including those already used"
        return WireRaise(limit="timeoutSeconds", title=title, proposed=minutes, unit=60, whole=False)
    if run.status != "over_budget":
        return None
    if limits.budget_usd is not None:
        title = "US dollars at most"
        return WireRaise(limit="budgetUsd", title=title, proposed=limits.budget_usd * 2, unit=1, whole=False)
    tokens = (limits.token_budget or 100_000) * 2
    return WireRaise(limit="tokenBudget", title="Tokens at most", proposed=tokens, unit=1, whole=True)


def _notice_of_end(run: Snapshot) -> str | None:
    """What is said of a run that ended, or paused, by itself: what a person stopped is not news to them."""
    title = harmless(run.title)
    why = harmless(run.reason or run.missing)[:MAX_REASON]
    if run.status == "paused":
        return f"“{title}” is paused: {why}" if run.paused_by != "person" and run.reason else None
    if run.status in (None, "cancelled") or _active(run) or _resumable(run):
        return None
    if run.status == "complete":
        took = duration(run.elapsed_seconds)
        # What is on a person's word is not proven, and never said to be.
        if run.counts.waived or _trusted(run):
            return f"Complete: {_run_tally(run)} in {took}. “{title}” is complete, but not all of it is proven."
        return f"Proven: {run.counts.met} of {run.counts.total} in {took}. “{title}” is complete."
    return f"“{title}” ended with {_run_tally(run)} ({state_in_words(run)}): {why}"


# ------------------------------------------------------------------------------------- words

_RUN_STATUS: Mapping[str | None, str] = {
    None: "checked",
    "waiting": "waiting for you",
    "timed_out": "timed out",
    "over_budget": "over budget",
}
_RUN_ICONS: Mapping[str | None, str] = {
    "running": "eye",
    "waiting": "bell-dot",
    "paused": "debug-pause",
    "interrupted": "debug-disconnect",
    "capped": "warning",
    "timed_out": "warning",
    "over_budget": "warning",
    "stalled": "warning",
    "blocked": "error",
    "impossible": "error",
    "crashed": "error",
    "cancelled": "circle-slash",
}
_RUN_COLORS: Mapping[str, str] = {
    "pass-filled": "testing.iconPassed",
    "pass": "testing.iconPassed",
    "error": "testing.iconFailed",
    "warning": "list.warningForeground",
    "bell-dot": "list.warningForeground",
    "debug-disconnect": "list.warningForeground",
}
_REQUIREMENT: Mapping[str, tuple[str, str, str, Standing]] = {
    "met": ("pass-filled", "testing.iconPassed", "✓", "passed"),
    "unmet": ("error", "testing.iconFailed", "✗", "failed"),
    "regressed": ("error", "testing.iconFailed", "✗", "failed"),
    "unverified": ("question", "testing.iconUnset", "?", "unknown"),
    "stale": ("history", "testing.iconQueued", "~", "unknown"),
    "waived": ("circle-slash", "testing.iconSkipped", "!", "skipped"),
}
"""Icon, its color, a mark in text, and how a test would stand, by a requirement's status."""
_DECIDED: Mapping[str | None, str] = {
    "check": "decided by a check",
    "judge": "decided by the judge",
    "person": "decided by a person",
}
_GRADES: Mapping[str | None, str] = {grade: GRADES[grade] for grade in ("own", "worker", "untried")}
"""What a proof is worth, where that says more than who decided."""
TAKE_OVER = "The window or terminal that was running it is gone."
NOTHING_KNOWN = "Nothing is known about it yet."


def state_in_words(run: Snapshot) -> str:
    """Its status in words, or what it stands still for."""
    trouble = run.model_trouble
    return trouble.headline if trouble is not None and run.status == "paused" else run_status(run.status)


def run_status(status: str | None) -> str:
    """A run's status in words; that of a bare check where there is none."""
    return _RUN_STATUS.get(status, status or "")


def tally(met: int, total: int, waived: int = 0) -> str:
    """`2 of 5 met, 1 waived`: what a person waived is not proven."""
    return f"{met} of {total} met" + (f", {waived} waived" if waived else "")


def _run_tally(run: Snapshot) -> str:
    return tally(run.counts.met, run.counts.total, run.counts.waived)


def _spent(usd: float | None) -> list[str]:
    """For a list of facts: nothing where no model was asked."""
    return [] if usd == 0 else [money(usd)]


def _turn(run: Snapshot) -> str:
    """`iteration 3/10`; empty before the first one, and where a person works: their edits come in no turns."""
    if run.status is None or run.iteration == 0 or run.worker == "human":
        return ""
    return f"iteration {run.iteration}" + ("" if run.max_iterations is None else f"/{run.max_iterations}")


def _phase(run: Snapshot) -> str:
    """Nothing where a person works: what it waits for is said already."""
    return "" if run.phase is None or (run.phase == "working" and run.worker == "human") else run.phase


def _joined(parts: Iterable[str], by: str = " · ") -> str:
    return by.join(part for part in parts if part)


# ------------------------------------------------------------------------------------- text of others

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters, what changes the direction of text, and what takes no room."""
_MARKS = {ord(mark): f"\\{mark}" for mark in r"\`*_{}[]()#+-.!|<>~$&:@/"}
_SPAN = re.compile("`+([^`]*)`+")


def visible(text: str) -> str:
    return _HIDDEN.sub("\ufffd", text)


def harmless(text: str) -> str:
    """Text for a notification or a label: on one line, with the ends of lines and hidden characters to be seen, and
    with no link, which notifications would make of it. A joiner without width keeps it text, and looks the same."""
    line = re.sub(r"\s*[\r\n\u2028\u2029]+\s*", " ⏎ ", visible(text).strip())
    return re.sub(r"\s+", " ", line).replace("](", "]\u2060(")


def as_markdown(text: str) -> str:
    """Text as Markdown that shows just that text, in which `$(name)` is not an icon."""
    return text.translate(_MARKS).replace("\r\n", "\n").replace("\n", "  \n")


def fenced(text: str) -> str:
    """A fenced block that its text can't leave."""
    fence = "`" * (max([2, *(len(run) for run in re.findall("`+", text))]) + 1)
    return f"{fence}\n{text}\n{fence}"


def unmarked(text: str) -> str:
    """Text of a goal file without the marks of code, which labels can't show."""
    return _SPAN.sub(r"\1", text)


def _first_line(text: str, most: int = 120) -> str:
    """Labels and descriptions are one line."""
    line = visible(text).strip().partition("\n")[0].rstrip("\r")
    return shortened(line, most)


def _base_name(uri: str) -> str:
    return unquote(uri.rsplit("/", 1)[-1])


# ------------------------------------------------------------------------------------- the status bar


def _status_icon(run: Snapshot) -> str:
    """It says how it is without reading: a spinner only while the worker, a check or a judge is at it."""
    if run.interrupts or _halted(run):
        return "bell-dot"
    if run.status == "running" and (run.phase in ("checking", "judging") or run.worker != "human"):
        return "loading~spin"
    if run.complete:
        # An override stood in for proof, or no run was: not the full mark.
        return "pass" if run.status is None or run.counts.waived or _trusted(run) else "pass-filled"
    if run.status == "complete":
        # It was met: what an edit has broken since is told apart from what an edit may have broken.
        return "error" if run.counts.unmet + run.counts.regressed else "history"
    return _RUN_ICONS.get(run.status, "target")


def _status_line(run: Snapshot, *, silent: bool) -> WireStatusLine:
    """`Goal: iteration 3/10 · 2 of 5 met · $0.12`. What a person waived is said where the goal is complete, since the
    numbers would belie it; else the tooltip says it. While anything is asked, it says that first; what a model that
    says nothing was asked for, it says with the seconds."""
    counts, turn = run.counts, _turn(run)
    goal = f"Goal: {turn}" if turn else "Goal"
    parts = [
        tally(counts.met, counts.total, counts.waived if run.complete else 0),
        f"{counts.regressed} regressed" if counts.regressed else "",
        _ending(run),
        "" if run.cost.usd is None else _joined(_spent(run.cost.usd)),
    ]
    offered = ["take over?"] if run.take_over else []
    doing = run.activity or ""
    trouble = doing or state_in_words(run) if run.model_trouble is not None else doing if silent else ""
    asked = run.interrupts[0].title if run.interrupts else ""
    facts = [
        state_in_words(run),
        turn,
        _run_tally(run),
        f"it asks: {asked}" if asked else "",
        "you can take it over" if run.take_over else "",
    ]
    return WireStatusLine(
        icon=_status_icon(run),
        text=_joined([goal, trouble, "waiting for you" if _asking(run) or _halted(run) else "", *offered, *parts]),
        elsewhere=_joined([goal, "waiting for you", *parts]),
        tooltip=_status_tooltip(run),
        spoken=f"Goal {unmarked(run.title)}: {_joined([trouble, *facts], ', ')}",
    )


def _ending(run: Snapshot) -> str:
    """At the end of a run that proved everything: how long it took; later what of it has to be checked again."""
    if run.status != "complete":
        return ""
    if run.counts.stale:
        return f"{run.counts.stale} stale"
    return (
        f"proven in {duration(run.elapsed_seconds)}"
        if run.complete and not run.counts.waived and not _trusted(run)
        else ""
    )


def _trusted(run: Snapshot) -> int:
    """How many requirements are met, but only since a person accepted a proof that was refused."""
    return sum(one.status == "met" and one.grade == "person" for one in run.requirements)


def _status_tooltip(run: Snapshot) -> str:
    """Where it stands, what is asked, what is open, what a person waived, cost and time."""
    first = run.interrupts[0] if run.interrupts else None
    doing = run.activity or _phase(run)
    detail = run.halt.reason if run.halt is not None else doing or run.reason
    phase = f"Waiting for you: {first.title}" if first is not None else _joined([state_in_words(run), detail])
    paragraphs = [
        f"**{as_markdown(unmarked(run.title))}**",
        as_markdown(phase),
        as_markdown(_joined([_turn(run), _run_tally(run)])),
        *([as_markdown(one) for one in _context(first)] if first is not None else []),
        as_markdown(f"{TAKE_OVER} It can be taken over here.") if run.take_over else "",
        _whats_open(run),
        "" if run.guard is None else f"$(shield) {as_markdown('On guard: the checks run again after each edit.')}",
        as_markdown(_joined([*_spent(run.cost.usd), duration(run.elapsed_seconds)])),
    ]
    return _joined(paragraphs, "\n\n")


def _whats_open(run: Snapshot) -> str:
    def line(one: WireRequirement) -> str:
        return f"$({_REQUIREMENT[one.status][0]}) {as_markdown(f'{unmarked(one.text)} (R{one.number})')}"

    lines = [
        *(line(one) for one in run.requirements if _is_open(one)),
        *(f"$(shield) {as_markdown(f'{one.id}: {one.message}')}" for one in run.integrity if not one.accepted),
        *(f"{line(one)} · waived" for one in run.requirements if one.status == "waived"),
    ]
    more = len(lines) - MAX_OPEN
    # Each on a line of its own, with its icon in place of a bullet.
    return "  \n".join([*lines[:MAX_OPEN], f"and {more} more"] if more > 0 else lines)


# ------------------------------------------------------------------------------------- the tree


def _node(
    identity: str,
    label: str,
    description: str = "",
    *,
    icon: str | tuple[str, str] = "",
    spoken: str | None = None,
    context: str = "",
    opens: Opens | None = None,
    about: Mapping[str, Any],
    click: Clicked | None = None,
    tooltip: str | None = None,
    later: int = 0,
    children: Sequence[WireNode] = (),
    version: str = "",
) -> WireNode:
    """What isn't said is filled in: it opens when it has children, and speaks its label and description."""
    name, color = icon if isinstance(icon, tuple) else (icon, "")
    return WireNode(
        id=identity,
        label=label,
        description=description,
        icon=name,
        color=color,
        spoken=spoken if spoken is not None else _joined([label, description], ", "),
        context=context,
        opens=opens or ("collapsed" if children or later else "never"),
        about=dict(about),
        click=click,
        tooltip=as_markdown(label) if tooltip is None else tooltip,
        later=later,
        children=list(children),
        version=version,
    )


def _about(run: Snapshot, **more: Any) -> dict[str, Any]:
    goal = {} if run.goal_uri is None else {"goalUri": run.goal_uri}
    return {"runId": run.run_id, **goal, **more}


def _goal_id(run: Snapshot) -> str:
    return f"goal/{run.goal_uri or f'run:{run.run_id}'}"


def _goal_node(run: Snapshot, *, sparse: bool) -> WireNode:
    """What is proven comes first: a narrow side bar cuts the rest."""
    counts, state, title = run.counts, state_in_words(run), unmarked(run.title)
    identity = _goal_id(run)
    icon = _status_icon(run)
    facts = [f"{counts.waived} waived" if counts.waived else "", state, _turn(run)]
    said = [state, _run_tally(run), _turn(run)]
    how = f"goal.{run.status or 'checked'}{'.guarded' if run.guard is not None else ''}"
    # What it does now, or why it stands still: a line of its own, so that no more is drawn again when it changes.
    halted = run.halt.reason if run.halt is not None else None
    doing = halted or (run.activity if run.status == "running" else run.reason)
    activity: list[WireNode] = []
    if doing:
        sign, tip = "pulse" if run.status == "running" else "info", as_markdown(doing)
        row, line = f"{identity}/activity", _first_line(doing, 300)
        activity = [_node(row, line, _phase(run), icon=sign, about=_about(run), tooltip=tip)]
    return _node(
        identity,
        f"{counts.met}/{counts.total} {title}",
        _joined(facts),
        icon=(icon, _RUN_COLORS.get(icon, "")),
        spoken=f"Goal {title}: {_joined(said, ', ')}",
        context=f"{how}{'.takeOver' if run.take_over else ''}",
        opens="expanded",
        about=_about(run),
        tooltip=_goal_tooltip(run, state),
        children=[
            *activity,
            *(_finding_node(run, identity, one) for one in run.integrity),
            *(() if sparse else (_requirement_node(run, one) for one in run.requirements)),
        ],
    )


def _goal_tooltip(run: Snapshot, state: str) -> str:
    facts = [state, _run_tally(run), *_spent(run.cost.usd), duration(run.elapsed_seconds)]
    paragraphs = [
        f"**{as_markdown(run.title)}** · {_joined(map(as_markdown, facts))}",
        as_markdown(run.objective),
        as_markdown(run.reason),
        as_markdown(f"Remaining: {_cut(run.missing, MAX_REMAINING)}") if run.missing else "",
        *(f"$(warning) {as_markdown(one.message)}" for one in run.warnings),
    ]
    return _joined(paragraphs, "\n\n")


def _finding_node(run: Snapshot, under: str, one: WireIntegrity) -> WireNode:
    """What tampers with the proof: open findings keep a goal from being complete."""
    kind = one.kind.replace("_", " ")
    state = f"accepted: {one.reason}" if one.accepted else "not accepted"
    return _node(
        f"{under}/finding/{one.id}",
        f"{one.id} {_first_line(one.message, 200)}",
        f"{kind} · {state}" if one.accepted else kind,
        icon="shield" if one.accepted else ("shield", "testing.iconFailed"),
        spoken=f"Integrity finding {one.id}, {kind}, {state}: {one.message}",
        context="finding.accepted" if one.accepted else "finding.open",
        about=_about(run, findingId=one.id, uri=one.uri, range=one.range.model_dump(by_alias=True)),
        click="place",
        tooltip=f"**{as_markdown(kind)}** · {as_markdown(state)}\n\n{as_markdown(one.message)}",
    )


def _requirement_id(run: Snapshot, one: WireRequirement) -> str:
    return f"{_goal_id(run)}/requirement/{one.id}"


def _requirement_node(run: Snapshot, one: WireRequirement, *, sparse: bool = False) -> WireNode:
    """Where it stands, and why, with the places and the evidence under it."""
    text, why = unmarked(one.text), unmarked(one.reason)
    doubts = [one.status, "being proven again" if one.renewing else "", "flaky" if one.flaky else ""]
    state = _joined(doubts, ", ")
    icon, color, _, _ = _REQUIREMENT[one.status]
    messages = [place.message for place in one.locations if place.message]
    paragraphs = [
        _joined([f"**{as_markdown(f'{state} · R{one.number}')}**", as_markdown(_decider(run, one))]),
        as_markdown(one.text.replace("`", "")),
        as_markdown(one.reason.replace("`", "")),
        *map(fenced, messages[:3]),
        as_markdown(f"Evidence: {', '.join(one.evidence_ids)}") if one.evidence_ids else "",
    ]
    return _node(
        _requirement_id(run, one),
        _first_line(text, 200),
        _joined([state, "" if one.status == "met" else _first_line(why)]),
        icon=("sync", "testing.iconQueued") if one.renewing else (icon, color),
        spoken=f"Requirement {one.number}, {state}: {text}. {why}",
        context=f"requirement.{one.status}{'.disputable' if _disputable(run, one) else ''}",
        about=_about(run, requirementId=one.id),
        tooltip=_joined(paragraphs, "\n\n"),
        later=bool(one.reason) + len(one.locations) + len(one.evidence_ids) if sparse else 0,
        version=_version(one) if sparse else "",
        children=() if sparse else _requirement_children(run, one),
    )


def _requirement_children(run: Snapshot, one: WireRequirement) -> list[WireNode]:
    """Its reason, the places that it names, and its evidence."""
    identity, about = _requirement_id(run, one), _about(run, requirementId=one.id)
    nodes: list[WireNode] = []
    if one.reason:
        why, decider = unmarked(one.reason), _decider(run, one)
        spoken, label = f"Reason: {why}. {decider}", _first_line(why, 400)
        tip = as_markdown(one.reason)
        nodes = [_node(f"{identity}/reason", label, decider, icon="comment", spoken=spoken, about=about, tooltip=tip)]
    for at, place in enumerate(one.locations):
        name, line = _base_name(place.uri), place.range.start.line + 1
        nodes += [
            _node(
                f"{identity}/place/{at}",
                f"{name}:{line}",
                _first_line(place.message),
                icon="location",
                spoken=f"{name}, line {line}: {place.message}",
                about={**about, "uri": place.uri, "range": place.range.model_dump(by_alias=True)},
                click="place",
                tooltip=fenced(place.message) if place.message else as_markdown(name),
            )
        ]
    tip = as_markdown("Evidence is what Done When observed itself. Click to read all of it.")
    for name in one.evidence_ids:
        shown, given = f"Evidence {name}", {**about, "evidenceId": name}
        row = f"{identity}/evidence/{name}"
        nodes += [_node(row, shown, icon="output", context="evidence", about=given, click="evidence", tooltip=tip)]
    return nodes


def _version(*shown: Wire) -> str:
    """Another one where anything of it is another."""
    return f"{crc32(repr([one.model_dump() for one in shown]).encode('utf-8', 'surrogatepass')):x}"


def children_of(run: Snapshot, node: str) -> list[WireNode]:
    """What stands under a row of a sparse view; of earlier iterations, those that the snapshot holds. Nothing where
    there is no such row any more."""
    for one in run.requirements:
        if node == _requirement_id(run, one):
            return _requirement_children(run, one)
    if node == _iterations_id(run):
        return _iteration_nodes(run)
    for first, last in _chunks(run):
        if node == f"{_iterations_id(run)}/{first}":
            return [_iteration_node(run, one) for one in reversed(run.iterations) if first <= one.number <= last]
    return []


def _decider(run: Snapshot, one: WireRequirement) -> str:
    weak = one.decided_by == "judge" and any(warning.code == WEAK_JUDGE for warning in run.warnings)
    decided = "decided by a weak judge" if weak else _DECIDED.get(one.decided_by, "")
    return _joined([decided, _GRADES.get(one.grade, "") if one.status == "met" else ""])


def _requirement_view(run: Snapshot, one: WireRequirement, node: WireNode | None = None) -> WireRequirementShown:
    _, _, mark, standing = _REQUIREMENT[one.status]
    text = unmarked(one.text)
    return WireRequirementShown(
        id=one.id,
        label=f"R{one.number} {text}",
        status=one.status,
        standing="queued" if one.renewing else standing,
        why=unmarked(one.reason) or NOTHING_KNOWN,
        row=f"- {mark} R{one.number} {as_markdown(' '.join(text.split())[:600])} ({one.status})",
        disputable=_disputable(run, one),
        node=node,
    )


# ------------------------------------------------------------------------------------- iterations


def _iterations_id(run: Snapshot) -> str:
    return f"run/{run.run_id}/iterations"


def _iterations_node(run: Snapshot, *, sparse: bool) -> WireNode | None:
    """What belongs to one run stays apart from the goal's next run."""
    if run.iterations_total == 0:
        return None
    return _node(
        _iterations_id(run),
        "Iterations",
        str(run.iterations_total),
        icon="history",
        context="iterations",
        about={"runId": run.run_id},
        tooltip=as_markdown("An iteration is one turn of the worker, followed by the checks."),
        later=run.iterations_total if sparse else 0,
        version=f"{_version(*run.iterations)} {run.last_revertible}" if sparse else "",
        children=() if sparse else _iteration_nodes(run),
    )


def _iteration_nodes(run: Snapshot) -> list[WireNode]:
    """The newest one by one, earlier ones in hundreds."""
    newest = reversed(run.iterations[-SHOWN_ITERATIONS:])
    earlier = {one.number: one for one in run.iterations[:-SHOWN_ITERATIONS]}
    chunks = (_chunk(run, first, last, earlier) for first, last in _chunks(run))
    return [*(_iteration_node(run, one) for one in newest), *chunks]


def _chunks(run: Snapshot) -> Iterator[tuple[int, int]]:
    """The hundreds of the earlier iterations, the latest first: the numbers of the first and the last of each."""
    newest = run.iterations[-SHOWN_ITERATIONS:]
    end = newest[0].number - 1 if newest else run.iterations_total
    while end >= 1:
        first = (end - 1) // CHUNK * CHUNK + 1
        yield first, end
        end = first - 1


def _chunk(run: Snapshot, first: int, last: int, earlier: Mapping[int, WireIteration]) -> WireNode:
    known = [earlier[number] for number in range(last, first - 1, -1) if number in earlier]
    whole = len(known) == last - first + 1
    return _node(
        f"{_iterations_id(run)}/{first}",
        f"Iteration {last}" if first == last else f"Iterations {first} to {last}",
        icon="history",
        context="iterations",
        about={"runId": run.run_id},
        later=0 if whole else last - first + 1,
        version="" if whole else str(last),
        children=[_iteration_node(run, one) for one in known] if whole else [],
    )


def _iteration_node(run: Snapshot, one: WireIteration) -> WireNode:
    """Score, cost and time; how it went and the changed files are under it."""
    identity, about = f"run/{run.run_id}/iteration/{one.number}", {"runId": run.run_id, "iteration": one.number}
    label = f"Iteration {one.number}"
    facts = [tally(one.met, one.total), *_spent(one.usd), duration(one.seconds)]
    files = counted(len(one.changed_files), "file changed", "files changed")
    failed = ("error", "testing.iconFailed")
    proven = ("pass-filled", "testing.iconPassed") if one.score >= 1 else "git-commit"
    told: list[WireNode] = []
    for kind, who, said, icon in (
        ("error", "The turn failed", one.error, failed),
        ("summary", "The worker says", one.summary or None, "comment"),
    ):
        if said is not None:
            spoken, line, tip = f"{who}: {said}", _first_line(said), as_markdown(said)
            told.append(_node(f"{identity}/{kind}", line, icon=icon, spoken=spoken, about=about, tooltip=tip))
    return _node(
        identity,
        label,
        _joined(facts),
        icon=proven if one.error is None else failed,
        spoken=_joined([label, *facts, "" if one.error is None else "failed", files], ", "),
        context="iteration.revertible" if one.number <= (run.last_revertible or -1) else "iteration",
        about=about,
        tooltip=_joined(
            [
                f"**{label}** · {_joined(map(as_markdown, facts))}",
                as_markdown(one.summary),
                as_markdown(one.error or ""),
            ],
            "\n\n",
        ),
        children=[*told, *(_file_node(identity, one.number, path, about) for path in one.changed_files)],
    )


def _file_node(under: str, number: int, path: str, about: Mapping[str, Any]) -> WireNode:
    folder, _, name = path.rpartition("/")
    return _node(
        f"{under}/file/{path}",
        name,
        folder,
        icon="diff",
        spoken=f"{path}, changed in iteration {number}",
        context="file",
        about={**about, "path": path},
        click="change",
        tooltip=as_markdown(f"{path}: what iteration {number} changed"),
    )


def _timeline(run: Snapshot) -> WireTimeline:
    """What is under way has no row yet: it has no score."""
    most = "" if run.max_iterations is None else f" of {run.max_iterations}"
    worker, judge = run.cost.worker, run.cost.judge
    tokens = worker.input_tokens + worker.output_tokens + judge.input_tokens + judge.output_tokens
    state = state_in_words(run)
    facts = [
        state,
        f"iteration {run.iteration}{most}",
        _run_tally(run),
        *_spent(run.cost.usd),
        f"{tokens:,} tokens" if tokens else "",
        duration(run.elapsed_seconds),
    ]
    # That nothing has a price is said once, above the list.
    priced = any(one.usd for one in run.iterations)
    rows = [_iteration_row(run, one, priced=priced) for one in run.iterations]
    last = run.iterations[-1].number if run.iterations else 0
    under_way = run.status in ("running", "waiting", "paused") and run.iteration > last
    activity = run.activity or ""
    return WireTimeline(
        facts=_joined(facts),
        activity=(activity if run.status == "running" else run.reason),
        chart=_chart_in_words(run),
        news=f"{state}. {rows[-1].label} has ended: {rows[-1].facts}" if rows else state,
        before=_before(run),
        rows=rows,
        under_way=WireRow(
            number=run.iteration,
            label=f"Iteration {run.iteration}",
            facts=state,
            summary=activity,
            version=f"{run.sequence} {activity}",
        )
        if under_way
        else None,
    )


def _chart_in_words(run: Snapshot) -> str:
    if not run.iterations:
        return "No iteration has ended yet."
    first = run.iterations[0].score if run.baseline is None else run.baseline.score
    over = f"over {counted(run.iterations_total, 'iteration')}"
    went = f"the score went from {_percent(first)} to {_percent(run.iterations[-1].score)}"
    if run.cost.usd:
        return f"Score and cost {over}: {went}, the cost is {money(run.cost.usd)}."
    unknown = " The cost is not known." if run.cost.usd is None else ""
    return f"Score {over}: {went}.{unknown}"


def _iteration_row(run: Snapshot, one: WireIteration, *, priced: bool) -> WireRow:
    met = tally(one.met, one.total)
    # By the findings that stood after it.
    stood = [f"{each.id} {each.kind}" for each in run.raised if each.iteration <= one.number <= each.until]
    refused = f"refused by {', '.join(stood)}" if stood else ""
    facts = [
        "" if one.error is None else "failed",
        met,
        refused,
        *([] if one.usd is None and not priced else _spent(one.usd)),
        duration(one.seconds),
        counted(len(one.changed_files), "file changed", "files changed"),
    ]
    return WireRow(
        number=one.number,
        label=f"Iteration {one.number}",
        facts=_joined(facts),
        summary=one.error if one.error is not None else one.summary,
        point=f"{_percent(one.score)} · {met}",
        score=one.score,
        usd=one.usd,
        tone="bad" if one.error is not None or refused else "good" if one.score >= 1 else "plain",
        version=f"{one.revision} {one.seconds} {one.met} {refused}",
    )


def _before(run: Snapshot) -> WireRow | None:
    if run.baseline is None:
        return None
    met = tally(run.baseline.met, run.baseline.total)
    return WireRow(
        number=0,
        label="Before the first iteration",
        facts=met,
        point=f"{_percent(run.baseline.score)} · {met}",
        score=run.baseline.score,
        usd=0,
        version=met,
    )


def _percent(score: float) -> str:
    return f"{math.floor(score * 100 + 0.5)} %"


# ------------------------------------------------------------------------------------- one iteration in full

MAX_LINES = 200
"""More lines than these help nobody; how many are left out is said."""


class WireLine(Wire):
    """`lead` is what kind of thing `text` is about; `evidence_id` or `uri`, a file that the iteration changed, is what
    it leads to."""

    lead: str = ""
    text: str
    note: str = ""
    tone: Tone = "plain"
    evidence_id: str | None = None
    uri: str | None = None


class WireSection(Wire):
    title: str
    lines: list[WireLine]


def iteration_sections(detail: IterationDetail, root: Path) -> list[WireSection]:
    """What the worker did and says, the checks, the verdict, the files, what it cost; nothing that is empty."""
    claim = detail.claim
    state = "a question" if claim.state == "question" else claim.state
    # A worker that finished and said nothing more needs no line.
    silent = claim.text == "" and claim.state == "finished"
    work = [WireLine(text=one.summary, lead=one.kind, tone="plain" if one.ok else "bad") for one in detail.steps]
    work += [] if detail.error is None else [WireLine(text=detail.error, tone="bad")]
    checks: list[WireLine] = []
    for check in detail.checks:
        note = unmarked(check.reason) or ("passed" if check.passed else "not passed")
        tone = "good" if check.passed else "bad"
        checks.append(WireLine(text=check.command, note=note, tone=tone, evidence_id=check.evidence_id))
    verdict: list[WireLine] = []
    for one in detail.verdict:
        tone = "good" if one.status in ("met", "waived") else "bad" if one.status == "unmet" else "plain"
        cited = one.evidence_ids[0] if one.evidence_ids else None
        said = unmarked(one.reason)
        verdict.append(WireLine(text=f"R{one.number} {one.status}", note=said, tone=tone, evidence_id=cited))
    sections: list[WireSection] = []
    for title, lines in (
        ("What the worker did", work),
        ("What the worker says", [] if silent else [WireLine(text=claim.text or state, note=state)]),
        ("Checks", checks),
        ("Verdict", verdict),
        ("Changed files", [WireLine(text=path, uri=(root / path).as_uri()) for path in detail.changed]),
        ("Calls to models", _call_lines(detail.calls)),
    ):
        left = len(lines) - MAX_LINES
        more = [WireLine(text=f"… and {left} more")] if left > 0 else []
        sections += [WireSection(title=title, lines=[*lines[:MAX_LINES], *more])] if lines else []
    return sections


def _call_lines(calls: Sequence[CallSummary]) -> list[WireLine]:
    """One line for each model in each role, with what all its calls took."""
    groups: dict[tuple[str, str], list[CallSummary]] = {}
    for call in calls:
        groups.setdefault((call.role, call.model), []).append(call)
    lines: list[WireLine] = []
    for (role, model), group in groups.items():
        usages = [one.usage for one in group if one.usage is not None]
        prices = [one.usd for one in usages if one.usd is not None]
        failed = sum(one.error is not None for one in group)
        facts = [
            counted(len(group), "call"),
            f"{sum(one.input_tokens + one.output_tokens for one in usages)} tokens",
            money(sum(prices) if len(prices) == len(usages) else None),
            f"{failed} failed" if failed else "",
        ]
        lines.append(WireLine(text=f"{role}: {model}", note=_joined(facts), tone="bad" if failed else "plain"))
    return lines


# ------------------------------------------------------------------------------------- questions


def _wire_question(run: Snapshot, one: WireInterrupt) -> WireAsked:
    said = shortened(harmless(one.said), MAX_SAID)
    choices, listed = _choices(one)
    form = answer_form(one.kind, one.about)
    edits = "edit" in form.takes and isinstance(one.input.get("command"), str)
    path = one.input.get("path")
    diff = _is_diff(one.preview)
    return WireAsked(
        id=one.id,
        notice=_joined([_asked_line(one, MAX_NOTICE), f"The worker says: {said}" if said else ""]),
        title=_asked_line(one, MAX_TITLE),
        context=_context(one),
        choices=choices,
        listed=listed,
        edits="command" if edits else None,
        words=form.words,
        open=form.asks_for_words,
        document=question_document(run.title, one),
        extension="diff" if diff else "sh" if one.input.get("command") == one.preview else "txt",
        path=path if diff and isinstance(path, str) else None,
        node=_asked_node(run, one, choices, listed, form, edits=edits),
    )


def _asked_line(one: WireInterrupt, most: int) -> str:
    """What is asked, on one line; `most` characters of what it is about."""
    title, shown = harmless(one.title), harmless(one.preview)
    if one.about == "start":
        lines = [harmless(line) for line in one.preview.split("\n")[:SUMMARY_LINES]]
        return _joined([title, _joined(lines)], " ")
    if _is_diff(one.preview):
        lines = one.preview.split("\n")
        first = next(at for at, line in enumerate(lines) if line.startswith("@@ "))
        added, removed = (sum(line.startswith(sign) for line in lines[first:]) for sign in "+-")
        return f"{title} ({counted(added, 'line')} added, {removed} removed)"
    if _is_command(one):
        # Said once, and with its lines: the title has them on one.
        folder = harmless(one.folder.replace("\\", "/").rsplit("/", 1)[-1])
        command = _cut(shown, most)
        return f"Run this command in {folder}? {command}" if folder else f"Run this command? {command}"
    return _cut(title if shown in title else f"{title} {shown}", most)


def _is_command(one: WireInterrupt) -> bool:
    """Whether it asks for no more than to run a command."""
    return one.title.startswith("Run `") and one.input.get("command") == one.preview


def _cut(text: str, most: int) -> str:
    """What a long command does is often at its end: nobody approves it by its beginning, or unaware that there is
    more."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … ({len(text) - 2 * half} more characters) … {text[len(text) - half :]}"


def _context(one: WireInterrupt) -> list[str]:
    """What stands around it, a paragraph each: where a command would run, what the worker said, what it did before."""
    return [visible(line) for line in QuestionContext(one.said, one.before).lines(one.folder)]


def _is_diff(preview: str) -> bool:
    return all(re.search(mark, preview, re.MULTILINE) for mark in (r"^--- ", r"^\+\+\+ ", r"^@@ "))


def question_document(goal_title: str, one: WireInterrupt) -> str:
    """All that is asked, with what stands around it. A command is as it is, between comments; words stand under their
    title, on short lines."""
    if _is_diff(one.preview):
        return one.preview
    around = [line for paragraph in _context(one) for line in ("", *paragraph.split("\n"))]
    if one.input.get("command") == one.preview:
        title = "Run this command?" if _is_command(one) else one.title
        lines = [*_commented([title, goal_title]), "", one.preview, *_commented(around)]
        return "\n".join(lines) + "\n"
    words = ["", *one.preview.split("\n")] if one.preview else []
    lines = [part for line in (one.title, goal_title, *words, *around) for part in _wrapped(line)]
    return "\n".join(lines).rstrip() + "\n"


def _commented(lines: Iterable[str]) -> list[str]:
    return [f"# {part}" if part else "" for line in lines for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    lines: list[str] = []
    while len(line) > COLUMNS:
        at = line.rfind(" ", 0, COLUMNS + 1)
        if at <= 1:
            break
        lines.append(line[:at])
        line = f"  {line[at + 1 :]}"
    return [*lines, line]


INSTEAD: tuple[tuple[str, str, Literal["addCheck", "chooseJudge"]], ...] = (
    ("Add Check", "A command that decides it; the run goes on with it", "addCheck"),
    ("Choose Judge", "A model that decides it by the evidence; the run goes on with it", "chooseJudge"),
)
"""What can be done about a requirement that nothing decides, before a person's word takes the place of proof."""


def _choices(one: WireInterrupt) -> tuple[list[WireChoice], list[int]]:
    """Yes, no and what stands beside them, as `core.answers` has them; and their order in a list."""
    no, *others = (
        WireChoice(
            label=_title_case(choice.label),
            detail=choice.detail,
            response=choice.response,
            remember=choice.remember or None,
            text=choice.text,
        )
        for choice in answer_choices(one.kind, one.about, remembers=one.remembers)
    )
    if one.about.startswith("requirement:"):
        instead = [WireChoice(label=label, detail=detail, instead=what) for label, detail, what in INSTEAD]
        return [*instead, no, *others], [*range(len(instead) + 1 + len(others))]
    if no.response == "approve":
        return [no, *others], [*range(1 + len(others))]
    yes, *further = others
    # What says no comes last in a list.
    return [yes, no, *further], [0, *range(2, 2 + len(further)), 1]


def _title_case(label: str) -> str:
    """As buttons of VS Code are written."""
    return " ".join(word if word in ("for", "in", "the") else word[:1].upper() + word[1:] for word in label.split(" "))


def _asked_node(
    run: Snapshot,
    one: WireInterrupt,
    choices: Sequence[WireChoice],
    listed: Sequence[int],
    form: AnswerForm,
    *,
    edits: bool,
) -> WireNode:
    """The question, and under it what can be answered with one click; what takes words or an edit is asked in full."""
    identity, about = f"interrupt/{run.run_id}/{one.id}", _about(run, interruptId=one.id)
    buttons = [
        _node(
            f"{identity}/{at}",
            choices[index].label,
            choices[index].detail,
            icon="check" if at == 0 else "circle-small",
            about={**about, "choice": index},
            click="choice",
        )
        for at, index in enumerate(listed)
    ]
    label = "Answer…" if form.asks_for_words else "More…"
    more = _node(f"{identity}/more", label, icon="comment", about=about, click="words")
    kind = one.kind if one.kind == "question" else "choice" if one.tool is None else "approval"
    paragraphs = [f"**{as_markdown(one.title)}**", as_markdown(run.title), fenced(one.preview) if one.preview else ""]
    return _node(
        identity,
        _first_line(unmarked(one.title), 200),
        _first_line(one.preview or run.title),
        icon=("shield" if one.kind == "approval" else "question", "list.warningForeground"),
        spoken=f"{run.title} asks: {one.title}. {one.preview}",
        # `question` has a yes and a no of its own, such as to discard what a person wrote: it is asked in full.
        context=f"interrupt.{'start' if one.about == 'start' else kind}",
        opens="expanded",
        about=about,
        click="interrupt",
        tooltip=_joined([*paragraphs, *map(as_markdown, _context(one))], "\n\n"),
        children=[*([] if form.asks_for_words else buttons), *([more] if form.words or edits else [])],
    )


# ------------------------------------------------------------------------------------- notices

ROOM = 43
"""Characters in the labels of a notification's buttons: the editor cuts all of them where there are more."""


def _notices(run: Snapshot, asked: Sequence[WireAsked], repairs: Sequence[WireRepair]) -> list[WireNotice]:
    """What a person is told of the run now: what it asks, what it stands still for, how it ended."""
    pairs = zip(run.interrupts, asked, strict=True) if _active(run) else ()
    stands = _standing_notice(run, None if _active(run) else next(iter(asked), None))
    return [*(_question_notice(run, *pair) for pair in pairs), *stands, *_end_notice(run, repairs)]


def _end_notice(run: Snapshot, repairs: Sequence[WireRepair]) -> Iterator[WireNotice]:
    """How it ended, with what is likely to be done next."""
    message = _notice_of_end(run)
    if message is not None:
        done = run.status == "complete"
        buttons = [_button(run, *one) for one in (FINISHING if done else _next_steps(repairs))]
        kind = "information" if done else "warning"
        yield WireNotice(key=_notice_key(run), when="ended", kind=kind, at="", message=message, buttons=buttons)


def _notice_key(run: Snapshot, holds: str = "") -> str:
    return f"{run.run_id}/{run.status}/{run.iteration}/{holds}"


FINISHING = (("Review Changes", "reviewChanges"), ("Commit…", "commit"), ("Copy Receipt", "copyReceipt"))


def _next_steps(repairs: Sequence[WireRepair]) -> list[tuple[str, str]]:
    """What repairs it, and where to look, as far as there is room."""
    steps = [(one.label, one.action) for one in repairs]
    steps += [*([("Show Report", "report")] if len(repairs) < 2 else []), ("Show Timeline", "showTimeline")]
    room, fitting = ROOM, list[tuple[str, str]]()
    for label, action in steps:
        room -= len(label)
        fitting += [(label, action)] if room >= 0 else []
    return fitting


def _standing_notice(run: Snapshot, asked: WireAsked | None) -> Iterator[WireNotice]:
    """That a person may let it go on, with what it asked just then, which can be answered before."""
    title, asks = harmless(run.title), "" if asked is None else asked.notice
    label, command, holds = "Resume", "resume", ""
    if run.take_over:
        label, command, holds = "Take Over", "takeOver", "takeOver"
        gone = f"The window or terminal that was running “{title}” is gone"
        message = f"{gone}, and the run asked: {asks}" if asks else f"{gone}. Take the run over here?"
    elif run.status == "interrupted":
        message = f"The run of “{title}” was interrupted{f' while it asked: {asks}' if asks else '.'}"
    elif (halt := _halted(run)) is not None:
        holds = halt.reason
        message = f"“{title}” is waiting: {halt.plugin}: {harmless(holds)}"
    else:
        return
    kind = "question" if run.take_over or asked is not None else "information"
    buttons = [_button(run, label, command), *([] if asked is None else [_show(run, asked)])]
    yield WireNotice(key=_notice_key(run, holds), when="stands", kind=kind, at="", message=message, buttons=buttons)


def _question_notice(run: Snapshot, one: WireInterrupt, asked: WireAsked) -> WireNotice:
    """The question with its first answers, a way to the others, and what shows all of it."""
    about = _about(run, interruptId=one.id)
    more = asked.edits is not None or asked.words or len(asked.choices) > 2
    answers = [("Answer…", "interrupt.words", about)]
    if not asked.open:
        answers = [
            (each.label, "interrupt.choose", {**about, "choice": at}) for at, each in enumerate(asked.choices[:2])
        ]
        answers += [("More…", "answer", about)] if more else []
    buttons = [WireButton(label=label, command=command, about=given) for label, command, given in answers]
    return WireNotice(
        key=f"{run.run_id}/{one.id}/{one.asked_at}",
        when="starting" if one.about == "start" else "asked",
        kind="question",
        at=one.asked_at,
        message=asked.notice,
        buttons=[*buttons, _show(run, asked)],
    )


def _show(run: Snapshot, asked: WireAsked) -> WireButton:
    return WireButton(label="Show", command="openInterrupt", about=_about(run, interruptId=asked.id))


def _button(run: Snapshot, label: str, command: str) -> WireButton:
    return WireButton(label=label, command=command, about=_about(run))


# ------------------------------------------------------------------------------------- for a chat

MAX_GOAL_TEXT = 2_000


def chat_text(run: Snapshot) -> str:
    """How far a goal is, for a model: what is still missing comes first. Text of the workspace stands in quotes: it
    says what is, and asks for nothing."""
    counts, left = run.counts, [one for one in run.requirements if _is_open(one)]
    stands = "checked, complete" if run.complete else "checked, not complete"
    if run.status is not None:
        most = "" if run.max_iterations is None else f" of at most {run.max_iterations}"
        stands = f"{run.status}, iteration {run.iteration}{most}" if run.iteration else run.status
    waived = f", {counts.waived} waived by a person" if counts.waived else ""
    trusted = _trusted(run)
    proven = f"{counts.met - trusted} of {counts.total} requirements proven"
    proven += f", {trusted} on a person's word" if trusted else ""
    head = f"Goal {_quoted(run.title)}: {stands}. {proven}{waived}."
    found = [one for one in run.integrity if not one.accepted]
    return "\n".join(
        [
            head,
            *(["Still missing:", *map(_missing_line, left)] if left else ["Nothing is missing."]),
            *(f"- Integrity finding {one.id}: {_quoted(one.message)} in {_base_name(one.uri)}" for one in found),
            *(f"The run waits for the person to answer: {_quoted(one.title)}" for one in run.interrupts),
        ]
    )


def _missing_line(one: WireRequirement) -> str:
    evidence = f" (evidence {', '.join(one.evidence_ids)})" if one.evidence_ids else ""
    places = [f"{_base_name(place.uri)}:{place.range.start.line + 1}" for place in one.locations[:3]]
    at = f" at {', '.join(places)}" if places else ""
    return f"- R{one.number} {_quoted(one.text)} is {one.status}: {_quoted(one.reason)}{at}{evidence}"


def _quoted(text: str) -> str:
    line = " ".join(visible(text).split())
    return json.dumps(f"{line[:MAX_GOAL_TEXT]}…" if len(line) > MAX_GOAL_TEXT else line, ensure_ascii=False)


def chat_answer(run: Snapshot, *, why: bool, requirement: int | None = None) -> str:
    """Where a goal stands, in Markdown for the person who asked; `why`: each requirement that is missing with its
    reason, what was found and what is asked, or one requirement alone."""
    facts = [state_in_words(run), _run_tally(run), *_spent(run.cost.usd)]
    head = f"**{_chat_line(run.title)}**: {_joined(facts)}\n"
    if not why:
        return "\n".join([head, *(_requirement_view(run, one).row for one in run.requirements)])
    named = [one for one in run.requirements if (_is_open(one) if requirement is None else one.number == requirement)]
    said = [f"{_requirement_view(run, one).row}\n\n  {_chat_line(one.reason) or NOTHING_KNOWN}" for one in named]
    if requirement is None:
        said += [f"- ✗ {one.id}: {_chat_line(one.message)}" for one in run.integrity if not one.accepted]
        said += [f"- Waiting for your answer: {_chat_line(one.title)}" for one in run.interrupts]
    ended = [] if run.complete or not run.reason else [_chat_line(run.reason)]
    return "\n\n".join([head, *ended, *(said or ["Nothing is missing."])])


def _chat_line(text: str) -> str:
    line = " ".join(text.split())
    return as_markdown(f"{line[:600]}…" if len(line) > 600 else line)
