"""What `donewhen` exports besides the names of extras: exactly these, each with an example that works, and nothing
imported for the rest."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys

import pytest

import donewhen
from donewhen.extras import PUBLIC
from tests.tools import each_row

NAMES = [
    "AgentConfig", "AlreadyRunning", "Answer", "AuditTask", "Blocked", "Check", "Claim", "DoneWhenError", "Goal",
    "GoalOutcome", "GoalRun", "GoalStatus", "GoalVerdict", "Halt", "Impossible", "IntegrityOutcome", "Interrupt",
    "InvalidGoal", "JudgeConfig", "JudgeOutage", "Limits", "NotResumable", "Question", "Requirement",
    "RequirementOutcome", "TurnResult", "Usage", "UsageError", "WorkerFailed", "ajudge_goal", "aresume_goal",
    "arun_goal", "judge_goal", "resume_goal", "run_goal", "start_goal",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert list(donewhen.__all__) == sorted((*NAMES, *PUBLIC))
    assert set(donewhen.__all__) <= set(dir(donewhen))


@each_row("name", (*NAMES, *PUBLIC))
def test_every_public_name_has_an_example_that_works(name: str) -> None:
    public = getattr(donewhen, name)
    assert inspect.getdoc(public), f"{name} has no docstring"
    finder = doctest.DocTestFinder(recurse=False)
    # Only what calls it can show an error: see the functions that raise it.
    shown = [one for one in finder.find(public, name, globs={}) if one.examples]
    assert shown, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in shown:
        runner.run(example)
    assert runner.failures == 0


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'run_goals'"):
        donewhen.run_goals  # noqa: B018  # the access is what is tested


@pytest.mark.parametrize("statement", ["from donewhen import *", "from donewhen import run_goal"])
def test_importing_it_imports_nothing_heavy(statement: str) -> None:
    heavy = ("litellm", "pygls", "watchfiles", "pluggy", "pydantic", "markdown_it", "opentelemetry")
    told = f"{statement}; import sys; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"


def test_the_names_resolve_to_what_type_checkers_see() -> None:
    """The lazy table and the imports for type checkers say the same."""
    source = inspect.getsource(donewhen)
    for name in PUBLIC:
        assert f"import {name} as {name}" in source
    for name in NAMES:
        home = getattr(donewhen, name).__module__
        exported = [module for module, names in donewhen._HOMES.items() if name in names]  # pyright: ignore[reportPrivateUsage]  # the table itself is tested
        assert len(exported) == 1
        assert f"from donewhen.{exported[0]} import {name} as {name}" in source
        assert home.startswith("donewhen.")


@each_row("name", ["run_goal", "arun_goal", "start_goal", "resume_goal", "aresume_goal"])
def test_a_signature_names_every_argument(name: str) -> None:
    parameters = inspect.signature(getattr(donewhen, name)).parameters
    assert "options" not in parameters
    assert parameters["max_iterations"].default is None
    assert (parameters["workspace"].default is inspect.Parameter.empty) is ("resume" in name)
    assert ("approve" in parameters) is ("resume" not in name)


def test_an_unknown_argument_is_refused_before_anything_starts() -> None:
    with pytest.raises(TypeError, match=r"run_goal\(\) got an unexpected keyword argument 'max_iteration'"):
        donewhen.run_goal("Do it", print, max_iteration=3)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"resume_goal\(\) is missing the keyword argument 'workspace'"):
        donewhen.resume_goal("4711")  # pyright: ignore[reportCallIssue]
