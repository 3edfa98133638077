"""The walk of CONTRIBUTING.md, "A tool is a row", as it was tried: bun's test runner is one row of `javascript.py`.

What it printed is kept as version 1.4.5 printed it.
"""

from __future__ import annotations

import json
from pathlib import Path

from donewhen.core.proof_files import classify
from donewhen.core.trials.outcome import plant
from donewhen.evidence.causes import how_to_get
from donewhen.evidence.known_runners import read_line, what_runs
from donewhen.evidence.places import Places, find_problems
from donewhen.evidence.reports.printed import printed_tests
from donewhen.goalfile.detect import detect, suggested
from donewhen.judges.excerpts import untimed
from tests.goalfile.test_files import write
from tests.tools import each_row

OUTPUT = """\
bun test v1.4.5 (a7733435c)

sum.test.ts:
(pass) sums > adds [0.07ms]
5 |   test("adds wrong", () => {
6 |     expect(add(1, 1)).toBe(3);
                          ^
error: expect(received).toBe(expected)

Expected: 3
Received: 2

      at <anonymous> (ROOT/sum.test.ts:6:23)
(fail) sums > adds wrong [0.15ms]
(skip) sums > later
(todo) sums > some day
1 | export function add(a: number, b: number) {
2 |   if (b === null) throw new Error("no number");
                                                     ^
error: no number
      at add (ROOT/sum.ts:2:50)
      at <anonymous> (ROOT/sum.test.ts:11:24)
(fail) raises [20.74ms]

 1 pass
 1 skip
 1 todo
 2 fail
 2 expect() calls
Ran 5 tests across 1 file. [38.00ms]
"""
TEST = 'import { test, expect } from "bun:test";\ntest("adds", () => { expect(2).toBe(2); });\n'


def test_its_totals_and_the_tests_that_it_names_are_read() -> None:
    runs = what_runs(read_line("bun test --coverage"))
    totals = runs.totals(OUTPUT)
    assert totals is not None
    assert (totals.passed, totals.failed, totals.skipped) == (1, 2, 2)
    assert [(test.name, test.outcome) for test in printed_tests(OUTPUT, runs.all_forms(OUTPUT), totals)] == [
        ("sums > adds", "passed"),
        ("sums > adds wrong", "failed"),
        ("sums > later", "skipped"),
        ("sums > some day", "skipped"),
        ("raises", "failed"),
    ]


@each_row(
    "output",
    [
        'bun test v1.4.5 (a7733435c)\nNo tests found!\n\nTests need ".test", "_test_", ".spec" or "_spec_"\n',
        '\na.test.js:\n\nerror: regex "nosuch" matched 0 tests. Searched 1 file (skipping 1 test) [21.00ms]\n',
        "The following filters did not match any test files:\n nosuch.test.ts\n4 files were searched [32.00ms]\n",
        "\na.test.js:\n(skip) a\n\n 0 pass\n 1 skip\n 0 fail\nRan 1 test across 1 file. [3.00ms]\n",
    ],
)
def test_a_run_without_a_test_executed_none(output: str) -> None:
    for command in ("bun test", "./run.sh"):
        totals = what_runs(read_line(command)).totals(output)
        assert totals is not None
        assert not totals.executed


def test_what_fails_is_named_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, "sum.test.ts", TEST)
    write(tmp_path, "sum.ts", "")
    broken = "error: Unexpected ;\n    at ROOT/sum.ts:1:60\n"
    printed = (OUTPUT + broken).replace("ROOT", tmp_path.resolve().as_posix())
    assert [(p.path, p.line + 1, p.message) for p in find_problems(printed, Places(tmp_path))] == [
        ("sum.test.ts", 6, "expected 3, got 2"),
        ("sum.ts", 2, "no number"),
        ("sum.ts", 1, "Unexpected ;"),
    ]


def test_judges_are_shown_no_durations() -> None:
    assert untimed(OUTPUT).count("(time)") == 4
    assert "0.07ms" not in untimed(OUTPUT)


@each_row(
    "files, commands",
    [
        ({"sum.test.ts": TEST}, ["bun test"]),
        ({"bunfig.toml": "[test]\npreload = []\n"}, ["bun test"]),
        ({"sum.test.ts": TEST, "tsconfig.json": "{}", "bun.lock": ""}, ["bun test", "bunx tsc --noEmit"]),
        ({"bun.lock": "", "package.json": {"scripts": {"test": "bun test"}}}, ["bun run test"]),
        ({"bun.lock": "", "sum.test.ts": TEST.replace("bun:test", "vitest")}, []),
        ({".github/workflows/a.yml": "on: push\njobs: {a: {steps: [{run: bun test --bail}]}}\n"}, ["bun test --bail"]),
        ({".github/workflows/a.yml": "on: push\njobs: {a: {steps: [{run: bun test -u}]}}\n"}, []),
    ],
)
def test_it_is_found_in_a_workspace(tmp_path: Path, files: dict[str, object], commands: list[str]) -> None:
    for name, content in files.items():
        write(tmp_path, name, content if isinstance(content, str) else json.dumps(content))
    assert [check.command for check in suggested(detect(tmp_path))] == commands


def test_its_tests_and_its_configuration_are_proof() -> None:
    for path in ("src/sum.test.ts", "src/sum_spec.mts", "bunfig.toml"):
        assert classify(path).side == "proof", path
    assert classify("src/sum.ts").side != "proof"
    assert classify("bun.lock").role == "manifest"


def test_a_failing_test_is_planted_beside_its_tests() -> None:
    planted = plant("sum.test.ts", TEST.encode(), "planted7", ["adds"])
    assert planted is not None
    assert planted.taken == ("adds",)
    assert b"from 'bun:test'" in planted.content


def test_it_says_how_to_get_it() -> None:
    assert how_to_get("bun", Path()) == "see https://bun.sh"
