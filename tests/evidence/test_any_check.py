"""Whatever a check is and does, its run is a result."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.evidence import CheckResult, Outcome
from donewhen.core.goal import Check
from donewhen.evidence.runner import CommandChecker
from donewhen.ports import ProcessResult
from tests.tools import examples


@dataclass
class InstantProcesses:
    """`ports.Processes` that starts nothing: every command ends as it is told, and writes `report` if it may."""

    exit_code: int | None
    output: str
    report: bytes | None = None

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        token: str,
        timeout: float | None = None,
        stdin: bytes | None = None,
        on_line: Callable[[str], None] | None = None,
        output_limit: int = 262_144,
    ) -> ProcessResult:
        self._write_report(environment)
        signal = 9 if self.exit_code is None else None
        return ProcessResult(self.exit_code, self.output, len(self.output), "digest", 0.1, 1.0, signal=signal)

    def _write_report(self, environment: Mapping[str, str]) -> None:
        where = environment.get("PYTEST_ADDOPTS", "").partition("--junitxml=")[2].partition(" ")[0]
        if self.report is not None and where:
            Path(where).write_bytes(self.report)


def run(command: str, processes: InstantProcesses, expected_exit: int = 0) -> CheckResult:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        (root / "loop").symlink_to("loop")
        checker = CommandChecker(processes, root, Path(folder, "scratch"), lambda: {"PATH": "/usr/bin:/bin"})
        return asyncio.run(checker.run(Check.of(command, expected_exit), timeout=9, token="t"))


PIECES = st.sampled_from(
    [
        *("pytest", "python -m", "unittest", "cargo test", "npx", "echo", "cd", "--junitxml=", "--output-file", "-o"),
        *(
            "~nobody/x.xml",
            "~",
            "a\0b.xml",
            "x.sarif",
            "loop",
            "'",
            '"',
            "\\",
            "&&",
            "||",
            ";",
            "|",
            "(",
            ")",
            "\n",
            "$(",
        ),
        *("1 passed in 0.1s", "Ran 1 test in 0s\n\nOK", "sh: 1: pytest: not found", "file://[", "loop:1:1: error: x"),
        *(
            "/bin/python: No module named pytest",
            '  File "loop", line 0',
            "TAP version 13",
            "1..99999999999",
            "not ok 1",
        ),
        *(
            "<testsuite>",
            "</testsuite>",
            '<testcase name="a" line="-1"/>',
            "<failure>loop:0:</failure>",
            '{"runs": [{}]}',
        ),
    ]
)
TEXT = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=8).map(" ".join), st.lists(PIECES).map("\n".join))
PROCESSES = st.builds(
    InstantProcesses,
    st.sampled_from([0, 1, 5, 127, 137, None]),
    TEXT,
    st.one_of(st.none(), TEXT.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=50)),
)


@examples(150)
@given(TEXT, PROCESSES, st.sampled_from([0, 1, 3]))
def test_any_check_has_a_result(command: str, processes: InstantProcesses, expected_exit: int) -> None:
    result = run(command, processes, expected_exit)
    assert result.reason
    if result.passed:
        assert processes.exit_code == expected_exit
        assert not result.problems
        assert not result.is_test_run or (result.totals is not None and result.totals.executed >= 1)
    else:
        assert result.outcome is not Outcome.PASSED


PASSING = b'<testsuite><testcase name="a"/></testsuite>'
FAILING = b'<testsuite><testcase name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite>'


def test_a_pass_needs_a_report_and_the_exit_code() -> None:
    assert run("pytest", InstantProcesses(0, "", PASSING)).passed
    assert not run("pytest", InstantProcesses(0, "", FAILING)).passed
    assert not run("pytest", InstantProcesses(1, "", PASSING)).passed
    assert not run("pytest", InstantProcesses(0, "1 passed in 0.1s")).passed
    assert not run("pytest", InstantProcesses(None, "", PASSING)).passed
