"""The front matter: every key, its values, and the message for each wrong one."""

from __future__ import annotations

import pytest

from donewhen.core.goal import Goal, Limits
from donewhen.goalfile.parse import parse
from donewhen.goalfile.source import FileProblem
from tests.goalfile.test_parse import cut
from tests.tools import each_row


def goal_with(front: str) -> Goal:
    parsed = parse(f"---\n{front}\n---\n# T\n")
    assert parsed.goal is not None, parsed.errors
    return parsed.goal


def error_of(front: str) -> FileProblem:
    parsed = parse(f"---\n{front}\n---\n# T\n\n- [ ] `a` passes\n")
    assert parsed.goal is None
    assert len(parsed.outline) == 1
    return parsed.errors[0]


@each_row(
    "front, expected",
    [
        ("", Limits()),
        ("# only a comment", Limits()),
        ("max_iterations: 3", Limits(max_iterations=3)),
        ("timeout: 90s", Limits(timeout=90)),
        ("timeout: 30m", Limits(timeout=1800)),
        ("timeout: 2h", Limits(timeout=7200)),
        ("timeout: 1h30m", Limits(timeout=5400)),
        ("timeout: 1h 30m", Limits(timeout=5400)),
        ("timeout: 1.5H", Limits(timeout=5400)),
        ("timeout: '30m'", Limits(timeout=1800)),
        ("check_timeout: 5m", Limits(check_timeout=300)),
        ("budget: 5", Limits(budget=5.0)),
        ("budget: 5.00", Limits(budget=5.0)),
        ("budget: 0.25", Limits(budget=0.25)),
        ("token_budget: 200000", Limits(token_budget=200_000)),
        ("token_budget: 200_000", Limits(token_budget=200_000)),
        ("stall_after: 5", Limits(stall_after=5)),
        ("max_iterations: unlimited", Limits(max_iterations=None)),
        ("timeout: unlimited", Limits(timeout=None)),
        ("stall_after: unlimited", Limits(stall_after=None)),
        ("{max_iterations: 3, timeout: 30m}", Limits(max_iterations=3, timeout=1800)),
    ],
)
def test_limits(front: str, expected: Limits) -> None:
    assert goal_with(front).limits == expected


def test_only_what_is_written_is_explicit() -> None:
    assert goal_with("max_iterations: 10\nbudget: 1\nworker: human").explicit_limits == {"max_iterations", "budget"}
    assert goal_with("worker: human").explicit_limits == frozenset()


@each_row("worker", ["agent", "human", "command", "acp", "scripted"])
def test_workers(worker: str) -> None:
    assert goal_with(f"worker: {worker}").worker == worker


def test_models() -> None:
    goal = goal_with("model: vendor/model-x:1\njudge_model: 'other/model-y'")
    assert (goal.model, goal.judge_model) == ("vendor/model-x:1", "other/model-y")


@each_row(
    "front, expected",
    [
        ('protect: ["tests/**", "pyproject.toml"]', ("tests/**", "pyproject.toml")),
        ("protect:\n  - tests/**\n  - ./src/a.py", ("tests/**", "src/a.py")),
        ("protect: tests/**", ("tests/**",)),
        ('protect: ["a", "a"]', ("a",)),
        ('protect: ["[ab].py", "x[!]].py"]', ("[ab].py", "x[!]].py")),
    ],
)
def test_protected_files(front: str, expected: tuple[str, ...]) -> None:
    assert goal_with(front).protect == expected


@each_row("key", ["max_iterations", "timeout", "budget", "token_budget", "stall_after"])
@pytest.mark.conformance("C1")
def test_unlimited_is_allowed_and_warns(key: str) -> None:
    parsed = parse(f"---\n{key}: unlimited\n---\n# T\n- [ ] `a` passes\n")
    assert parsed.goal is not None
    (problem,) = parsed.problems
    assert (problem.severity, problem.code, cut(parsed, problem.span)) == ("warning", "unlimited", "unlimited")
    assert key in problem.message


@each_row(
    "key, value",
    [
        *((key, value) for key in ("max_iterations", "token_budget", "stall_after")
          for value in ("0", "-1", "2.5", "1e1", ".nan", ".inf", "true", "yes", "ten", '"10"', "[10]", "{a: 1}", "1:30",
                        "0x10", "9" * 30)),
        *(("budget", value) for value in ("0", "-1", ".nan", ".inf", "true", "five", '"5"', "$5", "1e999", "[5]")),
        *((key, value) for key in ("timeout", "check_timeout")
          for value in ("0s", "0", "30", "-5m", ".nan", "true", "soon", "30x", "1:30", "m", "[1m]", "5 5m", "1m30")),
        ("check_timeout", "unlimited"),
        ("worker", "robot"), ("worker", "unlimited"), ("worker", "true"), ("worker", "[agent]"),
        ("model", "5"), ("model", "true"), ("model", "a b"), ("judge_model", "[a]"), ("model", '"a\\u0007"'),
        ("model", "x" * 300), ("model", '"\\uD800"'),
        ("protect", "[]"), ("protect", "{a: b}"), ("protect", "[[a]]"),
    ],
)  # fmt: skip
@pytest.mark.conformance("C1")
def test_a_bad_value_is_refused_and_named(key: str, value: str) -> None:
    before = "" if key == "worker" else "worker: agent"
    parsed = parse(f"---\n{before}\n{key}: {value}\n---\n# T\n")
    (problem,) = parsed.errors
    assert problem.code == "bad-value"
    assert key in problem.message
    assert problem.span.start_line == 2
    assert cut(parsed, problem.span) in (value, value[1:-1])


@each_row(
    "front, words",
    [
        ("timeout: 30", ["timeout", "30s", "30m", "unit"]),
        ("worker: agnet", ["did you mean `agent`"]),
        ("max_iterations: '5'", ["remove the quotes"]),
        ("timeout:", ["timeout", "no value"]),
        ("timeout: ~", ["timeout", "no value"]),
        ('model: ""', ["model", "no value"]),
        ("check_timeout: unlimited", ["check_timeout", "can't be unlimited"]),
        ("worker_command: x", ["can't be set in a goal file", "settings"]),
        ("api-base: http://x", ["can't be set in a goal file"]),
        ("- a\n- b", ["key: value"]),
        ("just text", ["key: value"]),
        ("worker: [agent", ["not valid YAML"]),
        ("worker: agent\n\tmodel: x", ["not valid YAML"]),
        ("a: *b", ["not valid YAML"]),
        ('"\\UFFFFFFFF": 1', ["not valid YAML"]),
    ],
)
def test_messages_say_what_to_do(front: str, words: list[str]) -> None:
    message = error_of(front).message
    for word in words:
        assert word in message


@each_row(
    "written, meant",
    [
        ("max_iteration", "max_iterations"), ("max-iterations", "max_iterations"), ("Worker", "worker"),
        ("timout", "timeout"), ("judge", "judge_model"), ("cost", "budget"), ("checktimeout", "check_timeout"),
        ("max_turns", "max_iterations"), ("zzz", None),
    ],
)  # fmt: skip
def test_an_unknown_key_names_the_nearest(written: str, meant: str | None) -> None:
    problem = error_of(f"{written}: 1")
    assert (problem.code, problem.suggestion) == ("unknown-key", meant)
    assert f"did you mean `{meant}`?" in problem.message if meant else "the keys are worker," in problem.message


def test_a_duplicate_key_is_refused_on_its_line() -> None:
    problem = error_of("timeout: 30m\nworker: agent\ntimeout: 60m")
    assert (problem.code, problem.span.start_line) == ("duplicate-key", 3)
    assert "first on line 2" in problem.message


@each_row(
    "glob, why",
    [
        ("/etc/passwd", "absolute"), ("C:/x", "absolute"), ("~/x", "absolute"), ("../x", "`..`"), ("a/../../b", "`..`"),
        ("", "empty"), ("  ", "empty"), ("src/[ab", "never closed"), ("src/[]", "never closed"), ("!src", "negated"),
        ("{a,b}.py", "braces"), ("a\\b", "backslash"), ("./", "workspace folder itself"), ("a\x07", "control"),
    ],
)  # fmt: skip
def test_bad_globs(glob: str, why: str) -> None:
    escaped = glob.replace("\\", "\\\\").replace("\x07", "\\a")
    for front in (f'protect: ["ok", "{escaped}"]', f'protect:\n  - ok\n  - "{escaped}"'):
        parsed = parse(f"---\n{front}\n---\n# T")
        (problem,) = parsed.errors
        assert why in problem.message
        assert "protect" in problem.message
        assert cut(parsed, problem.span) == f'"{escaped}"'


def test_a_bad_glob_of_a_requirement_is_an_error_at_its_place() -> None:
    parsed = parse("- [ ] a\n  - file: `ok`, `../b`\n  - problems: `/c`\n")
    assert [cut(parsed, problem.span) for problem in parsed.errors] == ["../b", "/c"]
    assert parsed.outline[0].files == ("ok",)


def test_places_of_keys_and_values() -> None:
    parsed = parse('---\nworker: agent # who\nprotect:\n  - "a/**"\n  - b\n---\n# T\n')
    assert parsed.front_matter is not None
    assert cut(parsed, parsed.front_matter.span).endswith("- b\n---")
    worker, protect = parsed.front_matter.entries
    assert (cut(parsed, worker.key.span), cut(parsed, worker.value.span)) == ("worker", "agent")
    assert [cut(parsed, item.span) for item in protect.items] == ['"a/**"', "b"]
    assert parsed.front_matter.entry("protect") is protect


def test_yaml_line_breaks_that_markdown_does_not_know_keep_places_exact() -> None:
    parsed = parse('---\nmodel: "a\u2028b"\ntimeout: x\n---\n# T')
    assert [cut(parsed, problem.span) for problem in parsed.errors if "timeout" in problem.message] == ["x"]


@each_row("panel", ["a, b", "3*a", "2 * openai/a, openai/b", "a"])
def test_several_judges_may_be_named(panel: str) -> None:
    assert goal_with(f"judge_model: {panel}").judge_model == panel


@each_row("panel", ["a b", "10*a", "a,,b", "0*a", "5", "unlimited of them", '"a\\u0007"'])
def test_what_is_no_panel_is_an_error(panel: str) -> None:
    assert "judge_model" in error_of(f"judge_model: {panel}").message


@each_row("key", ["judge_prompt", "judge-rule", "judge_tokens", "temperature", "api_base", "window"])
def test_how_a_model_is_asked_is_said_elsewhere(key: str) -> None:
    assert "set it in your settings or on the command line" in parse(f"---\n{key}: x\n---\n# T\n").problems[0].message
