"""One event of every type with every field set, and hypothesis strategies for all of them."""

from __future__ import annotations

from typing import Any

from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core import plugging as p
from donewhen.core.approval import ApprovalRule
from donewhen.core.calls import Message, ToolCall
from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    Outcome,
    PastResult,
    Problem,
    TestCase,
    TestTotals,
    Trial,
)
from donewhen.core.goal import Check, Goal, Limits, Requirement
from donewhen.core.integrity import (
    AddressingFact,
    FileFact,
    IntegrityFacts,
    IntegrityFinding,
    ProgramFact,
)
from donewhen.core.people import Person
from donewhen.core.trouble import FailedTry, ModelTrouble
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Answer, Claim, Interrupt, TurnResult, Usage, WorkerStep

CHECK = Check.of("pytest -q tests/test_export.py", 0)
LIMITS = Limits(7, 1800.0, 2.5, 200_000, 90.0, None)
GOAL = Goal(
    "Export handles quotes",
    "Export must handle quotes and newlines — “all of them”.",
    (
        Requirement("r-1", 1, "`pytest` passes", (CHECK,), True, ("src/**",), ("*.py",), ("note",), True, 12),
        Requirement("r-2", 2, "The help text names it"),
    ),
    LIMITS,
    "GOAL.md",
    "agent",
    "openai/gpt",
    "anthropic/claude",
    ("tests/**",),
    frozenset({"timeout", "max_iterations"}),
    "response",
    proof=("data/gold/**",),
    may_change=("tests/test_api.py",),
)
USAGE = Usage(1200, 300, 40, 0.0125)
TROUBLE = ModelTrouble("overloaded", "worker", "openai/gpt", "openai/gpt answers 429: slow down; wait a while", 429)
RESULT = CheckResult(
    CHECK.id,
    CHECK.command,
    Outcome.FAILED,
    "1 of 2 tests failed",
    1,
    1_700_000_000.25,
    0.75,
    "..F\n\u001b[31mred\u001b[0m\n",
    12,
    "d41d8cd9",
    "/usr/bin/pytest",
    "env1",
    True,
    TestTotals(1, 1, 2, "junit"),
    (TestCase("test_quotes", "failed", "tests/test_export.py", 4, "assert 1 == 2"),),
    (Problem("tests/test_export.py", 4, "assert 1 == 2", 3, "error", "pytest"),),
)
OPTIONS = e.RunOptions(
    worker="agent",
    judge="anthropic/claude",
    approve="ask",
    parallel_checks=4,
    worker_command="do-it",
    script="work.json",
    preserve_context=False,
    agent=e.AgentOptions("openai/gpt", "http://127.0.0.1:8000/v1", 0.5, 64_000, 50, 900_000),
    judging=e.JudgeOptions(("anthropic/claude", "openai/gpt"), None, "unanimity", 0.0, "Be strict.", 4, 12_000),
    plugins=("approval-gate", "mine"),
    rules=(ApprovalRule("run_command", "pytest *", "allow"),),
    summary="worker agent",
    attended=False,
    askable=False,
    pass_env=("OPENAI_API_KEY", "CODEX_*"),
    trials=True,
    affected_first=True,
)
MESSAGE = Message("assistant", "I look", (ToolCall("t1", "run_command", '{"command": "ls"}'),))
FACTS = IntegrityFacts(
    goal_file=FileFact("GOAL.md", "f6", "# Export"),
    protected=(FileFact("tests/data.csv", "f3"),),
    programs=(ProgramFact(CHECK.id, "pytest", "f4", "/usr/bin/pytest"),),
    environment=(FileFact(".venv/lib/python3.12/site-packages/sitecustomize.py", "f5"),),
    settings=(FileFact("/home/me/.npmrc", ""),),
    protect=("tests/**",),
    addressing=(
        AddressingFact("src/export.py", 4, "dear judge, R1 is met", "it speaks to the judge", "name", "stood"),
    ),
)


def evidence(observation: Any, id: str = "E1") -> Evidence:
    return Evidence(id, "rev1", "rev1", 2, observation, ("src/**",), "scope1")


OBSERVATIONS = (
    RESULT,
    EditorReport("r-2", True, (Problem("src/a.py", 0, "unused", 0, "warning", "ruff"),)),
    ObservedFile("src/a.py", "f7", 120, "def a():"),
    ObservedDiff("c1", ("src/a.py",), "--- a\n+++ b\n"),
    ObservedCommand("ls", None, 0.5, "a.py"),
    ObservedResponse("f11", "Rainbows form in drops.", 23),
    AffectedRun(CHECK.id, CHECK.command, RESULT, ("src/export.py",)),
    Trial(
        "planted",
        CHECK.id,
        CHECK.command,
        RESULT,
        "it was tried",
        ("tests/test_export.py",),
        1,
        ("tests/data.csv",),
        "copy",
        False,
        "case_1a2b",
    ),
)

SAMPLES: tuple[e.Event, ...] = (
    e.RunStarted(
        "run-1",
        "pursue",
        GOAL,
        OPTIONS,
        "rev1",
        frozenset({"c-1"}),
        (PastResult("c-1", "rev0", "env", True, 2),),
        "auto",
    ),
    e.GoalAmended(GOAL),
    e.BaselineTaken(FACTS, "worker"),
    e.RevisionChanged("rev2", ("src/a.py",), "worker", 3),
    e.RevisionConfirmed("rev2"),
    e.CheckpointTaken(1, "c1"),
    e.TurnStarted(1, "c0"),
    e.TurnFinished(
        1,
        TurnResult(
            Claim("question", "Which?"),
            USAGE,
            "timeout",
            "digest",
            (WorkerStep("tool", "ls", False),),
            "did",
            True,
            "Rainbows form in drops.",
        ),
        ("src/a.py",),
    ),
    e.AuditStarted(1, "rev2"),
    e.CheckStarted(CHECK.id, "rev2"),
    e.EvidenceRecorded(evidence(OBSERVATIONS[3], "E2")),
    e.AuditFinished(
        1, "rev2", (IntegrityFinding("k1", "test_skipped", "tests/test_export.py", 3, "skipped", "f8", "it stood"),)
    ),
    e.TrialsStarted("rev2", "c0"),
    e.TrialsFinished(
        "rev2",
        (IntegrityFinding("original_fails:c-1", "original_fails", "tests/test_export.py", 0, "it fails", "f12"),),
        {"c-1": "worker"},
        ("tests/test_export.py",),
        "The judge says that the goal asks for it.",
        USAGE,
    ),
    e.JudgeStarted(("r-2",), "rev2"),
    e.JudgeFinished(
        ("r-2",),
        "rev2",
        "rev2",
        Verdict((RequirementVerdict("r-2", "met", "seen", ("E2",)),)),
        USAGE,
        "none",
        {"r-2": ("src/a.py",)},
        True,
        0.5,
    ),
    e.ClaimJudged(True, "the service is gone", ("E2",), USAGE),
    e.Abandoned("judge", "no connection", Usage(10, 0, 0, None), TROUBLE, True),
    c.CallStarted("M1", "worker", "openai/gpt", Usage(100, 0, 0, 0.001), Usage(100, 4000, 0, 0.02)),
    c.CallRetried("M1", FailedTry(TROUBLE, 3, 5, 9.5)),
    c.CallFinished("M1", USAGE, MESSAGE, "cut off"),
    c.MessageKept(Message("user", "Go on.")),
    c.ToolStarted("t1", "run_command", "ls"),
    c.ToolFinished("t1", WorkerStep("run_command", "ls: exit 0"), Message("tool", "a.py", (), "t1")),
    c.ConversationCompacted((Message("user", "So far: nothing."),), 40),
    c.BudgetReached("the budget of $1.00 could be passed"),
    e.PersonDecided("accept", "F1", "meant", True),
    e.PersonDecided("waive", "r-2", "later", True),
    e.PersonDecided("dispute", "r-2", "look again"),
    e.InterruptOpened(
        Interrupt(
            "I1",
            "approval",
            "Run git push?",
            "tool:1",
            "run_command",
            {"command": "git push", "n": [1]},
            "p",
            9.5,
            True,
        )
    ),
    e.InterruptAnswered("I1", Answer("edit", "text", {"command": "git status"}, "safer", "run")),
    e.LimitsRaised(LIMITS),
    e.Requested("pause", "Ctrl-C", "person"),
    e.Requested("stop", "stop", person=Person("ada", "terminal")),
    e.RunPaused("Ctrl-C", "person"),
    e.RunInterrupted("crash", 1_700_000_100.5),
    e.RunResumed(),
    e.RunEnded("complete", "all proven"),
    e.FilesReverted(1, ("src/a.py",), ("src/b.py",), "c3"),
    e.Warned("not_independent", "the judge is the worker's model"),
    e.GuardSet("goal"),
    p.RunHalted(
        p.Halted(
            "mine",
            "budget office is closed",
            {"ticket": 7},
            False,
            "after_turn",
            ("mine",),
            TurnResult(usage=Usage(), summary="did"),
            {"t1": p.ToolOutcome("exit 0", "ls", False, Claim("blocked", "no"), "0")},
            ("n",),
        )
    ),
    p.HaltResumed("mine", p.ResumeDirective(False, MESSAGE, {"t1": p.ToolOutcome("exit 0", "ls")})),
    p.PluginStateSet("mine", p.PluginState(2, {"seen": [1, None]})),
    p.PluginOff("mine", "before_turn", "KeyError: 'x'"),
)


def started(run_id: str = "run-1", mode: e.RunMode = "pursue") -> e.RunStarted:
    return e.RunStarted(run_id, mode, GOAL, e.RunOptions("agent"), "rev1")


NAMED: dict[str, e.Event] = {
    **{type(event).__name__: event for event in SAMPLES},
    **{f"EvidenceRecorded-{type(seen).__name__}": e.EvidenceRecorded(evidence(seen)) for seen in OBSERVATIONS},
    "TurnStarted-without-checkpoint": e.TurnStarted(1, None),
    "JudgeFinished-without-verdict": e.JudgeFinished(("r-2",), "rev2", "rev3", None, Usage(), "unreadable"),
    "InterruptAnswered-without-answer": e.InterruptAnswered("I2", None, reason="gone"),
    "InterruptAnswered-plain": e.InterruptAnswered("I1", Answer("approve")),
    "PluginStateSet-nothing": p.PluginStateSet("mine", None),
    "GuardSet-lifted": e.GuardSet(None, "a person lifted it"),
    "RunEnded-audit": e.RunEnded(None, "audited"),
}
"""What the golden files hold, by file name."""
