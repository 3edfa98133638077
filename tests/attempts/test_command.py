"""Several attempts at one goal: the real engine in copies of the workspace, and what is brought home of them."""

from __future__ import annotations

import io
import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from tests import forked
from tests.cli.fakes import Typed
from tests.cli.test_processes import DEADLINE, Place, posix, served_elsewhere
from tests.scripted_models import ScriptedModels, calls

GOAL = "`test -f done.txt` passes"
BY_NUMBER = 'case "$PWD" in */1/*) {one};; */2/*) {two};; *) {others};; esac'


def worker(one: str, two: str = "exit 1", others: str = "exit 1") -> str:
    """A command that does something else in each attempt."""
    return BY_NUMBER.format(one=one, two=two, others=others)


class Bench(Place):
    """A workspace for attempts, and what is kept of them."""

    def attempt(self, *argv: str, command: str) -> subprocess.CompletedProcess[str]:
        return self.run("run", "--worker-command", command, "--max-iterations", "1", *argv)

    def listed(self) -> list[dict[str, Any]]:
        return json.loads(self.run("attempts", "--json").stdout)

    def shown(self) -> dict[str, Any]:
        return json.loads(self.run("attempts", "show", "--json").stdout)

    def typed(self, lines: list[str], *argv: str) -> tuple[int, str, str]:
        """A command on a terminal, where a person types."""
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(out, err, Typed(lines), {}, interactive=True)
        places = ["--workspace", str(self.root), "--state-dir", str(self._state)]
        own = self._state / "donewhen" / "config.toml"
        code = main([*places, *argv], self.services(), served_elsewhere, terminal=terminal, user_file=own)
        return code, out.getvalue(), err.getvalue()

    def elsewhere(self, line: str) -> subprocess.CompletedProcess[str]:
        """A printed command, typed as it is in a folder that is not the workspace."""
        program, *words = shlex.split(line)
        assert program == "donewhen"
        out, err = io.StringIO(), io.StringIO()
        own, terminal = self._state / "donewhen" / "config.toml", Terminal(out, err, Typed([]), {})
        code = main(words, self.services(), served_elsewhere, terminal=terminal, user_file=own, log_folder=self._state)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def folders(self) -> list[Path]:
        """The copies that are on the disk."""
        return sorted(self._state.glob("workspaces/*/attempts/*/[0-9]*/*"))

    def kept_files(self, name: str) -> list[Path]:
        return [path for path in self.kept() if path.name == name]

    def files(self) -> dict[str, str]:
        own = (path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {path.relative_to(self.root).as_posix(): path.read_text("utf-8") for path in own}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.goal(GOAL)
    yield made
    made.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_the_first_that_is_proven_stops_the_others_and_is_proven_here(bench: Bench) -> None:
    done = bench.attempt("--attempts", "3", command=worker("sleep 60", "echo two > done.txt", "sleep 60"))
    assert done.returncode == 0, done.stderr
    assert bench.files()["done.txt"] == "two\n"
    assert "attempt 2 is applied; changed here: done.txt" in done.stderr
    assert "1: attempt 2 was proven first" in done.stdout
    assert done.stdout.splitlines()[-1] == "proven: 1 of 1 met"
    # What nobody chose is gone, what was applied is kept until it is dropped.
    [group] = bench.listed()
    assert (group["applied"], group["proven"], [one["number"] for one in group["attempts"]]) == (2, True, [2])
    assert len(bench.folders()) == 1
    # The run in the copy is none of the workspace's: the audit here is.
    assert bench.newest()["complete"] is True
    assert [one["mode"] for one in json.loads(bench.run("list", "--json").stdout)] == ["audit"]


@pytest.mark.slow
def test_the_cheapest_of_all_that_are_proven_is_applied(bench: Bench) -> None:
    make = "echo $PWD > done.txt"
    done = bench.attempt("--attempts", "2", "--keep", "cheapest", "--json", command=worker(f"sleep 1; {make}", make))
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (told["applied"], told["proven"], told["check"]["complete"]) == (2, True, True)
    assert "/2/" in bench.files()["done.txt"]


@pytest.mark.slow
def test_nothing_is_applied_of_attempts_that_prove_nothing(bench: Bench) -> None:
    before = bench.files()
    done = bench.attempt("--attempts", "2", command="touch other.txt")
    assert done.returncode == 1
    assert bench.files() == before
    assert "no attempt is proven, and nothing was changed here" in done.stderr
    assert [one["files"] for one in bench.shown()["attempts"]] == [["other.txt"]] * 2
    dropped = bench.run("attempts", "drop")
    assert dropped.stdout.startswith("dropped 1, 2 of ")
    assert (bench.listed(), bench.folders()) == ([], [])


@pytest.mark.slow
def test_attempts_begin_with_what_is_here_uncommitted_ignored_and_linked(bench: Bench) -> None:
    root = bench.root
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gitignore").write_text("deps/\n", "utf-8")
    (root / "deps").mkdir()
    (root / "deps" / "tool").write_text("test -f done.txt\n", "utf-8")
    (root / "untracked.txt").write_text("mine\n", "utf-8")
    (root / "deps" / "link").symlink_to(root / "untracked.txt")
    bench.goal("`sh deps/tool` passes")
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    command = "grep mine untracked.txt && echo changed > deps/link && git add -A && touch done.txt"
    done = bench.attempt("--attempts", "2", "--sandbox", "off", command=command)
    assert done.returncode == 0, done.stdout + done.stderr
    # The link led into the copy; git of the copy is another one.
    assert bench.files()["untracked.txt"] == "changed\n"
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before


def test_a_file_that_changed_here_meanwhile_is_kept_and_named(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("1\n", "utf-8")
    shown = bench.attempt("--attempts", "2", "--keep", "ask", command="echo 2 > a.txt; touch done.txt")
    assert shown.returncode == 3
    assert "  donewhen attempts apply N " in shown.stderr
    (bench.root / "a.txt").write_text("a person's\n", "utf-8")
    refused = bench.run("attempts", "apply", "1")
    assert refused.returncode == 3
    assert "changed here since the attempt began: a.txt" in refused.stderr
    assert bench.files() == {"GOAL.md": f"# Goal\n\n- [ ] {GOAL}\n", "a.txt": "a person's\n"}
    (bench.root / "a.txt").write_text("1\n", "utf-8")
    applied = bench.run("attempts", "apply", "1")
    assert applied.returncode == 0, applied.stderr
    assert bench.files()["a.txt"] == "2\n"
    assert len(bench.folders()) == 2  # what a person chose from stays


@pytest.mark.slow
def test_what_was_proven_in_a_copy_and_fails_here_is_not_met(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    bench.goal(f"`test -f done.txt && case $PWD in */1/*|*/2/*) true;; *) test -f {outside};; esac` passes")
    done = bench.attempt("--attempts", "2", command="touch done.txt")
    assert done.returncode == 1
    assert "its proof doesn't hold here: all attempts are kept" in done.stderr
    assert bench.newest()["complete"] is False
    assert len(bench.folders()) == 2


@pytest.mark.slow
def test_a_person_compares_looks_at_a_diff_and_chooses(bench: Bench) -> None:
    made = worker("echo one > done.txt", "echo two > done.txt; echo 2 >> done.txt")
    argv = ["run", "--worker-command", made, "--attempts", "2", "--keep", "ask", "--approve", "deny"]
    code, out, err = bench.typed(["d 2", "7", "2"], *argv)
    assert code == 0, err
    assert "which attempt is to be applied (1, 2; d N shows its diff, empty: none)?" in err
    assert "+two" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("1  ", "2  "))]
    assert [row[:7] for row in rows] == [[number, "proven", "1", "of", "1", "1", f"+{number}"] for number in "12"]
    assert bench.files()["done.txt"] == "two\n2\n"


@pytest.mark.slow
def test_copies_that_were_cut_off_while_they_were_made_go_with_the_next_attempts(bench: Bench) -> None:
    bench.attempt("--attempts", "2", "--keep", "ask", command="true")
    [record] = bench.kept_files("group.json")
    record.unlink()
    assert bench.listed() == []
    bench.attempt("--attempts", "2", "--keep", "ask", command="true")
    assert len(bench.folders()) == 2
    assert len(bench.kept_files("ledger.sqlite")) == 3, "the workspace's own, and one for each copy"


@pytest.mark.slow
def test_attempts_whose_record_cant_be_read_are_left_alone(bench: Bench) -> None:
    bench.attempt("--attempts", "2", "--keep", "ask", command="true")
    [record] = bench.kept_files("group.json")
    of_a_later_version = json.dumps({**json.loads(record.read_text("utf-8")), "new": 1})
    record.write_text(of_a_later_version, "utf-8")
    bench.attempt("--attempts", "2", "--keep", "ask", command="true")
    assert len(bench.folders()) == 4
    listed = bench.run("attempts")
    assert f"the record of attempts in {record.parent} can't be read, and is left alone" in listed.stderr
    assert len(listed.stdout.splitlines()) == 1


@pytest.mark.slow
def test_the_size_of_attempts_is_no_reason_to_remove_runs(bench: Bench) -> None:
    for number in range(3):
        (bench.root / "other.txt").write_text(f"{number}\n", "utf-8")
        bench.run("check")
    (bench.root / "large.bin").write_text("x" * 3_000_000, "utf-8")
    bench.attempt("--attempts", "2", "--keep", "ask", command="true")
    runs = [one["runId"] for one in json.loads(bench.run("list", "--json").stdout)]
    done = json.loads(bench.run("gc", "--max-size", "2MB", "--json").stdout)
    assert (done["removed"], done["bytes"]["before"] < 2_000_000) == ([], True)
    assert [one["runId"] for one in json.loads(bench.run("list", "--json").stdout)] == runs
    assert len(bench.folders()) == 2


@pytest.mark.slow
def test_a_proof_that_an_attempt_weakened_is_settled_before_it_comes_home(bench: Bench) -> None:
    bench.goal("`sh test_it.sh` passes")
    (bench.root / "test_it.sh").write_text("test -f done.txt\n", "utf-8")
    bench.attempt("--attempts", "2", command="echo true > test_it.sh")
    refused = bench.run("attempts", "apply", "1")
    assert (refused.returncode, "attempt 1 changed what proves the goal" in refused.stderr) == (2, True)
    assert bench.files()["test_it.sh"] == "test -f done.txt\n"
    told = shlex.split(refused.stderr.partition("`donewhen ")[2].partition("`")[0])
    accepted = bench.run(*told)
    assert accepted.returncode == 0, accepted.stderr
    assert bench.run("attempts", "apply", "1").returncode == 0
    assert bench.files()["test_it.sh"] == "true\n"


def printed(text: str, before: str) -> str:
    """The command that follows those words."""
    return text.split(before)[1].splitlines()[0].strip()


def test_what_is_printed_about_a_question_of_attempts_can_be_typed_anywhere(bench: Bench) -> None:
    bench.goal(GOAL, "it reads well")
    asked = bench.run("run", "--attempts", "2", "--worker-command", "touch done.txt", "--max-iterations", "2")
    assert asked.returncode == 3, asked.stderr
    answers = [line.strip() for line in asked.stderr.splitlines() if line.startswith("  donewhen answer ")]
    assert len(answers) == 2
    answered = bench.elsewhere(answers[0])
    assert answered.returncode == 0, answered.stderr
    goes_on = printed(answered.stderr, "answered I1; continue with: ")
    assert goes_on == f"donewhen attempts resume {printed(asked.stderr, '  donewhen attempts drop ')}"
    told = bench.elsewhere(answers[0].replace("answer", "hint").replace("I1 approve", "'more of it'"))
    assert printed(told.stderr, "continue with: ") == goes_on
    done = bench.elsewhere(goes_on)
    assert "attempt 1 is applied; changed here: done.txt" in done.stderr
    assert "done.txt" in bench.files()


@pytest.mark.slow
def test_what_is_printed_about_a_run_can_be_typed_anywhere(bench: Bench) -> None:
    bench.goal(GOAL, "it reads well")
    asked = bench.run("run", "--worker-command", "touch done.txt")
    assert asked.returncode == 3, asked.stderr
    answered = bench.elsewhere(printed(asked.stderr, "saved; go on with:\n"))
    resumed = bench.elsewhere(printed(answered.stderr, "continue with: "))
    assert resumed.returncode == 0, resumed.stderr
    receipt = bench.elsewhere(printed(resumed.stderr, "receipt: "))
    assert receipt.returncode == 0, receipt.stderr


@pytest.mark.slow
def test_attempts_take_their_workers_in_turn(bench: Bench) -> None:
    script = bench.root.parent / "script.yaml"
    script.write_text("turns:\n  - - write: {path: done.txt, text: scripted}\n", "utf-8")
    options = ["--script", str(script), "--attempt-worker", "command", "--attempt-worker", "scripted"]
    done = bench.attempt("--attempts", "2", "--keep", "ask", *options, command="true")
    assert done.returncode == 3, done.stderr
    assert [one["worker"] for one in bench.shown()["attempts"]] == ["command", "scripted"]


@pytest.mark.slow
def test_budgets_hold_for_all_attempts_together(bench: Bench) -> None:
    done = bench.attempt("--attempts", "2", "--token-budget", "1001", "--keep", "ask", command="touch done.txt")
    assert "each may spend an equal share of the budget: 500 tokens" in done.stderr
    for one in bench.shown()["attempts"]:
        shown = bench.run("status", "--json", "--workspace", one["folder"])
        assert json.loads(shown.stdout)["limits"]["tokenBudget"] == 500


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--attempts", "1"], "--attempts takes a number from 2 to 16; it is 1"),
        (["--attempts", "3", "--token-budget", "2"], "too small to be shared by 3 attempts"),
        (["--keep", "ask"], "are about several attempts: give --attempts N"),
        (["--attempts", "2", "--worker", "human"], "attempts need a worker that works by itself"),
        (["--attempts", "2", "--attempt-worker", "nobody"], "nobody"),
        (["--attempts", "2", "--attempt-worker", "command", "--worker-command", "not-here"], "not-here` is not inst"),
        (["--attempts", "2", "--attempt-worker", "agent", "--attempt-model", "foo"], "`foo` names no provider"),
        (
            [
                "--attempts",
                "2",
                "--worker-command",
                "true",
                "--attempt-worker",
                "command",
                "--attempt-worker",
                "scripted",
            ],
            "script",
        ),
    ],
)
def test_what_cant_be_attempted_is_refused_and_leaves_nothing(bench: Bench, argv: list[str], told: str) -> None:
    refused = bench.run("run", *argv)
    assert refused.returncode == 2
    assert refused.stderr.startswith("donewhen: error: "), "nothing is announced"
    assert told in refused.stderr
    assert (bench.folders(), bench.listed()) == ([], [])


@pytest.mark.parametrize("argv", [["apply", "1"], ["show"], ["diff"], ["drop", "3"], ["resume", "abcdef"]])
def test_an_action_on_attempts_that_are_not_there_is_refused(bench: Bench, argv: list[str]) -> None:
    refused = bench.run("attempts", *argv)
    assert refused.returncode == 2
    assert refused.stderr.startswith("donewhen: error: ")


@pytest.mark.slow
@posix
def test_ctrl_c_pauses_all_and_resume_goes_on(bench: Bench) -> None:
    command = "test -f ../../go || { touch here.txt; sleep 60; }; touch done.txt"
    process = bench.start("run", "--attempts", "2", "--worker-command", command, "--sandbox", "off")
    until(lambda: len(bench.folders()) == 2 and all((one / "here.txt").exists() for one in bench.folders()))
    busy = bench.run("attempts", "drop")
    assert (busy.returncode, "at work in another process" in busy.stderr) == (2, True)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    assert [one["status"] for one in bench.shown()["attempts"]] == ["paused", "paused"]
    [group] = bench.listed()
    (bench.folders()[0].parents[1] / "go").touch()
    resumed = bench.run("attempts", "resume", group["id"])
    assert resumed.returncode == 0, resumed.stderr
    assert "done.txt" in bench.files()


@posix
def test_nothing_runs_on_after_the_command_was_killed_and_attempts_can_be_resumed(bench: Bench) -> None:
    command = "test -f ../../go || { touch here.txt; sleep 900.5; }; touch done.txt"
    process = bench.start("run", "--attempts", "2", "--worker-command", command, "--sandbox", "off")
    until(lambda: len(bench.folders()) == 2 and all((one / "here.txt").exists() for one in bench.folders()))
    until(lambda: len(_sleeping()) == 2)
    process.kill()
    until(lambda: not _sleeping())
    process.communicate(timeout=DEADLINE)
    (bench.folders()[0].parents[1] / "go").touch()
    assert {one["status"] for one in bench.shown()["attempts"]} == {"interrupted"}
    resumed = bench.run("attempts", "resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "done.txt" in bench.files()


def test_what_ends_them_starts_where_no_interpreter_knows_of_this_package() -> None:
    """As in the environment that an extension brings: a folder, run by an interpreter of somebody else's."""
    printing = f"import json, sys; sys.path[:] = {[one for one in sys.path if one]!r}\n"
    printing += "from donewhen.workspace.processes.reaping import command; print(json.dumps(command([])))"
    told = subprocess.run([sys.executable, "-I", "-S", "-c", printing], capture_output=True, text=True, check=True)
    done = subprocess.run(json.loads(told.stdout), input="", capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")


def _sleeping() -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if "900.5" in (one.info["cmdline"] or [])]


@pytest.mark.slow
@posix
def test_a_budget_of_money_is_never_passed_by_all_attempts_together(bench: Bench) -> None:
    with ScriptedModels({"m": [calls("run_command", command="true")] * 200}) as models:
        (bench.root.parent / "state" / "donewhen").mkdir(parents=True)
        prices = "[prices.'openai/m']\ninput = 1000.0\noutput = 1000.0\n"
        (bench.root.parent / "state" / "donewhen" / "config.toml").write_text(prices, "utf-8")
        options = ["--model", "openai/m", "--api-base", models.base_url, "--budget", "30", "--max-iterations", "2"]
        done = bench.process("run", "--attempts", "2", "--keep", "cheapest", *options, OPENAI_API_KEY="k")
        told = done.stdout + done.stderr
        rows = bench.shown()["attempts"]
        assert "each may spend an equal share of the budget: $15" in told, told
        assert all(0 < one["usd"] <= 15 for one in rows), rows
        assert {one["model"] for one in rows} == {"openai/m"}


KILLED = """
import os, signal, sys
from pathlib import Path
from donewhen.__main__ import main

state, said, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def step(event, arguments):
    global steps
    keeps = event == "os.rename" and str(arguments[1]).endswith("group.json")
    if keeps or (event == "sqlite3.connect" and str(arguments[0]).endswith("ledger.sqlite")):
        kept = [one.read_text() for one in state.glob("workspaces/*/attempts/*/group.json")]
        if said in "".join(kept):
            steps -= 1
            if not steps:
                os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
raise SystemExit(main(sys.argv[4:]))
"""


def killed(bench: Bench, said: str, steps: int) -> int:
    """Runs two attempts and kills the command at its Nth step once that is on record of the group; the exit code."""
    state, given = bench.root.parent / "state", ["--worker-command", worker("touch done.txt")]
    argv = ["--state-dir", str(state), "run", "--attempts", "2", "--max-iterations", "1", *given]
    command = [sys.executable, "-c", KILLED, str(state), said, str(steps), *argv]
    return forked.run(command, cwd=bench.root, env=bench.environment(), timeout=120).returncode


def goes_on(bench: Bench) -> None:
    """`attempts resume` brings the attempt home that is proven, checks it here, and removes the other's copy."""
    resumed = bench.run("attempts", "resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    told = json.loads(resumed.stdout)
    assert told["check"]["complete"]
    assert "done.txt" in bench.files()
    assert [one.parent.name for one in bench.folders()] == [str(told["applied"])]


@posix
@pytest.mark.parametrize(
    "said", ['"applied": 1, "proven": false', pytest.param('"applied": null', marks=pytest.mark.slow)]
)
def test_attempts_that_were_killed_before_the_first_began_or_after_one_came_home_go_on(bench: Bench, said: str) -> None:
    assert killed(bench, said, 1) == -signal.SIGKILL
    goes_on(bench)


@posix
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_attempts_go_on_wherever_they_were_killed(bench: Bench, tmp_path: Path) -> None:
    step, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        step += 1
        (tmp_path / str(step)).mkdir()
        one = Bench(tmp_path / str(step))
        one.goal(GOAL)
        code = killed(one, '"applied"', step)
        goes_on(one)
    assert (code, step > 8) == (0, True)
